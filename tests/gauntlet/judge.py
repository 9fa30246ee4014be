"""Run a system of the gauntlet and judge what came back.

Verdicts: ``within`` (states and events within tolerance), ``declared`` (a typed error, a warning or the audit says what is
wrong), ``stalled`` (stopped by the budget), ``wrong`` (outside the tolerance without a word).
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nonsmooth as ns
from nonsmooth.errors import GrazingWarning, NonsmoothError, NonUniqueWarning, StepLimitError

from .library import system
from .systems import running_scales

DATA = Path(__file__).parents[1] / "data" / "gauntlet"
FACTOR = 100.0  # errors are allowed to be that many times rtol
MAX_STEPS = 100_000  # only ever stops a run
BUDGET = ("max_steps", "time_limit")  # how a run says that it was stopped
DECLARING = (GrazingWarning, NonUniqueWarning)

#: What a library may call an event of the reference: an impact seen as closing and opening, a reversal as stick and slip.
ALIKE = {
    "impact": {"impact", "close"},
    "close": {"close", "zeno"},
    "open": {"open", "impact"},
    "stick": {"stick", "reversal"},
    "slip": {"slip", "reversal"},
    "reversal": {"reversal", "stick", "slip"},
}
REDUNDANT = ("box", "slot")  # two corners share a tangential force: which of them sticks is nobody's business


@dataclass
class Verdict:
    name: str
    rtol: float
    kind: str
    why: str = ""
    error: float = np.nan  # largest error of a state over the running scale, in units of rtol
    event_error: float = np.nan  # largest error of an instant over the span, in units of rtol
    steps: int = 0
    estimate: float = np.nan  # the run's own estimate of the error at the end
    error_end: float = np.nan  # the true one


def load(*families):
    """Records of the stored systems, family by family."""
    files = [DATA / f"{family}.json" for family in families] or sorted(DATA.glob("*.json"))
    return [record for path in files for record in json.loads(path.read_text(encoding="utf-8"))]


def attempt(record, rtol, **options):
    """Run a system with the library: (result or exception, warnings)."""
    t = np.minimum(record["reference"]["t"], record["T"])  # stored with 15 digits
    if "dt" not in options:
        options["rtol"] = rtol
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = ns.simulate(
                system(record),
                (0.0, record["T"]),
                record["q0"],
                record["u0"],
                t_eval=t,
                **{"max_steps": MAX_STEPS, **options},
            )
        except NonsmoothError as exc:
            found = exc
    return found, [w.category for w in heard]


def judge(record, rtol, found, heard=(), estimated=False):
    """The verdict on a result (or on the error raised instead); with `estimated` also on its estimate of the error, a second run."""
    name = record["name"]
    if isinstance(found, Exception):
        steps = getattr(found.partial, "nsteps", 0) if found.partial is not None else 0
        stopped = isinstance(found, StepLimitError) and any(key in str(found) for key in BUDGET)
        return Verdict(
            name, rtol, "stalled" if stopped else "declared", f"{type(found).__name__}: {found}", steps=steps
        )
    error = state_error(record, found.q, found.u)
    event_error, why = compare_events(record, rtol, found.events)
    verdict = Verdict(name, rtol, "within", why, error.max() / rtol, event_error / rtol, found.nsteps)
    if estimated:
        verdict.estimate, verdict.error_end = float(found.error_estimate), float(error[-1])
    if not error.max() <= FACTOR * rtol:
        at = record["reference"]["t"][int(np.argmax(error > FACTOR * rtol))]
        verdict.kind, verdict.why = "wrong", f"states from t = {at:.6g} on" + (f"; {why}" if why else "")
    elif why:
        verdict.kind = "wrong"
    if verdict.kind == "wrong" and declared(found, heard):
        verdict.kind = "declared"
    return verdict


def declared(found, heard):
    """Whether the run itself says that its result is not what was asked for."""
    audit = found.audit
    return any(issubclass(category, DECLARING) for category in heard) or (audit is not None and not audit.ok)


# -- states ---------------------------------------------------------------------------------------------------------------


def state_error(record, q, u):
    """Largest component of |error| / running scale at each instant of the reference."""
    reference = record["reference"]
    history = [np.vstack([record[f"{key}0"], reference[key]]) for key in "qu"]
    q_scale, u_scale = (scale[1:] for scale in running_scales(record, *history))
    q_error = np.abs(np.asarray(q).T - reference["q"]) / q_scale
    u_error = np.abs(np.asarray(u).T - reference["u"]) / u_scale
    worst = np.maximum(q_error.max(axis=1), u_error.max(axis=1))
    return np.where(np.isfinite(worst), worst, np.inf)


def estimate_holds(verdict):
    """Whether an estimate lies between a tenth and thirty times the true error, or both are below a tenth of `rtol`; and whether it
    is far too small."""
    estimate, true = verdict.estimate, verdict.error_end
    if max(estimate, true) <= 0.1 * verdict.rtol:
        return True, False
    return 0.1 * true <= estimate <= 30.0 * true, estimate < 0.1 * true


# -- events ---------------------------------------------------------------------------------------------------------------


def compare_events(record, rtol, events):
    """(largest error of an instant over the span, what is missing or too much)."""
    T, wanted, idle = record["T"], record["reference"]["events"], record["reference"].get("idle", ())
    if wanted is None:
        return np.nan, ""
    tol = FACTOR * rtol * T
    loose = record["model"] in REDUNDANT
    seen = [(e.t, e.kind, "friction" if loose and e.name.endswith("friction") else e.name) for e in events]
    wanted = [
        (t, kind, "friction" if loose and law.endswith("friction") else law) for t, kind, law, _ in wanted
    ]
    worst = 0.0
    for t, kind, law in wanted:
        if t <= tol or t >= T - tol:
            continue  # the modes of a start are no events; at the end an event may fall outside
        distance = [abs(s - t) for s, k, name in seen if name == law and (k in ALIKE[kind] or law in idle)]
        if not distance or min(distance) > tol:
            return worst / T, f"no {kind} of {law!r} at t = {t:.9g}"
        worst = max(worst, min(distance))
    for s, kind, name in seen:
        if kind == "breakpoint" or name in idle or (loose and name == "friction"):
            continue
        if s <= tol or s >= T - tol or explained(record, wanted, s, name, tol):
            continue
        return worst / T, f"{kind} of {name!r} at t = {s:.9g} that is none"
    return worst / T, ""


def explained(record, wanted, s, name, tol):
    """Whether an event of the run belongs to one of the reference, or to the tail of an accumulation."""
    if any(law == name and abs(t - s) <= tol for t, _, law in wanted):
        return True
    if not record["reference"]["tail"]:
        return False
    contact = name.removesuffix(" friction")
    instants = [(t, kind) for t, kind, law in wanted if law == contact]
    # impacts that are too slow to be listed lie between others and the closing; a fast one that is none shows in the states
    hits = [t for t, kind in instants if kind == "impact"]
    for t_close in (t for t, kind in instants if kind == "close"):
        if any(t - tol <= s <= t_close + tol for t in hits):
            return True
    # the span may end before the impacts have done so
    return bool(instants) and instants[-1][1] == "impact" and s >= instants[-1][0] - tol
