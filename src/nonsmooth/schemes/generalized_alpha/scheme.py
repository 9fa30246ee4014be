"""The scheme `generalized-alpha` (equations in `nonsmooth._core.stepping.alpha.step`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core.stepping.alpha import records as core
from nonsmooth._core.stepping.alpha.between import alpha_between
from nonsmooth._core.stepping.alpha.step import alpha_step
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.errors import InputError, RangeError
from nonsmooth.schemes.base import ConstantStep, Plan, checked_step
from nonsmooth.schemes.generalized_alpha.coefficients import (
    checked_coefficients,
    chung_hulbert,
    radius_at_infinity,
)
from nonsmooth.schemes.generalized_alpha.record import (
    ACTIVATIONS,
    FORMS,
    ITERATIONS,
    SMOOTH_SETS,
    STARTS,
    own_record,
)
from nonsmooth.schemes.generalized_alpha.runs import AlphaRun, ControlledRun
from nonsmooth.schemes.options import choice, positive, share
from nonsmooth.schemes.run import SchemeRun

#: Forms for motion without impacts.
SMOOTH_FORMS = ("P", "V", "A", "PV", "PV-GGL")
#: What results show of a step, by name of what is remembered.
SHOWN = {
    "newton": "newton", "work_forces": "work_forces", "work_normal": "work_normal", "work_friction": "work_friction",
    "work_joints": "work_joints", "w": "acceleration", "a": "shifted_acceleration", "U": "U", "W": "W", "lam": "la",
    "La": "La", "nu": "nu", "sets": "sets",
}  # fmt: skip


@dataclass(frozen=True)
class GeneralizedAlpha(ConstantStep):
    """The nonsmooth generalized-alpha method of Bruls, Acary and Cardona (2018).

    Parameters
    ----------
    constraints : {"auto", "PVA", "PVV", "PVV-2014", "PV", "PV-GGL", "P", "V", "A"}
        On which levels constraints hold: positions, velocities, accelerations. "PVA" and "PVV" have impacts; the others are for motion
        without impacts: joints, and contacts that open, (11)-(13). "auto" is "PVA", "PVV-2014" the authors' earlier scheme [12]:
        "PVV" with activation="smooth-gap".
    rho_inf : float
        Spectral radius at infinite frequency, from 0 (most damping) to 1 (none); Chung and Hulbert's coefficients (61) follow from it.
    dt : float
        Step size; the last step before a breakpoint or the end is shortened to hit it. Instead of `rtol`.
    rtol : float
        Tolerance of the local error of a coordinate, relative to how far it has moved: steps follow it, and accelerations are restarted
        where the structure changes. Instead of `dt`.
    dt_max : float, optional
        Longest step where `rtol` is given; a fiftieth of the span if left out.
    coefficients : tuple (alpha_m, alpha_f, gamma, beta), optional
        Instead of `rho_inf`; see `newmark` and `hht`.
    start_from : {"shifted", "plain", "zero"}
        The shifted acceleration a at the start: consistent at t + (alpha_m - alpha_f) dt, consistent at t, or all accelerations zero.
    restart : bool
        Make accelerations consistent again after steps in which the structure changed (sec. 4.4).
    smooth_set : {"resting", "bilateral", "none", "literal"}
        What shares in the smooth motion of "PVA": bilateral constraints and contacts at rest (strategy 3, erratum 9); bilateral
        constraints (2); nothing (1); strategy 3 as printed, (42) and (65f, i).
    activation : {"augmented", "gap", "smooth-gap"}
        When a contact acts on velocity level: closed on position level (55); gap forecast by the velocity (37); gap of the smooth motion.
    baumgarte : (float, float)
        alpha and beta of (71c), for "A".
    iteration : {"coupled", "subproblems"}
        How the equations of a step are solved: positions and velocities in one problem, or the three sub-problems of the paper's
        Algorithm 1 in turn ("PVA", "PVV" only), which converges linearly and shows its numbers of iterations.
    tol : float
        Of Newton's method, relative to the velocities of the step in the norm of the mass matrix; with "subproblems" the residual of
        forces is also relative to the largest of them.
    solver : Exact, PSOR, PJOR, ContactMethod or str
        Solver of the contact problems of each step.
    """

    constraints: str = "auto"
    rho_inf: float = 0.9
    dt: Any = None
    rtol: Any = None
    dt_max: Any = None
    coefficients: Any = None
    start_from: str = "shifted"
    restart: bool = False
    smooth_set: str = "resting"
    activation: str = "augmented"
    baumgarte: Any = (0.0, 0.0)
    iteration: str = "coupled"
    tol: float = 1e-13
    solver: StepSolver | str = field(default_factory=Exact)

    name = "generalized-alpha"
    step = alpha_step
    between = alpha_between
    asks = ("kappa", "joints")
    order = 2
    dense = False
    shows_own = True
    compile_seconds = 60

    def __post_init__(self):
        if (self.dt is None) == (self.rtol is None):
            given = "none is given" if self.dt is None else "both are given"
            raise InputError(f"one of `dt` (constant step) and `rtol` (controlled step) is wanted; {given}.")
        if self.dt is not None:
            object.__setattr__(self, "dt", checked_step(self.dt))
        check_control(self)
        object.__setattr__(self, "rho_inf", share("rho_inf", self.rho_inf))
        choice("constraints", self.constraints, FORMS)
        choice("start_from", self.start_from, STARTS)
        choice("smooth_set", self.smooth_set, SMOOTH_SETS)
        choice("activation", self.activation, ACTIVATIONS)
        choice("iteration", self.iteration, ITERATIONS)
        if self.iteration == "subproblems" and self.constraints in SMOOTH_FORMS:
            raise InputError(
                f'`iteration` is "subproblems" with constraints={self.constraints!r}: the three sub-problems belong to "PVA" and "PVV".'
            )
        if self.constraints == "PVV-2014":
            object.__setattr__(self, "activation", "smooth-gap")
        object.__setattr__(self, "solver", as_solver(self.solver))
        object.__setattr__(self, "coefficients", checked_coefficients(self.coefficients))
        object.__setattr__(self, "baumgarte", checked_baumgarte(self.baumgarte, self.constraints))
        if not isinstance(self.restart, bool):
            raise InputError(f"`restart` is {self.restart!r}: True or False is wanted.")
        if isinstance(self.tol, bool) or not isinstance(self.tol, int | float) or not 0.0 < self.tol < 1.0:
            raise RangeError(f"`tol` is {self.tol!r}: a number between 0 and 1 is wanted.")
        if self.constraints == "P":
            check_index_three(self)

    def explain(self, status: int) -> str:
        return f'a contact strikes, and constraints={self.constraints!r} has no impacts, contacts only open there: use "PVA" or "PVV"'

    def cure(self) -> str:
        if self.iteration == "subproblems":
            return 'use iteration="coupled" (sub-problems solved in turn need not converge, least with friction), or a smaller dt'
        return super().cure() if self.rtol is None else "use a smaller rtol or dt_max"

    def weights(self) -> tuple[float, float, float, float]:
        """alpha_m, alpha_f, gamma, beta."""
        if self.coefficients is not None:
            a, b, c, d = (float(x) for x in self.coefficients)
            return a, b, c, d
        return chung_hulbert(self.rho_inf)

    def options(self) -> dict[str, Any]:
        names = (
            "constraints",
            "rho_inf",
            "dt",
            "rtol",
            "dt_max",
            "coefficients",
            "start_from",
            "restart",
            "smooth_set",
            "activation",
            "iteration",
            "tol",
        )
        unused = ("rtol", "dt_max") if self.rtol is None else ("dt",)
        return {
            **{name: getattr(self, name) for name in names if name not in unused},
            **as_solver(self.solver).describe(),
        }

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> SchemeRun:
        laws = model.laws
        if self.constraints in SMOOTH_FORMS:
            if laws.n_J == 0 and laws.n_N == 0:
                raise InputError(
                    f"`constraints` is {self.constraints!r}, which says how joints hold, but the system has no joints (and no contacts): "
                    'use "auto".'
                )
            if np.any(laws.e[: laws.n_N] > 0.0):
                raise InputError(
                    f"`constraints` is {self.constraints!r}, a form without impacts, but contact {laws.name[int(np.argmax(laws.e > 0))]!r} "
                    'has restitution: use constraints="PVA" or "PVV".'
                )
        run = AlphaRun if self.rtol is None else ControlledRun
        return run(self, model, t, q, u, plan)

    def estimate_steps(self, segments) -> int | None:
        return super().estimate_steps(segments) if self.rtol is None else None

    def remembers(self, model) -> int:
        return core.n_own(model.size())

    def fields(self, model, own: np.ndarray) -> dict[str, Any]:
        """Smooth accelerations and multipliers, corrections, sets, Newton's iterations and work of every step."""
        head, n_u, n_rows = len(core.HEAD), model.n_u, model.laws.n_rows
        found = {name: own[k] for k, name in enumerate(core.HEAD) if name in SHOWN}
        for k, name in enumerate(core.BY_VELOCITY):
            found[name] = own[head + k * n_u : head + (k + 1) * n_u]
        first, rows = head + len(core.BY_VELOCITY) * n_u, max(n_rows, 1)
        for k, name in enumerate(core.BY_ROW):
            found[name] = own[first + k * rows : first + k * rows + n_rows]
        return {SHOWN[name]: value for name, value in found.items() if name in SHOWN}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit.alpha import audit_alpha

        return audit_alpha(self, model, result, totals, plan, samples)

    def parts(self, model) -> dict[str, Any]:
        """The record of the step, as `SchemeRun` takes it."""
        return {"own": own_record(self, model)}


def check_control(scheme) -> None:
    """`rtol` and `dt_max` as a user gives them."""
    if scheme.rtol is None and scheme.dt_max is not None:
        raise InputError("`dt_max` is given without `rtol`: it belongs to controlled steps.")
    for name in ("rtol", "dt_max"):
        if getattr(scheme, name) is not None:
            object.__setattr__(scheme, name, positive(name, getattr(scheme, name)))
    if scheme.rtol is not None and not 1e-13 <= scheme.rtol <= 1.0:
        raise RangeError(f"`rtol` is {scheme.rtol:g}: it must lie between 1e-13 and 1.")


def check_index_three(scheme) -> None:
    """Positions alone want damping and constant steps."""
    if scheme.rtol is not None:
        raise InputError(
            '`rtol` is given with constraints="P": positions alone answer every change of the step by forces of their own, '
            'however short steps are (index 3); use dt=..., or constraints="PVA".'
        )
    if radius_at_infinity(*scheme.weights()) >= 1.0 - 1e-9:
        undamped = scheme.coefficients is not None
        given = f"`coefficients` is {scheme.coefficients}, without damping," if undamped else "`rho_inf` is 1"
        raise RangeError(
            f'{given} with constraints="P": constraints on position level alone are unstable without damping; use '
            'rho_inf < 1, or constraints="PVA".'
        )


def checked_baumgarte(value: Any, constraints: str) -> tuple[float, float]:
    """alpha and beta of (71c)."""
    try:
        alpha, beta = (float(x) for x in value)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`baumgarte` is {value!r}: two numbers (alpha, beta) are wanted.") from exc
    if not (math.isfinite(alpha) and math.isfinite(beta) and alpha >= 0.0 and beta >= 0.0):
        raise RangeError(f"`baumgarte` is {value!r}: two finite numbers that are not negative are wanted.")
    if constraints != "A" and (alpha, beta) != (0.0, 0.0):
        raise InputError(
            f'`baumgarte` is {value!r} with constraints={constraints!r}: it belongs to constraints="A".'
        )
    return alpha, beta
