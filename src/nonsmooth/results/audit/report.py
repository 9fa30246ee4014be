"""The audit of a run as its reader sees it: numbers found by a second route, their limits, and a verdict with a cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from nonsmooth.results.events import counts_text

_SOLVER = "give the contact solver a smaller tolerance or more iterations, or use solver=Exact()"
_CHANGED = "a stored number was changed, or a model function does not return the same value twice"
#: What is judged, in order of the table: label, and what to do when it exceeds its limit.
JUDGED: dict[str, tuple[str, str]] = {
    "cone_violation": ("cone violation", _SOLVER),
    "complementarity": ("complementarity", _SOLVER),
    "momentum_residual": ("momentum residual", _CHANGED),
    "position_residual": ("position residual", _CHANGED),
    "energy_identity_error": ("energy identity", _CHANGED),
    "step_error": (
        "error of a step",
        "ask for a smaller rtol, and declare discontinuities in time as breakpoints",
    ),
    "closed_gap": ("gap of closed contacts", "ask for a smaller rtol"),
    "closed_velocity": ("velocity of closed contacts", "ask for a smaller rtol"),
    "event_error": ("events against states", "ask for a smaller rtol"),
    "force_change": (
        "change of forces within a step, in velocities",
        "the forces are too stiff for this dt and the motion is not theirs; use a smaller dt, rtol=... instead of dt, or "
        "an implicit scheme (method='theta')",
    ),
    "energy_rise": (
        "energy from nowhere, relative",
        "the forces are too stiff for this dt and the motion is not theirs; use a smaller dt, rtol=... instead of dt, or "
        "an implicit scheme (method='theta')",
    ),
    "penetration": ("penetration", "use a smaller dt, or rtol=... instead of dt"),
    "joint_drift_relative": (
        "joint drift, relative",
        "use a smaller dt, rtol=... instead of dt, or a scheme that projects positions",
    ),
    "joint_loss_relative": ("energy lost in joints, relative", "use a smaller dt, or rtol=... instead of dt"),
    "unexplained_energy": (
        "unexplained energy",
        "use a smaller dt or rtol, and check `mass` and `force` for consistency",
    ),
    "derivative_error": (
        "directions against gaps",
        "correct the `jacobian` of the contact named in the notes",
    ),
}
#: Judged by `Audit.tolerance` where no limit of their own is given.
RESIDUALS = (
    "cone_violation",
    "complementarity",
    "momentum_residual",
    "position_residual",
    "energy_identity_error",
)


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
    step_error : float
        Largest difference of a step of an adaptive run from the same step by another integrator, in units of the tolerance.
    closed_gap, closed_velocity : float
        Largest gap and normal or sticking velocity of closed contacts at stored instants, relative to the motion.
    event_error : float
        Largest contradiction between an event and the states on both sides of it, relative to the motion.
    force_change, force_change_t : float
        What the forces at the end of an explicit step, instead of in its middle, would change in its velocity, as a part of the
        largest velocity; 2 at the limit of stability of an oscillator.
    energy_rise : float
        By how much the sum of kinetic and potential energy rose in a world that nothing feeds, relative to the energies of the run.
    penetration : float
        How much deeper contacts went than a step can carry them (constant step), or largest penetration relative to the motion
        (tolerance).
    missed_contacts : dict
        Contacts that closed and opened inside a step without being seen: ``count``, ``law``, ``t``, ``depth``, ``speed``.
    energy_balance : dict
        ``kinetic_start``, ``kinetic_end``, ``work_forces``, ``work_inertia`` (where M depends on q), ``loss_contacts``,
        ``work_projection`` (where positions were moved onto constraints),
        ``unexplained`` (relative) and, where the model has a potential, ``potential_start``, ``potential_end``.
    unexplained_energy : float
        The same ``unexplained``.
    energy_gains : dict
        Steps in which the contact laws created energy: ``count``, ``worst`` (relative), ``t``, ``law``,
        ``T_before``, ``T_after``; ``candidates`` are steps named by the running totals that the second
        route did not confirm; ``accepted`` if the caller has said that gains are wanted.
    unconverged : int
        Contact problems accepted above the tolerance.
    max_residual, max_residual_t, max_iterations, mean_iterations
        Of the contact solver, over all solves, as reported by it.
    activation_mismatch : int
        Checked steps in which a contact was active with an open gap at the midpoint, or the other way round.
    events : dict
        Number of events of each kind.
    joint_drift_position, joint_drift_velocity, joint_drift_acceleration : float
        Largest constraint residual at each level, in units of the constraint.
    joint_drift_relative : float
        Position residual over the length of its gradient, relative to the size of the motion.
    joint_loss_relative : float
        Energy that ideal joints took away, relative to the energies of the run.
    derivative_error : float
        Largest difference of W^T u + zeta from the rate of the gap itself, relative.
    derivatives : dict
        Which derivative came from where.
    steps_checked, steps_total : int
        How many steps the second route has recomputed, out of how many.
    points_checked : int
        How many stored states it has looked at.
    tolerance : float
        Residuals above it make `ok` False.
    limits : dict
        Limits of the other judged fields, by name; what has none is not judged.
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
    step_error: float | None = None
    step_error_t: float | None = None
    closed_gap: float | None = None
    closed_velocity: float | None = None
    event_error: float | None = None
    event_error_t: float | None = None
    force_change: float | None = None
    force_change_t: float | None = None
    energy_rise: float | None = None
    penetration: float | None = None
    missed_contacts: dict[str, Any] = field(default_factory=dict)
    energy_balance: dict[str, float] = field(default_factory=dict)
    unexplained_energy: float | None = None
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
    joint_drift_relative: float | None = None
    joint_loss_relative: float | None = None
    derivative_error: float | None = None
    derivatives: dict[str, str] = field(default_factory=dict)
    steps_checked: int = 0
    steps_total: int = 0
    points_checked: int = 0
    tolerance: float = 1e-8
    limits: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if something was checked, all numbers are within their limits, all solves converged, no mode contradicts its
        gap, no contact was passed unseen and no impact created energy."""
        return not self.failures()

    def failures(self) -> list[str]:
        """What is not in order and what to do about it, one sentence each; empty if all is well."""
        lines = [] if self.checked() else [self._unchecked()]
        for name, (label, cure) in JUDGED.items():
            value, limit = getattr(self, name), self.limit(name)
            if value is not None and limit is not None and not value <= limit:  # also catches NaN
                lines.append(f"{label} {value:.3g} is above {limit:.3g}: {cure}")
        if self.unconverged:
            lines.append(
                f"{self.unconverged} contact problems did not converge and were accepted: {_SOLVER}, or a smaller step"
            )
        if self.activation_mismatch:
            lines.append(
                f"{self.activation_mismatch} checked steps have a mode that contradicts the gap: {_CHANGED}"
            )
        if self.missed_contacts.get("count"):
            lines.append(_missed_text(self.missed_contacts))
        if self.energy_gains.get("count") and not self.energy_gains.get("accepted"):
            lines.append(
                f"impacts created energy ({_gain_text(self.energy_gains)}): Newton's law with friction or unequal restitution "
                "can; use tangential_restitution = restitution or e = 0, or on_energy_gain='ignore' if it is wanted"
            )
        return lines

    def limit(self, name: str) -> float | None:
        """Limit of a judged field, None if it is not judged."""
        return self.limits.get(name, self.tolerance if name in RESIDUALS else None)

    def checked(self) -> bool:
        """Whether the second route has looked at anything that could have been wrong."""
        return self.steps_checked > 0 if self.steps_total else self.points_checked > 0

    def _unchecked(self) -> str:
        return (
            f"nothing was checked (0 of {self.steps_total} steps recomputed): store the steps (every=1, no t_eval), or look at the "
            "notes for the reason"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, fit for JSON; without `ok`, which is derived."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Audit:
        """Inverse of `as_dict`; keys that are not fields are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def rows(self) -> list[tuple[str, str]]:
        """The table as (label, text)."""
        rows = [("audit", "ok" if self.ok else "NOT ok: " + "; ".join(self.failures()))]
        if self.steps_total:
            rows.append(("steps recomputed", f"{self.steps_checked} of {self.steps_total}"))
        if self.points_checked:
            rows.append(("states looked at", str(self.points_checked)))

        def number(label: str, value: float | None, t: float | None = None, unit: str = "") -> None:
            if value is not None:
                rows.append((label, f"{value:.3e}{unit}" + ("" if t is None else f"  at t = {t:.9g}")))

        number("worst gap", self.worst_gap, self.worst_gap_t)
        for name, (label, _) in JUDGED.items():
            if name != "unexplained_energy":  # stands in the balance
                unit = " tolerances" if name == "step_error" else ""
                number(label, getattr(self, name), getattr(self, f"{name}_t", None), unit)
        if self.missed_contacts.get("count"):
            rows.append(("contacts passed", _missed_text(self.missed_contacts)))
        for key, value in self.energy_balance.items():
            rows.append((key.replace("_", " "), f"{value:.9g}"))
        if self.energy_gains.get("count"):
            rows.append(("energy gains", _gain_text(self.energy_gains)))
        number("joint drift, position", self.joint_drift_position)
        number("joint drift, velocity", self.joint_drift_velocity)
        number("joint drift, acceleration", self.joint_drift_acceleration)
        number("solver residual", self.max_residual, self.max_residual_t)
        if self.max_iterations:
            mean = "" if self.mean_iterations is None else f", {self.mean_iterations:.3g} on average"
            rows.append(("solver iterations", f"at most {self.max_iterations} in a base step{mean}"))
        rows.append(("unconverged solves", str(self.unconverged)))
        rows.append(("events", counts_text(self.events)))
        if self.derivatives:
            rows.append(
                ("derivatives", ", ".join(f"{name}: {source}" for name, source in self.derivatives.items()))
            )
        return rows + [("note", note) for note in self.notes]

    def _repr_html_(self) -> str:
        from nonsmooth.results.notebook import text_block

        return text_block(self)

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def _gain_text(gains: Mapping[str, Any]) -> str:
    where = f", law {gains['law']}" if gains.get("law") not in (None, "", -1) else ""
    worst = "" if gains.get("worst") is None else f", worst +{100 * gains['worst']:.3g} %"
    when = "" if gains.get("t") is None else f" at t = {gains['t']:.9g}"
    return f"{gains['count']} steps{worst}{when}{where}"


def _missed_text(missed: Mapping[str, Any]) -> str:
    return (
        f"{missed['count']} contacts closed and opened inside a step without being seen, {missed['law']!r} at "
        f"t = {missed['t']:.9g} by {missed['depth']:.3g} at speed {missed['speed']:.3g}: use a smaller dt or dt_max"
    )
