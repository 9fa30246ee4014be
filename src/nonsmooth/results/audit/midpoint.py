"""The audit of runs with constant steps of the midpoint rule (`moreau`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nonsmooth.results.audit import books
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import (
    Gains,
    Midpoint,
    activation_mismatch,
    dot,
    energy_gains,
    energy_identity,
    largest,
    law_residuals,
    midpoint,
    momentum_residual,
    position_residual,
    relative,
)
from nonsmooth.results.audit.figures import (
    directions_against_gaps,
    motion,
    report_drift,
    report_missed,
    solver_figures,
    worst,
)
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps, evenly, get, impulse_rows, near_events, whole_steps
from nonsmooth.results.audit.stiffness import force_change
from nonsmooth.results.audit.sweeps import Paths, missed_contacts
from nonsmooth.results.events import count_kinds, event_times

_EPS = np.finfo(np.float64).eps
_STRETCH = (
    1e-4  # change of a quaternion's length in one step that is worth a word: a third of a radian per step
)
_ALL = 100_000  # runs of at most so many stored steps are looked at as a whole where sums or gaps are wanted
_JOINTS = 64  # states at which joints are looked at; they are called one by one
#: A constant step asks for no accuracy of its own; these parts of the motion and of its energy are what a reader would accept.
LIMITS = {
    "force_change": 1.0,  # half of what it is at the limit of stability
    "energy_rise": 0.5,  # steps that resolve the motion let the sum swing by less
    "penetration": 2.0,
    "joint_drift_relative": 1e-2,
    "joint_loss_relative": 1e-2,
    "unexplained_energy": 1e-2,
    "derivative_error": 1e-4,
}


def audit_moreau(
    system: Any,
    columns: Any,
    totals: Mapping[str, Any] | None = None,
    max_checked: int = 1000,
    samples: Mapping[str, np.ndarray] | None = None,
    tolerance: float = 1e-8,
    accept_gains: bool = False,
    projection: str | None = None,
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
        last axis the sample. Where t_E lies inside a step (before ``t_B + dt``) the end of the step follows from (15) and (21),
        and the state at t_E is compared with what lies between begin and end.
    tolerance : float
        Largest relative residual that counts as in order.
    accept_gains : bool
        Whether impacts may create energy (``on_energy_gain="ignore"``).
    projection : {"direct", "combined"}, optional
        How positions were moved onto their constraints.

    Returns
    -------
    Audit
    """
    return MoreauAudit(
        system, columns, totals or {}, max_checked, samples, tolerance, accept_gains, projection
    ).audit


class MoreauAudit:
    """The audit in the making: what several checks share. Schemes of the same family override where a step is evaluated."""

    def __init__(
        self,
        system,
        columns,
        totals,
        max_checked,
        samples,
        tolerance=1e-8,
        accept_gains=False,
        projection=None,
    ):
        self.projection = projection
        self.batch, self.columns, self.totals = Batch(system, self.sparse(projection)), columns, totals
        self.t, self.dt = np.asarray(get(columns, "t")), np.asarray(get(columns, "dt"))
        self.q, self.u = np.asarray(get(columns, "q")).T, np.asarray(get(columns, "u")).T
        self.most = self.batch.most(max_checked)
        self.whole = whole_steps(self.t, self.dt)
        self.complete = impulse_rows(columns) == self.batch.n_rows
        self.audit = Audit(tolerance=tolerance, limits=dict(LIMITS), points_checked=min(self.t.size, 1))
        if accept_gains:
            self.audit.energy_gains["accepted"] = True
        self.describe()
        s = self.steps(samples)
        self.audit.steps_checked = len(s)
        with np.errstate(over="ignore", invalid="ignore"):  # of a run that ends in overflow
            gains = self.residuals(s) if len(s) else None
            self.gaps(s)
            self.balance(s)
            self.gains(s, gains)
            self.joints(s)
        solver_figures(self.audit, totals, get(columns, "nbase", 0))

    def sparse(self, projection: str | None) -> bool:
        """Whether what is checked here can do with sparse matrices."""
        return projection is None

    def describe(self) -> None:
        """What is known without looking."""
        audit, columns = self.audit, self.columns
        audit.events = count_kinds(get(columns, "events", ()))
        audit.derivatives = dict(getattr(self.batch.model, "derivative_sources", {}) or {})
        audit.steps_total = int(get(columns, "nsteps", 0) or max(self.t.size - 1, 0))

    def steps(self, samples) -> Steps:
        """Steps to recompute: evenly spaced, near events, and those a driver has kept."""
        k = np.zeros(0, dtype=int)
        if self.complete and self.whole.size:
            instants = event_times(get(self.columns, "events", ()))
            k = self.whole[evenly(self.whole.size, self.most)]
            k = np.union1d(k, near_events(self.t, self.whole, instants, self.most)) if self.most else k[:0]
        s = Steps.from_columns(self.columns, k)
        self.between = np.zeros((2, 0))
        if samples is not None and np.shape(samples["P"])[0] == self.batch.n_rows:
            s = Steps.joined([s, Steps.from_samples(samples, self.batch.most(1000))])
            self.between = off_the_line(self.batch, samples)
        if self.audit.steps_total and not len(s):
            why = "the stored columns are not consecutive steps and there are no samples"
            if not self.complete or samples is not None:
                why = "the impulses of the bilateral constraints are not stored"
            self.audit.notes.append(f"no step could be recomputed: {why}")
        return s

    # -- where a step is evaluated -------------------------------------------------------------------------------------

    def evaluated(self, s: Steps) -> Midpoint:
        """The model where the steps evaluate it."""
        return midpoint(self.batch, s)

    def point(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Time and coordinates of that place."""
        return s.t_B + 0.5 * s.dt, s.q_B + self.batch.q_dot(s.t_B, s.q_B, s.u_B) * (0.5 * s.dt)[:, None]

    def half_way(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Time and coordinates in the middle of the step."""
        return self.point(s)

    def positions(self, s: Steps, m: Midpoint) -> tuple[np.ndarray, np.ndarray]:
        """Residual of the new positions, and how much quaternions were stretched."""
        return position_residual(self.batch, s, m, 0.5 * (s.u_B + s.u_E), self.projection is not None)

    def laws(self, s: Steps, m: Midpoint, u_max: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Violation of laws and of their sets."""
        return law_residuals(self.batch, s, m, u_max)

    def made(self, s: Steps, m: Midpoint) -> Gains:
        """Energy created by impacts."""
        return energy_gains(self.batch, s, m)

    def mismatch(self, s: Steps, m: Midpoint) -> np.ndarray:
        """Whether a mode contradicts its gap."""
        return activation_mismatch(self.batch, s, m, self.batch.gaps(m.t, m.q), self.projection == "combined")

    # -- what is found ---------------------------------------------------------------------------------------------------

    def residuals(self, s: Steps) -> Gains:
        """Equations of the step."""
        audit, batch = self.audit, self.batch
        m = self.evaluated(s)
        some = self.u[:: max(len(self.u) // 1000, 1)]
        u_max = np.max(np.where(np.isfinite(some), np.abs(some), 0.0), axis=0, initial=0.0)
        position, stretch = self.positions(s, m)
        complementarity, cone, unknown = self.laws(s, m, u_max)
        audit.momentum_residual, audit.momentum_residual_t = worst(momentum_residual(s, m), s.t_E)
        off_u, off_q = np.max(self.between, axis=1, initial=0.0)
        audit.momentum_residual = float(np.maximum(audit.momentum_residual, off_u))
        audit.position_residual = float(np.maximum(worst(position, s.t_E)[0], off_q))
        audit.complementarity, audit.complementarity_t = worst(complementarity, s.t_E)
        audit.cone_violation = worst(cone, s.t_E)[0]
        audit.energy_identity_error = worst(energy_identity(s, m), s.t_E)[0]
        audit.activation_mismatch = int(np.count_nonzero(self.mismatch(s, m)))
        self.resolution(s)
        # in a step a contact closes that far, or its surface goes that far: what rests on one that moves is carried along
        rates = (m.rate_B + m.zeta, m.rate_E + m.zeta, batch.directions(s.t_B, s.q_B)[1])
        self.travel = float(np.max(s.dt * largest(*(rate[:, : batch.n_N] for rate in rates))))
        self.speed = float(np.max(m.velocity))
        self.push = float(np.max(dot(m.impulse_h, m.M_inv_h)))
        # at most, in steps that were not looked at: all velocities, and those that forces give in a step, along the normal
        fastest = np.maximum(np.abs(s.u_B), np.abs(s.u_E)) + np.abs(m.M_inv_h)
        self.farthest = float(np.max(s.dt[:, None] * times(abs(m.WT[:, : batch.n_N]), fastest), initial=0.0))
        if unknown:
            audit.notes.append(f"{unknown} laws with a user-defined set were not recomputed")
        longest, t = worst(stretch, s.t_E)
        if longest > _STRETCH:
            audit.notes.append(
                f"a quaternion had a length wrong by {longest:.2g} before it was normalised at t = {t:.6g}: the body turns too far "
                "in a step; use a smaller dt"
            )
        directions_against_gaps(audit, batch, s)
        return self.made(s, m)

    def resolution(self, s: Steps) -> None:
        """Whether forces change more within a step than a step that holds them can bear."""
        audit = self.audit
        audit.force_change, audit.force_change_t = worst(
            force_change(self.batch, s, *self.half_way(s)), s.t_E
        )

    def gaps(self, s: Steps) -> None:
        """Worst gap of totals and stored states, penetration in terms of what a step can do, contacts passed unseen."""
        audit, batch, totals = self.audit, self.batch, self.totals
        if batch.n_N == 0 or self.t.size == 0:
            return
        every = self.t.size <= _ALL and not getattr(batch.model, "callbacks", ())
        k = slice(None) if every else evenly(self.t.size, 1000)
        t, q = self.t[k], self.q[k]
        g = batch.gaps(t, q)
        at = int(np.argmin(g)) // batch.n_N  # NaN is found first
        audit.points_checked = int(t.size)
        audit.worst_gap, audit.worst_gap_t = float(np.min(g[at])), float(t[at])
        claimed = totals.get("worst_gap")
        if claimed is not None and math.isfinite(claimed) and claimed < audit.worst_gap:
            audit.worst_gap, audit.worst_gap_t = float(claimed), float(totals.get("worst_gap_t", math.nan))
        noise = 64 * _EPS * float(np.max(np.abs(q[:: max(len(q) // 1000, 1)]), initial=0.0))
        consecutive = every and 0 < self.whole.size == self.t.size - 1
        if len(s):
            most = float(np.max(np.abs(np.diff(g, axis=0)))) if consecutive else self.farthest
            travel = max(self.travel, most)
            # what the tolerance of a contact solver leaves of the velocities carries a body at rest slowly inwards
            creep = (
                min(audit.complementarity or 0.0, audit.tolerance)
                * self.speed
                * float(self.t[-1] - self.t[0])
            )
            deep = min(float(np.min(g[0])), 0.0) - audit.worst_gap
            audit.penetration = float(relative(max(deep - noise - creep, 0.0), travel))
        if consecutive:
            P_N = np.asarray(get(self.columns, "P_N")).T[1:]
            found = missed_contacts(Paths(batch, t, q), g, P_N, noise)
            report_missed(audit, found, batch, t, self.speed if len(s) else math.inf)

    def balance(self, s: Steps) -> None:
        """T_end - T_0 = work of forces + of inertia + of contacts + unexplained."""
        audit, batch, totals = self.audit, self.batch, self.totals
        if self.t.size == 0:
            return
        ends = np.array([0, -1])
        T = batch.kinetic(self.t[ends], self.q[ends], self.u[ends])
        balance = {"kinetic_start": float(T[0]), "kinetic_end": float(T[1])}
        begin, end = totals.get("t_span", (self.t[0], self.t[-1]))  # the totals belong to this span
        if "work_forces" in totals and "work_contacts" in totals and begin == self.t[0] and end == self.t[-1]:
            work, contacts, inertia = float(totals["work_forces"]), float(totals["work_contacts"]), 0.0
            balance["work_forces"] = work
            some = evenly(self.t.size, 8)
            # a body at rest: sums that are nothing but rounding of what the forces would do are not measured against themselves
            rounding = books.energy_of_forces(
                batch, self.t[some], self.q[some], self.u[some], end - begin, audit.steps_total
            )
            scale = max(T[0], T[1], abs(work), abs(contacts), 1e-10 * rounding)
            varies = not books.constant_mass(batch, self.t[some], self.q[some])
            # sums over all steps where all are stored; else the sample stands for them
            every, factor = self.all_steps(s) if varies or batch.n_J else (s, 1.0)
            if varies and len(every):
                inertia = factor * books.work_of_inertia(batch, every)
                balance["work_inertia"] = inertia
            balance["loss_contacts"] = 0.0 - contacts
            if totals.get("projected"):
                balance["work_projection"] = float(totals["work_projection"])
            # bodies at rest exchange nothing but rounding of what forces do in a step
            noise = 64 * _EPS * audit.steps_total * self.push if len(s) else 0.0
            if batch.n_J and len(every):
                loss, driven = (factor * x for x in books.loss_in_joints(batch, every, self.point))
                balance["loss_joints"] = loss
                audit.joint_loss_relative = float(relative(max(abs(loss) - noise, 0.0), max(scale, driven)))
            left = abs(T[1] - T[0] - work - contacts - inertia)
            unexplained = float(relative(left if not left <= noise else 0.0, scale))
            balance["unexplained"] = unexplained
            if factor == 1.0 or inertia == 0.0:
                audit.unexplained_energy = unexplained
        books.add_potential(balance, batch, self.t, self.q)
        audit.energy_balance = balance
        if getattr(batch.model, "passive", False):
            audit.energy_rise = self.rise(balance)

    def rise(self, balance: Mapping[str, float]) -> float:
        """What kinetic and potential energy gained together, relative to the largest of both on the way."""
        k = evenly(self.t.size, 64)
        T = float(np.max(self.batch.kinetic(self.t[k], self.q[k], self.u[k])))
        V_0, V_1 = balance["potential_start"], balance["potential_end"]
        gained = balance["kinetic_end"] - balance["kinetic_start"] + V_1 - V_0
        gained -= balance.get("work_projection", 0.0) + 64 * _EPS * (abs(V_0) + abs(V_1))
        return float(relative(max(gained, 0.0), max(T, abs(V_1 - V_0))))

    def all_steps(self, s: Steps) -> tuple[Steps, float]:
        """All steps of the run, or the sample and how many times it is contained in them."""
        total = self.audit.steps_total
        if (
            self.complete
            and self.whole.size == total <= _ALL
            and not getattr(self.batch.model, "callbacks", ())
        ):
            return Steps.from_columns(self.columns, self.whole), 1.0
        return s, total / max(len(s), 1)

    def gains(self, s: Steps, found: Gains | None) -> None:
        """Steps in which the laws created energy, above rounding.

        The totals know of all steps but count every positive work of a law; the second route separates impacts from answers
        to forces, so it is asked about the worst step of the totals.
        """
        audit, totals, names = self.audit, self.totals, self.batch.laws.name
        mine = np.flatnonzero(found.gain > 1e-9) if found is not None else np.zeros(0, dtype=int)
        count = int(totals.get("energy_gain_count", 0))
        asked = self.gains_at(float(totals["energy_gain_t"])) if count else None
        if count and mine.size == 0 and asked is not None and asked.gain[0] <= 1e-9:
            audit.notes.append(
                f"in {count} steps contact laws did positive work; the worst one, recomputed at"
                f" t = {float(totals['energy_gain_t']):.9g}, only answers a force (it vanishes with dt) and is no gain"
            )
            audit.energy_gains["candidates"] = count
            count = 0
        if mine.size == 0 and not count:
            return
        record = audit.energy_gains
        record["count"], record["law"] = max(count, int(mine.size)), ""
        if count:
            record["worst"], record["t"] = float(totals["energy_gain_worst"]), float(totals["energy_gain_t"])
            record["T_before"] = float(totals.get("energy_gain_T_before", math.nan))
            record["T_after"] = float(totals.get("energy_gain_T_after", math.nan))
            record["law"] = str(totals.get("energy_gain_law", ""))
            if asked is not None and asked.gain[0] > 1e-9:
                record["worst"], record["law"] = float(asked.gain[0]), str(names[int(asked.law[0])])
        if found is not None and mine.size:
            k = mine[int(np.argmax(found.gain[mine]))]
            if found.gain[k] > record.get("worst", 0.0):
                record["worst"], record["t"] = float(found.gain[k]), float(s.t_E[k])
                record["T_before"], record["T_after"] = float(found.T_before[k]), float(found.T_after[k])
                record["law"] = str(names[int(found.law[k])])
        audit.notes.append(
            "the contact laws created energy, as Newton restitution with friction or unequal restitution can;"
            " see energy gains"
        )

    def gains_at(self, instant: float) -> Gains | None:
        """The step that ends at `instant`, recomputed, if it is stored."""
        k = int(np.searchsorted(self.t, instant))
        if not self.complete or k >= self.t.size or self.t[k] != instant or k not in self.whole:
            return None
        s = Steps.from_columns(self.columns, np.array([k]))
        return self.made(s, self.evaluated(s))

    def joints(self, s: Steps) -> None:
        """Drift of bilateral constraints."""
        if self.batch.n_J == 0:
            return
        k = evenly(self.t.size, self.batch.most(_JOINTS))
        report_drift(self.audit, self.batch, self.t[k], self.q[k], self.u[k], motion(self.q))


def off_the_line(batch: Batch, samples: Mapping[str, np.ndarray]) -> np.ndarray:
    """How far states seen inside steps lie off the line between the ends, relative: velocities and positions, shape (2, n)."""
    s = {name: np.asarray(value).T for name, value in samples.items()}
    share = ((s["t_seen"] - s["t_B"]) / s["dt"])[:, None]
    q, u = (s[f"{x}_B"] + share * (s[f"{x}_E"] - s[f"{x}_B"]) for x in "qu")
    for place in getattr(batch.model, "quaternions", ()):
        q[:, place : place + 4] /= np.linalg.norm(q[:, place : place + 4], axis=1)[:, None]
    # after an impact the velocity is the right limit at once
    difference = np.minimum(largest(s["u_seen"] - u), largest(s["u_seen"] - s["u_E"]))
    off_u = relative(difference, largest(s["u_B"], s["u_E"]))
    return np.stack([off_u, relative(largest(s["q_seen"] - q), largest(s["q_B"], s["q_E"]))])
