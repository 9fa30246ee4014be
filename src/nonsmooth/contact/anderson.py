"""NSGS with Anderson's acceleration, safeguarded.

A few sweeps of NSGS are a fixed-point map ``g``; Anderson's acceleration combines the last `memory` + 1 results so that the
change ``f = g(x) - x``, linearised, is smallest (Walker and Ni 2011), and projects the combination onto the cones::

    min_w |f_k - dF w|,     x_{k+1} = P_K(g_k - dG w)                                                     (1)

Where contacts change between sticking, sliding and open the map is not smooth and (1) may lead astray. A combination after
which the change is larger than before is therefore taken back, and plain sweeps follow, more of them every time it
happens. Measured on 1,000 to 5,000 spheres: two to four times fewer sweeps to 1e-6 where friction is moderate, no loss where
it is not.
"""

from __future__ import annotations

import math

import numpy as np

from nonsmooth._core.anderson import combine
from nonsmooth.contact.nsgs import Progress, sweeps
from nonsmooth.contact.residual import project

#: Sweeps of one evaluation of the map.
INNER = 5
#: Plain sweeps before the first combination.
START = 50
#: Relative regularisation of the small least-squares problem.
DAMPING = 1e-10
#: Most evaluations without combination after a rejected one.
LONGEST_PAUSE = 64


class Combination:
    """The last points and changes of a fixed-point iteration, and their best combination (1).

    Parameters
    ----------
    memory : int
        Differences that are kept.
    weight : float or ndarray
        Factor per component of the change in the norm that is minimised.
    """

    def __init__(self, memory, weight=1.0):
        self.memory, self.weight = memory, weight
        self.forget()

    def forget(self):
        """Start afresh."""
        self.count = 0  # points seen since
        self.last_g = self.last_f = None

    def next(self, x, g):
        """The next point from ``g = g(x)``; `g` itself as long as there is nothing to combine it with."""
        f = self.weight * (g - x)
        if self.count == 0:
            self.dF, self.dG = np.empty((self.memory, g.size)), np.empty((self.memory, g.size))
        else:
            place = (self.count - 1) % self.memory
            np.subtract(f, self.last_f, out=self.dF[place])
            np.subtract(g, self.last_g, out=self.dG[place])
        self.last_f, self.last_g = f, g
        self.count += 1
        if self.count == 1:
            return g
        out = np.empty(g.size)
        combine(self.dF, self.dG, min(self.count - 1, self.memory), f, g, DAMPING, out)
        return out


def nsgs_anderson(problem, r, run, max_iter=None, budget=math.inf, trial=0.25, memory=10):
    """Sweep with acceleration until `run.tol` is met; arguments and results as in `nonsmooth.contact.nsgs.nsgs`.

    Parameters
    ----------
    memory : int
        Differences that are combined.
    """
    limit = run.limit(100_000) if max_iter is None else max_iter
    weight = np.repeat(1.0 / np.sqrt(problem.rho), problem.dim)
    combination = Combination(memory, weight)
    alpha = np.zeros(problem.n_contacts)
    progress = Progress(run, r, budget, trial)
    stop = 0.5 * run.tol * problem.q_norm
    x = r.copy()
    safe, last, pause, rest, accepted, since = x, math.inf, 1, 0, 0, 0
    while progress.going() and progress.done < limit and not run.expired():
        g = x.copy()
        count = min(INNER if progress.done >= START else START, limit - progress.done, run.slice())
        count, change = sweeps(problem, g, alpha, count, stop)
        progress.done += count
        since += count
        # the residual is measured now and then: it costs as much as a sweep
        if since >= 20 or change <= stop or progress.done >= limit:
            since = 0
            progress.look(g)
        step = weight * (g - x)
        size = math.sqrt(float(np.einsum("i,i->", step, step)))
        if not size < math.inf:
            break
        if size > last and combination.count:
            x, last = safe.copy(), math.inf
            combination.forget()
            rest, pause = pause, min(2 * pause, LONGEST_PAUSE)
            continue
        safe, last = g, size
        if rest > 0:
            rest -= 1
            x, last = g, math.inf if rest else size
            continue
        x = combination.next(x, g)
        if combination.count > 1:
            x = project(x.reshape(-1, problem.dim), problem.mu, problem.bilateral).ravel()
            accepted += 1
            if accepted % 10 == 0:
                pause = max(1, pause // 2)
    return progress.best_r, progress.best, progress.done
