"""What a contact method is told and may ask while it works: tolerance, limits, the cheap residual."""

from __future__ import annotations

import time

import numpy as np

from nonsmooth._core.contact.nsgs import multiply, natural_residual
from nonsmooth._core.contact.verdict import of_laws
from nonsmooth.contact.residual import approach, rounding

#: Compiled loops return to Python after about this many block products (well under 50 ms).
SLICE = 2_000_000

#: Above this friction the residual alone does not bound the approaching velocities; then they have to fall
#: below `APPROACH` times the tolerance too.
ROUGH = 3.0
APPROACH = 10.0


class Run:
    """Tolerance and limits of one solve, and the residual that has to fall (`measure`).

    `closed` is the part of ``|q|`` that belongs to contacts that were closed when last measured: what a method stops by itself on,
    relative to ``|q|`` of all contacts, has to be smaller by that factor.
    """

    def __init__(self, problem, tol, max_iter=None, time_limit=None):
        self.problem = problem
        self.tol = 0.98 * tol  # the verdict is computed by another route and rounds differently
        self.max_iter = max_iter
        self.stages = []
        self.remarks = []  # what the message of the result has to say
        self.closed = 1.0
        self.swept = 0  # sweeps of NSGS already behind the start value
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self._u = np.empty(problem.q.size)
        self._rough = bool(np.any(problem.mu > ROUGH))

    def expired(self) -> bool:
        """Whether the time limit is over. It only ever stops a run, it never steers one."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def measure(self, r) -> float:
        """The residual a method has to bring below `tol`, independent of the units wherever it is above.

        As long as the residual of the laws or the scaled one is above `tol` the larger of them counts, so that no
        decision of a method depends on the units. Below, the unit residual has to follow; until it does, the value
        stays between one and two times `tol`.
        """
        p = self.problem
        if p.matrix_free:
            u = p.velocity(r)
        else:
            u = self._u
            multiply(*p.blocks[:3], r, u)
            u += p.q
        scaled, unit = natural_residual(u, r, p.mu, p.bilateral, p.rho, p.dim, 1.0)
        unit /= p.q_norm
        laws, closed = of_laws(p.dim, r, u, p.q, p.mu, p.bilateral, p.law_rho.ravel(), p.diagonal.ravel())
        self.closed = min(1.0, closed / p.q_norm)
        worst = max(scaled / p.q_norm, laws)
        if self._rough:
            worst = max(worst, approach(p, u) / APPROACH)
        if not (np.isfinite(worst) and np.isfinite(unit)):
            return np.inf
        if worst <= self.tol < unit and unit > rounding(p, r):
            excess = unit / self.tol - 1.0
            return self.tol * (1.0 + excess / (1.0 + excess))
        return worst

    def slice(self) -> int:
        """Iterations that fit into one call of a compiled loop."""
        if self.problem.matrix_free:
            return 10
        return max(1, SLICE // max(1, self.problem.blocks.indices.size))

    def limit(self, default) -> int:
        return default if self.max_iter is None else self.max_iter
