"""Events exactly at the end of a span: reached, but not passed, so that the loop has not seen them.

They happen there as anywhere else: modes change, resets act, and the last state is the one after them. A run that
goes on from it finds no second event, whose rules at the start are the same: a bilateral switch is at its zero within 8 eps, a
unilateral one has been reset and moves out.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events import records as core

EPS = np.finfo(float).eps


def settle_at_end(run) -> None:
    """Modes and resets of a `SwitchedRun` at the end of its span, until nothing changes; by index, as everywhere."""
    bound, table, g = run.bound, run.table, run.ev.values.start
    near = np.maximum(table["tol"], 1e-6 * np.maximum(table["scale"], table["peak"]))
    if not (np.abs(g) <= near).any():
        return  # as good as always
    acted: set[int] = set()
    known = {
        event.law
        for event in run.events[-2 * bound.m :]
        if abs(event.t - run.t) <= 8 * EPS * max(abs(run.t), 1)
    }
    for _ in range(run.options.max_chain + 1):
        changed = False
        for i in range(bound.m):
            if table["muted"][i] or i in run.held.resting or i in run.held.sliding:
                continue
            if not acted and abs(g[i]) > near[i]:
                continue
            found = _what_happens(run, i, first=not acted, known=i in known)
            if found == "touch":
                known.add(i)
                run.events.append(run.event("touch", i, run.y, run.y, direction=0, at_end=True))
            elif found:
                changed = True
                acted.add(i)
                _act(run, i, found)
        if not changed:
            break
    else:
        raise run.endless({bound.names[i] for i in acted})
    if acted:
        run.add_row()


def _what_happens(run, i: int, first: bool, known: bool) -> str:
    """ "impact", "switch", "touch" or nothing."""
    switch = run.switches[i]
    value = float(run.ev.values.start[i])
    unilateral = switch.kind == core.UNILATERAL
    mode = 1 if run.bound.p[i] >= 0 else -1
    forward = 1.0 if run.t_bound >= run.t_0 else -1.0
    rate = run.rate(i)
    limit = 8 * EPS
    if unilateral:
        limit = max(switch.tol, 16 * EPS * max(switch.scale, abs(run.t * rate)))
    kind = "impact" if unilateral else "switch"
    if not first and value * mode < -limit and (mode > 0 or not unilateral):
        return kind  # a reset has thrown it over
    if abs(value) > limit or known:
        return ""
    if switch.peak <= 4 * EPS * max(1.0, np.abs(run.y).max(initial=0.0)):
        return ""  # it has been zero for a while
    if rate * forward * mode < 0.0:
        return kind if mode > 0 or not unilateral else ""
    return "touch" if first else ""


def _act(run, i: int, kind: str) -> None:
    """The event of switch i: mode, reset, record."""
    bound, switch = run.bound, run.switches[i]
    mode = 1 if bound.p[i] >= 0 else -1
    counts = kind == "impact" or switch.direction in (0, -mode)
    before = run.y.copy()
    rate = run.rate(i)
    if kind == "switch" or not switch.has_reset:
        bound.p[i] = -mode
    if counts and switch.has_reset:
        try:
            run.y[:] = bound.reset(i, run.t, run.y.copy())
        except Exception as exc:
            exc.add_note(f"raised in `reset of {bound.names[i]}` at t = {run.t:.9g}, the end of the span")
            raise
        if not np.isfinite(run.y).all():
            run.bad_switch(i, run.t)
    run.restart(1.0)  # slope and switching functions in the new state
    if not counts:
        return
    switch.hits += 1
    run.ev.counts.events += 1
    extra = {"direction": -mode, "iterations": 0, "rate": rate, "jump": False, "at_end": True}
    run.events.append(run.event(kind, i, before, run.y, **extra))
    if switch.terminal and switch.hits >= switch.terminal:
        run.stop("A termination event occurred.")
