"""The audit of runs of the scheme of Schatzman and Paoli, at the stored ends of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nonsmooth.results.audit.checks import (
    Gains,
    Midpoint,
    evaluated_at,
    kinetic,
    largest,
    law_residuals,
    position_residual,
)
from nonsmooth.results.audit.laws import contact_rows
from nonsmooth.results.audit.midpoint import MoreauAudit, whole_only
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import Steps

_EPS = np.finfo(np.float64).eps


def audit_paoli(model, result, totals, plan, samples) -> Audit:
    """Audit of a run of `SchatzmanPaoli`."""
    checked = 200 if plan.t_eval.size == 0 and plan.every == 1 else 0
    if (
        len(plan.segments) > 1
    ):  # a step after a breakpoint follows one of another length, which samples do not know
        samples = None
    return _PaoliAudit(model, result, totals, checked, samples).audit


class _PaoliAudit(MoreauAudit):
    """Moreau's audit with forces and directions at the begin of the step, contacts at y and joints at the end."""

    def completed(self, s: Steps) -> tuple[Steps, np.ndarray]:
        return whole_only(s), np.zeros((2, 1))

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
        """An impact takes two steps, between which the velocity means nothing: gains are not judged."""
        if np.any(contact_rows(self.batch.laws)):
            self.audit.notes.append(
                "an impact takes two steps: whether impact laws created energy was not judged"
            )
        none = np.zeros(len(s))
        return Gains(none, np.full(len(s), -1), kinetic(m.M, s.u_B), kinetic(m.M, s.u_E))

    def mismatch(self, s: Steps, m: Midpoint) -> np.ndarray:
        """A contact without impulse whose gap at y is negative."""
        if self.batch.n_N == 0:
            return np.zeros(len(s), dtype=bool)
        near = (64 * _EPS * largest(s.q_B, s.q_E))[:, None]
        return np.any((s.P[:, : self.batch.n_N] == 0.0) & (self.gaps_at_y(s) < -near), axis=1)
