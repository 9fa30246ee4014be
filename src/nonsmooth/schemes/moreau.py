"""The scheme `moreau`: Moreau's midpoint rule with a constant step (equations in `nonsmooth._core.stepping.moreau`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core.stepping import moreau as core
from nonsmooth._core.stepping.moreau_run import run_moreau
from nonsmooth.contact.solvers import Exact, _Solver
from nonsmooth.errors import InputError, NonFiniteError, RangeError
from nonsmooth.schemes.base import Plan
from nonsmooth.schemes.run import CompiledRun


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
            if isinstance(self.dt, bool | str):
                raise TypeError("not a number")
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


class MoreauRun(CompiledRun):
    """A run of `Moreau` in progress."""

    def __init__(self, scheme: Moreau, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        super().__init__(model, scheme.solver.options(), t, q, u, plan)
        self.scheme = scheme
        self.clock = np.zeros(4)

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        n = self.scheme.steps_in(t_begin, t_end)
        dt = self.scheme.dt
        self.clock[:] = (t_begin, dt, t_end - (t_begin + (n - 1) * dt), t_end)
        self.counters[core.C_STEP] = 0
        self.counters[core.C_STEPS] = n
        self.counters[core.C_TAIL] = t_end == self.plan.segments[-1][1]
        self.t_end = t_end

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
    def longest(self) -> float:
        """How far the step about to be taken may reach."""
        return self.dt

    def advance(self, budget: int) -> int:
        """At most `budget` steps; returns the status of the last one."""
        try:
            return run_moreau(
                self.at_scene, self.at_prox, self.at_state, self.at_output, self.clock, self.counters, self.events,
                self.event_times, self.plan.t_eval, budget,
            )  # fmt: skip
        finally:  # steps taken, but not yet counted when an exception came
            ahead = int(self.info[core.I_AHEAD])
            self.info[core.I_AHEAD] = 0
            self.counters[[core.C_STEP, core.C_TOTAL]] += ahead

    def retry_halved(self, levels: int) -> int:
        """Take the step that just failed again as 2, 4, ... 2**levels smaller ones; returns the status."""
        clock, counters, totals = self.clock.copy(), self.counters.copy(), self._totals.copy()
        state = core.State(*(array.copy() for array in self.state))
        t, dt = self.t, self.dt
        t_new = self.t_end if counters[core.C_STEP] == counters[core.C_STEPS] - 1 else t + dt
        store = counters[core.C_TOTAL] + 1 >= counters[core.C_NEXT]
        last = counters[core.C_STEP] == counters[core.C_STEPS] - 1 and counters[core.C_TAIL]
        status = core.UNCONVERGED
        self.rejected += 1
        for level in range(1, levels + 1):
            parts = 2**level
            small = dt / parts
            self.clock[:] = (t, small, t_new - (t + (parts - 1) * small), t_new)
            self.counters[core.C_STEP], self.counters[core.C_STEPS] = 0, parts
            self.counters[core.C_NEXT] = 2**62
            self.counters[core.C_TAIL] = store or last
            status = self.advance(parts)
            if status == core.OK and self.finished_segment:
                break
            status = core.UNCONVERGED if status == core.OK else status
            self.rejected += 1
            self.counters[:] = counters
            self._totals[:] = totals
            for array, kept in zip(self.state, state):
                array[:] = kept
        self.clock[:] = clock
        if status == core.OK:
            for index in (core.C_STEPS, core.C_NEXT, core.C_TAIL):
                self.counters[index] = counters[index]
            if store:
                self.counters[core.C_NEXT] += counters[core.C_EVERY]
            self.counters[core.C_STEP] = counters[core.C_STEP] + 1
            self.counters[core.C_TOTAL] = counters[core.C_TOTAL] + 1
        return status

    @property
    def base_steps(self) -> int:
        return self.steps + self.rejected

    def output_full(self) -> bool:
        return bool(self.counters[core.C_OUT] >= self.out.q.shape[0])

    def describe(self, third, fourth):
        return {
            "order": np.ones(third.size, dtype=np.int64),
            "residual": third,
            "iterations": fourth.astype(np.int64),
        }

    def totals(self) -> dict[str, Any]:
        x = self._totals
        work = {"work_forces": float(x[core.T_WORK_FORCES]), "work_contacts": float(x[core.T_WORK_CONTACTS])}
        return super().totals() | work
