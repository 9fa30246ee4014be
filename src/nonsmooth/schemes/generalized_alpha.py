"""The scheme `generalized-alpha` (equations in `nonsmooth._core.stepping.alpha.step`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from nonsmooth._core.calls.plain import PlainCall
from nonsmooth._core.derivatives.weighted_tangent import TANGENT, weighted_tangent
from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.linalg.factors import factorise, solve
from nonsmooth._core.linalg.mass import factorise_mass
from nonsmooth._core.records.problem import make_problem
from nonsmooth._core.records.scene import BETWEEN, STEP
from nonsmooth._core.space.retract import RETRACT, retract
from nonsmooth._core.stepping.alpha import records as core
from nonsmooth._core.stepping.alpha.between import alpha_between
from nonsmooth._core.stepping.alpha.control import controlled_step, make_controlled
from nonsmooth._core.stepping.alpha.jointed import (
    begin_jointed,
    change_jointed,
    evaluate_jointed,
    finish_jointed,
    speak_jointed,
    take_jointed,
)
from nonsmooth._core.stepping.alpha.laws import solve_levels, speak
from nonsmooth._core.stepping.alpha.motion import FACTORISE, FACTORISE_MASS, SOLVE, change, evaluate
from nonsmooth._core.stepping.alpha.smooth import accelerate
from nonsmooth._core.stepping.alpha.step import alpha_step, begin_step, finish_step
from nonsmooth._core.stepping.alpha.subproblems import residuals, three_problems
from nonsmooth._core.stepping.between import along_the_step
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.errors import InputError, NonFiniteError, RangeError
from nonsmooth.schemes.base import ConstantStep, Plan, checked_step
from nonsmooth.schemes.extrapolation import time_scale
from nonsmooth.schemes.options import choice, positive, share
from nonsmooth.schemes.projection import KeepingReference
from nonsmooth.schemes.run import ConstantStepRun, SchemeRun, _solve_outside

#: Forms for motion without impacts.
SMOOTH_FORMS = ("P", "V", "A", "PV", "PV-GGL")
#: Kernels of the library that the parts call.
LIBRARY = {
    "solve": (solve, SOLVE), "factorise": (factorise, FACTORISE), "factorise_mass": (factorise_mass, FACTORISE_MASS),
    "retract": (retract, RETRACT), "weigh": (weighted_tangent, TANGENT), "line": (along_the_step, BETWEEN),
}  # fmt: skip
#: What results show of a step, by name of what is remembered.
SHOWN = {
    "newton": "newton", "work_forces": "work_forces", "work_normal": "work_normal", "work_friction": "work_friction",
    "work_joints": "work_joints", "w": "acceleration", "a": "shifted_acceleration", "U": "U", "W": "W", "lam": "la",
    "La": "La", "nu": "nu", "sets": "sets",
}  # fmt: skip
PARTS = {
    "begin": begin_step, "evaluate": evaluate, "change": change, "speak": speak, "levels": solve_levels, "accelerate": accelerate,
    "finish": finish_step,
}  # fmt: skip
FORMS = {
    "P": core.P, "V": core.V, "A": core.A, "PV": core.PV, "PV-GGL": core.GGL, "PVV": core.PVV, "PVA": core.PVA, "PVV-2014": core.PVV,
}  # fmt: skip
ACTIVATIONS = {"augmented": core.AUGMENTED, "gap": core.BY_GAP, "smooth-gap": core.BY_SMOOTH_GAP}
SMOOTH_SETS = {
    "none": core.NONE,
    "bilateral": core.BILATERAL,
    "resting": core.RESTING,
    "literal": core.LITERAL,
}
ITERATIONS = {"coupled": {}, "subproblems": {"change": residuals, "levels": three_problems}}
#: From so many rows on the sparse step is quicker.
MANY_ROWS = 24
#: Parts of the sparse step of systems with joints only.
JOINTED = {
    "begin": begin_jointed, "evaluate": evaluate_jointed, "change": change_jointed, "speak": speak_jointed, "levels": take_jointed,
    "finish": finish_jointed,
}  # fmt: skip
STARTS = {"shifted": core.SHIFTED, "plain": core.PLAIN, "zero": core.ZERO}


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
        choice("constraints", self.constraints, ("auto", *FORMS))
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
        if self.constraints == "P" and self.rtol is not None:
            raise InputError(
                '`rtol` is given with constraints="P": positions alone answer every change of the step by forces of their own, '
                'however short steps are (index 3); use dt=..., or constraints="PVA".'
            )
        if self.constraints == "P" and radius_at_infinity(*self.weights()) >= 1.0 - 1e-9:
            given = (
                "`rho_inf` is 1"
                if self.coefficients is None
                else f"`coefficients` is {self.coefficients}, without damping,"
            )
            raise RangeError(
                f'{given} with constraints="P": constraints on position level alone are unstable without damping; use '
                'rho_inf < 1, or constraints="PVA".'
            )

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
        rho = self.rho_inf
        alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        gamma = 0.5 + alpha_f - alpha_m
        return alpha_m, alpha_f, gamma, 0.25 * (gamma + 0.5) ** 2

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


class Restarting(SchemeRun):
    """A run whose accelerations start anew where functions of the model may jump: at breakpoints, samples of controllers, resets."""

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        last = t_end == self.plan.segments[-1][1] and not self.plan.jumps_at_end
        self._parts["own"].record.weights.breaks = math.inf if last else t_end
        if self.state.own[core.HEAD.index("ready")]:
            self.state.own[core.HEAD.index("jumped")] = core.BROKEN

    def restart(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super().restart(t, q, u)
        self.state.own[core.HEAD.index("ready")] = 0.0


class AlphaRun(Restarting, ConstantStepRun):
    """A run with constant steps."""


class ControlledRun(Restarting):
    """A run with steps chosen by their error (`_core.stepping.alpha.control`)."""

    def __init__(self, scheme: GeneralizedAlpha, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        self.own = make_controlled(model.n_u)
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={"step": (controlled_step, STEP), "base": (alpha_step, STEP), "control": Reference(self.own)},
        )  # fmt: skip
        control = self.own.control
        control.span = plan.segments[-1][1] - plan.segments[0][0] if plan.segments else 1.0
        control.rtol, control.alpha, control.alpha_min, control.alpha_max = scheme.rtol, 0.9, 0.2, 4.0
        control.velocity = velocity_error(*scheme.weights())
        control.dt_min = 64 * np.finfo(float).eps * max(abs(t), abs(t + control.span))
        control.dt_max = scheme.dt_max if scheme.dt_max is not None else control.span / 50
        control.dt_next = min(1e-2 * time_scale(model, t, q, u, control.span), control.dt_max)

    def diverges(self) -> bool:
        return bool(self.own.control.bursts)

    def totals(self) -> dict[str, Any]:
        work = {name: float(getattr(self.books, name)) for name in ("work_forces", "work_contacts")}
        return super().totals() | work


def check_control(scheme) -> None:
    """`rtol` and `dt_max` as a user gives them."""
    if scheme.rtol is None and scheme.dt_max is not None:
        raise InputError("`dt_max` is given without `rtol`: it belongs to controlled steps.")
    for name in ("rtol", "dt_max"):
        if getattr(scheme, name) is not None:
            object.__setattr__(scheme, name, positive(name, getattr(scheme, name)))
    if scheme.rtol is not None and not 1e-13 <= scheme.rtol <= 1.0:
        raise RangeError(f"`rtol` is {scheme.rtol:g}: it must lie between 1e-13 and 1.")


def radius_at_infinity(alpha_m: float, alpha_f: float, gamma: float, beta: float) -> float:
    """Largest factor of a step at infinite frequency: roots of (1 - alpha_f) z + alpha_f and of Newmark's quadratic."""
    roots = [*np.roots([beta, 0.5 + gamma - 2.0 * beta, 0.5 - gamma + beta]), alpha_f / (1.0 - alpha_f)]
    return float(np.max(np.abs(roots)))


def velocity_error(alpha_m: float, alpha_f: float, gamma: float, beta: float) -> float:
    """Local error of velocities by h^3 d^2 w/dt^2 (see `_core.stepping.alpha.control`)."""
    sigma = alpha_m - alpha_f
    c = 0.5 * ((1.0 - alpha_f) - (1.0 - alpha_m) * (1.0 + 2.0 * sigma) - sigma**2)
    return abs(1.0 / 12.0 + c - 0.5 * sigma**2)


def newmark(gamma: float = 0.5, beta: float = 0.25) -> tuple[float, float, float, float]:
    """Coefficients of Newmark's method (of second order for gamma = 1/2 only)."""
    return 0.0, 0.0, gamma, beta


def hht(alpha: float = 0.1) -> tuple[float, float, float, float]:
    """Coefficients of Hilber, Hughes and Taylor, 0 <= alpha <= 1/3."""
    if not 0.0 <= alpha <= 1.0 / 3.0:
        raise RangeError(f"`alpha` is {alpha:g}: it must lie between 0 and 1/3.")
    return 0.0, alpha, 0.5 + alpha, 0.25 * (1.0 + alpha) ** 2


def checked_coefficients(value: Any) -> tuple[float, float, float, float] | None:
    """alpha_m, alpha_f, gamma, beta as a user gives them."""
    if value is None:
        return None
    try:
        alpha_m, alpha_f, gamma, beta = (float(x) for x in value)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`coefficients` is {value!r}: four numbers (alpha_m, alpha_f, gamma, beta) are wanted."
        ) from exc
    if not all(math.isfinite(x) for x in (alpha_m, alpha_f, gamma, beta)):
        raise NonFiniteError(f"`coefficients` is {value!r}: they must be finite.")
    if not (alpha_m < 1.0 and alpha_f < 1.0 and gamma > 0.0 and beta > 0.0):
        raise RangeError(f"`coefficients` is {value!r}: alpha_m, alpha_f < 1 and gamma, beta > 0 are wanted.")
    return alpha_m, alpha_f, gamma, beta


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


def own_record(scheme, model) -> Reference:
    """The record of the compiled step, with the tangent and the mass of the model."""
    from nonsmooth.model.matrix_operator import MatrixOperator

    tangents, size, laws = model.tangent_parts, model.size(), model.laws.core()
    definite = getattr(model, "definite_tangent", False)
    factors, mass = MatrixOperator(tangents.pattern, definite=definite), model.mass_operator
    n_P = size.n_N + size.n_joints
    problem = make_problem(
        solve_laws.addresses(model.core.project), n_P + size.n_laws, n_P + size.n_rows, as_solver(scheme.solver).options()
    )  # fmt: skip
    outside = PlainCall(partial(_solve_outside, problem, scheme.solver))
    problem.at.outside = outside.address
    at_problem = Reference(problem)
    sparse = jointed_record(scheme, model, tangents)
    parts = PARTS | ITERATIONS[scheme.iteration] | (JOINTED if sparse is not None else {})
    at = address_record(
        **{name: (part, core.PART) for name, part in parts.items()}, **LIBRARY,
        tangent=tangents.reference, factors=factors.reference, mass=mass.reference, mass_factors=mass.factors.reference,
        space=model.space.reference, problem=at_problem, jointed=0 if sparse is None else sparse,
    )  # fmt: skip
    law_of = np.zeros(max(size.n_rows, 1), dtype=np.int64)
    for l in range(size.n_laws):
        law_of[laws.row[l] : laws.row[l] + laws.dim[l]] = l
    own = core.make_alpha(at, size, tangents.pattern, pattern_of_directions(model), problem, law_of)
    own.weights.breaks = math.inf
    x = own.options
    x.form = FORMS["PVA" if scheme.constraints == "auto" else scheme.constraints]
    if x.form == core.A:
        own.slots.level[n_P:] = core.ACCELERATION
        x.baumgarte_1, x.baumgarte_0 = 2.0 * scheme.baumgarte[0], scheme.baumgarte[1] ** 2
    x.alpha_m, x.alpha_f, x.gamma, x.beta = scheme.weights()
    x.activation, x.smooth = ACTIVATIONS[scheme.activation], SMOOTH_SETS[scheme.smooth_set]
    x.start, x.tol = STARTS[scheme.start_from], scheme.tol
    x.restart = int(scheme.restart or scheme.rtol is not None)
    x.apart = int(scheme.iteration == "subproblems")
    x.exact = int(
        getattr(model, "exactly_linear", False) and size.constant_M and size.constant_W and not x.apart
    )
    x.linear = int(x.exact or (sparse is None and is_linear(model)))
    x.damped = int(getattr(model, "damped", True))
    return KeepingReference(own, factors, at_problem, outside, mass, sparse)


def jointed_record(scheme, model, tangents):
    """The record of the sparse step, where it serves: a world of many joints, "PVA", no other laws; else None."""
    if (
        scheme.constraints not in ("auto", "PVA")
        or scheme.iteration != "coupled"
        or scheme.smooth_set != "resting"
    ):
        return None
    if not hasattr(model, "assembly") or model.laws.n_rows < MANY_ROWS:
        return None
    if model.size().n_joints != model.laws.n_rows:  # contacts, friction, rolling
        return None
    from nonsmooth.schemes.jointed import make_record

    return make_record(model, tangents)


def pattern_of_directions(model):
    """Where W^T can have entries: known of worlds, anywhere in models of functions."""
    from nonsmooth.model.colouring import Pattern

    rows = max(model.laws.n_rows, 1)
    return (
        model.pattern_W
        if hasattr(model, "mass_values") and model.laws.n_rows
        else Pattern.full(rows, model.n_u)
    )


def is_linear(model) -> bool:
    """Whether the tangent is the same wherever it is looked at: then it is found once. (A wrong yes costs iterations, no more.)"""
    if not model.constant_mass or model.f_kinematics is not None:
        return False
    found: Any = []
    la = np.zeros(max(model.laws.n_rows, 1))
    for t, q, u in model.differentiator.points():
        found.append(model.tangent_parts.values(t, q, u, np.cos(u), la, model.parameters.flat, 1.0, 1.0, 1.0))
    found = np.array(found)
    found = found[np.all(np.isfinite(found), axis=1)]
    if len(found) < 2:
        return False
    size = np.max(np.abs(found), initial=0.0)
    return bool(np.max(np.abs(found - found[0]), initial=0.0) <= 1e-9 * size)
