"""The audit of runs of the scheme of Schatzman and Paoli, at the stored ends of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import (
    Gains,
    Midpoint,
    evaluated_at,
    kinetic,
    largest,
    law_residuals,
    position_residual,
    relative,
)
from nonsmooth.results.audit.laws import contact_rows, impact_impulses, rows_of
from nonsmooth.results.audit.midpoint import MoreauAudit
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps

_EPS = np.finfo(np.float64).eps
WINDOW = 4  # steps that an impact may take: two, or more where a second contact follows the first


def audit_paoli(model, result, totals, plan, samples) -> Audit:
    """Audit of a run of `SchatzmanPaoli`."""
    checked = 200 if plan.t_eval.size == 0 and plan.every == 1 else 0
    if samples is not None:  # (the first step of a segment follows none, or one of another length)
        begins = np.array([begin for begin, _ in plan.segments])
        first = np.any(np.abs(samples["t_B"] - begins[:, None]) < 0.5 * samples["dt"], axis=0)
        samples = {name: array[..., ~first] for name, array in samples.items()}
    return _PaoliAudit(model, result, totals, checked, samples).audit


class _PaoliAudit(MoreauAudit):
    """Moreau's audit with forces and directions at the begin of the step, contacts at y and joints at the end."""

    def sparse(self, projection: str | None) -> bool:
        return False

    def point(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        return s.t_B, s.q_B

    def half_way(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Where B is taken."""
        return s.t_B + 0.5 * s.dt, s.q_B + self.batch.q_dot(s.t_B, s.q_B, (0.5 * s.dt)[:, None] * s.u_E)

    def evaluated(self, s: Steps) -> Midpoint:
        """Forces act over half of the last step (none before the first) and half of this one."""
        m = evaluated_at(self.batch, s, s.t_B, s.q_B, s.u_B)
        k = np.minimum(np.searchsorted(self.t, s.t_B), self.t.size - 1)
        last = np.where(self.t[k] == s.t_B, self.dt[k], s.dt)
        share = 0.5 * (last + s.dt) / s.dt
        return replace(
            m,
            impulse_h=m.impulse_h * share[:, None],
            lower=m.lower * share[:, None],
            upper=m.upper * share[:, None],
        )

    def positions(self, s: Steps, m: Midpoint) -> tuple[np.ndarray, np.ndarray]:
        t, q = self.half_way(s)
        return position_residual(self.batch, s, replace(m, t=t, q=q), s.u_E)

    def places(self, s: Steps, e: float) -> tuple[np.ndarray, np.ndarray]:
        """y of contacts with restitution e."""
        t, q = self.half_way(s)
        way = s.dt[:, None] * (s.u_E - e * s.u_B) / (1.0 + e)
        return s.t_B + s.dt * (1.0 - e) / (1.0 + e), s.q_B + self.batch.q_dot(t, q, way)

    def gaps_at_y(self, s: Steps) -> np.ndarray:
        """Gaps of all contacts, each at its own y, shape (n, n_N)."""
        n_N, e = self.batch.n_N, np.asarray(self.batch.laws.e)
        g = np.zeros((len(s), n_N))
        for value in np.unique(e[:n_N]):
            g[:, e[:n_N] == value] = self.batch.gaps(*self.places(s, float(value)))[:, e[:n_N] == value]
        return g

    def laws(self, s: Steps, m: Midpoint, u_max: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Laws of contacts speak of (1 + e) g(y)/dt, those of joints of g_J/dt."""
        batch, n_N = self.batch, self.batch.n_N
        rate_B, rate_E, zeta = m.rate_B.copy(), m.rate_E.copy(), m.zeta.copy()
        contacts, joints = slice(0, n_N), slice(batch.n_rows - batch.n_J, batch.n_rows - batch.n_J)
        if n_N:
            rate_E[:, contacts] = (1.0 + np.asarray(batch.laws.e)[:n_N]) * self.gaps_at_y(s) / s.dt[:, None]
        if batch.n_J:
            g_J = batch.joints(s.t_E, s.q_E, s.u_E)
            joints = slice(joints.start, joints.start + g_J.shape[1])
            rate_E[:, joints] = g_J / s.dt[:, None]
        # what rounding of positions does to a velocity g/dt is none
        blur = (64 * _EPS * largest(s.q_B, s.q_E) / s.dt)[:, None] * np.maximum(
            np.sum(np.abs(m.WT), axis=2), 1.0
        )
        for rows in (contacts, joints):
            rate_B[:, rows] = zeta[:, rows] = 0.0
            rate_E[:, rows] = np.where(np.abs(rate_E[:, rows]) <= blur[:, rows], 0.0, rate_E[:, rows])
        return law_residuals(batch, s, replace(m, rate_B=rate_B, rate_E=rate_E, zeta=zeta), u_max)

    def made(self, s: Steps, m: Midpoint) -> Gains:
        """Nothing for single steps: an impact takes two of them (see `gains`)."""
        none = np.zeros(len(s))
        return Gains(none, np.full(len(s), -1), kinetic(m.M, s.u_B), kinetic(m.M, s.u_E))

    def gains(self, s: Steps, found: Gains | None) -> None:
        """Energy that impacts created, judged over all the steps an impact takes."""
        if not np.any(contact_rows(self.batch.laws)):
            return super().gains(s, None)
        every, factor = self.all_steps(s)
        if factor == 1.0:
            found = gains_of_impacts(self.batch, every, self.evaluated(every)) if len(every) else None
            super().gains(every, found)
        else:
            self.audit.notes.append(
                "an impact takes several steps, not all of which are stored: whether impact laws created energy was not judged"
            )

    def mismatch(self, s: Steps, m: Midpoint) -> np.ndarray:
        """A contact without impulse whose gap at y is negative."""
        if self.batch.n_N == 0:
            return np.zeros(len(s), dtype=bool)
        near = (64 * _EPS * largest(s.q_B, s.q_E))[:, None]
        return np.any((s.P[:, : self.batch.n_N] == 0.0) & (self.gaps_at_y(s) < -near), axis=1)


def gains_of_impacts(batch: Batch, s: Steps, m: Midpoint) -> Gains:
    """Energy created by impacts in consecutive steps.

    An impact of this scheme first takes velocity in one step and gives it back in the next, so that the work of its impulses may be
    positive in a single step. Created is what no window of up to `WINDOW` steps around a step takes back, of the work of all impulses and
    of that of the part that does not just answer forces, and what the turning of W within a step does not explain.
    """
    contact = contact_rows(batch.laws)
    speed = 0.5 * (m.rate_B + m.rate_E) + m.zeta
    WT_E, zeta_E = batch.directions(s.t_E, s.q_E)
    turned = np.abs(times(WT_E, 0.5 * (s.u_B + s.u_E)) + zeta_E - speed)
    G = m.WT @ m.M_inv_W
    push = np.einsum("nir,ni->nr", m.M_inv_W, m.impulse_h)
    work = np.where(contact, speed * s.P, 0.0)
    answered = speed * impact_impulses(batch.laws, s.modes, s.P, G, push)
    excuse = np.sum(np.where(contact, turned * np.abs(s.P), 0.0), axis=1)
    T_B, T_E = kinetic(m.M, s.u_B), kinetic(m.M, s.u_E)
    created = np.full(len(s), np.inf)
    T_before, T_after = T_B.copy(), T_E.copy()
    for power in (work, answered):
        made = power.sum(axis=1) - excuse
        for length in range(1, WINDOW + 1):
            for ahead in range(length):
                at = np.arange(len(s)) - ahead
                first, last = np.maximum(at, 0), np.minimum(at + length, len(s)) - 1
                sums = np.convolve(made, np.ones(length))[length - 1 + at[0] :][: len(s)]
                less = sums < created
                created[less] = sums[less]
                T_before[less], T_after[less] = T_B[first][less], T_E[last][less]
    floor = 1e-10 * m.velocity * np.sum(np.abs(s.P), axis=1)
    gain = np.where(created > floor, relative(created, np.maximum(T_before, T_B)), 0.0)
    by_law = np.stack([work[:, rows_of(batch.laws, i)].sum(axis=1) for i in range(batch.laws.n_laws)], axis=1)
    law = np.where(gain > 0.0, np.argmax(by_law, axis=1), -1)
    return Gains(gain, law, T_before, T_after)
