"""What a run was, how it ended and how far it can be trusted, in plain words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth.results.columns import Columns
from nonsmooth.results.losses import losses_by_law

_LAWS = 6  # named one by one in the energy balance

_WORDS = {
    "impact": ("impact", "impacts"), "close": ("closing", "closings"), "open": ("opening", "openings"),
    "stick": ("transition to stick", "transitions to stick"), "slip": ("transition to slip", "transitions to slip"),
    "reversal": ("slip reversal", "slip reversals"), "touch": ("touch", "touches"),
    "zeno": ("accumulation point", "accumulation points"), "switch": ("switch", "switches"),
    "reach": ("constraint reached", "constraints reached"), "breakpoint": ("breakpoint", "breakpoints"), "event": ("event", "events"),
}  # fmt: skip


def number(value: Any) -> str:
    """A number short enough to read."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    return f"{float(value):.6g}" if math.isfinite(value) else str(float(value))


def sentences(result: Any, columns: Columns) -> list[tuple[str, str]]:
    """Pairs of a topic and what is to say about it."""
    said = [
        ("Run", _run(result, columns)),
        ("Accuracy", _accuracy(result, columns)),
        ("Events", _events(columns)),
    ]
    audit = getattr(result, "audit", None)
    if audit is not None:
        said += [("Energy", _energy(result, audit)), ("Contacts", _contacts(audit)), ("Check", _check(audit))]
    said.append(("Shown", _shown(columns)))
    return [(topic, text) for topic, text in said if text]


def _run(result: Any, columns: Columns) -> str:
    if not columns.t.size:
        return "The run holds no instants."
    method = getattr(result, "method", "")
    text = f"From t = {columns.t[0]:.9g} to t = {columns.t[-1]:.9g}" + (f" with {method}" if method else "")
    steps = getattr(result, "nsteps", 0)
    if steps:
        text += f" in {number(int(steps))} steps"
        rejected = getattr(result, "nrejected", 0)
        text += f" ({number(int(rejected))} more were tried and rejected)" if rejected else ""
    if getattr(result, "nfev", 0):
        text += (
            f", {number(int(result.nfev))} evaluations of the forces"
            if columns.q.size
            else f", {number(int(result.nfev))} evaluations"
        )
    message = str(getattr(result, "message", "")).rstrip(". ")
    if not getattr(result, "success", True):
        return f"{text}. IT DID NOT SUCCEED: {message}."
    return (
        f"{text}. It reached the end."
        if int(getattr(result, "status", 0)) == 0
        else f"{text}. It ended early: {message}."
    )


def _accuracy(result: Any, columns: Columns) -> str:
    options = getattr(result, "method_options", {}) or {}
    asked = [
        f"{name} = {number(options[name])}" for name in ("rtol", "atol", "dt", "tol") if options.get(name)
    ]
    text = f"Asked for: {', '.join(asked)}. " if asked else ""
    estimate = getattr(result, "error_estimate", None)
    if estimate is not None and np.size(estimate):
        worst = np.nanmax(np.abs(np.asarray(estimate, dtype=float)))
        text += f"Estimated error: at most {worst:.3g}. "
    dt = columns.dt[columns.dt > 0] if columns.dt.size else columns.dt
    if dt.size:
        text += (
            f"Steps from {dt.min():.3g} to {dt.max():.3g}"
            if np.ptp(dt) > 1e-6 * dt.max()
            else f"Steps of {dt.max():.6g}"
        )
        order = columns.order
        text += f", order up to {int(order.max())}." if order.size and order.max() > 1 else "."
    return text.strip()


def _events(columns: Columns) -> str:
    if not columns.event_counts:
        return "None."
    parts = []
    for kind, count in columns.event_counts.items():
        one, many = _WORDS.get(kind, (kind, kind))
        parts.append(f"{number(count)} {one if count == 1 else many}")
    text = ", ".join(parts) + "."
    points = [e for e in columns.events if e.kind == "zeno"]
    for e in points[:3]:
        text += f" The events of {e.name!r} accumulate at t = {e.t:.9g}."
    return text


def _energy(result: Any, audit: Any) -> str:
    balance = dict(getattr(audit, "energy_balance", None) or {})
    text = ""
    if "kinetic_start" in balance:
        text += f"Kinetic energy {balance['kinetic_start']:.6g} at the start, {balance.get('kinetic_end', math.nan):.6g} at the end. "
    if "potential_start" in balance:
        text += f"Potential energy {balance['potential_start']:.6g} and {balance['potential_end']:.6g}. "
    if "work_forces" in balance:
        text += f"The forces did the work {balance['work_forces']:.6g}. "
    losses = {k: v for k, v in balance.items() if k.startswith("loss_") and isinstance(v, (int, float))}
    causes = [f"{key[5:].replace('_', ' ')} {value:.6g}" for key, value in losses.items()]
    if causes:
        text += f"Lost in: {', '.join(causes)}. "
        text += _by_law(losses_by_law(result))
    if "unexplained" in balance:
        text += f"Not explained by these: {balance['unexplained']:.2g} of the largest term. "
    gains = dict(getattr(audit, "energy_gains", None) or {})
    if gains.get("count"):
        text += f"IN {gains['count']} STEPS THE IMPACT LAW CREATED ENERGY. "
    return text.strip()


def _by_law(losses: list[tuple[str, float]]) -> str:
    """The laws that took most energy, and those that gave some (moving surfaces)."""
    noise = 1e-9 * max((abs(loss) for _, loss in losses), default=0.0)
    taken = [f"{name} {loss:.3g}" for name, loss in losses if loss > noise]
    given = [f"{name} {-loss:.3g}" for name, loss in losses if loss < -noise]
    more = f" and {len(taken) - _LAWS} more" if len(taken) > _LAWS else ""
    text = f"By law: {', '.join(taken[:_LAWS])}{more}. " if taken else ""
    return text + (f"Brought in by: {', '.join(given[:_LAWS])}. " if given else "")


def _contacts(audit: Any) -> str:
    text = ""
    gap, when = getattr(audit, "worst_gap", None), getattr(audit, "worst_gap_t", None)
    if gap is not None:
        text += f"Worst gap {gap:.3g}" + ("" if when is None else f" at t = {when:.6g}") + ". "
    count = getattr(audit, "unconverged", 0) or 0
    if count:
        text += f"{count} CONTACT PROBLEMS DID NOT CONVERGE and were accepted. "
    elif getattr(audit, "max_iterations", None) is not None:
        text += "Every contact problem was solved to its tolerance. "
    missed = dict(getattr(audit, "missed_contacts", None) or {})
    if missed.get("count"):
        text += f"{missed['count']} CONTACTS CLOSED AND OPENED INSIDE A STEP without being seen: use smaller steps. "
    redundant = getattr(audit, "redundancies", None)
    if redundant:
        text += f"Redundant constraints: {redundant}. "
    return text.strip()


def _check(audit: Any) -> str:
    failures = list(audit.failures()) if hasattr(audit, "failures") else []
    if failures:
        return "NOT IN ORDER: " + "; ".join(str(line) for line in failures) + "."
    checked, total = getattr(audit, "steps_checked", 0), getattr(audit, "steps_total", 0)
    error = getattr(audit, "step_error", None)
    if checked:
        told = "" if error is None else f" The largest difference was {error:.2g} tolerances."
        return (
            f"{number(checked)} of {number(total)} steps were recomputed by a second route: in order.{told}"
        )
    return "Nothing speaks against the run in its running totals."


def _shown(columns: Columns) -> str:
    if not columns.thinned:
        return ""
    return (
        f"Of {number(columns.total)} stored instants {number(columns.t.size)} are drawn: evenly spread ones, extremes, jumps, and "
        "those around events."
    )
