"""`diagnose`: what a system is, before it is run: degrees of freedom, redundancy, consistency, loops, time scales, methods that suit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import FREE
from nonsmooth.model.independence import MANY_ROWS, dependent_rows, lengths_one
from nonsmooth.model.start import length_scale
from nonsmooth.model.statics import bound_model, joint_forces
from nonsmooth.results.notebook import Shown

STIFF = 1e3


@dataclass
class Diagnosis(Shown):
    """What `diagnose` found; printed as plain sentences.

    Attributes
    ----------
    coordinates, velocities, contacts, constraints : int
        Numbers of them.
    rank : int
        Of the constraints at the start.
    degrees_of_freedom : int
    redundant : list of str
        Rows that depend on those before them.
    position, velocity, acceleration : float
        Largest violation of constraints at the start on the three levels.
    worst_gap : float
        Smallest gap at the start, or infinity.
    loops : int or None
        Closed loops of joints, of a world.
    fastest, slowest : float
        Largest and smallest rate (1/time) in the linear system at the start.
    methods : dict from name of a method to the reason for it
    """

    coordinates: int
    velocities: int
    contacts: int
    constraints: int
    rank: int
    redundant: list[str]
    position: float
    velocity: float
    acceleration: float
    worst_position: str
    worst_gap: float
    loops: int | None
    fastest: float
    slowest: float
    methods: dict[str, str] = field(default_factory=dict)

    @property
    def degrees_of_freedom(self) -> int:
        return self.velocities - self.rank

    def __str__(self) -> str:
        lines = [
            f"{self.coordinates} coordinates, {self.velocities} velocities, {self.constraints} constraints of rank {self.rank}: "
            f"{self.degrees_of_freedom} degrees of freedom; {self.contacts} contacts."
        ]
        if self.redundant:
            lines.append(
                f"Redundant: {', '.join(map(repr, self.redundant))} depend on the others; the motion is unique, their forces are not "
                "(those of smallest norm are reported)."
            )
        if self.constraints:
            worst = f" (worst: {self.worst_position!r})" if self.worst_position else ""
            lines.append(
                f"Start: constraints violated by {self.position:.3g} on position{worst}, {self.velocity:.3g} on velocity, "
                f"{self.acceleration:.3g} on acceleration level."
            )
        if self.contacts:
            lines.append(f"Smallest gap at the start: {self.worst_gap:.6g}.")
        if self.loops is not None:
            lines.append(
                f"{self.loops} closed loops of joints." if self.loops != 1 else "One closed loop of joints."
            )
        if self.fastest > 0.0:
            lines.append(
                f"Rates at the start from {self.slowest:.3g} to {self.fastest:.3g} per unit of time."
            )
        lines += [f"{name}: {reason}" for name, reason in self.methods.items()]
        return "\n".join(lines)


def diagnose(system: Any, q0: Any = None, u0: Any = None, t: float = 0.0) -> Diagnosis:
    """Look at a system at its start, in plain words.

    Parameters
    ----------
    system : World or MechanicalSystem
    q0, u0 : array_like
        Start; a world has its own.
    t : float
    """
    model, q, u = bound_model(system, q0, u0, t)
    laws, first = model.laws, model.laws.n_rows - model.laws.n_J
    WT, _ = model.directions(t, q)
    J = lengths_one(WT[first:])
    names = [name for name, kind in zip(laws.name, laws.kind) if kind == FREE]
    redundant = [names[k] for k in dependent_rows(J)]
    position, velocity = model.joint_residuals(t, q, u)
    acceleration = np.zeros(0)
    if laws.n_J:
        a, _ = joint_forces(model, t, q, u)
        acceleration = WT[first:] @ a + model.quadratic_term(t, q, u)[first:]
    gaps = model.gaps(t, q)
    slowest, fastest = _rates(model, t, q, u)
    largest = lambda x: float(np.max(np.abs(x), initial=0.0))  # noqa: E731
    found = Diagnosis(
        coordinates=model.n_q, velocities=model.n_u, contacts=laws.n_N, constraints=laws.n_J,
        rank=laws.n_J - len(redundant), redundant=redundant, position=largest(position), velocity=largest(velocity),
        acceleration=largest(acceleration),
        worst_position=names[int(np.argmax(np.abs(position)))] if largest(position) > 1e-8 * length_scale(q) else "",
        worst_gap=float(np.min(gaps, initial=np.inf)), loops=_loops(model), fastest=fastest, slowest=slowest,
    )  # fmt: skip
    found.methods = _advice(found)
    return found


def _loops(model) -> int | None:
    """Closed loops: joints that join bodies which are joined already."""
    assembly = getattr(model, "assembly", None)
    if assembly is None:
        return None
    parent = list(range(len(assembly.bodies)))

    def root(k):
        while parent[k] != k:
            k = parent[k]
        return k

    loops = 0
    for a, b in assembly.row_bodies.values():
        a, b = root(a), root(b)
        loops += a == b
        parent[a] = b
    return loops


def _rates(model, t, q, u) -> tuple[float, float]:
    """Smallest and largest |s| of the linear system at the start that is not zero."""
    from nonsmooth.model.small_motions import modes

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values = np.abs(modes(_Bound(model), (q, u), t).eigenvalues)
    values = values[values > 1e-6 * np.max(values, initial=0.0)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


class _Bound:
    """A model that is bound already, where a system is wanted."""

    def __init__(self, model: Any):
        self._model, self.quaternions = model, model.quaternions

    def bind(self, t: float, q: Any, u: Any) -> Any:
        return self._model


def _advice(found: Diagnosis) -> dict[str, str]:
    """Methods that suit, and why."""
    advice = {}
    if found.constraints > MANY_ROWS:
        advice["generalized-alpha"] = (
            f"{found.constraints} constraints: its steps are sparse, and their time grows with the number of joints"
            + (" (without contacts and friction)" if found.contacts else "")
            + ", as is that of moreau and theta; steps of other methods are dense, and theirs grows with its cube."
        )
    stiff = found.slowest > 0.0 and found.fastest / found.slowest > STIFF
    if found.contacts:
        advice["moreau"] = "robust for any number of impacts; first order, positions of joints drift."
    if stiff:
        advice["theta"] = (
            f"implicit: rates are {found.fastest / found.slowest:.1e} apart, explicit steps would have to follow the fastest."
        )
    if found.constraints and not stiff:
        advice["event-driven"] = (
            "holds joints on position level and locates every impact; few steps in smooth motion."
        )
    if not found.constraints and not stiff:
        advice["extrapolated-moreau"] = "high order between impacts, error controlled."
    if not advice:
        advice["extrapolated-moreau"] = "error controlled."
    return advice
