"""`solve_contact`: one front door for every method, one independent verdict on every result.

`METHODS` maps a name to a function ``method(problem, r, run) -> (r, residual, iterations)``; a user's own
function of that form is accepted as well. Whatever a method claims, `success` is decided by
`nonsmooth.contact.residual`: by the residual of the laws, which is also that of time steps, by the natural map in both scalings,
and by the cone.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from nonsmooth._core.contact.direct import solve_direct
from nonsmooth.contact.admm import admm
from nonsmooth.contact.anderson import nsgs_anderson
from nonsmooth.contact.auto import auto
from nonsmooth.contact.by_laws import exact, psor
from nonsmooth.contact.colours import nsgs_coloured
from nonsmooth.contact.enumeration import enumeration
from nonsmooth.contact.first_order import apgd, pjor
from nonsmooth.contact.interior_point import interior_point
from nonsmooth.contact.knots import nsgs_knots
from nonsmooth.contact.newton import newton
from nonsmooth.contact.newton_fb import newton_fb
from nonsmooth.contact.nsgs import nsgs
from nonsmooth.contact.pivoting import lemke
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import Residual, approach, project, residual, rounding
from nonsmooth.contact.run import APPROACH, ROUGH, Run
from nonsmooth.errors import InputError, RangeError

#: Impulses of a successful result leave their cones by at most this much, relative to the largest impulse.
CONE_TOL = 1e-12
#: Problems of up to this many contacts are first tried in one compiled call, with at most this many sweeps,
#: given up when more than `DIRECT_PATIENCE` further sweeps are to be expected.
DIRECT_CONTACTS = 100
DIRECT_SWEEPS = 1000
DIRECT_PATIENCE = 400

NOTHING = Residual(0.0, 0.0, 0.0, 0.0)


class ContactResult:
    """Impulses and velocities of a contact problem, and how good they are.

    Attributes
    ----------
    r, u : ndarray, shape (dim*n,)
        Impulses, inside their cones, and velocities ``u = W r + q``.
    residual : float
        The largest of `residual_laws`, `residual_scaled` and `residual_unit` (see `nonsmooth.contact.residual`).
        `residual_unit` does not count where it is nothing but rounding of the impulses (units in which these are
        more than 1e6 times as large as velocities).
    residual_laws : float
        The residual of time steps: errors of the laws relative to ``|q|`` of the contacts that are closed.
    residual_scaled, residual_unit, cone : float
        Both scalings of the natural map relative to ``|q|`` of all contacts; the worst violation of a cone relative
        to the largest impulse.
    iterations : int
        Iterations of all stages together.
    method : str
        The method, for ``"auto"`` with its stages: ``"auto: nsgs 60, newton 8"``.
    success : bool
    message : str
    """

    __slots__ = (
        "cone",
        "iterations",
        "message",
        "method",
        "r",
        "residual",
        "residual_laws",
        "residual_scaled",
        "residual_unit",
        "success",
        "u",
    )

    def __init__(self, r, u, residual, figures, iterations, method, success, message):
        self.r = r
        self.u = u
        self.residual = residual
        self.residual_scaled, self.residual_unit, self.cone, self.residual_laws = figures
        self.iterations = iterations
        self.method = method
        self.success = success
        self.message = message

    def _repr_html_(self):
        from nonsmooth.results.notebook import table

        words = ("method", "iterations", "message")
        sizes = ("residual", "residual_scaled", "residual_unit", "cone")
        return table(
            f"ContactResult: {'solved' if self.success else 'NOT solved'}, {self.r.size} impulses",
            [(name, str(getattr(self, name))) for name in words]
            + [(name.replace("_", " "), f"{getattr(self, name):.3e}") for name in sizes],
        )

    def __repr__(self):
        return (
            f"<ContactResult {'solved' if self.success else 'NOT solved'}: residual {self.residual:.2e} "
            f"(laws {self.residual_laws:.2e}, scaled {self.residual_scaled:.2e}, unit {self.residual_unit:.2e}), "
            f"{self.iterations} iterations, {self.method}; {self.message}>"
        )


#: Every contact method by name.
METHODS = {
    "auto": auto,
    "nsgs": nsgs,
    "nsgs-coloured": nsgs_coloured,
    "nsgs-anderson": nsgs_anderson,
    "nsgs-knots": nsgs_knots,
    "newton": newton,
    "newton-fb": newton_fb,
    "interior-point": interior_point,
    "admm": admm,
    "apgd": apgd,
    "pjor": pjor,
    "exact": exact,
    "psor": psor,
    "lemke": lemke,
    "enumeration": enumeration,
}

#: Methods that work on pyramids in space: exact in the plane only.
FACETED = ("lemke", "enumeration")


def solve_contact(
    problem: ContactProblem,
    method: Any = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    guess=None,
    time_limit: float | None = None,
    **options,
) -> ContactResult:
    """Solve ``u = W r + q`` with Coulomb's law at every contact.

    Parameters
    ----------
    problem : ContactProblem
    method : str or callable
        A name in `METHODS`, or ``function(problem, r, run) -> (r, residual, iterations)``.
    tol : float
        Both residuals, relative to ``|q|``, have to fall below it, and approaching normal velocities below
        ten times it.
    max_iter : int, optional
        Limit on iterations; the default depends on the method.
    guess : array_like or ContactResult, optional
        Impulses to start from (projected onto the cones); zero by default.
    time_limit : float, optional
        Seconds after which the best impulses so far are returned. It only stops a run and steers no
        decision: results do not depend on the speed of the machine unless the limit strikes.
    **options
        Options of the method, for example ``facets=16`` of ``"lemke"`` (see the functions in `METHODS`).

    Returns
    -------
    ContactResult
        ``success=False`` with the best impulses met and the reason if the tolerance was not reached. Failure
        is never silent and never an exception.
    """
    if method == "auto" and type(tol) is float and tol > 0.0 and max_iter is guess is None and not options:
        if time_limit is not None:
            _check_limits(tol, max_iter, time_limit)
        direct = _directly(problem, tol)
        if type(direct) is ContactResult:
            return direct
    else:
        direct = None
    if not isinstance(problem, ContactProblem):
        raise InputError(f"solve_contact: problem is a {type(problem).__name__}; give a ContactProblem.")
    function, name = _method(method)
    _check_options(function, name, options)
    _check_limits(tol, max_iter, time_limit)
    n = problem.q.size
    if problem.q_norm == 0.0:
        # no velocity to oppose (or no contact at all): zero impulse is a solution
        why = (
            "q = 0: r = 0 solves the problem"
            if problem.bilateral.any()
            else "no motion without impulses: r = 0"
        )
        return ContactResult(np.zeros(n), np.zeros(n), 0.0, NOTHING, 0, name, True, why)
    start = _start(problem, guess)
    run = Run(problem, tol, max_iter, time_limit)
    if direct is not None and np.all(np.isfinite(direct[1])):
        run.swept, start = direct
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        r, _, iterations = function(problem, start, run, **options)
        r = np.asarray(r, dtype=float)
        if r.shape != (n,) or not np.all(np.isfinite(r)):
            r = start
        r = _inside(problem, r)
        u = problem.velocity(r)
        verdict = residual(problem, r, u)
        stopped = approach(problem, u) <= APPROACH * tol
    judged = max(verdict.laws, verdict.scaled, 0.0 if verdict.unit <= rounding(problem, r) else verdict.unit)
    success = judged <= tol and verdict.cone <= CONE_TOL and stopped
    if run.stages:
        name = f"{name}: " + ", ".join(run.stages)
    message = "converged" if success else _why(problem, run, verdict, tol, stopped)
    message = "; ".join([message, *run.remarks])
    return ContactResult(r, u, judged, verdict, int(iterations), name, success, message)


def _directly(problem, tol):
    """A small problem in one compiled call: its result, or the impulses reached, or None if it is not
    small."""
    if type(problem) is not ContactProblem:
        return None
    packed = problem.__dict__.get("_packed")
    if packed is None:
        packed = problem.__dict__["_packed"] = _pack(problem)
    if not packed:
        return None
    numbers, places, n, rows = packed
    out = np.empty(2 * rows + 5 + n)
    # large mu amplifies rounding: keep a distance that a recomputation cannot bridge
    tol = 0.9 * tol
    count = solve_direct(numbers, places, problem.dim, n, tol, DIRECT_SWEEPS, DIRECT_PATIENCE, out)
    *figures, solved = out[2 * rows : 2 * rows + 5].tolist()
    scaled, unit, cone, laws = figures
    r = out[:rows]
    if solved and cone <= CONE_TOL:
        worst = max(laws, scaled, unit if unit <= tol else 0.0)
        return ContactResult(r, out[rows : 2 * rows], worst, figures, count, "auto: nsgs", True, "converged")
    return count, r


def _pack(problem):
    """Flat copies of the data of a small problem for `solve_direct`; an empty tuple if it is large or at
    rest."""
    n = problem.n_contacts
    if (
        n == 0
        or n > DIRECT_CONTACTS
        or problem.q_norm == 0.0
        or np.any(problem.mu > ROUGH)
        or problem.matrix_free
    ):
        return ()
    b = problem.blocks
    flags = problem.bilateral.astype(float)
    laws = problem.mu, problem.rho, problem.weight, flags, problem.law_rho.ravel(), problem.diagonal.ravel()
    numbers = np.concatenate([b.data.ravel(), problem.q, *laws, [problem.q_norm]])
    places = np.concatenate([b.indptr, b.indices, b.diagonal])
    return numbers, places, n, problem.q.size


def _method(method):
    if callable(method):
        return method, getattr(method, "__name__", type(method).__name__)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"solve_contact: method = {method!r} is unknown; choose one of {', '.join(METHODS)}."
        )
    return METHODS[method], method


def _check_options(function, name, options):
    """Refuse options that the method does not have."""
    if not options:
        return
    known = [
        k for k in inspect.signature(function).parameters if k not in ("problem", "r", "run", "max_iter")
    ]
    unknown = [k for k in options if k not in known]
    if unknown:
        offer = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"solve_contact: method {name!r} has no option {unknown[0]!r}; {offer}.")


def _check_limits(tol, max_iter, time_limit):
    if not (isinstance(tol, (int, float, np.floating)) and 0.0 < tol < math.inf):
        raise RangeError(f"solve_contact: tol = {tol!r}; a positive number is wanted.")
    if max_iter is not None and not (isinstance(max_iter, (int, np.integer)) and max_iter >= 0):
        raise RangeError(f"solve_contact: max_iter = {max_iter!r}; a number of iterations is wanted.")
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0.0):
        raise RangeError(f"solve_contact: time_limit = {time_limit!r}; positive seconds are wanted.")


def _start(problem, guess) -> np.ndarray:
    if guess is None:
        return np.zeros(problem.q.size)
    if isinstance(guess, dict):
        guess = guess["r"]
    return _inside(problem, problem.check_impulse(getattr(guess, "r", guess)))


def _inside(problem, r) -> np.ndarray:
    return project(r.reshape(-1, problem.dim), problem.mu, problem.bilateral).ravel()


def _why(problem, run, verdict, tol, stopped) -> str:
    """Why a run ended above its tolerance, with what to try."""
    worst = max(verdict.laws, verdict.scaled, verdict.unit)
    parts = [f"residual {worst:.1e} is above tol = {tol:.1e}"]
    if worst <= tol:
        parts = [f"residual {worst:.1e} is below tol = {tol:.1e}"]
    if not stopped:
        parts.append("contacts still approach")
    if run.expired():
        parts.append("the time limit struck")
    W = problem.dense_W if problem.q.size <= 400 and not problem.matrix_free else None
    if W is not None:
        symmetric = 0.5 * (W + W.T)
        eigenvalues = np.linalg.eigvalsh(symmetric)
        top = max(abs(eigenvalues[0]), abs(eigenvalues[-1]))
        if eigenvalues[0] < -1e-9 * top:
            parts.append("W is indefinite: the problem may have no solution")
        elif int(np.sum(eigenvalues < 1e-12 * top)):
            parts.append(
                f"W is rank-deficient by {int(np.sum(eigenvalues < 1e-12 * top))} (redundant contacts)"
            )
        if not np.any(eigenvalues > 0.0):
            parts.append("no impulse can change the velocities")
    elif problem.q.size > 400:
        parts.append("the problem is ill-conditioned or has redundant contacts")
    parts.append("raise max_iter, loosen tol, or try another method or guess")
    return "; ".join(parts)
