"""Steps between events, integrated again in the modes they were taken in."""

from __future__ import annotations

import numpy as np

from nonsmooth.results.audit import books
from nonsmooth.results.audit.figures import worst
from nonsmooth.results.audit.judged_run import JudgedRun, Work
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.smooth import PARTS, FixedModes, integrate, to_the_end
from nonsmooth.results.audit.steps import evenly

_RESOLVED = 0.3  # the second integrator must know a step to this part of the tolerance
_ONE_BY_ONE = 3  # steps that resist are left to an integrator that adapts its own steps, which takes its time


def repeat_steps(run: JudgedRun, audit: Audit) -> Work:
    """Steps between events, integrated again; returns the work in each of them, by column."""
    k = run.intervals()
    k = k[evenly(k.size, run.most)]
    if k.size == 0:
        return {}
    dt = run.ends[k] - run.t[k - 1]
    curved, varies = variable(run)
    error = np.full(k.size, np.nan)
    work: Work = {}
    left = np.arange(k.size)
    for parts in PARTS:
        j = k[left]
        system = FixedModes(run.batch, run.modes[j], dt[left], curved, varies)
        found = integrate(system, run.t[j - 1], run.q[j - 1], run.u[j - 1], parts)
        units = np.max(found.error / run.tolerance, axis=1, initial=0.0)
        known = units <= _RESOLVED
        difference = np.abs(np.concatenate([found.q - run.q[j], found.u - run.u[j]], axis=1))
        error[left[known]] = np.max(difference / run.tolerance, axis=1, initial=0.0)[known]
        work.update(
            {int(c): (a, b) for c, a, b in zip(j[known], found.work_forces[known], found.work_laws[known])}
        )
        # of stiff forces the estimate may say little: a step that looks wrong is repeated in more pieces before that is believed
        doubted = known & ~(error[left] <= audit.limits.get("step_error", np.inf))
        uncertain = units[~known | doubted]
        left = left[~known | doubted]
        # a few that nothing resolves are left
        if left.size == 0 or (parts >= 4 and left.size < 0.1 * k.size and not doubted.any()):
            break
    unknown = np.isnan(error[left])
    left = left[unknown][np.argsort(-uncertain[unknown])]
    for i in left[:_ONE_BY_ONE]:
        error[i] = one_by_one(run, int(k[i]), curved, varies)
    left = left[np.isnan(error[left])]
    done = ~np.isnan(error)
    # an interval between two outputs holds several steps, each of which may err
    several = np.maximum(np.round(dt / np.where(run.result.dt[k] > 0, run.result.dt[k], dt)), 1.0)
    audit.steps_checked += int(np.count_nonzero(done))
    if done.any():
        audit.step_error, audit.step_error_t = worst((error / several)[done], run.t[k[done]])
    if left.size:
        audit.notes.append(f"{left.size} steps could not be repeated accurately enough to judge them")
    return work


def one_by_one(run: JudgedRun, k: int, curved: bool, varies: bool) -> float:
    """Error of the step to column k in tolerances, by an integrator that adapts its own steps; NaN if it gives up."""
    system = FixedModes(run.batch, run.modes[k : k + 1], run.ends[k : k + 1] - run.t[k - 1], curved, varies)
    t, q, u = float(run.t[k - 1]), run.q[k - 1], run.u[k - 1]
    end = to_the_end(system, t, q, u, 0.1 * run.rtol, 0.1 * run.tolerance)
    if end is None:
        return np.nan
    return float(np.max(np.abs(end - np.concatenate([run.q[k], run.u[k]])) / run.tolerance))


def variable(run: JudgedRun) -> tuple[bool, bool]:
    """Whether directions, and the mass matrix, depend on the state."""
    k = evenly(run.t.size, 16)
    varies = not books.constant_mass(run.batch, run.t[k], run.q[k])
    if run.batch.n_rows == 0:
        return False, varies
    WT, zeta = run.batch.directions(run.t[k], run.q[k])
    return bool(np.any(WT != WT[:1]) or np.any(zeta != zeta[:1])), varies
