"""States of a run with a tolerance: closed contacts, gaps, and events against the states on both sides."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE
from nonsmooth.results.audit.checks import relative
from nonsmooth.results.audit.figures import report_missed, worst
from nonsmooth.results.audit.judged_run import MANY, JudgedRun
from nonsmooth.results.audit.laws import rows_of
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import evenly, whole_steps
from nonsmooth.results.audit.sweeps import Paths, missed_contacts
from nonsmooth.results.events import kind_code

_EPS = np.finfo(np.float64).eps


def closed_contacts(run: JudgedRun, audit: Audit) -> None:
    """Gaps and relative velocities of laws in constraint mode, after steps between events."""
    k = run.intervals()
    k = k[evenly(k.size, 1000)]
    laws, batch = run.batch.laws, run.batch
    if k.size == 0 or batch.n_rows == 0:
        return
    t, q, u, modes = run.ends[k], run.q[k], run.u[k], run.modes[k]
    WT, zeta = batch.directions(t, q)
    gamma = np.abs(times(WT, u) + zeta)
    velocity = 0.0
    for i in range(laws.n_laws):
        on = modes[:, i] == CONSTRAINT
        if int(laws.kind[i]) != FREE and on.any():
            velocity = max(velocity, float(np.max(gamma[on][:, rows_of(laws, i)])))
    held = modes[:, : batch.n_N] == CONSTRAINT
    audit.closed_velocity = float(relative(velocity, run.speed))
    gap = 0.0
    if held.any():
        overlap = np.maximum(-batch.gaps(run.t[:1], run.q[:1]), 0.0)  # accepted at the start
        gap = float(np.max(np.where(held, np.maximum(np.abs(batch.gaps(t, q)) - overlap, 0.0), 0.0)))
    audit.closed_gap = max(audit.closed_gap or 0.0, float(relative(gap, run.length)))


def gaps(run: JudgedRun, audit: Audit) -> None:
    """Worst gap, and contacts passed between stored states."""
    batch = run.batch
    if batch.n_N == 0:
        return
    every = run.t.size <= MANY and not getattr(batch.model, "callbacks", ())
    k = slice(None) if every else evenly(run.t.size, 1000)
    t, q, u = run.t[k], run.q[k], run.u[k]
    g = batch.gaps(t, q)
    at = int(np.argmin(g)) // batch.n_N
    audit.worst_gap, audit.worst_gap_t = float(np.min(g[at])), float(t[at])
    claimed = run.totals.get("worst_gap")
    if claimed is not None and np.isfinite(claimed) and claimed < audit.worst_gap:
        audit.worst_gap, audit.worst_gap_t = float(claimed), float(run.totals.get("worst_gap_t", np.nan))
    start = min(float(np.min(g[0])), 0.0)
    audit.penetration = float(relative(max(start - audit.worst_gap, 0.0), run.length))
    if every and run.t.size > 1 and run.result.P_N.shape[0] == batch.n_N:
        noise = max(64 * _EPS * float(np.max(np.abs(q))), run.rtol * run.length)
        paths = Paths(batch, t, q, batch.q_dot(t, q, u))
        # what happens at a known event is seen: impulses of its interval may not be stored
        P_N = np.where(run.quiet()[:, None], run.result.P_N.T[1:], np.inf)
        found = missed_contacts(paths, g, P_N, noise)
        report_missed(audit, found, batch, t, run.speed)


def events(run: JudgedRun, audit: Audit) -> None:
    """Events against the states on both sides: what closes comes nearer, what opens parts, what sticks does not slip."""
    table, batch = run.result.events, run.batch
    whole = whole_steps(run.t, run.result.dt)
    if not hasattr(table, "law") or len(table) == 0 or whole.size == 0 or batch.n_rows == 0:
        return
    pick = evenly(len(table), 200)
    law, kind, instant = table.law[pick].astype(int), table.kind[pick], table.t[pick]
    # the step that crosses an event ends where the event's bracket does
    end = table.bracket[1, pick]
    after = np.clip(np.searchsorted(run.t, end, side="left"), 1, run.t.size - 1)
    usable = (law >= 0) & (run.t[after] == end) & np.isin(after, whole) & (run.order[after] <= 1)
    law, kind, after, instant = law[usable], kind[usable], after[usable], instant[usable]
    if law.size == 0:
        return
    error = np.zeros(law.size)
    first = batch.laws.row[law].astype(int)
    last = first + batch.laws.dim[law].astype(int) - 1
    speeds = [relative_velocity(run, c, first, last) for c in (after - 1, after)]
    normal = batch.laws.kind[law] == HALF_LINE
    closes = normal & np.isin(kind, [kind_code("impact"), kind_code("close")])
    opens = normal & (kind == kind_code("open"))
    sticks, slips = ~normal & (kind == kind_code("stick")), ~normal & (kind == kind_code("slip"))
    error = np.where(closes, np.maximum(speeds[0], -speeds[1]), error)
    error = np.where(opens, -speeds[1], error)
    error = np.where(sticks, np.abs(speeds[1]), np.where(slips, np.abs(speeds[0]), error))
    error = np.maximum(error, 0.0) / max(run.speed, np.finfo(float).tiny)
    audit.event_error, audit.event_error_t = worst(error, instant)


def relative_velocity(run: JudgedRun, column: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """W^T u + zeta of one law in each column: signed for one row, its length for two."""
    WT, zeta = run.batch.directions(run.t[column], run.q[column])
    gamma = times(WT, run.u[column]) + zeta
    here = np.arange(column.size)
    both = np.sqrt(gamma[here, first] ** 2 + gamma[here, last] ** 2)
    return np.where(first == last, gamma[here, first], both)
