"""What a step that failed means to a user: one table from status codes to typed errors.

Every entry takes the run as it stands, before the step that failed, and returns an error that names what, where, the value and a cure.
Codes from `OWN` on belong to the scheme: its ``explain(status)`` says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nonsmooth._core.records import status as codes
from nonsmooth._core.records.laws import CONSTRAINT, UPPER
from nonsmooth.errors import (
    ConvergenceError,
    EventError,
    IntegrationError,
    ModelError,
    NonFiniteStateError,
    NonsmoothError,
    NoSolutionError,
    StepLimitError,
)
from nonsmooth.model.redundancy import redundant_names


def failure(run, status: int) -> NonsmoothError:
    """The error of the step of `run` (a `SchemeRun`) that ended with `status`."""
    if status >= codes.OWN:
        return IntegrationError(
            f"{run.scheme.explain(status)} (step from t = {run.t:.9g} to {run.t + run.dt:.9g})."
        )
    return FAILURES.get(status, not_finite)(run)


def unconverged(run):
    return ConvergenceError(
        f"the contact problem of the step from t = {run.t:.9g} to {run.t + run.dt:.9g} was left with residual "
        f"{run.info.residual:.3g} after {int(run.info.iterations)} iterations ({int(run.problem.count.laws)} "
        f"active laws): {_cures(run.scheme)}.{_contradiction(run.model.laws)}"
    )


def _contradiction(laws) -> str:
    """What else it may be where there are joints."""
    return " Joints that contradict each other leave such a residual, too." if laws.n_J else ""


def _cures(scheme) -> str:
    """What can be done about a contact problem that is not solved, as it has to be written."""
    named = f"ns.{type(scheme).__name__}({'dt=..., ' if hasattr(scheme, 'dt') else ''}solver=...)"
    return (
        f'try another solver, method={named} with "auto", "newton", "nsgs" or "interior-point", or a larger budget, '
        'solver=ns.Exact(max_iter=...); on_failure="halve" takes smaller steps, on_failure="accept" goes on with such steps '
        "marked"
    )


def mass_singular(run):
    t_M = run.t + run.dt / 2
    M = run.model.mass_matrix(t_M, run.work.q_m)
    condition = np.linalg.cond(M) if np.all(np.isfinite(M)) else float("nan")
    return IntegrationError(
        f"the mass matrix is not positive definite at t = {t_M:.9g} (condition number {condition:.3g}): the "
        "coordinates run into a singularity; choose others or stop before."
    )


def zero_direction(run):
    if not np.all(np.isfinite(run.work.WT)):
        return not_finite(run)
    name = run.model.laws.name[int(run.info.law)]
    return ModelError(
        f"the direction of {name!r} vanished at t = {run.t + run.dt / 2:.9g}: its gap or tangent does not depend on q there."
    )


def no_solution(run):
    laws = run.model.laws
    if laws.n_J == laws.n_rows:
        dependent = ", ".join(map(repr, redundant_names(run.model, run.t, run.state.q)))
        named = f": {dependent} depend(s) on the others and ask(s) for another motion" if dependent else ""
        return NoSolutionError(
            f"joints contradict each other in the step from t = {run.t:.9g} (residual {run.info.residual:.3g}){named}; take one of them "
            "away or correct it."
        )
    return NoSolutionError(
        f"no impulses or accelerations that satisfy all laws were found at t = {run.t:.9g} (residual {run.info.residual:.3g}): "
        "a sliding contact may jam there (Painleve's paradox), or contacts and joints contradict each other."
    )


def implicit_unsolved(run):
    return ConvergenceError(
        f"Newton's method for the implicit step from t = {run.t:.9g} to {run.t + run.dt:.9g} did not converge (last change "
        f"{run.info.residual:.3g} of the velocities): {run.scheme.cure()}; forces or gaps with kinks or jumps can cause it, too."
    )


def unprojected(run):
    return ConvergenceError(
        f"no positions that satisfy all contacts and joints were found at t = {run.t + run.dt:.9g}: they contradict each other "
        "there, or the step went too far from them; use a smaller dt, or projection=None."
    )


def chatter(run):
    listed = [f"{name}: {int(mode)}" for name, mode in zip(run.model.laws.name, run.state.modes)]
    return EventError(
        f"modes change without end at t = {run.t:.9g} (modes now: {', '.join(listed[:6])}): the laws there have no continuation "
        'that lasts; use method="extrapolated-moreau" or "moreau" to pass it with finite steps.'
    )


def surface_ended(run):
    closed = [run.model.laws.name[l] for l in range(run.model.laws.n_N) if run.state.modes[l] == CONSTRAINT]
    return EventError(
        f"the gap of a closed contact ({', '.join(map(repr, closed[:6]))}) jumps between t = {run.t:.9g} and the end of the next step: its "
        "surface ends or has a kink there, or its jacobian is not its derivative; declare the instants of kinks as breakpoints=[...], "
        'make the gap continuous, or use method="extrapolated-moreau".'
    )


def step_underflow(run):
    if run.diverges():
        return NonFiniteStateError(
            f"the motion grows without bound at t = {run.t:.9g}: accelerations change velocities by their own size within the "
            "resolution of time. A force has a pole there; check its formula, or end the span before."
        )
    laws = run.model.laws
    sliding = [laws.name[l] for l in range(laws.dim.size) if laws.dim[l] == 2 and run.state.modes[l] == UPPER]
    why = "a force has a pole or jumps there, or the problem is stiff; declare discontinuities as breakpoints=[...], or check the formula"
    if sliding:  # its direction follows the force at a rate that is infinite where it begins
        why = f'{sliding[0]!r} begins to slip in a direction that turns; use method="extrapolated-moreau", or "moreau" with dt=...'
    return _culprit(run) or StepLimitError(
        f"steps at t = {run.t:.9g} became shorter than the resolution of time ({run.dt:.3g}): {why}."
    )


def not_finite(run):
    if error := _culprit(run):
        return error
    end = np.concatenate([run.scene.end.q, run.scene.end.u])
    return NonFiniteStateError(
        f"component {int(np.argmax(~np.isfinite(end)))} of the state (q, u) overflows in the step from t = {run.t:.9g}; last good "
        f"instant t = {run.t:.9g}. The motion grows without bound or the step is too large: check the forces, or try a smaller dt or rtol."
    )


FAILURES: dict[int, Callable[..., NonsmoothError]] = {
    codes.MASS_SINGULAR: mass_singular,
    codes.NON_FINITE: not_finite,
    codes.UNCONVERGED: unconverged,
    codes.ZERO_DIRECTION: zero_direction,
    codes.NON_FINITE_GAP: not_finite,
    codes.NO_SOLUTION: no_solution,
    codes.STEP_UNDERFLOW: step_underflow,
    codes.CHATTER: chatter,
    codes.SURFACE_ENDED: surface_ended,
    codes.IMPLICIT_UNSOLVED: implicit_unsolved,
    codes.UNPROJECTED: unprojected,
}


def _culprit(run) -> NonsmoothError | None:
    """Which function is to blame for a NaN or infinity in the step that failed."""
    state, dt, u = run.state, run.dt, run.state.u.copy()
    q_dot = u if run.model.f_kinematics is None else np.zeros(state.q.size)
    tried = [(run.t + dt / 2, run.work.q_m.copy())]
    # (a step that was tried in vain, before it was shortened to `dt`)
    tried += [(run.t + c * dt, state.q + c * dt * q_dot) for c in (1.0, 2.0, 4.0)]
    for t, q in tried:
        if error := _not_finite_at(run, t, q, u):
            return error
    return None


def _not_finite_at(run, t: float, q: np.ndarray, u: np.ndarray) -> NonsmoothError | None:
    model, good = run.model, run.t
    with np.errstate(all="ignore"):  # what is looked for is found by value
        for f in model.functions:
            value = f.call(t, q, u, model.parameters.flat)
            if not np.all(np.isfinite(value)):
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
                return NonFiniteStateError(
                    f"{f.name} is {value[where]} in entry {where} at t = {t:.9g}; last good instant t = {good:.9g}. Check the "
                    "formula there (division by zero, root of a negative number, overflow)."
                )
        for _, _, limit in model.bounds_of + model.friction_of:
            value = np.min(limit.call(t, q, u, model.parameters.flat)) if hasattr(limit, "call") else 0.0
            if value < 0.0:
                return IntegrationError(
                    f"{limit.name} is {value:g} at t = {t:.9g}; last good instant t = {good:.9g}. Friction must not be negative."
                )
        WT, zeta = model.directions(t, q)
    for law, name in enumerate(model.laws.name):
        rows = slice(model.laws.row[law], model.laws.row[law] + model.laws.dim[law])
        if not np.all(np.isfinite(WT[rows])) or not np.all(np.isfinite(zeta[rows])):
            return NonFiniteStateError(
                f"the direction of {name!r} (a derivative of its gap, or its tangent) is not finite at t = {t:.9g}; last "
                f"good instant t = {good:.9g}. The gap function has no derivative there: give `jacobian`, or change it."
            )
    return None
