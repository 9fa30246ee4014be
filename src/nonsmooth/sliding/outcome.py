"""The result of a run of Algorithm 2: columns, switching points, sliding sets, dense output."""

from __future__ import annotations

from collections.abc import Sequence

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


def result_of(system, run, x0, times, want_dense, status=0, message=""):
    """The `Result` of `run` (a `FilippovRun`), at `times` or at the ends of its steps."""
    o, starts = run.out, run.c.starts
    nothing = Rows(*(array[:0] for array in run.run.rows)), Log(*(array[:0] for array in run.run.log))
    rows, log = _joined(Rows, o.rows, nothing[0]), _joined(Log, o.log, nothing[1])
    first = rows.active[:1] if rows.t.size else (run.active[None] > 0).astype(np.int8)
    t = np.concatenate([[run.t0], rows.t])
    steps_y = np.concatenate([x0[None], rows.y])
    steps_active = np.concatenate([first, rows.active])
    event_t = log.t
    counts = run.counts
    counts["total"] = counts["f"] + counts["h"] + 6 * counts["grad_h"]
    edges = [run.t0, *event_t.tolist(), float(t[-1])]
    sets = named_all(np.concatenate([first, log.after]), starts, run.c.named)
    pieces = list(zip(edges[:-1], edges[1:], sets))
    names, accumulated = run.names, [t for t, _ in o.accumulations]
    extra = {
        "sliding_sets": pieces,
        "evaluations": counts,
        "t_switch": event_t,
        "notes": list(o.notes),
        "gradient_sources": dict(run.c.derivatives),
        "located": {
            "on dense output": int(run.run.counts.on_dense),
            "on integration": int(run.run.counts.on_step),
        },
    }
    solution = None
    if run.o.dense and o.rows:
        solution = FilippovSolution(t, steps_y.T, rows.Q, rows.length)
    if times is not None:
        at = np.clip(np.searchsorted(t, times, side="left"), 0, t.size - 1)
        y = np.repeat(x0[:, None], times.size, axis=1) if solution is None else solution(times)
        t_out, active, dt = times, steps_active[at], np.diff(t, prepend=t[0])[at]
    else:
        # Switching points twice: left limit, right limit (the state is the same, the active set is not).
        twice = np.searchsorted(t, event_t, side="left")
        twice = twice[twice < t.size]
        at = np.arange(t.size)
        if twice.size:
            at = np.repeat(at, np.bincount(twice, minlength=t.size) + 1)
        t_out, y, active = t[at], steps_y[at].T, steps_active[at]
        dt = np.empty(t_out.size)
        dt[0] = 0.0
        np.subtract(t_out[1:], t_out[:-1], out=dt[1:])
        if twice.size:
            second = np.flatnonzero(at[1:] == at[:-1]) + 1
            active[second] = log.after[: second.size]
    if want_dense and solution is not None:
        extra["sol"] = solution
    law_names = [
        f"{system.group_name(j)} {name}" for j, group in enumerate(system.groups) for name in group.regions
    ]
    switches = LazyEvents(lambda: _events(names, pieces, accumulated))
    data = {
        "t": t, "y": steps_y, "active": steps_active.astype(float),
        "events": np.column_stack([log.t, log.component, log.before, log.after]), "rtol": run.o.rtol,
        "atol": np.asarray(run.o.atol), "epsilon": float(run.info.epsilon), "fixed": run.o.fixed,
        "implicit": run.data.kind != EXPLICIT, "kinds": switches, "derivatives": extra["gradient_sources"],
        "notes": extra["notes"], "accumulated": accumulated,
    }  # fmt: skip
    python, parameters = run.c.python, run.c.parameters
    return Result(
        t_out, y=y, modes=_modes(active, starts), dt=dt, order=np.full(t_out.size, run.data.order),
        events=switches, status=status, audit=LazyAudit(lambda: audit_filippov(python, parameters, data)),
        message=message, law_names=law_names, coordinate_names=system.names or (), method=run.o.method,
        method_options={"rtol": run.o.rtol, "epsilon": float(run.info.epsilon), "location": run.o.location or "auto"},
        params=system.params, extra=extra, **run.counters,
    )  # fmt: skip
