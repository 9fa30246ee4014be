"""The scheme `moreau`: Moreau's midpoint rule with a constant step (equations in `nonsmooth._core.moreau`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core import moreau as core
from nonsmooth._core.moreau_run import run_moreau
from nonsmooth.contact.solvers import Exact, _Solver
from nonsmooth.errors import InputError, NonFiniteError, RangeError
from nonsmooth.schemes.base import Plan


@dataclass(frozen=True)
class Moreau:
    """Moreau's midpoint rule with constant step size.

    Parameters
    ----------
    dt : float
        Step size; the last step before a breakpoint or the end is shortened to hit it.
    solver : Exact, PSOR or PJOR
        Solver of the prox problem in each step.
    """

    dt: float
    solver: _Solver = field(default_factory=Exact)

    name = "moreau"

    def __post_init__(self):
        try:
            dt = float(self.dt)
        except (TypeError, ValueError) as exc:
            raise InputError(f"`dt` is {self.dt!r}: a number is wanted.") from exc
        if not math.isfinite(dt):
            raise NonFiniteError(f"`dt` is {dt}: it must be finite.")
        if dt <= 0:
            raise RangeError(f"`dt` is {dt:g}: the step size must be positive.")
        object.__setattr__(self, "dt", dt)
        if not isinstance(self.solver, _Solver):
            raise InputError(f"`solver` is {self.solver!r}: give Exact(...), PSOR(...) or PJOR(...).")

    def options(self) -> dict[str, Any]:
        """Options by name, for the result."""
        solver = self.solver
        return {
            "dt": self.dt,
            "solver": type(solver).__name__,
            "tol": solver.tol,
            "max_iter": solver.max_iter,
        }

    def steps_in(self, t_begin: float, t_end: float) -> int:
        """Number of steps in a segment; a remainder below 1e-9 dt is rounding, not a step."""
        return max(int(math.ceil((t_end - t_begin) / self.dt - 1e-9)), 1)

    def estimate_steps(self, segments) -> int:
        return sum(self.steps_in(a, b) for a, b in segments)

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> MoreauRun:
        return MoreauRun(self, model, t, q, u, plan)


class MoreauRun:
    """A run of `Moreau` in progress: the arrays of the compiled loop and their meaning."""

    def __init__(self, scheme: Moreau, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        laws = model.laws
        self.scheme, self.model, self.plan = scheme, model, plan
        self.functions = tuple(model.core)
        self.size = model.sizes()
        self.laws = laws.core()
        self.options = scheme.solver.options()
        self.p = model.parameters.flat
        self.work = core.make_work(model.n_q, model.n_u, laws.n_N, laws.n_laws, laws.n_rows)
        self.state = core.State(
            q.copy(), u.copy(), np.zeros(max(laws.n_rows, 1)), np.zeros(max(laws.n_laws, 1), dtype=np.int64)
        )
        self.clock = np.zeros(4)
        self.counters = np.zeros(core.N_COUNTERS, dtype=np.int64)
        self.counters[core.C_EVERY] = plan.every
        self.counters[core.C_FIRST] = 1
        self.counters[core.C_ACCEPT] = plan.accept
        self.counters[core.C_BEGIN] = plan.keep_begin
        self._totals = np.zeros(core.N_TOTALS)
        self._totals[core.T_GAP] = math.inf
        self.out = core.make_output(
            plan.capacity, model.n_q, model.n_u, laws.n_rows, laws.n_laws, plan.keep_begin
        )
        n_events = 4096 + laws.n_laws
        self.events = np.zeros((n_events, 4), dtype=np.int64)
        self.event_times = np.zeros((n_events, 2))
        self.info = np.zeros(core.N_INFO)
        self.rejected = 0
        self.t_end = t

    # -- what the driver asks -----------------------------------------------------------------------------------

    def store_start(self, t: float) -> None:
        """The start as the first column (its modes are those of the first step, filled in later)."""
        self.out.scalars[0, 0] = t
        self.out.q[0], self.out.u[0] = self.state.q, self.state.u
        if self.plan.keep_begin:
            self.out.q_B[0], self.out.u_B[0] = self.state.q, self.state.u
        self.counters[core.C_OUT] = 1

    def note_first_modes(self) -> None:
        """Called after the first step: the start column gets its modes."""
        if self.counters[core.C_OUT] and self.out.scalars[0, 1] == 0.0:
            self.out.modes[0] = self.state.modes[: self.model.laws.n_laws]

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        n = self.scheme.steps_in(t_begin, t_end)
        dt = self.scheme.dt
        self.clock[:] = (t_begin, dt, t_end - (t_begin + (n - 1) * dt), t_end)
        self.counters[core.C_STEP] = 0
        self.counters[core.C_STEPS] = n
        self.counters[core.C_TAIL] = t_end == self.plan.segments[-1][1]
        self.t_end = t_end

    @property
    def finished_segment(self) -> bool:
        return self.counters[core.C_STEP] >= self.counters[core.C_STEPS]

    @property
    def t(self) -> float:
        step = int(self.counters[core.C_STEP])
        return self.t_end if self.finished_segment else float(self.clock[0] + step * self.clock[1])

    @property
    def dt(self) -> float:
        """Size of the step about to be taken."""
        last = self.counters[core.C_STEP] == self.counters[core.C_STEPS] - 1
        return float(self.clock[2] if last else self.clock[1])

    @property
    def steps(self) -> int:
        return int(self.counters[core.C_TOTAL])

    def advance(self, budget: int) -> int:
        """At most `budget` steps; returns the status of the last one."""
        status = run_moreau(
            *self.functions, self.laws, self.size, self.options, self.p, self.work, self.state, self.clock, self.counters,
            self._totals, self.out, self.events, self.event_times, self.plan.t_eval, self.info, budget,
        )  # fmt: skip
        return status

    def retry_halved(self, levels: int) -> int:
        """Take the step that just failed again as 2, 4, ... 2**levels smaller ones; returns the status."""
        clock, counters, totals = self.clock.copy(), self.counters.copy(), self._totals.copy()
        state = core.State(*(array.copy() for array in self.state))
        t, dt = self.t, self.dt
        t_new = self.t_end if counters[core.C_STEP] == counters[core.C_STEPS] - 1 else t + dt
        store = (counters[core.C_TOTAL] + 1) % counters[core.C_EVERY] == 0
        last = counters[core.C_STEP] == counters[core.C_STEPS] - 1 and counters[core.C_TAIL]
        status = core.UNCONVERGED
        self.rejected += 1
        for level in range(1, levels + 1):
            parts = 2**level
            small = dt / parts
            self.clock[:] = (t, small, t_new - (t + (parts - 1) * small), t_new)
            self.counters[core.C_STEP], self.counters[core.C_STEPS] = 0, parts
            self.counters[core.C_EVERY] = 2**62
            self.counters[core.C_TAIL] = store or last
            status = self.advance(parts)
            if status == core.OK:
                break
            self.rejected += 1
            self.counters[:] = counters
            self._totals[:] = totals
            for array, kept in zip(self.state, state):
                array[:] = kept
        self.clock[:] = clock
        if status == core.OK:
            for index in (core.C_STEPS, core.C_EVERY, core.C_TAIL):
                self.counters[index] = counters[index]
            self.counters[core.C_STEP] = counters[core.C_STEP] + 1
            self.counters[core.C_TOTAL] = counters[core.C_TOTAL] + 1
        return status

    def accept_step(self) -> None:
        """Let the next step pass although it does not converge (it is counted and marked)."""
        self.counters[core.C_ACCEPT] = 1

    def output_full(self) -> bool:
        return bool(self.counters[core.C_OUT] >= self.out.q.shape[0])

    def take_output(self) -> dict[str, np.ndarray]:
        """Finished columns since the last call (views into the buffer, valid until the next slice)."""
        n = int(self.counters[core.C_OUT])
        self.counters[core.C_OUT] = 0
        scalars, n_N = self.out.scalars[:n], self.model.laws.n_N
        n_T = self.model.laws.n_rows - self.model.laws.n_J
        columns = {
            "t": scalars[:, 0], "q": self.out.q[:n].T, "u": self.out.u[:n].T, "P_N": self.out.P[:n, :n_N].T,
            "P_T": self.out.P[:n, n_N:n_T].T, "P_J": self.out.P[:n, n_T:].T, "modes": self.out.modes[:n].T,
            "dt": scalars[:, 1], "order": np.ones(n, dtype=np.int64), "residual": scalars[:, 2],
            "iterations": scalars[:, 3].astype(np.int64),
        }  # fmt: skip
        if self.plan.keep_begin:
            columns |= {"q_B": self.out.q_B[:n].T, "u_B": self.out.u_B[:n].T}
        return columns

    def take_events(self) -> tuple[np.ndarray, np.ndarray]:
        n = int(self.counters[core.C_EVENTS])
        self.counters[core.C_EVENTS] = 0
        return self.events[:n].copy(), self.event_times[:n].copy()

    def totals(self) -> dict[str, Any]:
        x = self._totals
        law = int(x[core.T_GAIN_LAW])
        names = self.model.laws.name
        return {
            "worst_gap": float(x[core.T_GAP]), "worst_gap_t": float(x[core.T_GAP_T]),
            "max_residual": float(x[core.T_RES]), "max_residual_t": float(x[core.T_RES_T]),
            "unconverged": int(x[core.T_UNCONVERGED]), "unconverged_t": float(x[core.T_UNCONVERGED_T]),
            "max_iterations": int(x[core.T_ITER_MAX]), "sum_iterations": float(x[core.T_ITER_SUM]),
            "work_forces": float(x[core.T_WORK_FORCES]), "work_contacts": float(x[core.T_WORK_CONTACTS]),
            "energy_gain_count": int(x[core.T_GAIN_COUNT]), "energy_gain_worst": float(x[core.T_GAIN]),
            "energy_gain_t": float(x[core.T_GAIN_T]), "energy_gain_T_before": float(x[core.T_GAIN_BEFORE]),
            "energy_gain_T_after": float(x[core.T_GAIN_AFTER]),
            "energy_gain_law": names[law] if names else "",
        }  # fmt: skip
