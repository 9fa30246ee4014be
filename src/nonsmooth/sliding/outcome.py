"""The result of a run of Algorithm 2: columns, switching points, sliding sets, dense output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonsmooth._core.integrators.records import EXPLICIT
from nonsmooth._core.sliding.records import Log, Rows
from nonsmooth.integrators.driver import nested_eval
from nonsmooth.results.audit.lazy import LazyAudit
from nonsmooth.results.events import Event, EventList
from nonsmooth.results.result import Result

from .audit import audit_filippov
from .report import named_all


class FilippovSolution:
    """Dense output of a run: ``sol(t)`` is (n,) or (n, len(t)); right limits at switching points."""

    def __init__(self, t, y, Q, length):
        self.t, self.y, self.Q = t, y, Q
        self.length = length  # of time of each polynomial; a step cut on dense output keeps the whole one

    def __call__(self, t):
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if len(self.Q) == 0:
            out = np.repeat(self.y[:, :1], times.size, axis=1)
        else:
            at = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.Q) - 1)
            h = self.length[at]
            theta = np.where(h > 0.0, (times - self.t[at]) / np.where(h > 0.0, h, 1.0), 1.0)
            out = nested_eval(self.y.T[at], self.Q[at], theta).T
            end = times >= self.t[-1]
            out[:, end] = self.y[:, -1:]
        return out[:, 0] if np.ndim(t) == 0 else out


def _modes(active, starts):
    """0 inactive, 1 member of a sliding set, 2 the only active region of its group; (regions, times)."""
    modes = active.T.copy()
    members = np.add.reduceat(modes, starts[:-1], axis=0) if modes.shape[0] else modes
    modes *= np.where(members == 1, 2, 1).astype(np.int8).repeat(np.diff(starts), axis=0)
    return modes


class LazyEvents(Sequence):
    """A sequence whose elements are made on first access: a short run need not wait for what nobody looks at."""

    def __init__(self, make):
        self._make, self._made = make, None

    @property
    def _all(self):
        if self._made is None:
            self._made = EventList(self._make())
        return self._made

    def of(self, kind=None, name=None):
        """Those of one kind, of one name, or both."""
        return self._all.of(kind, name)

    @property
    def t(self):
        """Instants."""
        return self._all.t

    def __len__(self):
        return len(self._all)

    def __getitem__(self, index):
        return self._all[index]

    def __repr__(self):
        return repr(self._all)


def _events(names, pieces, accumulated):
    """Switching points as `Event`s, one for every group whose active regions change."""
    return [
        Event(t, _kind(t, old, new, accumulated), name, np.array(old, np.int8), np.array(new, np.int8))
        for (_, t, before), (_, _, after) in zip(pieces, pieces[1:])
        for name, old, new in zip(names, before, after)
        if old != new
    ]


def _kind(t, old, new, accumulated):
    if t in accumulated:
        return "zeno"
    if len(old) == 1 and len(new) > 1:
        return "stick"
    if len(old) > 1 and len(new) == 1:
        return "slip"
    return "switch"


def _joined(kind, parts, empty):
    """The arrays of all slices."""
    return kind(*(np.concatenate(arrays) for arrays in zip(empty, *parts)))


class Steps(NamedTuple):
    """States and active regions at the start and at the ends of all steps."""

    t: np.ndarray
    y: np.ndarray  # (steps, n)
    active: np.ndarray  # (steps, regions)


def result_of(system, run, x0, times, want_dense, status=0, message=""):
    """The `Result` of `run` (a `FilippovRun`), at `times` or at the ends of its steps."""
    o, starts = run.out, run.c.starts
    nothing = Rows(*(array[:0] for array in run.run.rows)), Log(*(array[:0] for array in run.run.log))
    rows, log = _joined(Rows, o.rows, nothing[0]), _joined(Log, o.log, nothing[1])
    first = rows.active[:1] if rows.t.size else (run.active[None] > 0).astype(np.int8)
    steps = Steps(
        np.concatenate([[run.t0], rows.t]), np.concatenate([x0[None], rows.y]), np.concatenate([first, rows.active])
    )  # fmt: skip
    edges = [run.t0, *log.t.tolist(), float(steps.t[-1])]
    sets = named_all(np.concatenate([first, log.after]), starts, run.c.named)
    pieces = list(zip(edges[:-1], edges[1:], sets))
    names, accumulated = run.names, [t for t, _ in o.accumulations]
    switches = LazyEvents(lambda: _events(names, pieces, accumulated))
    extra = _extra(run, pieces, log)
    solution = None
    if run.o.dense and o.rows:
        solution = FilippovSolution(steps.t, steps.y.T, rows.Q, rows.length)
    if want_dense and solution is not None:
        extra["sol"] = solution
    t, y, active, dt = _at_steps(steps, log) if times is None else _at_times(steps, times, solution, x0)
    data = _for_audit(run, steps, log, switches, extra, accumulated)
    python, parameters = run.c.python, run.c.parameters
    return Result(
        t, y=y, modes=_modes(active, starts), dt=dt, order=np.full(t.size, run.data.order),
        events=switches, status=status, audit=LazyAudit(lambda: audit_filippov(python, parameters, data)),
        message=message, law_names=_law_names(system), coordinate_names=system.names or (), method=run.o.method,
        method_options={"rtol": run.o.rtol, "epsilon": float(run.info.epsilon), "location": run.o.location or "auto"},
        params=system.params, extra=extra, **run.counters,
    )  # fmt: skip


def _law_names(system):
    """Names of all regions."""
    return [
        f"{system.group_name(j)} {name}" for j, group in enumerate(system.groups) for name in group.regions
    ]


def _extra(run, pieces, log):
    """What only results of Filippov systems have."""
    counts, found = run.counts, run.run.counts
    counts["total"] = counts["f"] + counts["h"] + 6 * counts["grad_h"]
    return {
        "sliding_sets": pieces, "evaluations": counts, "t_switch": log.t, "notes": list(run.out.notes),
        "gradient_sources": dict(run.c.derivatives),
        "located": {"on dense output": int(found.on_dense), "on integration": int(found.on_step)},
    }  # fmt: skip


def _at_times(steps, times, solution, x0):
    """Columns at the instants asked for: t, y, active regions, length of the step."""
    at = np.clip(np.searchsorted(steps.t, times, side="left"), 0, steps.t.size - 1)
    y = np.repeat(x0[:, None], times.size, axis=1) if solution is None else solution(times)
    return times, y, steps.active[at], np.diff(steps.t, prepend=steps.t[0])[at]


def _at_steps(steps, log):
    """Columns at the ends of steps; switching points twice: left limit, right limit (the state is the same, the active set is not)."""
    twice = np.searchsorted(steps.t, log.t, side="left")
    twice = twice[twice < steps.t.size]
    at = np.arange(steps.t.size)
    if twice.size:
        at = np.repeat(at, np.bincount(twice, minlength=steps.t.size) + 1)
    t, active = steps.t[at], steps.active[at]
    dt = np.empty(t.size)
    dt[0] = 0.0
    np.subtract(t[1:], t[:-1], out=dt[1:])
    if twice.size:
        second = np.flatnonzero(at[1:] == at[:-1]) + 1
        active[second] = log.after[: second.size]
    return t, steps.y[at].T, active, dt


def _for_audit(run, steps, log, switches, extra, accumulated):
    """What the audit looks at."""
    return {
        "t": steps.t, "y": steps.y, "active": steps.active.astype(float),
        "events": np.column_stack([log.t, log.component, log.before, log.after]), "rtol": run.o.rtol,
        "atol": np.asarray(run.o.atol), "epsilon": float(run.info.epsilon), "fixed": run.o.fixed,
        "implicit": run.data.kind != EXPLICIT, "kinds": switches, "derivatives": extra["gradient_sources"],
        "notes": extra["notes"], "accumulated": accumulated,
    }  # fmt: skip
