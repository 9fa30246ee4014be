"""NSGS: nonsmooth Gauss-Seidel with the exact solution of every contact (`_core.contact.nsgs`, `_core.contact.cone`)."""

from __future__ import annotations

import math

import numpy as np

from nonsmooth._core.contact.nsgs import sweep1, sweep2, sweep3

#: After this many sweeps the rate is judged whatever the budget.
LONGEST_TRIAL = 5000


def sweeps(problem, r, alpha, count, stop):
    """Up to `count` sweeps on `r` (modified in place); returns ``(sweeps done, change of the last one)``."""
    b, q = problem.blocks, problem.q
    laws = problem.mu, problem.bilateral, problem.rho, problem.weight
    if problem.dim == 3:
        return sweep3(*b, q, *laws, r, alpha, count, stop)
    if problem.dim == 2:
        return sweep2(*b, q, *laws, r, count, stop)
    return sweep1(*b, q, *laws[1:], r, count, stop)


class Progress:
    """The best impulses of a run of sweeps, and whether it is worth going on.

    Parameters
    ----------
    run : Run
    r : ndarray
        Start value.
    budget : float
        Further sweeps that are worth waiting for.
    trial : float
        Part of the budget that is swept before the rate is judged (at most `LONGEST_TRIAL` sweeps).
    """

    def __init__(self, run, r, budget, trial):
        self.run, self.budget = run, budget
        self.trial = min(LONGEST_TRIAL, max(50, trial * budget))
        self.best_r, self.best = r.copy(), run.measure(r)
        self.history = [(0, self.best)]
        self.done, self.broken = 0, False

    def look(self, r):
        """Measure the residual of `r`."""
        residual = self.run.measure(r)
        if residual < self.best:
            self.best_r, self.best = r.copy(), residual
        self.broken = not residual < math.inf
        self.history.append((self.done, self.best))

    def going(self) -> bool:
        if self.best <= self.run.tol or self.broken:
            return False
        done, best = self.history[-1]
        if done < self.trial:
            return True
        # rate over the second half of the sweeps: residuals stall and fall in turns
        then, value = next(entry for entry in reversed(self.history) if entry[0] <= done // 2)
        rate = math.log(best / value) / (done - then)
        return rate < 0.0 and math.log(self.run.tol / best) / rate <= self.budget


def nsgs(problem, r, run, max_iter=None, budget=math.inf, trial=0.25):
    """Sweep until `run.tol` is met.

    Parameters
    ----------
    budget : float
        Stop as soon as the measured rate of convergence predicts more than this many further sweeps.
    trial : float
        Part of the budget that is swept before the rate is judged (at most `LONGEST_TRIAL` sweeps).

    Returns
    -------
    r : ndarray
        Best impulses met.
    residual : float
    iterations : int
    """
    return sweep_on(sweeps, problem, r, run, max_iter, budget, trial)


def sweep_on(sweeping, problem, r, run, max_iter, budget, trial):
    """The loop of `nsgs` with any function like `sweeps`."""
    limit = run.limit(100_000) if max_iter is None else max_iter
    r = r.copy()
    alpha = np.zeros(problem.n_contacts)
    progress = Progress(run, r, budget, trial)
    chunk = 10
    while progress.going() and progress.done < limit and not run.expired():
        chunk = min(chunk, limit - progress.done, run.slice())
        # the change of a sweep is a cheap upper estimate of the residual: look closer when it is small
        count, _ = sweeping(problem, r, alpha, chunk, 0.5 * run.tol * run.closed * problem.q_norm)
        progress.done += count
        progress.look(r)
        chunk = min(2 * chunk, 100)
    return progress.best_r, progress.best, progress.done
