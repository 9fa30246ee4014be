"""Around one step with a constant active set: the components of the switching function, and its record."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import phase
from nonsmooth._core.sliding.records import Z_EPS


@phase
def extremes(run, j):
    """The smallest and the largest indicator of group j."""
    low = np.inf
    high = -np.inf
    for k in range(run.starts[j], run.starts[j + 1]):
        low = min(low, run.values.h[k])
        high = max(high, run.values.h[k])
    return low, high


@phase
def thresholds(run):
    """Update the size of each group's indicators and epsilon of the epsilon-active sets from h at the present state."""
    psi, starts = run.psi, run.starts
    for j in range(starts.size - 1):
        low, high = extremes(run, j)
        spread = high - low
        for k in range(starts[j], starts[j + 1]):
            if spread > psi.scale[k]:
                psi.scale[k] = spread
            psi.eps[k] = run.info.epsilon * psi.scale[k]
            if run.set.active[k] > 0.0:
                psi.eps[k] = Z_EPS


@phase
def crosses(run, k):
    """Whether component k changed sign between the start of the step and the point looked at."""
    psi = run.psi
    return psi.end[k] < 0.0 and (psi.armed[k] > 0.0 or psi.end[k] < -psi.eps[k])


@phase
def copy_values(source, target):
    """Weights, indicators, fields and gradients."""
    for k in range(source.z.size):
        target.z[k] = source.z[k]
        target.h[k] = source.h[k]
    for k in range(source.F_flat.size):
        target.F_flat[k] = source.F_flat[k]
    for k in range(source.G_flat.size):
        target.G_flat[k] = source.G_flat[k]


@phase
def limit_by_weights(run, h):
    """Where x hardly moves the integrator does not limit its steps: let the weights change by 0.2 in a step at most."""
    change = 0.1
    for k in range(run.set.active.size):
        if run.set.active[k] > 0.0:
            change = max(change, abs(run.psi.end[k] - run.psi.start[k]))
    now = run.solver.now
    now.h_next = min(now.h_next, 0.2 / change * h)


@phase
def remember(run, h):
    """The start of the step of length `h` just made becomes the earlier of the three points `suspicious` looks at."""
    for k in range(run.psi.start.size):
        run.psi.previous[k] = run.psi.start[k]
    run.info.h_previous = h


@phase
def put_row(run, h):
    """Store the present state, the active set of the step that led to it, and its dense output (made for the length h)."""
    c, s, rows = run.used.rows, run.solver, run.rows
    rows.t[c] = s.now.t
    for k in range(s.y.size):
        rows.y[c, k] = s.y[k]
    for k in range(run.set.active.size):
        rows.active[c, k] = 1 if run.set.active[k] > 0.0 else 0
    if rows.length.size > 0:
        for k in range(s.y.size):
            for j in range(rows.Q.shape[1]):
                rows.Q[c, j, k] = s.step.Q[j, k] if j < run.info.rows else 0.0
        rows.length[c] = h
    run.used.rows = c + 1


@phase
def put_event(run):
    """Store a switching point where the active set becomes `chosen`; True if it changes.

    The components of a group that changes mean something else afterwards.
    """
    e, log, starts = run.used.events, run.log, run.starts
    changed = False
    for j in range(starts.size - 1):
        same = True
        for k in range(starts[j], starts[j + 1]):
            log.before[e, k] = 1 if run.set.active[k] > 0.0 else 0
            log.after[e, k] = 1 if run.set.chosen[k] > 0.0 else 0
            same = same and log.before[e, k] == log.after[e, k]
        if not same:
            changed = True
            for k in range(starts[j], starts[j + 1]):
                run.psi.previous[k] = np.nan
    if changed:
        log.t[e] = run.solver.now.t
        log.component[e] = run.info.component
        run.used.events = e + 1
    return changed
