"""The scheme `extrapolated-moreau`: Studer's augmented time-stepping.

Three modules, each wrapping the one below without knowing it (Studer, Leine, Glocker 2008, sec. 9): the time-stepping
module (`_core.stepping.moreau`), the extrapolation module (`_core.stepping.extrapolation.main_step`) and the step-size adjustment
module (`_core.stepping.extrapolation.step`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import BETWEEN, STEP
from nonsmooth._core.records.status import OK, UNCONVERGED
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.errors import InputError, RangeError
from nonsmooth.model.rotations import normalised
from nonsmooth.schemes.base import Plan, Scheme
from nonsmooth.schemes.options import choice, positive, tolerances
from nonsmooth.schemes.run import SchemeRun

MAX_LEVELS = 16
SEQUENCES = {
    "odd": [2 * i + 1 for i in range(MAX_LEVELS)],
    "all": [i + 1 for i in range(MAX_LEVELS)],
    "bulirsch": [1, 3, 5, 9, 17, 33, 65, 129],
}


@dataclass(frozen=True)
class ExtrapolatedMoreau(Scheme):
    """Time-stepping with switching-point search, step-size adjustment and extrapolation.

    Parameters
    ----------
    order : int, optional
        Fixed order in smooth parts (sec. 10.3); by default the order follows the tolerances.
    max_order : int
        Highest order.
    dt_min, dt_max : float, optional
        Smallest and largest step; chosen from `rtol` and the time scale of the model if left out. With `locate` switching
        points are crossed by steps a hundred times shorter than `dt_min`.
    rtol, atol : float
        Tolerances of the error test; `atol` defaults to `rtol` times the largest size each component has had.
    substeps : {"odd", "all", "bulirsch"} or sequence of int
        Numbers of substeps. "all" fails at enduring contacts with restitution (sec. 8.1) and is there to show it.
    restitution : {"newton", "modified"}
        "modified" uses e^(dt/dt_min) (sec. 8.2).
    base : {"midpoint", "implicit"}
        The base scheme: Moreau's midpoint rule, or evaluation at the end of the step.
    locate : bool
        Find switching points by secants on the laws' own functions; False is the paper's bisection.
    solver : Exact, PSOR, PJOR, ContactMethod or str
        As in `Moreau`.
    """

    order: int | None = None
    max_order: int = 6
    dt_min: float | None = None
    dt_max: float | None = None
    rtol: float = 1e-6
    atol: float = 0.0
    substeps: Any = "odd"
    restitution: str = "newton"
    base: str = "midpoint"
    locate: bool = True
    solver: StepSolver | str = field(default_factory=Exact)

    name = "extrapolated-moreau"
    compile_seconds = 40
    locates = True

    def __post_init__(self):
        for name in ("dt_min", "dt_max"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.dt_min is not None and self.dt_max is not None and self.dt_min >= self.dt_max:
            raise RangeError(f"`dt_min` = {self.dt_min:g} must be smaller than `dt_max` = {self.dt_max:g}.")
        tolerances(self.rtol, self.atol)
        for name in ("order", "max_order"):
            value = getattr(self, name)
            if value is None and name == "order":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise InputError(f"`{name}` is {value!r}: a whole number is wanted.")
            if not math.isfinite(value) or int(value) != value or not 1 <= value <= MAX_LEVELS:
                raise RangeError(f"`{name}` is {value!r}: a whole number from 1 to {MAX_LEVELS} is wanted.")
        choice("restitution", self.restitution, ("newton", "modified"))
        choice("base", self.base, ("midpoint", "implicit"))
        object.__setattr__(self, "solver", as_solver(self.solver))
        self.sequence()

    def keeps_tolerance(self) -> bool:
        return self.order is None and super().keeps_tolerance()

    def sequence(self) -> list[int]:
        """Numbers of substeps, checked."""
        if isinstance(self.substeps, str):
            if self.substeps not in SEQUENCES:
                raise InputError(
                    f"`substeps` is {self.substeps!r}: one of {', '.join(SEQUENCES)} or a sequence is wanted."
                )
            numbers = SEQUENCES[self.substeps]
        else:
            try:
                numbers = [int(n) for n in self.substeps]
            except (TypeError, ValueError) as exc:
                raise InputError(
                    f"`substeps` is {self.substeps!r}: a name or a sequence of whole numbers is wanted."
                ) from exc
            if not numbers or numbers[0] != 1 or any(b <= a for a, b in pairwise(numbers)):
                raise InputError(
                    f"`substeps` is {self.substeps!r}: an increasing sequence that starts with 1 is wanted."
                )
        wanted = int(self.order or self.max_order)
        if len(numbers) < wanted:
            raise RangeError(f"`substeps` has {len(numbers)} entries: order {wanted} needs as many.")
        return numbers

    def options(self) -> dict[str, Any]:
        """Options by name, for the result."""
        names = ("order", "max_order", "dt_min", "dt_max", "rtol", "atol", "restitution", "base", "locate")
        chosen = {name: getattr(self, name) for name in names}
        chosen["substeps"] = self.substeps if isinstance(self.substeps, str) else str(list(self.substeps))
        return {name: value for name, value in chosen.items() if value is not None}

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> ExtrapolatedRun:
        return ExtrapolatedRun(self, model, t, q, u, plan)

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit import audit_adaptive

        return audit_adaptive(
            model, result, totals, self.rtol, self.atol, controlled=self.order is None, midpoint_base=self.base == "midpoint"
        )  # fmt: skip

    def step_limits(self, model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> tuple[float, float]:
        """`dt_min` and `dt_max`, chosen where they were left out."""
        scale = time_scale(model, t, q, u, span)
        dt_max = self.dt_max if self.dt_max is not None else scale
        resolution = 64 * np.finfo(float).eps * max(abs(t), abs(t + span))
        dt_min = (
            self.dt_min
            if self.dt_min is not None
            else max(min(0.01 * self.rtol * scale, 0.1 * dt_max), resolution)
        )
        if self.dt_min is None and dt_min >= dt_max:
            raise RangeError(
                f"steps of at most {dt_max:g} are too close to the resolution of time at t = {t + span:g} ({resolution / 64:.2g}): "
                "shift the time axis."
            )
        if dt_min < resolution / 16:
            raise RangeError(
                f"`dt_min` = {dt_min:g} is below the resolution of time at t = {t + span:g} ({resolution / 16:.2g}): use "
                "a larger dt_min or shift the time axis."
            )
        if dt_min >= dt_max:
            raise RangeError(f"`dt_min` = {dt_min:g} must be smaller than `dt_max` = {dt_max:g}.")
        return dt_min, dt_max


def time_scale(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> float:
    """min(span/50, |M^-1 dh/dq|^(-1/2), |M^-1 dh/du|^(-1)), by differences at the start."""
    M = model.mass_matrix(t, q)
    h_0 = model.forces(t, q, u)

    def slope(vary_q: bool) -> float:
        x = q if vary_q else u
        J = np.zeros((model.n_u, x.size))
        size = max(float(np.max(np.abs(x), initial=0.0)), 1e-3)
        for j in range(x.size):
            y = x.copy()
            y[j] += 1e-6 * size
            h_1 = model.forces(t, y, u) if vary_q else model.forces(t, q, y)
            J[:, j] = (h_1 - h_0) / (1e-6 * size)
        if vary_q and model.f_kinematics is not None:
            J = J @ model.kinematic_matrix(t, q)
        if not np.any(J) or not np.all(np.isfinite(J)):
            return 0.0
        if model.n_u == 1:
            return float(abs(J[0, 0] / M[0, 0]))
        return float(np.max(np.abs(np.linalg.eigvals(np.linalg.solve(M, J)))))

    scales = [span / 50]
    stiffness, damping = slope(True), slope(False)
    if stiffness > 0:
        scales.append(stiffness**-0.5)
    if damping > 0:
        scales.append(1 / damping)
    return min(scales)


# with location a switching point is crossed by a step of this part of `dt_min`
CROSSING = 0.01


class ExtrapolatedRun(SchemeRun):
    """A run of `ExtrapolatedMoreau` in progress."""

    def __init__(self, scheme: ExtrapolatedMoreau, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        from nonsmooth._core.stepping import moreau
        from nonsmooth._core.stepping.extrapolation import main_step, records, step, switching_points

        self._infinity = switching_points.INFINITY
        size, laws = model.size(), model.laws
        curved = laws.n_rows > 0 and not size.constant_W
        levels = int(scheme.order or scheme.max_order)
        at = dict.fromkeys(records.ADDRESSES, 0) | {"main": (main_step.main_step, records.MAIN)}
        if curved:  # only then compiled
            from nonsmooth._core.stepping.extrapolation.hold_laws import HOLD, hold

            at["hold"] = (hold, HOLD)
        self.own = records.make_own(address_record(**at), size, levels, scheme.sequence())
        base = moreau.implicit_step if scheme.base == "implicit" else moreau.moreau_step
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={
                "step": (step.extrapolated_step, STEP), "between": (step.extrapolated_between, BETWEEN),
                "base": (base, STEP), "own": Reference(self.own),
            },
        )  # fmt: skip
        states = {
            "sub": self.own.tableau.sub, "previous": self.own.previous.state, "actual": self.own.actual.state,
            "between": self.scene.between,
        }  # fmt: skip
        self._states = {name: Reference(state) for name, state in states.items()}
        for name, reference in self._states.items():
            setattr(self.own.at, name, reference.address)
        self.ask.unit = 0  # only the ends of main steps are divided by their length, which hides no error
        self.ask.enduring = curved
        self.control = self.own.control
        self._set_control(scheme, model, t, q, u, curved, levels)
        for point in (self.own.accepted, self.own.previous, self.own.actual):
            point.state.q[:], point.state.u[:], point.span.t_E = q, u, t
        if laws.n_N:
            self._look_at_start(t, q, u)
        self._closed: dict[int, int] = {}  # step in which a law became a constraint last

    def _set_control(self, scheme, model, t, q, u, curved, levels):
        control, tableau = self.control, self.own.tableau
        span = self.plan.segments[-1][1] - self.plan.segments[0][0] if self.plan.segments else 1.0
        self.dt_min, self.dt_max = scheme.step_limits(model, t, q, u, span)
        if scheme.locate:
            # the root of the law's function is known far better than dt_min, and a crossing step costs the same at any length;
            # but what changes in it must stay well above rounding
            rounding = 2**16 * np.finfo(float).eps * max(abs(t), abs(t + span))
            self.dt_min = max(CROSSING * self.dt_min, min(rounding, self.dt_min))
        # a start at the origin of its coordinates tells no length, but its velocities do
        length = max(np.max(np.abs(q), initial=0.0), 1e-6 * span * np.max(np.abs(u), initial=0.0)) or 1.0
        tableau.e_0[: model.laws.n_laws] = model.laws.e
        # a component that starts at zero is measured against the largest of its kind
        for part, values in ((slice(0, q.size), q), (slice(q.size, None), u)):
            tableau.scale[part] = np.maximum(np.abs(values), 0.01 * np.max(np.abs(values), initial=0.0))
        control.max_order, control.fixed_order = levels, int(scheme.order or 0)
        control.locate, control.modified_e = scheme.locate, scheme.restitution == "modified"
        control.implicit = scheme.base == "implicit"
        control.dt_min, control.dt_max = self.dt_min, self.dt_max
        control.rtol, control.atol = scheme.rtol, scheme.atol
        control.dt_next = control.dt_cross = control.dt_smooth = self.dt_min
        control.t_no_increase, control.first = t, 1
        control.gap_tol = 1e-12 * length
        control.stay = control.stay_long = max(1e-9, 10 * scheme.rtol) * length
        if curved:
            control.stay_long = max(0.1 * length, control.stay)

    def _look_at_start(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Contacts that rest on each other within rounding are closed; one about to close does so after the first step, which
        only sets the modes."""
        gap, rate = self._gaps(t, q, u)
        rests = (np.abs(gap) <= self.control.gap_tol) & self._small(rate, u)
        for point in (self.own.accepted, self.own.previous, self.own.actual):
            point.state.modes[: gap.size] = rests
        self.state.modes[: gap.size] = rests
        if np.any(rate < 0.0):
            left = gap[rate < 0.0] / -rate[rate < 0.0]
            left = left[left > 64 * np.finfo(float).eps * max(abs(t), self.dt_min)]
            if np.any(left < 0.6 * self.dt_min):
                self.control.dt_next = np.min(left)

    def _gaps(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and their rates."""
        WT, zeta = self.model.directions(t, q)
        n_N = self.model.laws.n_N
        return self.model.gaps(t, q), WT[:n_N] @ u + zeta[:n_N]

    @staticmethod
    def _small(rate, u) -> np.ndarray:
        """Relative velocities that are none, seen beside the velocities of the system."""
        return np.abs(rate) <= 1e-9 * np.max(np.abs(u), initial=0.0)

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        # what was learned about the approach to a switching point does not hold beyond a discontinuity in time
        self._forget_approach()

    def stop_at(self, t: float) -> None:
        super().stop_at(t)
        self._forget_approach()

    def restart(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super().restart(t, q, u)
        for point in (self.own.accepted, self.own.previous, self.own.actual):
            point.state.q[:], point.state.u[:], point.span.t_E = q, u, t
        control = self.control
        control.pending = 0
        control.dt_next = control.dt_cross = control.dt_smooth = self.dt_min
        control.t_no_increase, control.first = t, 1
        if self.model.laws.n_N:
            self._look_at_start(t, q, u)

    def _forget_approach(self) -> None:
        control = self.control
        control.t_right = self._infinity
        control.t_phi = control.t_phi_old = control.t_tried = control.t_root = control.t_old = -self._infinity

    @property
    def longest(self) -> float:
        """How far the main step about to be taken may reach."""
        return float(min(self.control.dt_next, self.dt_max, self.clock.t_end - self.t))

    def advance(self, budget: int) -> int:
        status = super().advance(budget)
        last = self.finished_segment and self.clock.tail and self.model.laws.n_N
        if status == OK and last:
            full = self.plan.t_eval.size == 0 and self.output_full()
            if full or self.clock.logged + 3 * self.model.laws.n_laws > self.log.step.size:
                self.clock.finished = 0  # no room: once more when the buffers are empty
            else:
                status = self._impact_at_end() if self._closes_now() else status
                self._parts_at_end()
        return status

    def _closes_now(self) -> bool:
        """Whether an open contact closes at the end of the span, as far as the instant of an impact can be told."""
        last, n_N = self.own.accepted, self.model.laws.n_N
        gap, rate = last.gap[:n_N], last.rate[:n_N]
        self._ends = (
            (last.state.modes[:n_N] != CONSTRAINT) & (rate < 0.0) & (gap <= -0.3 * self.dt_min * rate)
        )
        return bool(np.any(self._ends))

    def _impact_at_end(self) -> int:
        """One step of `dt_min` beyond the end crosses the impact; what is kept of it are velocities, modes and impulses.

        An impact earlier by d than the end has let the state fly on: q + B (u_after - u_before) d.
        """
        out, clock, last = self.out, self.clock, self.own.accepted.state
        t_end = float(clock.t_end)
        q, u = last.q.copy(), last.u.copy()
        column, entry = int(clock.stored), int(clock.logged)
        gap, rate = self._gaps(t_end, q, u)
        worst = float(self.books.gap), float(self.books.gap_t)
        beyond = t_end + self.dt_min
        clock.t_end = self.ask.t_stop = beyond
        # the length as it comes out in rounded instants: a step that is longer than the crossing step would be extrapolated
        self.control.dt_next = self.control.dt_cross = beyond - t_end
        clock.finished = 0
        status = super().advance(1)
        clock.finished, clock.t, clock.t_end, self.ask.t_stop = 1, t_end, t_end, t_end
        for point in (self.own.accepted, self.own.previous, self.own.actual):
            point.span.t_E = t_end
        if status != OK:  # a function ends with the span: so does the run, before the impact
            return OK
        early = max(0.0, float(np.max(gap[self._ends] / rate[self._ends])))
        B = np.eye(u.size) if self.model.f_kinematics is None else self.model.kinematic_matrix(t_end, q)
        q = q + B @ (last.u - u) * early
        # what stays closed stays on the contact
        gap, rate = self._gaps(t_end, q, last.u)
        stays = self._ends & self._small(rate, u)
        if np.any(stays):
            J = self.model.directions(t_end, q)[0][: gap.size][stays]
            M_inv_JT = np.linalg.solve(self.model.mass_matrix(t_end, q), J.T)
            q = q - B @ (M_inv_JT @ (np.linalg.pinv(J @ M_inv_JT) @ gap[stays]))
        q = normalised(q, self.model.quaternions)
        for state in (self.own.accepted.state, self.own.previous.state, self.own.actual.state, self.state):
            state.q[:] = q
        columns = slice(column, int(clock.stored))
        if self.plan.t_eval.size and column and out.t[column - 1] == t_end:
            columns = slice(column - 1, column)  # a right limit is wanted
        out.t[columns], out.q[columns], out.u[columns] = t_end, q, last.u
        out.P[columns], out.modes[columns] = last.P[: out.P.shape[1]], last.modes[: out.modes.shape[1]]
        self.books.gap, self.books.gap_t = worst
        for times in (self.log.t_begin, self.log.t_end, self.log.t_best):
            new = times[entry : clock.logged]
            np.minimum(new, t_end, out=new)
        return status

    def _parts_at_end(self) -> None:
        """A contact that closed in the last step and parts with some velocity has closed and opened at once."""
        clock, log, last = self.clock, self.log, self.own.accepted
        rate = last.rate[: self.model.laws.n_N]
        self._note_closed()
        for law in np.flatnonzero((rate > 0.0) & ~self._small(rate, last.state.u)):
            if self._closed.pop(int(law), -1) == clock.total - 1:
                k = int(clock.logged)
                log.step[k], log.law[k], log.before[k], log.after[k] = clock.total, law, 1, -2
                log.t_begin[k], log.t_end[k], log.t_best[k] = clock.t_end, clock.t_end, np.nan
                clock.logged += 1

    def _note_closed(self) -> None:
        n = self.clock.logged
        for step, law, mode in zip(self.log.step[:n], self.log.law[:n], self.log.after[:n]):
            self._closed[int(law)] = int(step) if mode == CONSTRAINT else -1

    def take_events(self) -> tuple[np.ndarray, np.ndarray]:
        self._note_closed()
        return super().take_events()

    def retry_halved(self, levels: int) -> int:
        """After a failed base step: go on with a smaller main step, if there is one."""
        control = self.control
        if control.dt_next <= self.dt_min * (1 + 1e-9):
            return UNCONVERGED
        smaller = 0.5 * control.dt_next
        control.dt_next = smaller if smaller >= 3 * self.dt_min else self.dt_min
        self.clock.rejected += 1
        return OK

    def _residual(self, n):
        return self.out.error[:n]
