"""The audit of a run: what a second, plain-NumPy route found.

Nothing here is taken from the contact solver or from a compiled loop except running totals over all steps,
which are named as such. The recomputation of one step stands in `nonsmooth.results.moreau_check`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from nonsmooth.results.events import count_kinds, counts_text, event_times
from nonsmooth.results.moreau_check import StepCheck, check_moreau_step, largest, relative

_EPS = np.finfo(np.float64).eps
_IMPULSES = ("P_N", "P_T", "P_J")
# change of a quaternion's length in one step that is worth a word: about a third of a radian per step
_STRETCH = 1e-4


@dataclass
class Audit:
    """What an independent check found; ``print(audit)`` gives a table, fields that do not apply are None.

    Attributes
    ----------
    worst_gap, worst_gap_t : float
        Most negative gap (or the smallest one if none is negative) and its instant.
    cone_violation : float
        Largest distance of an impulse from its set, relative to the largest impulse of the step.
    complementarity : float
        Largest residual of the natural map (19), relative to the velocities of the step.
    momentum_residual : float
        Largest residual of (15), relative to the terms of (15).
    position_residual : float
        Largest residual of the position update (21), relative to its terms.
    energy_identity_error : float
        Largest violation of the energy identity of a step, relative to its terms.
    energy_balance : dict
        ``kinetic_start``, ``kinetic_end``, ``work_forces``, ``loss_contacts``, ``unexplained`` (relative)
        and, where the model has a potential, ``potential_start``, ``potential_end``.
    energy_gains : dict
        Steps in which the contact laws created energy: ``count``, ``worst`` (relative), ``t``, ``law``,
        ``T_before``, ``T_after``; ``candidates`` are steps named by the running totals that the second
        route did not confirm.
    unconverged : int
        Contact problems accepted above the tolerance.
    max_residual, max_residual_t, max_iterations, mean_iterations
        Of the contact solver, over all steps, as reported by it.
    activation_mismatch : int
        Checked steps in which a contact was active with an open gap at the midpoint, or the other way round.
    events : dict
        Number of events of each kind.
    joint_drift_position, joint_drift_velocity, joint_drift_acceleration : float
        Largest constraint residual at each level.
    derivatives : dict
        Which derivative came from where.
    steps_checked, steps_total : int
        How many steps the second route has recomputed, out of how many.
    tolerance : float
        Residuals above it make `ok` False.
    notes : list of str
        Everything a reader should know, in plain words.
    """

    worst_gap: float | None = None
    worst_gap_t: float | None = None
    cone_violation: float | None = None
    complementarity: float | None = None
    complementarity_t: float | None = None
    momentum_residual: float | None = None
    momentum_residual_t: float | None = None
    position_residual: float | None = None
    energy_identity_error: float | None = None
    energy_balance: dict[str, float] = field(default_factory=dict)
    energy_gains: dict[str, Any] = field(default_factory=lambda: {"count": 0})
    unconverged: int = 0
    max_residual: float | None = None
    max_residual_t: float | None = None
    max_iterations: int | None = None
    mean_iterations: float | None = None
    activation_mismatch: int = 0
    events: dict[str, int] = field(default_factory=dict)
    joint_drift_position: float | None = None
    joint_drift_velocity: float | None = None
    joint_drift_acceleration: float | None = None
    derivatives: dict[str, str] = field(default_factory=dict)
    steps_checked: int = 0
    steps_total: int = 0
    tolerance: float = 1e-8
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if all residuals are within `tolerance`, all solves converged, no mode contradicts its gap."""
        return not self.failures()

    def failures(self) -> list[str]:
        """What is not in order, one line each; empty if all is well."""
        lines = []
        checked = (
            "cone_violation",
            "complementarity",
            "momentum_residual",
            "position_residual",
            "energy_identity_error",
        )
        for name in checked:
            value = getattr(self, name)
            if value is not None and not value <= self.tolerance:  # also catches NaN
                lines.append(f"{name.replace('_', ' ')} {value:.3g} is above {self.tolerance:.3g}")
        if self.unconverged:
            lines.append(f"{self.unconverged} contact problems did not converge and were accepted")
        if self.activation_mismatch:
            lines.append(f"{self.activation_mismatch} checked steps have a mode that contradicts the gap")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, fit for JSON; without `ok`, which is derived."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Audit:
        """Inverse of `as_dict`; keys that are not fields are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "NOT ok: " + "; ".join(self.failures())
        if self.ok and self.steps_total and not self.steps_checked:
            verdict = "nothing against it in the running totals, but no step was recomputed"
        rows = [("audit", verdict)]
        if self.steps_total:
            rows.append(("steps recomputed", f"{self.steps_checked} of {self.steps_total}"))

        def number(label: str, value: float | None, t: float | None = None) -> None:
            if value is not None:
                rows.append((label, f"{value:.3e}" + ("" if t is None else f"  at t = {t:.9g}")))

        number("worst gap", self.worst_gap, self.worst_gap_t)
        number("cone violation", self.cone_violation)
        number("complementarity", self.complementarity, self.complementarity_t)
        number("momentum residual", self.momentum_residual, self.momentum_residual_t)
        number("position residual", self.position_residual)
        number("energy identity", self.energy_identity_error)
        for key, value in self.energy_balance.items():
            rows.append((key.replace("_", " "), f"{value:.9g}"))
        if self.energy_gains.get("count"):
            rows.append(("energy gains", _gain_text(self.energy_gains)))
        number("joint drift, position", self.joint_drift_position)
        number("joint drift, velocity", self.joint_drift_velocity)
        number("joint drift, acceleration", self.joint_drift_acceleration)
        number("solver residual", self.max_residual, self.max_residual_t)
        if self.max_iterations is not None:
            mean = "" if self.mean_iterations is None else f", {self.mean_iterations:.3g} on average"
            rows.append(("solver iterations", f"at most {self.max_iterations}{mean}"))
        rows.append(("unconverged solves", str(self.unconverged)))
        rows.append(("events", counts_text(self.events)))
        if self.derivatives:
            rows.append(
                ("derivatives", ", ".join(f"{name}: {source}" for name, source in self.derivatives.items()))
            )
        rows += [("note", note) for note in self.notes]
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def _gain_text(gains: Mapping[str, Any]) -> str:
    where = f", law {gains['law']}" if gains.get("law") not in (None, "", -1) else ""
    worst = "" if gains.get("worst") is None else f", worst +{100 * gains['worst']:.3g} %"
    when = "" if gains.get("t") is None else f" at t = {gains['t']:.9g}"
    return f"{gains['count']} steps{worst}{when}{where}"


def audit_moreau(
    system: Any,
    columns: Any,
    totals: Mapping[str, Any] | None = None,
    max_checked: int = 1000,
    samples: Mapping[str, np.ndarray] | None = None,
    tolerance: float = 1e-8,
) -> Audit:
    """Audit of a run of Moreau's scheme.

    Parameters
    ----------
    system : object
        Follows the model protocol.
    columns : Mapping or object
        Fields ``t, q, u, P_N, P_T, modes, dt`` with one column per stored instant, and ``events``, ``nsteps``
        if known; a `Result` will do.
    totals : Mapping, optional
        Running totals over *all* steps (worst gap, work, solver residuals, unconverged solves, energy gains).
    max_checked : int
        Evenly spaced steps to recompute; steps around events come on top (at most as many again).
    samples : Mapping, optional
        Full steps kept by a driver whose output is thinned: ``t_B, q_B, u_B, t_E, q_E, u_E, P, modes, dt``,
        last axis the sample; at least a thousand of them are recomputed.
    tolerance : float
        Largest relative residual that counts as in order.

    Returns
    -------
    Audit
    """
    totals = totals or {}
    t, dt = np.asarray(_get(columns, "t")), np.asarray(_get(columns, "dt"))
    q, u = np.asarray(_get(columns, "q")), np.asarray(_get(columns, "u"))
    events = _get(columns, "events", ())
    audit = Audit(tolerance=tolerance, events=count_kinds(events))
    audit.derivatives = dict(getattr(system, "derivative_sources", {}) or {})
    audit.steps_total = int(_get(columns, "nsteps", 0) or max(t.size - 1, 0))

    checks: list[tuple[float, StepCheck]] = []
    u_max = np.max(np.where(np.isfinite(u), np.abs(u), 0.0), axis=1, initial=0.0)
    complete = _impulse_rows(columns) == system.laws.n_rows
    if complete:
        for k in _steps_to_check(t, dt, event_times(events), max_checked):
            checks.append((float(t[k]), _check_column(system, columns, k, u_max)))
    if samples is not None and np.shape(samples["P"])[0] == system.laws.n_rows:
        checks += _check_samples(system, samples, max_checked, u_max)
    audit.steps_checked = len(checks)

    _residuals(audit, checks)
    _gaps(audit, system, checks, totals, t, q)
    _energy(audit, system, checks, totals, columns, t, q, u)
    _solver(audit, totals)
    _joints(audit, system, t, q, u, max_checked)
    if audit.steps_total and not checks:
        why = "the stored columns are not consecutive steps and there are no samples"
        if not complete or samples is not None:
            why = "the impulses of the bilateral constraints are not stored"
        audit.notes.append(f"no step could be recomputed: {why}")
    return audit


def _get(columns: Any, name: str, default: Any = None) -> Any:
    if isinstance(columns, Mapping):
        return columns.get(name, default)
    return getattr(columns, name, default)


def _impulse_rows(columns: Any) -> int:
    """Number of impulse rows that are stored; those of bilateral constraints (``P_J``) may be missing."""
    return sum(np.shape(_get(columns, name))[0] for name in _IMPULSES if _get(columns, name) is not None)


def _check_column(system: Any, columns: Any, k: int, u_max: np.ndarray | None = None) -> StepCheck:
    """Recompute the step from column k - 1 to column k."""
    t, q, u, dt = (np.asarray(_get(columns, name)) for name in ("t", "q", "u", "dt"))
    stored = [np.asarray(_get(columns, name)) for name in _IMPULSES if _get(columns, name) is not None]
    P = np.concatenate([rows[:, k] for rows in stored])
    modes = np.asarray(_get(columns, "modes"))[:, k]
    begin = (float(t[k - 1]), q[:, k - 1], u[:, k - 1], float(dt[k]))
    return check_moreau_step(system, *begin, q[:, k], u[:, k], P, modes, float(t[k]), u_max)


def _steps_to_check(t: np.ndarray, dt: np.ndarray, instants: np.ndarray, max_checked: int) -> np.ndarray:
    """Columns k that hold the end of a step whose begin is column k - 1: evenly spaced, and near events."""
    if t.size < 2 or dt.size != t.size or max_checked <= 0:
        return np.zeros(0, dtype=int)
    blur = 8 * _EPS * np.maximum(np.abs(t[1:]), np.abs(t[:-1]))
    full = 1 + np.flatnonzero((dt[1:] > 0) & (np.abs(t[1:] - t[:-1] - dt[1:]) <= blur + 8 * _EPS * dt[1:]))
    if full.size == 0:
        return full
    even = full[np.unique(np.linspace(0, full.size - 1, min(max_checked, full.size)).astype(int))]
    if instants.size == 0:
        return even
    if instants.size * 3 > max_checked:
        instants = instants[np.linspace(0, instants.size - 1, max(max_checked // 3, 1)).astype(int)]
    at = np.searchsorted(t, instants)
    near = np.concatenate([at - 1, at, at + 1])
    return np.union1d(even, np.intersect1d(full, near))


def _check_samples(
    system: Any, samples: Mapping[str, np.ndarray], max_checked: int, u_max: np.ndarray
) -> list[tuple[float, StepCheck]]:
    s = {name: np.asarray(value) for name, value in samples.items()}
    n = s["t_B"].size
    picks = np.unique(np.linspace(0, n - 1, min(max(max_checked, 1000), n)).astype(int)) if n else ()
    checks = []
    for k in picks:
        t_B, t_E, dt = float(s["t_B"][k]), float(s["t_E"][k]), float(s["dt"][k])
        q_B, u_B, q_E, u_E, P, modes = (s[name][:, k] for name in ("q_B", "u_B", "q_E", "u_E", "P", "modes"))
        checks.append((t_E, check_moreau_step(system, t_B, q_B, u_B, dt, q_E, u_E, P, modes, t_E, u_max)))
    return checks


def _residuals(audit: Audit, checks: Sequence[tuple[float, StepCheck]]) -> None:
    if not checks:
        return
    audit.momentum_residual, audit.momentum_residual_t = _worst(checks, "momentum")
    audit.position_residual = _worst(checks, "position")[0]
    audit.complementarity, audit.complementarity_t = _worst(checks, "complementarity")
    audit.cone_violation = _worst(checks, "cone")[0]
    audit.energy_identity_error = _worst(checks, "energy")[0]
    audit.activation_mismatch = sum(c.mismatch for _, c in checks)
    if checks[0][1].unchecked_laws:
        audit.notes.append(f"{checks[0][1].unchecked_laws} laws with a user-defined set were not recomputed")
    stretch, t = _worst(checks, "stretch")
    if stretch > _STRETCH:
        audit.notes.append(
            f"a quaternion had a length wrong by {stretch:.2g} before it was normalised at t = {t:.6g}: the body turns too far "
            "in a step; use a smaller dt"
        )


def _worst(checks: Sequence[tuple[float, StepCheck]], name: str) -> tuple[float, float]:
    values = np.array([getattr(c, name) for _, c in checks])
    k = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
    return float(values[k]), checks[k][0]


def _gaps(
    audit: Audit,
    system: Any,
    checks: Sequence[tuple[float, StepCheck]],
    totals: Mapping[str, Any],
    t: np.ndarray,
    q: np.ndarray,
) -> None:
    """Worst gap: the smaller one of the totals and of the recomputed columns."""
    if not system.laws.n_N or not t.size:
        return
    found = [(c.gap, at) for at, c in checks] + [(float(np.min(system.gaps(t[0], q[:, 0]))), float(t[0]))]
    if totals.get("worst_gap") is not None and math.isfinite(totals["worst_gap"]):
        found.append((float(totals["worst_gap"]), float(totals.get("worst_gap_t", math.nan))))
    audit.worst_gap, audit.worst_gap_t = min(found, key=lambda pair: pair[0])
    start = min(found[len(checks)][0], 0.0)
    travel = max((c.travel for _, c in checks), default=0.0)
    if checks and audit.worst_gap < start - 2.0 * travel:
        audit.notes.append(
            f"penetration {-audit.worst_gap:.3g} exceeds twice the largest normal travel of a checked step,"
            f" {travel:.3g}"
        )


def _energy(
    audit: Audit,
    system: Any,
    checks: Sequence[tuple[float, StepCheck]],
    totals: Mapping[str, Any],
    columns: Any,
    t: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
) -> None:
    """Bookkeeping over the whole run, and steps in which the laws created energy."""
    if t.size:
        T = [0.5 * float(u[:, k] @ system.mass_matrix(t[k], q[:, k]) @ u[:, k]) for k in (0, -1)]
        balance = {"kinetic_start": T[0], "kinetic_end": T[1]}
        if "work_forces" in totals and "work_contacts" in totals:
            work, contacts = float(totals["work_forces"]), float(totals["work_contacts"])
            balance["work_forces"], balance["loss_contacts"] = work, 0.0 - contacts
            scale = max(T[0], T[1], abs(work), abs(contacts))
            balance["unexplained"] = relative(abs(T[1] - T[0] - work - contacts), scale)
        potential = getattr(system, "potential_energy", None)
        if potential is not None:
            V = [potential(t[k], q[:, k]) for k in (0, -1)]
            if V[0] is not None and V[1] is not None:
                balance["potential_start"], balance["potential_end"] = float(V[0]), float(V[1])
        audit.energy_balance = balance

    # Gains above rounding. The totals know of all steps but count every positive work of a law; the second route
    # separates impacts from answers to forces, so it is asked about the worst step of the totals.
    gains = [(c.gain, at, c) for at, c in checks if c.gain > 1e-9]
    worst = max(gains, key=lambda item: item[0], default=None)
    count = int(totals.get("energy_gain_count", 0))
    asked = _check_at(system, columns, float(totals["energy_gain_t"])) if count else []
    if count and worst is None and asked and asked[0].gain <= 1e-9:
        audit.notes.append(
            f"in {count} steps contact laws did positive work; the worst one, recomputed at"
            f" t = {float(totals['energy_gain_t']):.9g}, only answers a force (it vanishes with dt) and is no gain"
        )
        audit.energy_gains["candidates"] = count
        count = 0
    if worst is None and not count:
        return
    record: dict[str, Any] = {"count": max(count, len(gains)), "law": ""}
    if count:
        record["worst"], record["t"] = float(totals["energy_gain_worst"]), float(totals["energy_gain_t"])
        record["T_before"] = float(totals.get("energy_gain_T_before", math.nan))
        record["T_after"] = float(totals.get("energy_gain_T_after", math.nan))
        record["law"] = str(totals.get("energy_gain_law", ""))
        if asked and asked[0].gain > 1e-9:
            record["worst"] = asked[0].gain
            record["law"] = str(system.laws.name[asked[0].gain_law])
    if worst is not None and worst[0] > record.get("worst", 0.0):
        record["worst"], record["t"] = worst[0], worst[1]
        record["T_before"], record["T_after"] = worst[2].T_before, worst[2].T_after
        record["law"] = str(system.laws.name[worst[2].gain_law])
    audit.energy_gains = record
    audit.notes.append(
        "the contact laws created energy, as Newton restitution with friction or unequal restitution can;"
        " see energy gains"
    )


def _check_at(system: Any, columns: Any, instant: float) -> list[StepCheck]:
    """The step that ends at `instant`, recomputed, if it is stored."""
    t, dt = np.asarray(_get(columns, "t")), np.asarray(_get(columns, "dt"))
    k = int(np.searchsorted(t, instant))
    if not 0 < k < t.size or t[k] != instant or abs(t[k] - t[k - 1] - dt[k]) > 16 * _EPS * abs(t[k]):
        return []
    return [_check_column(system, columns, k)] if _impulse_rows(columns) == system.laws.n_rows else []


def _solver(audit: Audit, totals: Mapping[str, Any]) -> None:
    """Figures the contact solver reports about itself, over all steps."""
    audit.unconverged = int(totals.get("unconverged", 0))
    if totals.get("max_residual") is not None:
        audit.max_residual = float(totals["max_residual"])
        audit.max_residual_t = float(totals["max_residual_t"]) if "max_residual_t" in totals else None
    if totals.get("max_iterations") is not None:
        audit.max_iterations = int(totals["max_iterations"])
        if audit.steps_total and "sum_iterations" in totals:
            audit.mean_iterations = float(totals["sum_iterations"]) / audit.steps_total


def _joints(audit: Audit, system: Any, t: np.ndarray, q: np.ndarray, u: np.ndarray, max_checked: int) -> None:
    """Drift of bilateral constraints at position and velocity level, where the model can tell it."""
    residuals = getattr(system, "joint_residuals", None)
    if residuals is None or not t.size:
        return
    if not any(np.size(r) for r in residuals(float(t[0]), q[:, 0], u[:, 0])):
        return
    position = velocity = 0.0
    for k in np.unique(np.linspace(0, t.size - 1, min(max(max_checked, 200), t.size)).astype(int)):
        at_position, at_velocity = residuals(float(t[k]), q[:, k], u[:, k])
        position, velocity = max(position, largest(at_position)), max(velocity, largest(at_velocity))
    audit.joint_drift_position, audit.joint_drift_velocity = position, velocity
