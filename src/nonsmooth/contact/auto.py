"""`auto`: stages that hand over their best impulses, switched by counts and progress, never by the clock.

1. NSGS, where problems are large accelerated and with knots untied, as long as its measured rate promises to be cheaper
   than Newton's method.
2. Large piles of bodies at rest: interior points, which find their forces where sweeps are slow, and a few more sweeps. Sweeps make way for
   them early, if next to nothing slides and they are far slower than they were down to 1e-3.
   Then proximal Newton from the best so far: superlinear, made for redundant contacts.
3. If that stalls: small problems in the plane by pivots (`lemke`), which end at a solution however redundant the contacts are; ADMM
   from rest, longer in every round, then proximal Newton from its result. Hard problems
   are non-monotone and the basin of Newton's method decides; a fresh start helps more than insisting on the
   best impulses so far.

A large W that is known by its products alone is left to APGD, then PJOR; a large one of bodies, far fuller than they are, to ADMM.

What was done is written to `run.stages`.
"""

from __future__ import annotations

import math

import numpy as np

from nonsmooth.contact.admm import admm
from nonsmooth.contact.first_order import apgd, pjor
from nonsmooth.contact.interior_point import interior_point, rests
from nonsmooth.contact.knots import nsgs_knots
from nonsmooth.contact.newton import DENSE_ROWS, newton
from nonsmooth.contact.nsgs import nsgs
from nonsmooth.contact.pivoting import lemke
from nonsmooth.contact.residual import project

#: Sweeps of NSGS, per block in a row of W, that cost about as much as solving by Newton's method.
SWEEPS_WORTH_NEWTON = 40
#: Above this many rows a factorisation is dear; a local problem in space is left to NSGS.
HEAVY_ROWS = 6000
#: Newton iterations on such a problem.
HEAVY_STEPS = 40
#: When sweeps on large piles at rest are slow, see `_slow_at_rest`.
ROUGH, LONGER, SHORTEST = 1e-3, 1.5, 1000
#: Factorisations by interior points on a small problem.
IP_STEPS = 300
#: Iterations of ADMM before each further attempt with Newton's method.
ROUNDS = (1000, 3000, 10_000)
#: In the plane pivots take a second at most up to this many rows, and so many pivots per row; larger ones get lost in rounding.
PIVOTED_ROWS, PIVOTS = 250, 50


def auto(problem, r, run):
    """Solve by stages; returns ``(r, residual, iterations)``."""
    work = _Stages(problem, r, run)
    if problem.matrix_free and problem.global_form is None:
        work.stage("apgd", apgd, r, 20_000)
        if work.going():
            work.stage("pjor", pjor, work.r, 20_000)
        return work.r, work.best, work.total
    if problem.matrix_free:
        work.stage("admm without W", admm, r, 20_000)
        return work.r, work.best, work.total
    if run.swept:
        work.total = run.swept
        run.stages.append(f"nsgs {run.swept}")
        work.stage("newton", newton, r, 300, eps=1e-4)
    fullness = problem.blocks.indices.size / problem.n_contacts
    if work.going():
        worth = (
            SWEEPS_WORTH_NEWTON * fullness * (1.0 + problem.q.size / 500)
        )  # factors fill up as problems grow
        # residuals of many bodies stall and fall in turns: where a factorisation is expensive, wait longer
        if problem.q.size > HEAVY_ROWS:
            slow = _slow_at_rest(problem) if _of_bodies(problem) else None
            options = {"budget": worth, "trial": 0.5, "enough": slow}
            work.stage("nsgs-knots", nsgs_knots, r, max(5000, int(worth)), **options)
        else:
            work.stage("nsgs", nsgs, r, max(5000, int(worth)), budget=worth)
    if problem.global_form is None and problem.q.size > HEAVY_ROWS and fullness > 6:
        # factors of such a W fill up: sweeping is all that is practical
        if work.going():
            work.stage("nsgs", nsgs, work.r, 50_000)
        return work.r, work.best, work.total
    if problem.q.size > HEAVY_ROWS:
        _heavy(work)
        return work.r, work.best, work.total
    if work.going():
        work.stage("newton", newton, work.r, 300, eps=1e-4)
    if work.going() and problem.dim < 3 and problem.q.size <= PIVOTED_ROWS:
        work.stage("lemke", lemke, work.r, PIVOTS * problem.q.size)
    if problem.q.size <= DENSE_ROWS:
        _small(work)
        return work.r, work.best, work.total
    for count in ROUNDS:
        if not work.going():
            break
        start = work.stage("admm", admm, np.zeros(problem.q.size), count)
        if work.going():
            work.stage("newton", newton, start, 3000)
    return work.r, work.best, work.total


def _of_bodies(problem) -> bool:
    """Whether interior points can factorise in the velocities of bodies."""
    g = problem.global_form
    return g is not None and g.G is None and not problem.bilateral.any()


def _slow_at_rest(problem):
    """A function that ends the sweeps on a pile at rest that takes `LONGER` times as long as down to `ROUGH` (and at least
    `SHORTEST` sweeps)."""
    resting: list[bool] = []

    def slow(progress) -> bool:
        rough = next((done for done, best in progress.history if best <= ROUGH), math.inf)
        if progress.best <= progress.run.tol or progress.done < max(SHORTEST, LONGER * rough):
            return False
        if not resting:  # judged once
            resting.append(rests(problem, progress.best_r))
        return resting[0]

    return slow


def _heavy(work):
    """A few factorisations for problems of which each takes seconds; more of them have not been seen to help."""
    problem = work.problem
    if work.going() and _of_bodies(problem):
        # at rest the shift vanishes and one convex problem is all there is, but for a few contacts
        start = work.r if work.best <= 10.0 * ROUGH else np.zeros(problem.q.size)
        found = work.stage("interior-point", interior_point, start, 40, only_at_rest=True)
        if work.going() and rests(problem, found):
            work.stage("nsgs-knots", nsgs_knots, found, 3000)
    if work.going():
        work.stage("newton", newton, work.r, HEAVY_STEPS, eps=1e-4)


def _small(work):
    """Interior points, then Newton's method from several starts: cheap where the matrix is small, and it is the start
    that decides."""
    problem = work.problem
    if work.going():
        # friction on the rims of all cones at once, where Newton's method crawls: corners that lie in a plane but for 1e-6
        work.stage("interior-point", interior_point, work.r, IP_STEPS)
    if not work.going():
        return
    held = np.linalg.lstsq(problem.dense_W, -problem.q, rcond=1e-10)[0]
    held = project(held.reshape(-1, problem.dim), problem.mu, problem.bilateral).ravel()
    for eps in (1e-2, 1e-5):
        for start in (held, np.zeros(problem.q.size), 0.5 * held):
            if work.going():
                work.stage("newton", newton, start, 100, eps=eps, patience=8)
    if work.going():
        start = work.stage("admm", admm, np.zeros(problem.q.size), 500)
    if work.going():
        work.stage("newton", newton, start, 200)


class _Stages:
    """The best impulses so far and the iterations spent."""

    def __init__(self, problem, r, run):
        self.problem, self.run, self.r = problem, run, r
        self.best = run.measure(r)
        self.total = 0

    def going(self) -> bool:
        limit = math.inf if self.run.max_iter is None else self.run.max_iter
        return self.best > self.run.tol and self.total < limit and not self.run.expired()

    def stage(self, name, method, start, max_iter, **options):
        """Run one method from `start`, keep its impulses if they are the best; returns them anyway."""
        if self.run.max_iter is not None:
            max_iter = min(max_iter, self.run.max_iter - self.total)
        r, residual, count = method(self.problem, start, self.run, max_iter=max_iter, **options)
        self.total += count
        self.run.stages.append(f"{name} {count}")
        if residual < self.best:
            self.r, self.best = r, residual
        return r
