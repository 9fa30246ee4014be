"""Nonsmooth Newton on the Fischer-Burmeister function in the Jordan algebra of the friction cone.

With ``x = (mu r_N, r_T)`` and ``y = (ũ_N, mu u_T)``, both in Lorentz's cone, the contact law is ``x o y = 0``, and ::

    Phi(x, y) = x + y - (x o x + y o y)^(1/2) = 0                                                         (1)

(Fukushima, Luo, Tseng 2002; `_core.contact.nonsmooth_newton`, form 2). Its square is smooth, which makes line searches reliable
far from the solution; near it the steps are those of every semismooth Newton method. Redundant contacts are treated as in
`nonsmooth.contact.newton`: proximal steps outside, a non-monotone line search inside.
"""

from __future__ import annotations

from nonsmooth._core.contact.nonsmooth_newton import FISCHER_BURMEISTER
from nonsmooth.contact.newton import Iteration

#: Regularised steps on the problem itself, as in `nonsmooth.contact.newton.POLISH`.
POLISH = (
    (FISCHER_BURMEISTER, 3e-6, 5),
    (FISCHER_BURMEISTER, 1e-4, 5),
    (FISCHER_BURMEISTER, 3e-6, 0),
    (FISCHER_BURMEISTER, 1e-8, 5),
)


def newton_fb(problem, r, run, max_iter=None, eps=1e-3, eps_min=1e-10, patience=25):
    """Improve the impulses `r`; arguments and results as in `nonsmooth.contact.newton.newton`."""
    limit = run.limit(3000) if max_iter is None else max_iter
    work = Iteration(problem, r, run, limit, form=FISCHER_BURMEISTER, variants=POLISH)
    return work.alternate(eps, eps_min, patience)
