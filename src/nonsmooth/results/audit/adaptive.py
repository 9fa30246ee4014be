"""The audit of runs with a tolerance (`extrapolated-moreau`, `event-driven`): steps between events repeated by another integrator, events
against the states on both sides, gaps and velocities of closed contacts, cones, joints, energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import DISK, FREE, HALF_LINE, INTERVAL, USER_SET
from nonsmooth.results.audit import books
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import (
    Midpoint,
    dot,
    energy_gains,
    largest,
    law_residuals,
    left_closing,
    midpoint,
    momentum_residual,
    relative,
)
from nonsmooth.results.audit.laws import rows_of
from nonsmooth.results.audit.midpoint import (
    add_potential,
    directions_against_gaps,
    motion,
    report_drift,
    report_missed,
    solver_figures,
    worst,
)
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.smooth import PARTS, FixedModes, integrate, to_the_end
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps, evenly, get, impulse_rows, whole_steps
from nonsmooth.results.audit.sweeps import Paths, missed_contacts
from nonsmooth.results.events import count_kinds, event_times, kind_code

_BLUR = 2e-15  # of an instant: on which side of a breakpoint it lies
_EPS = np.finfo(np.float64).eps
_RESOLVED = 0.3  # the second integrator must know a step to this part of the tolerance
_ALL = 100_000
# of the velocities that forces alone would make in a step: what remains of them by rounding, and what counts as a speed at rest
_CANCELLED, _AT_REST = 1e-12, 1e-6
_FLIGHTS = (
    20.0  # 2/(1 - r) with r = 0.9, the slowest decay of rebounds from impact to impact that is looked for
)
_ONE_BY_ONE = 3  # steps that resist are left to an integrator that adapts its own steps, which takes its time


def limits_for(rtol: float) -> dict[str, float]:
    """What a run with `rtol` has promised; steps in tolerances, the others relative to the motion."""
    loose = max(100.0 * rtol, 1e-10)
    return {
        "step_error": 10.0, "closed_gap": loose, "closed_velocity": loose, "event_error": max(10.0 * loose, 1e-5), "penetration": loose,
        "joint_drift_relative": loose, "unexplained_energy": loose, "derivative_error": 1e-4, "momentum_residual": 1e-5,
        "complementarity": max(loose, 1e-5), "cone_violation": 1e-8,
    }  # fmt: skip


def audit_adaptive(
    system: Any,
    result: Any,
    totals: Mapping[str, Any] | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    controlled: bool = True,
    midpoint_base: bool = True,
    max_checked: int = 250,
    accept_gains: bool = False,
    breaks: Any = None,
    newton: bool = True,
) -> Audit:
    """Audit of a run with error control.

    Parameters
    ----------
    system : object
        Follows the model protocol.
    result : Result
    totals : Mapping, optional
        Running totals over all steps.
    rtol, atol : float
        What was asked for; with ``atol = 0`` a component is measured by its largest size in the run.
    controlled : bool
        Whether steps were chosen by the error (not with a fixed order): only then are they judged by the tolerance.
    midpoint_base : bool
        Whether steps of order 1 are single steps of the midpoint rule.
    max_checked : int
        Steps to repeat, and as many crossings of events.
    accept_gains : bool
        Whether impacts may create energy.
    breaks : sequence of float, optional
        For runs that store the states on both sides of an impact: instants at which a state may jump without one (resets). Their
        impulses are checked, and the energy of all steps looked at.
    newton : bool
        Whether impacts obey Newton's law. If not, only their momentum, cones, energy and that contacts and joints do not close behind them
        can be told from both ends.

    Returns
    -------
    Audit
    """
    made = _AdaptiveAudit(system, result, totals or {}, rtol, atol, max_checked)
    made.newton = newton
    if accept_gains:
        made.audit.energy_gains["accepted"] = True
    if not controlled:
        del made.audit.limits["step_error"]
        made.audit.notes.append("fixed order: errors of steps are not measured by the tolerance")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        made.run(midpoint_base, breaks)
    return made.audit


class _AdaptiveAudit:
    """The audit in the making."""

    def __init__(self, system, result, totals, rtol, atol, max_checked):
        self.batch, self.result, self.totals = Batch(system), result, totals
        self.rtol, self.atol, self.most = rtol, atol, self.batch.most(max_checked)
        self.newton = True
        self.struck_gap = 0.0
        self.t, self.q, self.u = result.t, result.q.T, result.u.T
        self.ends = self.ends_of_steps(result)
        self.modes, self.order = result.modes.T, result.order
        self.instants = np.sort(event_times(result.events))
        self.complete = impulse_rows(result) == self.batch.n_rows
        self.audit = Audit(
            limits=limits_for(rtol), points_checked=int(self.t.size), steps_total=int(result.nsteps)
        )
        self.audit.events = count_kinds(result.events)
        self.audit.derivatives = dict(getattr(system, "derivative_sources", {}) or {})
        size = np.concatenate([_largest(self.q), _largest(self.u)])
        n_q = self.batch.n_q
        # a component that hardly moves is measured by the largest of its kind, as the run does at its start
        size[:n_q] = np.maximum(size[:n_q], 0.01 * np.max(size[:n_q], initial=0.0))
        size[n_q:] = np.maximum(size[n_q:], 0.01 * np.max(size[n_q:], initial=0.0))
        self.tolerance = np.maximum(atol + rtol * size, np.finfo(float).tiny)
        self.length = motion(self.q)
        self.made = self.made_by_forces()
        # where bodies rest, forces and impulses cancel to rounding, which is no error of a step
        self.tolerance += _CANCELLED * np.concatenate([self.moved_by(self.made), self.made])

    def ends_of_steps(self, result: Any) -> np.ndarray:
        """The instants of the columns as functions that jump at breakpoints see them at the end of a step: before, not on it."""
        t, inside = self.t, event_times(result.events.of("breakpoint"))
        if t.size == 0:
            return t
        self.batch.cut(np.concatenate([t[:1], inside, t[-1:]]))
        cut = np.isin(t, np.append(inside, t[-1])) & (np.diff(t, prepend=t[0]) > 0.0)
        return np.where(cut, t - _BLUR * (np.abs(t) + result.dt), t)

    def made_by_forces(self) -> np.ndarray:
        """Velocities that the forces alone would make in the longest step, measured by their energy, shape (n_u,)."""
        k = evenly(self.t.size, 16)
        h = self.batch.force(self.t[k], self.q[k], self.u[k])
        root = np.sqrt(np.abs(np.diagonal(self.batch.mass(self.t[k], self.q[k]), axis1=1, axis2=2)))
        made = np.sum(np.abs(h) / root, axis=1, keepdims=True) / root
        return np.max(made, axis=0, initial=0.0) * np.max(self.result.dt, initial=0.0)

    def moved_by(self, speeds: np.ndarray) -> np.ndarray:
        """How far coordinates move in the longest step with velocities of those sizes, shape (n_q,)."""
        if self.t.size == 0:
            return np.zeros(self.batch.n_q)
        first = np.zeros(speeds.size, dtype=int)
        rates = np.abs(self.batch.q_dot(self.t[first], self.q[first], np.diag(speeds)))
        return np.sum(rates, axis=0) * np.max(self.result.dt)

    def run(self, midpoint_base: bool, breaks: Any = None) -> None:
        solver_figures(self.audit, self.totals, get(self.result, "nbase", 0))
        if self.t.size == 0:
            return
        k = whole_steps(self.t, self.result.dt)
        self.speed, at_rest = self.speed_scale()
        self.length = max(self.length, at_rest * float(np.max(self.result.dt, initial=0.0)))
        crossing = k[self.order[k] <= 1] if self.complete and midpoint_base else k[:0]
        work = self.repeat_steps() + self.crossings(crossing)
        if breaks is not None:
            work += self.jumps(np.asarray(breaks, dtype=float))
        self.balance(work, partly=breaks is not None)
        self.closed_contacts()
        self.gaps()
        if breaks is not None:
            smooth = self.intervals()
            directions_against_gaps(self.audit, self.batch, Steps.from_columns(self.result, smooth))
        self.events()
        picks = evenly(self.t.size, self.batch.most(64))
        report_drift(self.audit, self.batch, self.t[picks], self.q[picks], self.u[picks], self.length)

    def speed_scale(self) -> tuple[float, float]:
        """Largest relative velocity that terms of W^T u reach, and what stands for it at rest: a small part of what forces would make."""
        if self.batch.n_rows == 0:
            return float(np.max(np.abs(self.u), initial=0.0)), 0.0
        k = evenly(self.t.size, 200)
        WT, zeta = self.batch.directions(self.t[k], self.q[k])
        terms, rest = (
            float(np.max(times(np.abs(WT), u), initial=0.0))
            for u in (np.abs(self.u[k]), np.broadcast_to(_AT_REST * self.made, self.u[k].shape))
        )
        return max(terms, rest, float(np.max(np.abs(zeta), initial=0.0))), rest

    # -- steps ---------------------------------------------------------------------------------------------------------

    def intervals(self) -> np.ndarray:
        """Columns k such that the motion from column k - 1 to k is smooth: no event between them, modes of column k hold."""
        if self.t.size < 2:
            return np.zeros(0, dtype=int)
        k = np.arange(1, self.t.size)
        free = self.quiet() & (
            np.diff(self.t) > 1e3 * _EPS * np.maximum(np.abs(self.t[1:]), np.abs(self.t[:-1]))
        )
        # (of thinned output a transition may be missing between two columns that look like the ends of a step)
        whole = np.isin(k, whole_steps(self.t, self.result.dt)) & (self.t.size >= self.result.nsteps)
        same = np.all(self.modes[1:] == self.modes[:-1], axis=1)
        smooth = np.where(whole, self.order[1:] > 1, free & same)
        user = [i for i in range(self.batch.laws.n_laws) if int(self.batch.laws.kind[i]) == USER_SET]
        if user:
            smooth &= ~np.any(np.abs(self.modes[1:, user]) == 2, axis=1)
        return k[smooth]

    def quiet(self) -> np.ndarray:
        """Whether no event lies between column k and k + 1, shape (n_t - 1,)."""
        dt = np.diff(self.t)
        first = np.searchsorted(self.instants, self.t[:-1] - 1e-9 * dt, side="left")
        return first == np.searchsorted(self.instants, self.t[1:] + 1e-9 * dt, side="right")

    def repeat_steps(self) -> _Work:
        """Steps between events, integrated again; returns the work in each of them, by column."""
        audit = self.audit
        k = self.intervals()
        k = k[evenly(k.size, self.most)]
        if k.size == 0:
            return _Work()
        dt = self.ends[k] - self.t[k - 1]
        curved, varies = self.variable()
        error, work = np.full(k.size, np.nan), _Work()
        left = np.arange(k.size)
        for parts in PARTS:
            j = k[left]
            system = FixedModes(self.batch, self.modes[j], dt[left], curved, varies)
            found = integrate(system, self.t[j - 1], self.q[j - 1], self.u[j - 1], parts)
            units = np.max(found.error / self.tolerance, axis=1, initial=0.0)
            known = units <= _RESOLVED
            difference = np.abs(np.concatenate([found.q - self.q[j], found.u - self.u[j]], axis=1))
            error[left[known]] = np.max(difference / self.tolerance, axis=1, initial=0.0)[known]
            work.update(
                {
                    int(c): (a, b)
                    for c, a, b in zip(j[known], found.work_forces[known], found.work_laws[known])
                }
            )
            # of stiff forces the estimate may say little: a step that looks wrong is repeated in more pieces before that is believed
            doubted = known & ~(error[left] <= audit.limits.get("step_error", np.inf))
            uncertain = units[~known | doubted]
            left = left[~known | doubted]
            # a few that nothing resolves are left
            if left.size == 0 or (parts >= 4 and left.size < 0.1 * k.size and not doubted.any()):
                break
        unknown = np.isnan(error[left])
        left = left[unknown][np.argsort(-uncertain[unknown])]
        for i in left[:_ONE_BY_ONE]:
            error[i] = self.one_by_one(int(k[i]), curved, varies)
        left = left[np.isnan(error[left])]
        done = ~np.isnan(error)
        # an interval between two outputs holds several steps, each of which may err
        several = np.maximum(np.round(dt / np.where(self.result.dt[k] > 0, self.result.dt[k], dt)), 1.0)
        audit.steps_checked += int(np.count_nonzero(done))
        if done.any():
            audit.step_error, audit.step_error_t = worst((error / several)[done], self.t[k[done]])
        if left.size:
            audit.notes.append(f"{left.size} steps could not be repeated accurately enough to judge them")
        return work

    def one_by_one(self, k: int, curved: bool, varies: bool) -> float:
        """Error of the step to column k in tolerances, by an integrator that adapts its own steps; NaN if it gives up."""
        system = FixedModes(
            self.batch, self.modes[k : k + 1], self.ends[k : k + 1] - self.t[k - 1], curved, varies
        )
        t, q, u = float(self.t[k - 1]), self.q[k - 1], self.u[k - 1]
        end = to_the_end(system, t, q, u, 0.1 * self.rtol, 0.1 * self.tolerance)
        if end is None:
            return np.nan
        return float(np.max(np.abs(end - np.concatenate([self.q[k], self.u[k]])) / self.tolerance))

    def variable(self) -> tuple[bool, bool]:
        """Whether directions, and the mass matrix, depend on the state."""
        k = evenly(self.t.size, 16)
        varies = not books.constant_mass(self.batch, self.t[k], self.q[k])
        if self.batch.n_rows == 0:
            return False, varies
        WT, zeta = self.batch.directions(self.t[k], self.q[k])
        return bool(np.any(WT != WT[:1]) or np.any(zeta != zeta[:1])), varies

    def crossings(self, k: np.ndarray) -> _Work:
        """Single steps of the base rule, which cross events: impulse balance, laws, energy."""
        audit, batch, work = self.audit, self.batch, _Work()
        k = k[evenly(k.size, self.most)]
        if k.size == 0:
            return work
        s = Steps.from_columns(self.result, k)
        m = midpoint(batch, s)
        complementarity, cone, _ = law_residuals(batch, s, m, _largest(self.u))
        hit = np.flatnonzero(np.any(np.abs(m.rate_E - m.rate_B) > 1e-6 * self.speed, axis=1))
        audit.momentum_residual, audit.momentum_residual_t = worst(momentum_residual(s, m), s.t_E)
        if hit.size:  # at the others forces act, which a step of this length cannot tell from rounding
            audit.complementarity, audit.complementarity_t = worst(complementarity[hit], s.t_E[hit])
            audit.cone_violation = worst(cone[hit], s.t_E[hit])[0]
        audit.steps_checked += int(k.size)
        directions_against_gaps(audit, batch, s)
        gains = energy_gains(batch, s, m)
        self.report_gains(s, gains)
        forces = 0.5 * dot(s.u_B + s.u_E, m.impulse_h)
        laws = 0.5 * dot(m.rate_B + m.rate_E, s.P)
        work.update({int(c): (a, b) for c, a, b in zip(k, forces, laws)})
        return work

    def jumps(self, breaks: np.ndarray) -> _Work:
        """Columns without length, impacts and changes of mode: impulse balance, laws, energy."""
        audit, batch, work = self.audit, self.batch, _Work()
        k = 1 + np.flatnonzero((np.diff(self.t) == 0.0) & (self.result.dt[1:] == 0.0))
        if k.size == 0 or not self.complete or self.t.size < self.result.nsteps:
            return work
        s = Steps.from_columns(self.result, k)
        acts = np.any(s.P != 0.0, axis=1)
        usable = acts | ~np.isin(s.t_E, breaks)
        k, s, acts = k[usable], s.pick(usable), acts[usable]
        work.update(dict.fromkeys((int(c) for c in k), (0.0, 0.0)))
        moved = np.any(s.u_E != s.u_B, axis=1)
        hit = np.flatnonzero(acts | moved)
        hit = hit[evenly(hit.size, _ALL if self.t.size <= _ALL else self.most)]
        if hit.size == 0:
            return work
        k, s = k[hit], struck_modes(batch.laws, s.pick(hit))
        m = midpoint(batch, s)
        # a contact that comes to rest does so without rebound
        left = self.left_out(k, m)
        complementarity, cone, _ = law_residuals(
            batch, replace(s, P=s.P + left), m, _largest(self.u), lasting=0.0
        )
        # what the impacts left out sum up to is known to the accuracy of the run only, and their friction may have turned meanwhile:
        # a part of the size of those impulses says nothing, neither of the velocities nor of the cone
        ends = np.any(left != 0.0, axis=1)
        turned = relative(np.max(m.G_diagonal * np.abs(left), axis=1, initial=0.0), m.velocity)
        beyond = cone - relative(largest(left), largest(s.P + left))
        complementarity = np.where(
            ends, np.maximum(np.maximum(complementarity - turned, beyond), 0.0), complementarity
        )
        cone = np.where(ends, 0.0, cone)
        if not self.newton:
            complementarity = left_closing(batch, s, m)
            audit.notes.append("impacts are a process: its ends were checked, not its course")
        audit.momentum_residual, audit.momentum_residual_t = worst(momentum_residual(s, m), s.t_E)
        audit.complementarity, audit.complementarity_t = worst(complementarity, s.t_E)
        audit.cone_violation = worst(cone, s.t_E)[0]
        audit.steps_checked += int(k.size)
        if batch.n_N:  # what strikes touches
            struck = np.where(s.P[:, : batch.n_N] > 0.0, batch.gaps(s.t_E, s.q_E), 0.0)
            self.struck_gap = float(np.max(struck, initial=0.0))
        self.report_gains(s, energy_gains(batch, s, m))
        laws = 0.5 * dot(m.rate_B + m.rate_E, s.P)
        work.update({int(c): (0.0, float(w)) for c, w in zip(k, laws)})
        return work

    def left_out(self, k: np.ndarray, m: Midpoint) -> np.ndarray:
        """Impulses of the impacts that contacts coming to rest in columns k would still have had, shape (n, n_rows).

        Together with the impulse that ends the rebound they are those of the force N that lasts, up to the instant at which the impacts
        accumulate, N 2 gamma / (|a| (1 - r)) with a the acceleration that brings it back (`brought_back`) and r the part of the velocity
        that is left after an impact: e of a contact that rebounds, what lifts the other side of a body that rocks. Only for rebounds lower
        than the accuracy asked for.
        """
        laws, lasts = self.batch.laws, np.append(np.flatnonzero(self.result.dt > 0.0), self.t.size - 1)
        # the next step that takes time
        after = lasts[np.minimum(np.searchsorted(lasts, k + 1), lasts.size - 1)]
        dt = np.where(after > k, self.result.dt[after], 0.0)
        P = Steps.from_columns(self.result, after).P
        force = np.divide(P, dt[:, None], out=np.zeros_like(P), where=dt[:, None] > 0.0)
        height, left = self.audit.limits["penetration"] * self.length, np.zeros(k.size)
        gamma = (m.rate_B + m.zeta)[:, laws.row[: self.batch.n_N]]
        fastest, lifted = np.max(np.maximum(-gamma, 0.0), axis=1, initial=0.0), self.lifted(k, m)
        closing = (self.modes[k, : self.batch.n_N] == 1) & (
            (self.modes[k - 1, : self.batch.n_N] != 1) | (lifted > 0.0)
        )
        back, stored = self.brought_back(k, m, force, closing), Steps.from_columns(self.result, k).P
        for i in range(self.batch.n_N):
            e = float(laws.e[i])
            strikes = (gamma[:, i] < 0.0) & (self.modes[k - 1, i] != 1)
            rebound = np.where(strikes, -e * gamma[:, i], lifted[:, i])
            part = np.divide(rebound, fastest, out=np.full(k.size, e), where=~strikes & (fastest > 0.0))
            a, row = back[:, i], int(laws.row[i])
            # (what pulls it while others strike is given back by its impacts)
            pull = np.divide(
                np.maximum(-stored[:, row], 0.0),
                force[:, row],
                out=np.zeros(k.size),
                where=force[:, row] > 0.0,
            )
            rebound = np.maximum(rebound, a * pull)
            rests = closing[:, i] & (a > 0.0) & (part < 1.0) & (rebound**2 <= 2.0 * a * height)
            time = np.divide(2.0 * rebound, a * (1.0 - part), out=np.zeros(k.size), where=rests)
            left = np.maximum(left, time)
        return force * np.maximum(left, self.until_all_rest(k, m, force, height))[:, None]

    def brought_back(self, k: np.ndarray, m: Midpoint, force: np.ndarray, closing: np.ndarray) -> np.ndarray:
        """Accelerations that bring contacts back which close in columns k, were they open and the others held, shape (n, n_N):
        what their forces and those of their friction do, S la with S = G_RR - G_RK G_KK^-1 G_KR."""
        laws, n_N = self.batch.laws, self.batch.n_N
        a = np.zeros((k.size, n_N))
        for c in np.flatnonzero(closing.any(axis=1)):
            held = (self.modes[k[c]] == 1) | (laws.kind == FREE)
            own = np.zeros(laws.n_laws, dtype=bool)
            own[:n_N] = closing[c]
            own[n_N:] = (laws.link[n_N:] >= 0) & own[laws.link[n_N:]]
            R, K = (
                [
                    i
                    for j in np.flatnonzero(which).tolist()
                    for i in range(rows_of(laws, j).start, rows_of(laws, j).stop)
                ]
                for which in (own, held & ~own)
            )
            G = m.WT[c] @ m.M_inv_W[c]
            S = (
                G[np.ix_(R, R)]
                - G[np.ix_(R, K)] @ np.linalg.lstsq(G[np.ix_(K, K)], G[np.ix_(K, R)], rcond=1e-10)[0]
            )
            pull = dict(zip(R, S @ force[c, R]))
            a[c, closing[c]] = [pull[int(laws.row[i])] for i in np.flatnonzero(closing[c])]
        return a

    def until_all_rest(self, k: np.ndarray, m: Midpoint, force: np.ndarray, height: float) -> np.ndarray:
        """Time that is left where several contacts come to rest out of the air together and one of them is pulled, shape (n,).

        How their impacts would alternate is not known; the last of them ends within some flights, v/a with v the fastest of them and
        a the least acceleration that brings one back (`_FLIGHTS`). Only for flights lower than the accuracy asked for.
        """
        n_N, rows = self.batch.n_N, self.batch.laws.row[: self.batch.n_N]
        resting = (self.modes[k][:, :n_N] == 1) & (self.modes[k - 1][:, :n_N] != 1)
        v = np.max(np.where(resting, np.abs((m.rate_B + m.zeta)[:, rows]), 0.0), axis=1, initial=0.0)
        a = np.min(np.where(resting, m.G_diagonal[:, rows] * force[:, rows], np.inf), axis=1, initial=np.inf)
        pulled = np.any(resting & (Steps.from_columns(self.result, k).P[:, rows] < 0.0), axis=1)
        together = pulled & (np.count_nonzero(resting, axis=1) > 1) & (a > 0.0) & (v * v <= 2.0 * a * height)
        return np.divide(_FLIGHTS * v, a, out=np.zeros(k.size), where=together)

    def lifted(self, k: np.ndarray, m: Midpoint) -> np.ndarray:
        """Rate with which each contact would open, shape (n, n_N), did the impacts of columns k act on those alone that strike."""
        laws, n_N = self.batch.laws, self.batch.n_N
        gamma = m.rate_B + m.zeta
        rates = np.maximum(gamma[:, laws.row[:n_N]], 0.0)
        for c in range(k.size):
            now = self.modes[k[c]]
            closed = [i for i in range(n_N) if now[i] == 1]
            striking = [i for i in closed if gamma[c, laws.row[i]] < 0.0 and self.modes[k[c] - 1, i] != 1]
            others = [i for i in closed if i not in striking]
            if not striking or not others:
                continue
            stuck = [j for j in range(n_N, laws.n_laws) if laws.link[j] in striking and now[j] == 1]
            rows = [int(laws.row[j]) + d for j in striking + stuck for d in range(int(laws.dim[j]))]
            change = -gamma[c, rows]
            change[: len(striking)] *= 1.0 + laws.e[striking]
            G = m.WT[c] @ m.M_inv_W[c]
            impulse = np.linalg.lstsq(G[np.ix_(rows, rows)], change, rcond=None)[0]
            opening = laws.row[others]
            rates[c, others] = np.maximum(gamma[c, opening] + G[np.ix_(opening, rows)] @ impulse, 0.0)
        return rates

    def report_gains(self, s: Steps, gains: Any) -> None:
        mine = np.flatnonzero(gains.gain > max(1e-9, self.rtol))
        if mine.size == 0:
            return
        k = mine[int(np.argmax(gains.gain[mine]))]
        self.audit.energy_gains |= {
            "count": int(mine.size), "worst": float(gains.gain[k]), "t": float(s.t_E[k]), "T_before": float(gains.T_before[k]),
            "T_after": float(gains.T_after[k]), "law": str(self.batch.laws.name[int(gains.law[k])]),
        }  # fmt: skip

    def balance(self, work: _Work, partly: bool = False) -> None:
        """Energies at both ends, and the work between them where every step was looked at (or, `partly`, of those that were)."""
        ends = np.array([0, -1])
        T = self.batch.kinetic(self.t[ends], self.q[ends], self.u[ends])
        balance = {"kinetic_start": float(T[0]), "kinetic_end": float(T[1])}
        some, span = evenly(self.t.size, 8), float(self.t[-1] - self.t[0])
        # where nothing moves, sums that are nothing but rounding are not measured against themselves
        least = 1e-10 * books.energy_of_forces(
            self.batch, self.t[some], self.q[some], self.u[some], span, self.t.size - 1
        )
        if len(work) == self.t.size - 1 and len(work):
            forces, laws = (float(sum(pair[i] for pair in work.values())) for i in (0, 1))
            balance |= {"work_forces": forces, "loss_contacts": 0.0 - laws}
            scale = max(T[0], T[1], abs(forces), abs(laws), least)
            self.audit.unexplained_energy = float(relative(abs(T[1] - T[0] - forces - laws), scale))
            balance["unexplained"] = self.audit.unexplained_energy
        elif partly and work:
            k = np.fromiter(work, dtype=int)
            T_B, T_E = (self.batch.kinetic(self.t[j], self.q[j], self.u[j]) for j in (k - 1, k))
            by_forces, by_laws = (np.array([pair[i] for pair in work.values()]) for i in (0, 1))
            scale = max(np.max(T_B), np.max(T_E), abs(by_forces.sum()), abs(by_laws.sum()), least)
            self.audit.unexplained_energy = float(
                relative(abs(np.sum(T_E - T_B - by_forces - by_laws)), scale)
            )
            balance["unexplained"] = self.audit.unexplained_energy
        if partly:  # errors of steps add up
            limits = self.audit.limits
            limits["unexplained_energy"] = max(limits["unexplained_energy"], self.rtol * len(work))
        add_potential(balance, self.batch, self.t, self.q)
        self.audit.energy_balance = balance

    # -- states --------------------------------------------------------------------------------------------------------

    def closed_contacts(self) -> None:
        """Gaps and relative velocities of laws in constraint mode, after steps between events."""
        k = self.intervals()
        k = k[evenly(k.size, 1000)]
        laws, batch = self.batch.laws, self.batch
        if k.size == 0 or batch.n_rows == 0:
            return
        t, q, u, modes = self.ends[k], self.q[k], self.u[k], self.modes[k]
        WT, zeta = batch.directions(t, q)
        gamma = np.abs(times(WT, u) + zeta)
        velocity = 0.0
        for i in range(laws.n_laws):
            on = modes[:, i] == 1
            if int(laws.kind[i]) != FREE and on.any():
                velocity = max(velocity, float(np.max(gamma[on][:, rows_of(laws, i)])))
        held = modes[:, : batch.n_N] == 1
        self.audit.closed_velocity = float(relative(velocity, self.speed))
        self.audit.closed_gap = float(relative(self.struck_gap, self.length))
        if held.any():
            overlap = np.maximum(-batch.gaps(self.t[:1], self.q[:1]), 0.0)  # accepted at the start
            gap = float(np.max(np.where(held, np.maximum(np.abs(batch.gaps(t, q)) - overlap, 0.0), 0.0)))
            self.audit.closed_gap = float(relative(max(gap, self.struck_gap), self.length))

    def gaps(self) -> None:
        """Worst gap, and contacts passed between stored states."""
        audit, batch = self.audit, self.batch
        if batch.n_N == 0:
            return
        every = self.t.size <= _ALL and not getattr(batch.model, "callbacks", ())
        k = slice(None) if every else evenly(self.t.size, 1000)
        t, q, u = self.t[k], self.q[k], self.u[k]
        g = batch.gaps(t, q)
        at = int(np.argmin(g)) // batch.n_N
        audit.worst_gap, audit.worst_gap_t = float(np.min(g[at])), float(t[at])
        claimed = self.totals.get("worst_gap")
        if claimed is not None and np.isfinite(claimed) and claimed < audit.worst_gap:
            audit.worst_gap, audit.worst_gap_t = float(claimed), float(self.totals.get("worst_gap_t", np.nan))
        start = min(float(np.min(g[0])), 0.0)
        audit.penetration = float(relative(max(start - audit.worst_gap, 0.0), self.length))
        if every and self.t.size > 1 and self.result.P_N.shape[0] == batch.n_N:
            noise = max(64 * _EPS * float(np.max(np.abs(q))), self.rtol * self.length)
            paths = Paths(batch, t, q, batch.q_dot(t, q, u))
            # what happens at a known event is seen: impulses of its interval may not be stored
            P_N = np.where(self.quiet()[:, None], self.result.P_N.T[1:], np.inf)
            found = missed_contacts(paths, g, P_N, noise)
            report_missed(audit, found, batch, t, self.speed)

    def events(self) -> None:
        """Events against the states on both sides: what closes comes nearer, what opens parts, what sticks does not slip."""
        table, batch = self.result.events, self.batch
        whole = whole_steps(self.t, self.result.dt)
        if not hasattr(table, "law") or len(table) == 0 or whole.size == 0 or batch.n_rows == 0:
            return
        pick = evenly(len(table), 200)
        law, kind, instant = table.law[pick].astype(int), table.kind[pick], table.t[pick]
        # the step that crosses an event ends where the event's bracket does
        end = table.bracket[1, pick]
        after = np.clip(np.searchsorted(self.t, end, side="left"), 1, self.t.size - 1)
        usable = (law >= 0) & (self.t[after] == end) & np.isin(after, whole) & (self.order[after] <= 1)
        law, kind, after, instant = law[usable], kind[usable], after[usable], instant[usable]
        if law.size == 0:
            return
        error = np.zeros(law.size)
        first = batch.laws.row[law].astype(int)
        last = first + batch.laws.dim[law].astype(int) - 1
        speeds = [self.relative_velocity(c, first, last) for c in (after - 1, after)]
        normal = batch.laws.kind[law] == HALF_LINE
        closes = normal & np.isin(kind, [kind_code("impact"), kind_code("close")])
        opens = normal & (kind == kind_code("open"))
        sticks, slips = ~normal & (kind == kind_code("stick")), ~normal & (kind == kind_code("slip"))
        error = np.where(closes, np.maximum(speeds[0], -speeds[1]), error)
        error = np.where(opens, -speeds[1], error)
        error = np.where(sticks, np.abs(speeds[1]), np.where(slips, np.abs(speeds[0]), error))
        error = np.maximum(error, 0.0) / max(self.speed, np.finfo(float).tiny)
        self.audit.event_error, self.audit.event_error_t = worst(error, instant)

    def relative_velocity(self, column: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """W^T u + zeta of one law in each column: signed for one row, its length for two."""
        WT, zeta = self.batch.directions(self.t[column], self.q[column])
        gamma = times(WT, self.u[column]) + zeta
        here = np.arange(column.size)
        both = np.sqrt(gamma[here, first] ** 2 + gamma[here, last] ** 2)
        return np.where(first == last, gamma[here, first], both)


def struck_modes(laws: Any, s: Steps) -> Steps:
    """Steps without length with the modes of their impulses: what carries one is struck, forces under a bound carry none."""
    modes = np.zeros_like(s.modes)
    for i in range(laws.n_laws):
        if int(laws.kind[i]) in (INTERVAL, DISK):
            continue
        closed = s.modes[:, i] == 1 if int(laws.kind[i]) in (HALF_LINE, FREE) else False
        modes[:, i] = closed | np.any(s.P[:, rows_of(laws, i)] != 0.0, axis=1)
        if int(laws.link[i]) >= 0:
            modes[:, i] |= s.P[:, int(laws.row[int(laws.link[i])])] > 0.0
    return replace(s, modes=modes)


class _Work(dict[int, tuple[float, float]]):
    """Work by column; two of them add up."""

    def __add__(self, other: _Work) -> _Work:
        return _Work({**self, **other})


def _largest(x: np.ndarray) -> np.ndarray:
    some = np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.max(some, axis=0, initial=0.0)
