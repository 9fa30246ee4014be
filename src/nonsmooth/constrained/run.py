"""Runs of `solve_dae`: the loop of `solve_ivp` with switches, post-stabilised after every step."""

from __future__ import annotations

import numpy as np

from nonsmooth.errors import NonFiniteStateError
from nonsmooth.events.run import SwitchedRun

#: Adjustments up to this many tolerances are what a step may be off.
BOUND = 10.0


class ConstrainedRun(SwitchedRun):
    """A run of the underlying ordinary equations, put back onto the constraints after each step."""

    def __init__(self, system, *args, **options):
        super().__init__(*args, **options)
        self.system = system
        self.beyond = 0
        self.worst = (0.0, self.t_0)

    def advance(self, budget: int) -> None:
        """One step, and its adjustment."""
        super().advance(1)
        if self.pending is None or self.pending.t.size == 0:
            return
        y = self.system.project(self.t, self.y.copy())
        self.weigh(y)
        self.y[:] = y
        for k in range(self.pending.t.size - 1):  # the left limit of an event
            self.pending.y[k] = self.system.project(self.pending.t[k], self.pending.y[k])
        self.pending.y[-1] = y
        self.solver.step.K[0] = self.bound.f(self.t, y)

    def fail(self, error) -> None:
        if isinstance(error, NonFiniteStateError) and self.system.not_finite == "constraint":
            error = NonFiniteStateError(
                f"`constraint` or a derivative of it is not finite beyond t = {self.t:.9g} (differences reach ahead), whatever the step."
            )
        super().fail(error)

    def weigh(self, y) -> None:
        """The adjustment in tolerances."""
        tolerance = self.solver.atol + self.solver.rtol * self.system.weights(y)
        moved = float(np.max(np.abs(y - self.y) / np.maximum(tolerance, 1e-300)))
        if moved > BOUND:
            self.beyond += 1
        if moved > self.worst[0]:
            self.worst = (moved, self.t)
