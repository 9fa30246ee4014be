"""The audit of a simulation: made at its end, or when somebody looks at it.

A recomputation takes several times as long as a short run, and many results are never asked for it. It waits where it would find the
same later: functions are compiled (they cannot see what changed meanwhile), parameters did not change on the way, and columns are few
enough to be kept beside those the user may write into. What has to be said at the end of a run is said then: derivatives that
contradict their functions here, energy that impacts made by the counts of the loop.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nonsmooth.model.check_derivatives import check_along
from nonsmooth.results.audit import Audit
from nonsmooth.results.audit.lazy import LazyAudit
from nonsmooth.results.result import Result
from nonsmooth.schemes.request import Request
from nonsmooth.schemes.simulation import STREAMED

MOST_KEPT = 8_000_000  # bytes of columns kept for an audit that waits


@dataclass
class Asked:
    """What an audit is made of, besides the result."""

    model: Any
    scheme: Any
    totals: dict[str, Any]
    plan: Any
    samples: dict[str, np.ndarray] | None
    request: Request
    remarks: list[str]  # of the run, for its notes


def can_wait(asked: Asked, result: Result) -> bool:
    """Whether the audit would find the same later, and has nothing to say now."""
    model, totals = asked.model, asked.totals
    if result.status < 0 or model.callbacks or totals["energy_gain_count"] or not model.goes_back:
        return False
    if asked.plan.controllers or asked.request.output is not None:
        return False
    size = sum(array.nbytes for array in vars(result).values() if isinstance(array, np.ndarray))
    return asked.scheme.counts_gains and size <= MOST_KEPT


def waiting(asked: Asked, result: Result) -> LazyAudit:
    """The audit of the columns as they are now."""
    kept = copy.copy(result)
    for name, value in vars(result).items():
        if isinstance(value, np.ndarray):
            vars(kept)[name] = value.copy()
    kept.extra = dict(result.extra)
    return LazyAudit(partial(_made_later, asked, kept, derivative_notes(asked.model, result)))


def _made_later(asked, kept, notes):
    system = asked.model.system
    with system.running():
        system.pieces.cut(asked.request.borders())
        asked.model.go_back()
        return _complete(asked, kept, notes)


def audit_of(asked: Asked, result: Result) -> Audit | None:
    """The audit, made now; none if a function that ended the run raises again."""
    try:
        return _complete(asked, result, None)
    except Exception:
        if result.status >= 0:
            raise
        return None


def _complete(asked: Asked, result: Result, notes) -> Audit:
    """The audit with everything else that is to be said of the run."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a run that ends in overflow
        audit = _audited(asked.model, asked.scheme, result, asked.totals, asked.plan, asked.samples)
    audit.notes += _clipped(asked.scheme, asked.plan.segments)
    audit.notes += derivative_notes(asked.model, result) if notes is None else notes
    if asked.model.callbacks:
        audit.notes.append("run as Python callbacks: " + ", ".join(asked.model.callbacks))
    if asked.request.on_energy_gain == "ignore":
        audit.energy_gains["accepted"] = True
    audit.notes += asked.remarks
    return audit


def derivative_notes(model, result: Result) -> list[str]:
    """What is wrong with the derivatives a user gave, along a run that reached its end; a warning, too."""
    return check_along(model, result.t, result.q, result.u) if result.status >= 0 else []


def _audited(model, scheme, result, totals, plan, samples):
    """The audit of a run; where controllers change parameters, of the longest time in which they did not."""
    control = plan.controllers
    if control is None or not len(result):
        return scheme.audit(model, result, totals, plan, samples)
    now = control.held.flat.copy()
    begin, end = control.longest(result.t)
    within = (result.t >= begin) & (result.t <= end)
    if samples is not None:
        inside = (samples["t_E"] - samples["dt"] >= begin) & (samples["t_E"] <= end)
        samples = {name: array[..., inside] for name, array in samples.items()}
    columns = {name: getattr(result, name)[..., within] for name in STREAMED if name != "P_J"}
    by_column = {
        name: value for name, value in result.extra.items() if np.shape(value)[-1:] == result.t.shape
    }
    extra = {name: value[..., within] for name, value in by_column.items()}
    part = Result(
        **columns,
        events=result.events.between(begin, end),
        extra=extra,
        nsteps=result.nsteps,
        nbase=result.nbase,
        law_names=result.law_names,
    )
    audit = scheme.audit(model, part, totals, plan, samples)
    audit.notes.append(f"controllers change parameters: recomputed from t = {begin:.9g} to {end:.9g} only")
    control.held.flat[:] = now
    return audit


def _clipped(scheme, segments) -> list[str]:
    """A step longer than a segment is shortened to it: worth a word."""
    dt = getattr(scheme, "dt", None)
    if dt is None or not segments:
        return []
    a, b = max(segments, key=lambda segment: segment[1] - segment[0])
    if dt <= (b - a) * (1 + 1e-9):
        return []
    return [
        f"dt = {dt:g} is longer than the span (or every part of it between breakpoints): steps were shortened"
    ]
