"""NSGS: nonsmooth Gauss-Seidel with the exact solution of every contact (`_core.nsgs`, `_core.cone`)."""

from __future__ import annotations

import math

import numpy as np

from nonsmooth._core.nsgs import sweep1, sweep2, sweep3


def sweeps(problem, r, alpha, count, stop):
    """Up to `count` sweeps on `r` (modified in place); returns ``(sweeps done, change of the last one)``."""
    b = problem.blocks
    if problem.dim == 3:
        return sweep3(*b, problem.q, problem.mu, problem.bilateral, problem.rho, r, alpha, count, stop)
    if problem.dim == 2:
        return sweep2(*b, problem.q, problem.mu, problem.bilateral, problem.rho, r, count, stop)
    return sweep1(*b, problem.q, problem.bilateral, problem.rho, r, count, stop)


def nsgs(problem, r, run, max_iter=None, budget=math.inf, trial=0.25):
    """Sweep until `run.tol` is met.

    Parameters
    ----------
    budget : float
        Stop as soon as the measured rate of convergence predicts more than this many further sweeps.
    trial : float
        Part of the budget that is swept before the rate is judged.

    Returns
    -------
    r : ndarray
        Best impulses met.
    residual : float
    iterations : int
    """
    limit = run.limit(100_000) if max_iter is None else max_iter
    r = r.copy()
    alpha = np.zeros(problem.n_contacts)
    best_r, best = r.copy(), run.measure(r)
    history, done, chunk = [(0, best)], 0, 10
    while best > run.tol and done < limit and not run.expired():
        chunk = min(chunk, limit - done, run.slice())
        # the change of a sweep is a cheap upper estimate of the residual: look closer when it is small
        count, _ = sweeps(problem, r, alpha, chunk, 0.5 * run.tol * problem.q_norm)
        done += count
        residual = run.measure(r)
        if residual < best:
            best_r, best = r.copy(), residual
        if not residual < math.inf:
            break
        history.append((done, best))
        if done >= max(50, trial * budget) and best > run.tol:
            # rate over the second half of the sweeps: residuals stall and fall in turns
            then, value = next(entry for entry in reversed(history) if entry[0] <= done // 2)
            rate = math.log(best / value) / (done - then)
            if rate >= 0.0 or math.log(run.tol / best) / rate > budget:
                break
        chunk = min(2 * chunk, 100)
    return best_r, best, done
