"""Draw the systems of the gauntlet, compute their references, store those that are admitted.

    python -m tests.gauntlet.generate [family ...]        (from the root of the repository; all families by default)

Admitted are motions that are unique, well away from a change of their kind, and not chaotic: a change of the start by 1e-8
grows at most a hundredfold. The stored error is the difference between two runs with different tolerances and steps.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from .reference import Inadmissible, run
from .reference_models import MODELS
from .systems import FAMILIES, candidates, in_units, running_scales, state_factors

DATA = Path(__file__).parents[1] / "data" / "gauntlet"
INSTANTS = 20
CLEAR = 1e-3  # of the span: distance of the instants from events
CHANGE, GROWTH = 1e-8, 100.0
SLOWEST_IMPACT = 1e-2  # of the largest relative velocity
NEAREST_MISS = 1e-3
CONE_MARGIN = 1e-2
NEAREST_EVENTS = 1e-5  # of the span: events of different instants are at least that far apart
ACCURATE = 1e-10


def joined(events):
    """Closing and opening at one instant is an impact."""
    out = []
    for event in events:
        if (
            out
            and event.kind == "open"
            and (out[-1].t, out[-1].kind, out[-1].law) == (event.t, "close", event.law)
        ):
            out[-1].kind = "impact"
        else:
            out.append(event)
    return out


def instants(events, T):
    """Instants away from events, spread over the span."""
    times = np.array([e.t for e in events])
    grid = np.linspace(0, T, 20 * INSTANTS + 1)[1:-1]
    clear = np.array([np.all(np.abs(times - t) > 1.5 * CLEAR * T) for t in grid])
    free = grid[clear]
    if free.size < INSTANTS:
        raise Inadmissible("events everywhere")
    return free[np.unique(np.round(np.linspace(0, free.size - 1, INSTANTS)).astype(int))]


def deviation(first, second, q_scale, u_scale):
    """Largest component of the difference of two motions over the scale."""
    q_error = np.abs(np.array(first.q) - second.q) / q_scale
    u_error = np.abs(np.array(first.u) - second.u) / u_scale
    return float(max(q_error.max(), u_error.max()))


def motion(model, description, samples, rtol, shift=None, **options):
    q0, u0 = np.array(description["q0"]), np.array(description["u0"])
    if shift is not None:
        q0, u0 = consistent(model, q0, u0, q0 + shift[0], u0 + shift[1])
    found = run(model, (0.0, description["T"]), q0, u0, samples, rtol=rtol, **options)
    found.q0, found.u0 = np.array(description["q0"]), np.array(description["u0"])
    found.events = joined(found.events)
    return found


def consistent(model, q0, u0, q, u):
    """The changed start (q, u) with the joints and touching contacts of (q0, u0)."""
    touching = np.flatnonzero(np.abs(np.array(model.gap(0.0, q0))) < 1e-12)
    terms0 = model.terms(0.0, q0, u0)
    resting = [i for i in touching if abs(terms0.gamma_N[i]) < 1e-10]
    stuck = [k for k in range(len(terms0.gamma_T)) if abs(terms0.gamma_T[k]) < 1e-10 and np.any(terms0.T[k])]
    stuck = [k for k in stuck if k >= len(model.e) or (k in resting and model.mu[k] > 0)]
    for _ in range(4):
        terms = model.terms(0.0, q, u)
        W = np.vstack([terms.J, terms.N[touching]])
        if len(W):
            gap = np.concatenate([model.joint(0.0, q), np.array(model.gap(0.0, q))[touching]])
            q = q - np.linalg.lstsq(W, gap, rcond=1e-10)[0]
    terms = model.terms(0.0, q, u)
    W = np.vstack([terms.J, terms.N[resting], terms.T[stuck]])
    if len(W):
        gamma = np.concatenate([terms.gamma_J, terms.gamma_N[resting], terms.gamma_T[stuck]])
        u = u - np.linalg.lstsq(W, gamma, rcond=1e-10)[0]
    return q, u


def check_margins(found, T):
    if found.margin < NEAREST_MISS:
        raise Inadmissible(f"an event is nearly missed or met ({found.margin:.1e})")
    if found.decision < CONE_MARGIN:
        raise Inadmissible(f"stick is decided near the cone's edge ({found.decision:.1e})")
    fastest = {}
    for event in found.events:
        if event.speed > 0:
            slow = event.speed < SLOWEST_IMPACT * found.speed
            if slow and not event.speed < fastest.get(event.law, 0.0):
                raise Inadmissible("a slow impact")
            fastest[event.law] = event.speed
    firm = [e for e in found.events if not 0 < e.speed < SLOWEST_IMPACT * found.speed]
    for a, b in zip(firm, firm[1:]):
        if 1e-9 * T < b.t - a.t < NEAREST_EVENTS * T:
            raise Inadmissible("events nearly at one instant")


def story(events):
    return [(e.kind, e.law) for e in events]


def significant(events, speed):
    """Events with the tail of an accumulation left out: impacts too slow to be asked for."""
    return [e for e in events if not (e.kind == "impact" and e.speed < SLOWEST_IMPACT * speed)]


def reference(description):
    """The stored record of an admitted system; `Inadmissible` otherwise."""
    model = MODELS[description["model"]](description["params"], description["e"], description["mu"])
    T = description["T"]
    first = motion(model, description, [], 1e-10)
    check_margins(first, T)
    samples = instants(first.events, T)
    best = motion(model, description, samples, 1e-13)
    check_margins(best, T)
    other = motion(model, description, samples, 3e-12, max_step=T / 130, margins=False)
    if story(significant(best.events, best.speed)) != story(significant(other.events, best.speed)):
        raise Inadmissible("two tolerances, two stories")
    # both in units of size one
    plain = {**description, "units": (0, 0, 0)}
    q_scale, u_scale = running_scales(plain, np.vstack([best.q0, *best.q]), np.vstack([best.u0, *best.u]))
    error = deviation(best, other, q_scale[1:], u_scale[1:])
    times = [
        abs(a.t - b.t) / T
        for a, b in zip(significant(best.events, best.speed), significant(other.events, best.speed))
    ]
    error = max([error, *times])
    if error > ACCURATE:
        raise Inadmissible(f"reference accurate to {error:.1e} only")
    growth = 0.0
    rng = np.random.default_rng(len(samples))
    for _ in range(2):
        shift = [CHANGE * s[-1] * rng.choice([-1.0, 1.0], s.shape[1]) for s in (q_scale, u_scale)]
        for part in shift:
            part[description.get("kept", [])] = 0.0  # what holds by symmetry
        changed = motion(model, description, samples, 1e-12, shift=shift, margins=False)
        if story(significant(changed.events, best.speed)) != story(significant(best.events, best.speed)):
            raise Inadmissible("a changed start, another story")
        growth = max(growth, deviation(best, changed, q_scale[-1], u_scale[-1]) / CHANGE)
    if growth > GROWTH:
        raise Inadmissible(f"growth {growth:.0f}")
    return record(description, best, error, growth)


def digits(values):
    return [float(f"{x:.15g}") for x in np.ravel(values)]


def record(description, best, error, growth):
    """What is stored: the description and its reference, both in the description's units."""
    q_by, u_by, t_by = state_factors(description)
    kept = []
    for event in best.events:
        slow = 0 < event.speed < SLOWEST_IMPACT * best.speed
        kept.append([float(f"{event.t * t_by:.15g}"), event.kind, event.law, int(slow)])
    tail = [e for e in kept if e[3] and e[1] == "impact"]
    kept = [e for e in kept if e not in tail]
    given = in_units(description)
    idle = {"idle": sorted(best.idle)} if best.idle else {}
    return {
        **{key: given[key] for key in ("name", "model", "units", "params", "e", "mu", "T") if key in given},
        "q0": digits(given["q0"]), "u0": digits(given["u0"]),
        "reference": {
            "t": digits(np.array(best.t) * t_by), "q": [digits(q * q_by) for q in best.q], "u": [digits(u * u_by) for u in best.u],
            **idle, "events": kept, "tail": len(tail), "error": float(f"{error:.1e}"), "growth": float(f"{growth:.2g}"),
        },
    }  # fmt: skip


def admitted(family, count, report=None):
    """The first `count` admitted systems of a family."""
    found = []
    for tried, description in enumerate(candidates(family), 1):
        try:
            found.append(reference(description))
        except (Inadmissible, np.linalg.LinAlgError) as exc:
            if report is not None:
                report.append((description["name"], str(exc)))
        if len(found) == count or tried == 20 * count:
            return found


def write(family, records):
    DATA.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    (DATA / f"{family}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main(families):
    for family in families or FAMILIES:
        refused = []
        records = admitted(family, FAMILIES[family][1], refused)
        write(family, records)
        errors = [r["reference"]["error"] for r in records] or [np.nan]
        print(
            f"{family}: {len(records)} admitted, {len(refused)} refused, largest error {max(errors):.1e}",
            flush=True,
        )
        for name, why in refused:
            print(f"    {name}: {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
