"""PJOR and APGD: methods that need nothing but products with W.

Both work in the scaled variables of `nonsmooth.contact.newton` with step length ``1 / lambda_max(W')``.
"""

from __future__ import annotations

import math

import numpy as np

from nonsmooth._core.contact.apgd import accelerated_steps, jacobi_steps, largest_eigenvalue
from nonsmooth.contact.newton import scale


def _iterate(problem, r, run, max_iter, advance, default):
    """Call ``advance(x, count)`` in slices until the residual is small; shared by both methods."""
    s = np.repeat(scale(problem).s, problem.dim)
    limit = run.limit(default) if max_iter is None else max_iter
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


def _step_length(w) -> float:
    top = largest_eigenvalue(w.indptr, w.indices, w.data, 30)
    return 1.0 / (1.05 * top) if top > 0.0 else 1.0


def pjor(problem, r, run, max_iter=None):
    """Projected Jacobi steps for all contacts at once. Returns ``(r, residual, iterations)``."""
    w = scale(problem)
    q = np.repeat(w.s, problem.dim) * problem.q
    t = _step_length(w)

    def advance(x, count):
        jacobi_steps(w.indptr, w.indices, w.data, q, problem.mu, problem.bilateral, x, t, count)

    return _iterate(problem, r, run, max_iter, advance, 100_000)


def apgd(problem, r, run, max_iter=None):
    """Accelerated projected gradient with restart. Returns ``(r, residual, iterations)``."""
    w = scale(problem)
    s = np.repeat(w.s, problem.dim)
    q = s * problem.q
    t = _step_length(w)
    y, state = r / s, np.ones(1)

    def advance(x, count):
        accelerated_steps(
            w.indptr, w.indices, w.data, q, problem.mu, problem.bilateral, x, y, state, t, count
        )

    return _iterate(problem, r, run, max_iter, advance, 100_000)
