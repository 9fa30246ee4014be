"""Figures of an audit that several schemes report alike: of the solver, of joints, of contacts passed unseen, of derivatives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import relative
from nonsmooth.results.audit.joints import joint_drift, rate_along
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps, evenly

_EPS = np.finfo(np.float64).eps
_SERIOUS = 0.05  # a contact passed at less than this part of the largest velocity is a touch, not an impact


def worst(values: np.ndarray, t: np.ndarray) -> tuple[float, float]:
    """The largest of some numbers and its instant; NaN is larger than all."""
    k = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
    return float(values[k]), float(t[k])


def motion(q: np.ndarray) -> float:
    """Size of a motion: the largest way of a coordinate."""
    way = float(np.max(np.ptp(q, axis=0), initial=0.0)) if len(q) else 0.0
    return way if way > 0.0 else float(np.max(np.abs(q), initial=0.0))


def solver_figures(audit: Audit, totals: Mapping[str, Any], base_steps: int | None) -> None:
    """Figures the contact solver reports about itself, over all base steps."""
    audit.unconverged = int(totals.get("unconverged", 0))
    if totals.get("max_residual") is not None:
        audit.max_residual = float(totals["max_residual"])
        audit.max_residual_t = float(totals["max_residual_t"]) if "max_residual_t" in totals else None
    if totals.get("max_iterations") is not None:
        audit.max_iterations = int(totals["max_iterations"])
        solves = base_steps or audit.steps_total
        if solves and "sum_iterations" in totals:
            # the mean cannot exceed the largest: a driver that only notes the largest of accepted steps is corrected here
            audit.mean_iterations = float(totals["sum_iterations"]) / solves
            audit.max_iterations = max(audit.max_iterations, math.ceil(audit.mean_iterations))


def report_drift(
    audit: Audit, batch: Batch, t: np.ndarray, q: np.ndarray, u: np.ndarray, size: float
) -> None:
    """Drift of bilateral constraints at the given states, relative to the size of the motion."""
    drift = joint_drift(batch, t, q, u)
    if drift is None:
        return
    audit.joint_drift_position, audit.joint_drift_velocity = drift.position, drift.velocity
    # (of what stays where it is, nothing but rounding of its coordinates is seen)
    rounding = 64 * _EPS * float(np.max(np.abs(q), initial=0.0))
    audit.joint_drift_relative = float(relative(max(drift.distance - rounding, 0.0), size))
    audit.points_checked = max(audit.points_checked, int(t.size))


def report_missed(audit: Audit, found: Any, batch: Batch, t: np.ndarray, speed: float) -> None:
    """Contacts passed unseen: hard ones count, mere touches are noted."""
    if found.step.size == 0:
        return
    hard = np.flatnonzero(found.speed > _SERIOUS * speed)
    k = int(np.argmax(found.speed))
    name, instant = str(batch.laws.name[int(found.contact[k])]), float(t[int(found.step[k])])
    if hard.size:
        audit.missed_contacts = {
            "count": int(hard.size), "law": name, "t": instant, "depth": float(found.depth[k]), "speed": float(found.speed[k]),
        }  # fmt: skip
    if hard.size < found.step.size:
        audit.notes.append(
            f"{found.step.size - hard.size} touches between two stored states left no trace (speeds below {_SERIOUS:.0%} of the motion)"
        )


def directions_against_gaps(audit: Audit, batch: Batch, s: Steps) -> None:
    """The rate of each gap, by differences along the motion, against W^T u + zeta."""
    if batch.n_N == 0 or len(s) == 0:
        return
    k = evenly(len(s), 50)
    t, q, u = s.t_B[k], s.q_B[k], s.u_B[k]
    q_dot, dt = batch.q_dot(t, q, u), s.t_E[k] - t
    WT, zeta = batch.directions(t, q)
    claimed = (times(WT, u) + zeta)[:, : batch.n_N]
    found = rate_along(batch.gaps, t, q, q_dot, dt, batch.room(t))
    size = np.max(times(abs(WT), np.abs(u))[:, : batch.n_N] + np.abs(found), axis=0)
    # weights of differences to one side, as at the start, sum to 28: what all roundings of first steps of 1e-14 make of a rate
    noise = 32 * _EPS * (np.max(np.abs(q), initial=0.0) + np.abs(batch.gaps(t, q)))
    rounding = noise / (0.02 * dt)[:, None]
    # a kink of the gap (a corner) or a bend seen over the step is no wrong derivative: the median tells
    error = np.median(np.maximum(np.abs(found - claimed) - rounding, 0.0), axis=0) / np.where(
        size > 0, size, 1.0
    )
    audit.derivative_error = float(np.max(error))
    if audit.derivative_error > audit.limits.get("derivative_error", math.inf):
        name = batch.laws.name[int(np.argmax(error))]
        audit.notes.append(
            f"the gap of {name!r} does not change at the rate that its directions say: see its `jacobian`"
        )
