"""The scheme `event-driven`: smooth phases by a Runge-Kutta method, every impact and change of mode located.

Equations in `_core.stepping.event_driven`: `step`, `motion` (in given modes), `transition` (`impact`, `modes`, `rest`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.late import Late
from nonsmooth._core.integrators.records import EXPLICIT
from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.records import status as codes
from nonsmooth._core.records.laws import USER_SET
from nonsmooth._core.records.process import ENERGETIC, NEWTON, POISSON, STAGES
from nonsmooth._core.records.scene import BETWEEN, STEP
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.errors import (
    DegenerateWarning,
    DiscontinuityWarning,
    GrazingWarning,
    InputError,
)
from nonsmooth.integrators.tableaus import explicit_methods, get_method
from nonsmooth.model.start import resting
from nonsmooth.schemes.base import Plan, Scheme
from nonsmooth.schemes.choices import choices_of
from nonsmooth.schemes.options import choice, positive, tolerances
from nonsmooth.schemes.run import SchemeRun
from nonsmooth.schemes.spare import taken
from nonsmooth.warn import warn_user

#: The implicit integrator; the explicit one and this where it serves better.
STIFF, AUTO, EXPLICIT_PAIR = "Radau", "auto", "DOP853"
#: Components up to which `AUTO` may take the implicit one, whose matrices have three times as many rows.
MOST_IMPLICIT = 300
#: Explicit steps that must be left for it to pay, each counted with what an implicit step costs more.
WORTH = 1000.0
PARADOX = ("impulse", "raise")
#: Hypotheses of restitution.
RESTITUTION = {"newton": NEWTON, "poisson": POISSON, "energetic": ENERGETIC}
CHECKED = 1000  # steps that the audit repeats
#: Contacts may move the end of a step by so many tolerances; a step itself may err by one.
LEDGE = 100.0


@dataclass(frozen=True)
class EventDriven(Scheme):
    """Event-driven integration of any mechanical system with contacts, friction and joints.

    Parameters
    ----------
    integrator : str
        Explicit Runge-Kutta pair of the smooth phases: "DOP853", "RKF78", "RK45", "RKF45", "RK23", "RK3", or one of your own
        (`nonsmooth.extend.add_integrator`). "Radau" for stiff forces: Radau IIA of order 5. "auto" begins with "DOP853" and
        takes "Radau" while stability, not accuracy, holds the explicit steps short; ``result.message`` says where.
    rtol, atol : float
        Tolerances of the error of a step; by default each component is measured against the largest size it has had.
    dt_max : float, optional
        Longest step; a fiftieth of the span if left out.
    solver : Exact, PSOR, PJOR, ContactMethod or str
        Solver of impacts and transitions.
    paradox : {"impulse", "raise"}
        Where a sliding contact jams (no forces satisfy the laws, Painleve): an impact without collision, or `NoSolutionError`.
    restitution : {"newton", "poisson", "energetic"}
        What the coefficients of restitution compare: velocities; impulses of compression and expansion; their works (Stronge). They
        differ with friction and with several contacts; Newton's may create energy there, the energetic one never does.
    """

    integrator: str = AUTO
    rtol: float = 1e-6
    atol: float = 0.0
    dt_max: float | None = None
    solver: StepSolver | str = field(default_factory=Exact)
    paradox: str = "impulse"
    restitution: str = "newton"

    name = "event-driven"
    compile_seconds = 70
    order = None
    locates = True
    serves_again = True
    counts_gains = True
    asks = ("kappa", "joints")

    def __post_init__(self):
        known = [AUTO, *explicit_methods(), STIFF]
        if self.integrator not in known:
            raise InputError(f"`integrator` is {self.integrator!r}: one of {', '.join(known)} is wanted.")
        choice("paradox", self.paradox, PARADOX)
        choice("restitution", self.restitution, RESTITUTION)
        tolerances(self.rtol, self.atol)
        if self.dt_max is not None:
            positive("dt_max", self.dt_max)
        object.__setattr__(self, "solver", as_solver(self.solver))

    def refuses(self, model) -> str:
        own = model.laws.kind == USER_SET
        if not np.any(own):
            return ""
        law = model.laws.name[int(np.argmax(own))]
        return f"element {law!r} has a set of its own, whose modes cannot be told apart"

    def first_integrator(self) -> str:
        """The integrator a run begins with."""
        return EXPLICIT_PAIR if self.integrator == AUTO else self.integrator

    def differentiated(self, by: tuple[str, ...]) -> EventDriven:
        from nonsmooth.schemes.sensitivities import VariedEventDriven

        return VariedEventDriven.of(self, by)

    def options(self) -> dict[str, Any]:
        chosen = {
            name: getattr(self, name)
            for name in ("integrator", "rtol", "atol", "dt_max", "paradox", "restitution")
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit import audit_adaptive

        breaks = [end for _, end in plan.segments[:-1]]
        return audit_adaptive(
            model,
            result,
            totals,
            self.rtol,
            self.atol,
            midpoint_base=False,
            max_checked=CHECKED,
            breaks=breaks,
            newton=self.restitution == "newton",
        )

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> EventDrivenRun:
        spare = taken(model, self, plan)
        if spare is not None:
            return spare.again(model, t, q, u, plan)
        return EventDrivenRun(self, model, t, q, u, plan)


@cache
def parts_of_motion():
    """Addresses of the parts that steps in given modes and transitions are made of, by name."""
    from nonsmooth._core.stepping.event_driven import (
        end_of_step,
        modes,
        motion,
        paradox,
        records,
        rest,
        runge_kutta,
        step,
        transition,
    )

    functions = {
        "accelerate": motion.accelerate, "integrate": runge_kutta.integrate, "begin_trial": step.begin_trial, "hold": end_of_step.hold,
        "finish": end_of_step.finish, "transition": transition.transition, "look": transition.look, "settle": modes.settle,
        "rest": rest.rest, "jam": paradox.jam,
    }  # fmt: skip
    parts = {name: (functions[name], signature) for name, signature in records.PARTS.items()}
    return address_record(**parts, process=impact_process_part(), implicit=implicit_part())


@cache
def implicit_part() -> Late:
    """Implicit steps, compiled when the first of them is taken."""
    from nonsmooth._core.stepping.event_driven.stiff_motion import integrate_stiff

    return Late(integrate_stiff, STEP)


@cache
def impact_process_part() -> Late:
    """Impacts as a process, compiled when the first of them happens."""
    from nonsmooth._core.stepping.event_driven.impact_process.process import impact_process
    from nonsmooth._core.stepping.event_driven.records import SETTLE

    return Late(impact_process, SETTLE)


def ask_restitution(own, restitution: str) -> None:
    """The hypothesis of restitution, and the Runge-Kutta method that follows an impact."""
    own.control.restitution = RESTITUTION[restitution]
    own.process.A[:] = get_method("DOP853").tableau.A[: STAGES + 1, :STAGES]


def _tableau(method):
    """A with b as its last row, c, and the error estimators of an integrator, as the steps take them."""
    if method.kind != EXPLICIT:
        from nonsmooth._core.stepping.event_driven.stiff_motion import tableau as radau

        return radau()
    s, tableau = method.stages, method.tableau
    A, E = tableau.A[: s + 1, : s + 1], tableau.E[:, : s + 1]
    return np.ascontiguousarray(A), tableau.c[: s + 1].copy(), np.ascontiguousarray(E)


class Change(NamedTuple):
    """Where another integrator took over, the last step before it, and which."""

    t: float
    dt: float
    integrator: str


class EventDrivenRun(SchemeRun):
    """A run of `EventDriven` in progress."""

    def __init__(
        self, scheme: EventDriven, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan, n_own: int = 0
    ):
        from nonsmooth._core.stepping.event_driven.records import make_own

        why = scheme.refuses(model)
        if why:
            raise InputError(f'{why}: use method="extrapolated-moreau".')
        parts = parts_of_motion()
        A, c, E = _tableau(get_method(scheme.first_integrator()))
        self.own = make_own(parts, model.size(), A, c, E, n_own)
        ask_restitution(self.own, scheme.restitution)
        super().__init__(scheme, model, t, q, u, plan, parts=self.parts_of_run(scheme, model), n_own=n_own)

    def _place(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super()._place(t, q, u)
        scheme, model, plan, control = self.scheme, self.model, self.plan, self.own.control
        method = get_method(scheme.first_integrator())
        span = plan.segments[-1][1] - t if plan.segments else 1.0
        self.set_controls(control, scheme, method, span)
        control.dt_next = control.dt_smooth = 1e-2 * control.dt_max
        control.jump = control.at_start = 1
        control.ledge = LEDGE
        control.strict = scheme.paradox == "raise"
        self.watch_stiffness(plan.segments[-1][1] if plan.segments else t)
        self.own.scale[:] = np.abs(np.concatenate([q, u]))
        if model.laws.n_N:
            # a body at rest on the origin of its coordinates has a gap of rounding size, not a fall to come
            self.state.modes[: model.laws.n_N] = resting(model, t, q, u, span)
        self.info.order = method.order

    def parts_of_run(self, scheme, model) -> dict[str, Any]:
        """Step, state inside a step, own record."""
        from nonsmooth._core.stepping.event_driven.step import event_driven_between, event_driven_step

        parts = {
            "step": (event_driven_step, STEP), "between": (event_driven_between, BETWEEN),
            "own": Reference(self.own),
        }  # fmt: skip
        if scheme.integrator == STIFF:
            from nonsmooth._core.stepping.event_driven.stiff_motion import make_stiff

            parts["projection"] = Reference(make_stiff(model.n_q + model.n_u))
        return parts

    # -- the integrator that serves (`AUTO`) ------------------------------------------------------------------------------

    def watch_stiffness(self, t_final: float) -> None:
        """What the steps need to know to ask for the other integrator (`_core.stepping.event_driven.stiffness`)."""
        control, size = self.own.control, self.model.size()
        n, n_u = size.n_q + size.n_u, size.n_u
        self.changes: list[Change] = []
        control.implicit = self.scheme.integrator == STIFF
        control.watched = self.scheme.integrator == AUTO and n <= MOST_IMPLICIT
        # evaluations for its Jacobian and iterations, elimination beside an evaluation (a call, M = L L^T, rows of laws)
        evaluation = 200.0 + n_u**3 / 6 + 2.0 * size.n_rows * n_u**2
        control.gain = (n + 25.0 + 20.0 * n**3 / evaluation) / control.stages
        control.worth, control.t_final, control.backing = WORTH * control.gain, t_final, 1

    def advance(self, budget: int) -> int:
        status = super().advance(budget)
        if status != codes.OTHER_INTEGRATOR:
            return status
        self.change_integrator()
        return codes.OK

    def change_integrator(self) -> None:
        """From the explicit integrator to the implicit one, or back."""
        own, control = self.own, self.own.control
        control.implicit = not control.implicit
        if control.implicit:
            control.dt_explicit = control.dt_smooth
            self.make_room()
        name = STIFF if control.implicit else EXPLICIT_PAIR
        method = get_method(name)
        for array, values in zip((own.A, own.c, own.E), _tableau(method)):
            array[...] = 0.0
            array[tuple(slice(n) for n in values.shape)] = values
        self.set_method(control, method)
        self.info.order = method.order
        control.change = control.suspicious = control.calm = control.vain = 0
        self.changes.append(Change(self.t, float(control.dt_smooth), name))

    def make_room(self) -> None:
        """Work space of the implicit integrator, when it is first wanted."""
        if not isinstance(self._parts["projection"], Reference):
            from nonsmooth._core.stepping.event_driven.stiff_motion import make_stiff

            self._parts["projection"] = Reference(make_stiff(self.model.n_q + self.model.n_u))
        self.scene.at.projection = self._parts["projection"].address

    def remarks(self) -> list[str]:
        if not self.changes:
            return []
        first, more = self.changes[0], len(self.changes) - 1
        back = f"; changed {more} more time{'s' * (more > 1)}" if more else ""
        where = f"from t = {first.t:.9g} on, where stability, not the error, held steps to {first.dt:.3g}"
        return [f"{STIFF} instead of {EXPLICIT_PAIR} {where}{back}"]

    @classmethod
    def set_controls(cls, control, scheme, method, span) -> None:
        """What is asked of the steps."""
        control.rtol, control.atol = scheme.rtol, scheme.atol
        cls.set_method(control, method)
        control.dt_max = scheme.dt_max if scheme.dt_max is not None else span / 50

    @staticmethod
    def set_method(control, method) -> None:
        """Stages and order of an integrator."""
        control.stages = len(_tableau(method)[1]) - 1
        control.error_order = method.error_order

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        # forces and surfaces may jump at a breakpoint: what sticks may slip, what is closed may open or be struck
        self.own.control.jump = self.own.control.at_border = 1
        self.own.control.repeated = 0

    def stop_at(self, t: float) -> None:
        super().stop_at(t)
        self.own.control.searching = 0  # what is looked for lies behind
        self.own.control.dt_next = max(self.own.control.dt_next, self.own.control.dt_smooth)

    def restart(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super().restart(t, q, u)
        control = self.own.control
        control.jump = control.at_start = 1
        control.repeated = control.searching = 0
        self.own.fired[:] = 0

    def diverges(self) -> bool:
        """Beside a jump of a force the velocity hardly changes in the shortest step; beside a pole by its own size."""
        u, change = self.own.scale[self.model.n_q :], self.own.pull * abs(self.info.dt)
        return bool(np.any((u > 0) & (change > 1e-6 * u)))

    def ambiguous(self) -> list[dict[str, Any]]:
        return choices_of(self.model, self.own.choices)

    def warn(self) -> None:
        """What a user should know of the run."""
        control = self.own.control
        if control.jams:
            law = self.model.laws.name[int(control.law_jam)]
            warn_user(
                f"the sliding contact {law!r} jams at t = {control.t_jam:.9g} (such instants: {int(control.jams)}): no forces satisfy the "
                "laws there (Painleve's paradox), an impulse without collision does and was taken; less friction excludes it, "
                "paradox='raise' ends the run there.",
                DegenerateWarning,
            )
        if control.grazings:
            warn_user(
                f"a contact was touched without speed near t = {control.t_grazing:.9g} ({int(control.grazings)} such instants): whether it "
                "closes there depends on errors of the size of the tolerance.",
                GrazingWarning,
            )
        if control.discontinuities:
            warn_user(
                f"a force or gap seems to jump at t = {control.t_discontinuity:.9g} ({int(control.discontinuities)} such instants): "
                "declare instants of discontinuities as breakpoints=[...], so that steps end on them.",
                DiscontinuityWarning,
            )
