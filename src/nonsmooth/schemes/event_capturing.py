"""The scheme `event-capturing` (Acary 2012, sec. 5): a Runge-Kutta method of order p in smooth phases, short critical steps between.

Equations in `_core.stepping.event_capturing`: `stages` (the stages, (62)-(64)) and `step` (Algorithm 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from nonsmooth._core.jit import VECTOR, Reference, address
from nonsmooth._core.records.laws import USER_SET
from nonsmooth._core.records.scene import BETWEEN, STEP
from nonsmooth.contact.solvers import Exact, _Solver
from nonsmooth.errors import GrazingWarning, InputError, RangeError
from nonsmooth.integrators.stage_tables import ALIASES, TABLES, StageTable, stage_table
from nonsmooth.model.start import start_key
from nonsmooth.schemes.base import Plan, Scheme, checked_step
from nonsmooth.schemes.choices import choices_of
from nonsmooth.schemes.event_driven import parts_of_motion
from nonsmooth.schemes.extrapolation import time_scale
from nonsmooth.schemes.options import choice, number, positive, tolerances
from nonsmooth.schemes.run import SchemeRun
from nonsmooth.schemes.spare import taken
from nonsmooth.warn import warn_user

FORMS = ("stabilised", "index-1", "index-2")
STAGES = ("equalities", "complementarity")
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class EventCapturing(Scheme):
    """Higher-order event capturing: Runge-Kutta in smooth phases, Moreau's step over the short critical steps between them.

    Parameters
    ----------
    tableau : str
        Runge-Kutta method of the smooth phases: implicit "radau1", "radau3", "radau5", "lobatto2", "lobatto4", "lobatto6", "SDIRK4";
        half-explicit "midpoint2", "kutta3", "RK23", "rk4", "RK45" ("dopri5"), "RKF78", "DOP853". Digits are orders.
    dt : float
        Step of the grid; events cut steps of it in pieces.
    rtol, atol : float
        Instead of `dt`: tolerances of the error of a smooth step (by default 1e-6, and each component against the largest size it has had).
    dt_max : float, optional
        Longest step where `rtol` is given; a fiftieth of the span if left out.
    critical_order : {0, 1, 2, 3}
        Order q of the critical method: Moreau's step, or impact at an instant known to O(hbar^(q+1)) by interpolation.
    critical : float
        C of the length C T (dt/T)^((p+1)/(q+1)) of a critical step; T is the time scale of the model at the start.
    form : {"stabilised", "index-1", "index-2"}
        What holds while a law is a constraint: accelerations in stages, positions and velocities after steps; accelerations only;
        velocities in stages.
    stages : {"equalities", "complementarity"}
        Forces of closed contacts in stages: of constraints (62), or of the laws on accelerations (63).
    acceleration_term : bool
        False leaves d/dt(W^T) u out, as the formulas are printed: wrong for curved constraints, to see that it matters.
    solver : Exact, PSOR or PJOR
        Solver of impacts and of the laws on accelerations.
    """

    tableau: str = "radau5"
    dt: float | None = None
    rtol: float | None = None
    atol: float = 0.0
    dt_max: float | None = None
    critical_order: int = 0
    critical: float = 1e-5
    form: str = "stabilised"
    stages: str = "equalities"
    acceleration_term: bool = True
    solver: _Solver = field(default_factory=Exact)

    name = "event-capturing"
    locates = True
    serves_again = True
    asks = ("kappa", "joints")

    def __post_init__(self):
        self._check_tableau()
        if self.dt is not None:
            if self.rtol is not None:
                raise InputError(
                    "`dt` and `rtol` are both given: a grid has a step, or steps follow a tolerance."
                )
            object.__setattr__(self, "dt", checked_step(self.dt))
        elif self.rtol is None:
            object.__setattr__(self, "rtol", 1e-6)
        if self.rtol is not None:
            tolerances(self.rtol, self.atol)
        if self.dt_max is not None:
            positive("dt_max", self.dt_max)
        number("critical", self.critical)
        if not 0.0 < self.critical <= 1.0:
            raise RangeError(f"`critical` is {self.critical:g}: it must be positive and at most 1.")
        if self.critical_order not in (0, 1, 2, 3) or isinstance(self.critical_order, bool):
            raise InputError(f"`critical_order` is {self.critical_order!r}: 0, 1, 2 or 3 is wanted.")
        if not isinstance(self.solver, _Solver):
            raise InputError(f"`solver` is {self.solver!r}: give Exact(...), PSOR(...) or PJOR(...).")

    def _check_tableau(self) -> None:
        choice("form", self.form, FORMS)
        choice("stages", self.stages, STAGES)
        known = (*TABLES, *ALIASES)
        if not isinstance(self.tableau, str) or self.tableau not in known:
            raise InputError(f"`tableau` is {self.tableau!r}: one of {', '.join(known)} is wanted.")
        if self.form == "index-2" and self.table.solves_velocities is None:
            able = ", ".join(name for name in TABLES if stage_table(name).solves_velocities is not None)
            raise InputError(
                f'`tableau` {self.tableau!r} cannot carry the form "index-2": velocities of its stages do not determine their forces '
                f"(its matrix, or its subdiagonal, has zeros); use one of {able}, or another form."
            )
        if self.form == "index-2" and self.stages == "complementarity":
            raise InputError(
                '`stages` "complementarity" is a law on accelerations: it does not go with form "index-2".'
            )

    @property
    def table(self) -> StageTable:
        """The Runge-Kutta method."""
        return stage_table(self.tableau)

    @property
    def order(self) -> int:
        """In smooth phases and, in coordinates, across events."""
        return self.table.order

    def options(self) -> dict[str, Any]:
        names = (
            "tableau", "dt", "rtol", "atol", "dt_max", "critical_order", "critical", "form", "stages", "acceleration_term",
        )  # fmt: skip
        chosen = {name: getattr(self, name) for name in names}
        return {name: value for name, value in chosen.items() if value is not None}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit import audit_adaptive

        promised = self.rtol if self.rtol is not None else totals["promised"]
        audit = audit_adaptive(
            model, result, totals, promised, self.atol, controlled=self.rtol is not None, midpoint_base=False
        )
        if totals["critical_steps"]:
            audit.notes.append(forecast_note(totals))
        return audit

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> EventCapturingRun:
        spare = taken(model, self, plan)
        if spare is not None:
            return spare.again(model, t, q, u, plan)
        return EventCapturingRun(self, model, t, q, u, plan)


def kept_time_scale(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> float:
    """The time scale of a start, found once for all runs from it."""
    start, checked = (start_key(model, t, q, u), span), getattr(model, "checked", {})
    if checked.get("time scale", (None,))[0] != start:
        checked["time scale"] = start, time_scale(model, t, q, u, span)
    return checked["time scale"][1]


def forecast_note(totals) -> str:
    """How often the contacts struck in critical steps were those that close there."""
    n, right = totals["critical_steps"], totals["forecast_right"]
    text = f"forecast of impacts (37) right in {right} of {n} critical steps"
    return text if right == n else text + f", wrong last at t = {totals['forecast_wrong_t']:.9g}"


@cache
def filter_of(tableau: str) -> float:
    """`StageTable.filter`, found once."""
    return stage_table(tableau).filter


@cache
def matrices(tableau: str) -> tuple[np.ndarray, ...]:
    """What stages and error estimates need of a table: the estimators of `error_of_step`, A^2, E, A~^-1."""
    table = stage_table(tableau)
    estimator, A, inverse = table.E, table.A[:-1, :-1], table.solves_velocities
    if table.implicit:  # its filtered estimate stands in the last slope
        estimator = np.zeros_like(table.E)
        estimator[0, -1] = 1.0
    return (
        estimator,
        np.ascontiguousarray(A @ A),
        table.E[0].copy(),
        inverse if inverse is not None else np.zeros((1, 1)),
    )


class EventCapturingRun(SchemeRun):
    """A run of `EventCapturing` in progress."""

    def __init__(self, scheme: EventCapturing, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        from nonsmooth._core.stepping.event_capturing import records, stage, step
        from nonsmooth._core.stepping.event_driven.records import make_own

        if np.any(model.laws.kind == USER_SET):
            law = model.laws.name[int(np.argmax(model.laws.kind == USER_SET))]
            raise InputError(
                f'element {law!r} has a set of its own, whose modes cannot be told apart: use method="extrapolated-moreau".'
            )
        table, size = scheme.table, model.size()
        estimator, A2, E, inverse = matrices(table.name)
        self.own = make_own(parts_of_motion(), size, table.A, table.c, estimator)
        self.capture = records.make_capture(size, table.stages, A2, E, inverse, np.zeros(size.n_q))
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={
                "step": (step.event_capturing_step, STEP),
                "between": (step.event_capturing_between, BETWEEN),
                "own": Reference(self.own), "control": Reference(self.capture),
            },
        )  # fmt: skip
        if not scheme.acceleration_term:
            self.scene.model.at.kappa = address(stage.no_acceleration_term, VECTOR)

    def _place(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super()._place(t, q, u)
        table, plan = self.scheme.table, self.plan
        span = plan.segments[-1][1] - t if plan.segments else 1.0
        self._ask(self.scheme, table, span, kept_time_scale(self.model, t, q, u, 50.0 * span))
        self.own.scale[:] = np.abs(np.concatenate([q, u]))
        self.capture.reach[:] = self.model.differentiator.scales["q"]
        self.info.order = table.order

    def _ask(self, scheme: EventCapturing, table: StageTable, span: float, T: float) -> None:
        """Options into the records."""
        own, wanted = self.own.control, self.capture.control
        p, q = table.order, scheme.critical_order
        wanted.order, wanted.implicit, wanted.critical_order = p, table.implicit, q
        wanted.index_2, wanted.complementary = scheme.form == "index-2", scheme.stages == "complementarity"
        wanted.constant, wanted.time_scale, wanted.filter = scheme.critical, T, filter_of(table.name)
        own.stages, own.error_order, own.drifts = table.stages, table.error_order, scheme.form != "stabilised"
        if scheme.dt is not None:
            wanted.dt, wanted.newton = scheme.dt, 1e-15
            own.dt_max = own.dt_smooth = scheme.dt
            own.dt_next = math.inf
            # what a critical step of order 0 would leave of an instant: rebounds below it are rest
            own.rtol = min(max(scheme.critical * (scheme.dt / T) ** (p + 1), 4 * EPS), 1e-2)
        elif scheme.rtol is not None:
            wanted.dt, wanted.newton = 0.0, max(1e-15, 1e-3 * scheme.rtol)
            own.rtol, own.atol = scheme.rtol, scheme.atol
            own.dt_max = scheme.dt_max if scheme.dt_max is not None else span / 50
            own.dt_next = own.dt_smooth = 1e-2 * own.dt_max
        own.jump = own.at_start = 1
        self.promised = min(max((scheme.dt or 0.0) / T, 1e-6) ** p, 1e-2)

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        # forces and surfaces may jump at a breakpoint: what sticks may slip, what is closed may open or be struck
        self.own.control.jump = self.own.control.at_border = 1
        self.own.control.repeated = 0
        wanted = self.capture.control
        wanted.have_tangent = wanted.crossing = 0
        wanted.known, wanted.dt_before = 0, 0.0
        wanted.grid_begin, wanted.grid_step, wanted.last_trial = t_begin, 0, 0.0

    def totals(self) -> dict[str, Any]:
        wanted = self.capture.control
        return super().totals() | {
            "promised": self.promised, "critical_steps": int(wanted.critical_steps), "forecast_right": int(wanted.forecast_right),
            "forecast_wrong_t": float(wanted.t_wrong),
        }  # fmt: skip

    def ambiguous(self) -> list[dict[str, Any]]:
        return choices_of(self.model, self.own.choices)

    def warn(self) -> None:
        """What a user should know of the run."""
        control = self.own.control
        if control.grazings:
            warn_user(
                f"a contact was touched without speed near t = {control.t_grazing:.9g} ({int(control.grazings)} such instants): whether it "
                "closes there depends on errors of the size of the tolerance.",
                GrazingWarning,
            )
