"""PJOR and APGD: methods that need nothing but products with W.

Both work in the scaled variables of `nonsmooth.contact.newton` with step length ``1 / lambda_max(W')``. Where W is a matrix the steps are
compiled loops over its blocks; where it is an operator, or is better left unformed (`ContactProblem.matrix_free`), every step asks for one
product.
"""

from __future__ import annotations

import math

import numpy as np

from nonsmooth._core.contact.apgd import (
    accelerate,
    accelerated_steps,
    jacobi_steps,
    largest_eigenvalue,
    shift_and_step,
)
from nonsmooth.contact.newton import scale

#: Products with W that estimate its largest eigenvalue.
POWER_STEPS = 30


def pjor(problem, r, run, max_iter=None):
    """Projected Jacobi steps for all contacts at once. Returns ``(r, residual, iterations)``."""
    return _iterate(_steps_of(problem).jacobi, problem, r, run, max_iter)


def apgd(problem, r, run, max_iter=None):
    """Accelerated projected gradient with restart. Returns ``(r, residual, iterations)``."""
    steps = _steps_of(problem)
    steps.y = r / steps.s
    return _iterate(steps.accelerated, problem, r, run, max_iter)


def _steps_of(problem):
    return _ByProducts(problem) if problem.matrix_free else _ByBlocks(problem)


def _iterate(advance, problem, r, run, max_iter):
    """Call ``advance(x, count)`` in slices until the residual is small; shared by both methods."""
    s = _scales(problem)
    limit = run.limit(100_000) if max_iter is None else max_iter
    x = r / s
    best_r, best, done, chunk = r.copy(), run.measure(r), 0, 10
    while best > run.tol and done < limit and not run.expired():
        count = min(chunk, limit - done, run.slice())
        advance(x, count)
        done += count
        trial = s * x
        residual = run.measure(trial)
        if not residual < math.inf:
            break
        if residual < best:
            best_r, best = trial, residual
        chunk = min(2 * chunk, 100)
    return best_r, best, done


def _scales(problem) -> np.ndarray:
    return np.repeat(np.sqrt(problem.rho), problem.dim)


def _length(top: float) -> float:
    """Step length for an estimate of the largest eigenvalue."""
    return 1.0 / (1.05 * top) if top > 0.0 else 1.0


class _ByBlocks:
    """Steps as compiled loops."""

    def __init__(self, problem):
        self.s = _scales(problem)
        w = scale(problem)
        self.W = w.indptr, w.indices, w.data
        self.given = self.s * problem.q, problem.mu, problem.bilateral
        self.t = _length(largest_eigenvalue(*self.W, POWER_STEPS))
        self.y, self.theta = np.zeros(self.s.size), np.ones(1)

    def jacobi(self, x, count):
        jacobi_steps(*self.W, *self.given, x, self.t, count)

    def accelerated(self, x, count):
        accelerated_steps(*self.W, *self.given, x, self.y, self.theta, self.t, count)


class _ByProducts:
    """The same steps, one product with W each."""

    def __init__(self, problem):
        self.s = _scales(problem)
        self.apply, self.dim = problem.delassus.apply, problem.dim
        self.q, self.mu, self.bilateral = self.s * problem.q, problem.mu, problem.bilateral
        self.t = _length(self._largest_eigenvalue())
        self.y, self.theta, self.new = np.zeros(self.s.size), 1.0, np.empty(self.s.size)

    def _product(self, x):
        return self.s * self.apply(self.s * x)

    def _largest_eigenvalue(self) -> float:
        """By power iteration, as in `_core.contact.apgd`."""
        x = 1.0 + 0.5 * np.sin(1.7 * np.arange(self.s.size))
        value = 0.0
        for _ in range(POWER_STEPS):
            size = float(np.linalg.norm(x))
            if not 0.0 < size < math.inf:
                return 0.0
            x = self._product(x / size)
            value = float(np.linalg.norm(x))
        return value

    def _step(self, y):
        shift_and_step(self.dim, y, self._product(y) + self.q, self.mu, self.bilateral, self.t, self.new)

    def jacobi(self, x, count):
        for _ in range(count):
            self._step(x)
            x[:] = self.new

    def accelerated(self, x, count):
        for _ in range(count):
            self._step(self.y)
            self.theta = accelerate(x, self.y, self.new, self.theta)
