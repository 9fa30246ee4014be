r"""Bouncing ball with a formula for every instant (Acary 2012, eqs. (9), (10)).

.. math:: \dot v = f + \lambda, \quad \dot q = v, \quad 0 \le q \perp \lambda \ge 0, \quad v^+ = -\rho v^-,
          \qquad f = -2, \ \rho = 1/2, \ q(0) = 1, \ v(0) = 0

Impacts at 1, 2, 2.5, 2.75, ..., accumulation at t = 3. For :math:`t \in [3 - 2^{1-n}, 3 - 2^{-n})`

.. math:: q = -(t-3)^2 - 3 \cdot 2^{-n} (t-1) + 2^{1-n} (3 - 2^{-n}), \qquad
          v = -2 (t-3) - 3 \cdot 2^{-n} \qquad (10)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack
from .falling_ball import force, gap, gap_jacobian, mass, potential
from .sources import ACARY_2012

SOURCE = f"{ACARY_2012}, eqs. (9)-(10)."


def closed_form(t: ArrayLike) -> tuple[Array, Array]:
    """Position and velocity (right limit) at the instants t: Acary 2012, eq. (10), factored.

    With s = 3 - t in (2^-n, 2^(1-n)] the printed polynomial is q = (2^(1-n) - s)(s - 2^-n), free of
    cancellation near 3.
    """
    t = np.asarray(t, dtype=np.float64)
    s = 3.0 - t
    # s in (2^-n, 2^(1-n)]: frexp gives s = mantissa 2^exponent, mantissa in [1/2, 1), exactly.
    mantissa, exponent = np.frexp(np.where(s > 0.0, s, 1.0))
    n = np.where(mantissa == 0.5, 2 - exponent, 1 - exponent)
    half = np.ldexp(1.0, -n)
    # fall from rest on [0, 1), flights n = 0, 1, ..., rest from t = 3 on
    falling, resting = t < 1.0, t >= 3.0
    q = np.where(falling, 1.0 - t**2, (2.0 * half - s) * (s - half))
    v = np.where(falling, -2.0 * t, 2.0 * s - 3.0 * half)
    return np.where(resting, 0.0, q), np.where(resting, 0.0, v)


def acary_ball(t_end: float = 4.0) -> Problem:
    """Bouncing ball of Acary 2012, eq. (10): accumulation of impacts at t = 3.

    Parameters
    ----------
    t_end : float
        End of the usual run.
    """
    require(t_end > 0.0, "t_end", t_end, "positive")

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        ground = Contact(gap, restitution=0.5, jacobian=gap_jacobian, name="ground")
        params, draw = {"m": 1.0, "g": 2.0}, drawings.ball_on_table("ground", 1.0)
        return MechanicalSystem(mass, force, contacts=[ground], params=params, potential=potential, draw=draw)

    # t_1 = 1, t_(k+1) = 3 - 2^(1-k); speeds before and after impact number k = 0, 1, ...: 2^(1-k), 2^-k
    times = [1.0] + [3.0 - 2.0 ** (1 - k) for k in range(1, 53)]
    events = tuple(
        ReferenceEvent(t, "impact", "ground", (-(2.0 ** (1 - k)),), (2.0**-k,))
        for k, t in enumerate(times)
        if t <= t_end
    )
    reference = Reference(
        origin="closed form, Acary 2012, eq. (10)",
        error=1e-15,
        q=lambda t: stack(t, closed_form(t)[0]),
        u=lambda t: stack(t, closed_form(t)[1]),
        events=events,
    )
    return Problem(
        name="acary_ball",
        title="Bouncing ball of Acary",
        source=SOURCE,
        summary="Accumulation of impacts at t = 3 with a closed formula for every instant.",
        build=build,
        q0=as_state([1.0]),
        u0=as_state([0.0]),
        t_span=(0.0, t_end),
        params={"t_end": t_end},
        dt=1e-3,
        coordinates=("q",),
        reference=reference,
    )
