"""What the runs of all compiled schemes have in common: model data, output and event buffers, running totals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from nonsmooth._core.jit import Arena, Reference
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.laws.projections import make_prox
from nonsmooth._core.stepping import moreau as core
from nonsmooth.schemes.base import Plan


class CompiledRun(ABC):
    """The arrays a compiled loop works on, and their meaning for the driver.

    Parameters
    ----------
    model : Model
    options : ndarray
        Options of the contact solver.
    q, u : ndarray
        Start.
    plan : Plan
    """

    #: parts A_MAIN and A_HOLD of the loop, beyond those of Moreau's: pairs (compiled function, signature), or None
    parts: tuple = (None, None)

    def __init__(self, model, options: np.ndarray, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        laws = model.laws
        self.model, self.plan = model, plan
        self.options = options
        zeros = Arena().zeros
        self.work = core.make_work(model.n_q, model.n_u, laws.n_N, laws.n_laws, laws.n_rows, zeros)
        *functions, project = model.core
        self.prox = make_prox(solve_laws.functions(project), laws.n_laws, laws.n_rows, options, zeros)
        self.info = zeros(core.N_INFO)
        self._totals = zeros(core.N_TOTALS)
        self._totals[core.T_GAP] = math.inf
        unit = None
        if model.quaternions:  # only then compiled
            from nonsmooth._core.stepping.unit_quaternions import unit_quaternions

            unit = (unit_quaternions, core.UNIT)
        self.scene = core.Scene(
            core.functions(functions, (*self.parts, unit)), laws.core(), model.sizes(), options, model.parameters.flat, self.work,
            self.prox, self.info, self._totals,
        )  # fmt: skip
        self.state = core.State(
            zeros(q.size), zeros(u.size), zeros(max(laws.n_rows, 1)), zeros(max(laws.n_laws, 1), np.int64)
        )
        self.state.q[:], self.state.u[:] = q, u
        self.counters = zeros(core.N_COUNTERS, np.int64)
        self.counters[core.C_EVERY] = self.counters[core.C_NEXT] = plan.every
        self.counters[core.C_FIRST] = 1
        self.counters[core.C_ACCEPT] = plan.accept
        self.counters[core.C_BEGIN] = plan.keep_begin
        self.out = core.make_output(
            plan.capacity, model.n_q, model.n_u, laws.n_rows, laws.n_laws, plan.keep_begin
        )
        # what the compiled loops take: addresses of these records
        self._references = [Reference(record) for record in (self.scene, self.prox, self.state, self.out)]
        self.at_scene, self.at_prox, self.at_state, self.at_output = (r.address for r in self._references)
        n_events = 4096 + 2 * laws.n_laws
        self.events = np.zeros((n_events, 4), dtype=np.int64)
        self.event_times = np.full((n_events, 3), np.nan)  # begin, end, best estimate if there is one
        self.rejected = 0
        self.t_end = t

    def store_start(self, t: float) -> None:
        """The start as the first column (the loop gives it the modes of the first step)."""
        self.out.scalars[0, 0] = t
        self.out.q[0], self.out.u[0] = self.state.q, self.state.u
        if self.plan.keep_begin:
            self.out.q_B[0], self.out.u_B[0] = self.state.q, self.state.u
        self.counters[core.C_OUT] = 1

    @property
    def finished_segment(self) -> bool:
        return bool(self.counters[core.C_STEP] >= self.counters[core.C_STEPS])

    @property
    def steps(self) -> int:
        return int(self.counters[core.C_TOTAL])

    def output_full(self) -> bool:
        return bool(self.counters[core.C_OUT] + 3 > self.out.q.shape[0])

    def take_output(self) -> dict[str, np.ndarray]:
        """Finished columns since the last call (views into the buffer, valid until the next slice)."""
        n = int(self.counters[core.C_OUT])
        self.counters[core.C_OUT] = 0
        n_N = self.model.laws.n_N
        n_T = self.model.laws.n_rows - self.model.laws.n_J
        columns = {
            "t": self.out.scalars[:n, 0], "q": self.out.q[:n].T, "u": self.out.u[:n].T,
            "P_N": self.out.P[:n, :n_N].T, "P_T": self.out.P[:n, n_N:n_T].T, "P_J": self.out.P[:n, n_T:].T,
            "modes": self.out.modes[:n].T, "dt": self.out.scalars[:n, 1],
        }  # fmt: skip
        columns |= self.describe(self.out.scalars[:n, 2], self.out.scalars[:n, 3])
        if self.plan.keep_begin:
            columns |= {"q_B": self.out.q_B[:n].T, "u_B": self.out.u_B[:n].T}
        return columns

    @abstractmethod
    def describe(self, third: np.ndarray, fourth: np.ndarray) -> dict[str, np.ndarray]:
        """The last two scalar columns of the output, by name."""

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
            "energy_gain_count": int(x[core.T_GAIN_COUNT]), "energy_gain_worst": float(x[core.T_GAIN]),
            "energy_gain_t": float(x[core.T_GAIN_T]), "energy_gain_T_before": float(x[core.T_GAIN_BEFORE]),
            "energy_gain_T_after": float(x[core.T_GAIN_AFTER]),
            "energy_gain_law": names[law] if names else "",
        }  # fmt: skip
