"""Records of a finished run that serve the next one: making them takes longer than a short run.

A run is two hundred arrays and their addresses. One that has reached its end is kept beside the model, with what its records held before
the start (`integrators.reuse.Pristine`), and taken again by a run of the same scheme, laws and parameters. A system runs once at a time
(`RunGuard`), and a run that is being used is kept nowhere. What differs between runs in shape (instants asked for, events, states inside
steps) is made anew, as are runs with more output than `MOST_BYTES`.
"""

from __future__ import annotations

from typing import Any

MOST_BYTES = 8_000_000  # of records kept beside a model


def taken(model, scheme, plan) -> Any:
    """A finished run whose records fit, or None; it is no longer kept."""
    kept = getattr(model, "spare", {})
    run = kept.pop(scheme.name, None)
    if run is None or not usual(plan):
        return None
    same = run.scheme == scheme and run.plan.capacity == plan.capacity and run.model.laws is model.laws
    return run if same and run.scene.model.p is model.parameters.flat else None


def keep(run) -> bool:
    """Keep the records of a run that is over; whether they are (then nothing may refer to its output)."""
    kept = getattr(run.model, "spare", None)
    if kept is None or not hasattr(run, "pristine") or not usual(run.plan):
        return False
    if sum(array.nbytes for array in run.out) > MOST_BYTES:
        return False
    kept[run.scheme.name] = run
    return True


def usual(plan) -> bool:
    """Whether a run has the records that most have."""
    return not (plan.t_eval.size or plan.watched or plan.nodes or plan.keep_ends or plan.controllers)
