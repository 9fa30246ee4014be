"""The audit of runs of the theta-Moreau scheme: eq. (16) of Acary 2012 at the stored ends of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nonsmooth.results.audit.checks import (
    Gains,
    Midpoint,
    activation_mismatch,
    energy_gains,
    evaluated_at,
    law_residuals,
    position_residual,
)
from nonsmooth.results.audit.midpoint import MoreauAudit
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps


def audit_theta(scheme, model, result, totals, plan, samples) -> Audit:
    """Audit of a run of `scheme`, a `Theta`."""
    checked = 200 if plan.t_eval.size == 0 and plan.every == 1 else 0
    return _ThetaAudit(scheme, model, result, totals, checked, samples).audit


class _ThetaAudit(MoreauAudit):
    """Moreau's audit with everything evaluated at (t_theta, q_theta, u_theta)."""

    def __init__(self, scheme, model, result, totals, checked, samples):
        self.scheme = scheme
        super().__init__(model, result, totals, checked, samples, projection=scheme.projection)

    def sparse(self, projection: str | None) -> bool:
        return projection is None and self.scheme.directions != "secant"

    def mean(self, s: Steps) -> np.ndarray:
        """u_theta."""
        return (1.0 - self.scheme.theta) * s.u_B + self.scheme.theta * s.u_E

    def shift(self, s: Steps) -> np.ndarray:
        """How far a combined projection has moved the end, which the step knows."""
        if self.projection != "combined":
            return np.zeros_like(s.q_B)
        t, q = self._ahead(s)
        move = self.batch.q_dot(t, q, s.dt[:, None] * self.mean(s))
        return s.q_E - s.q_B - move

    def _ahead(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        theta = self.scheme.theta
        move = self.batch.q_dot(s.t_B, s.q_B, (theta * s.dt)[:, None] * self.mean(s))
        return s.t_B + theta * s.dt, s.q_B + move

    def point(self, s: Steps) -> tuple[np.ndarray, np.ndarray]:
        t, q = self._ahead(s)
        return t, q + self.scheme.theta * self.shift(s)

    def evaluated(self, s: Steps) -> Midpoint:
        return evaluated_at(
            self.batch, s, *self.point(s), self.mean(s), chord=self.scheme.directions == "secant"
        )

    def positions(self, s: Steps, m: Midpoint) -> tuple[np.ndarray, np.ndarray]:
        return position_residual(self.batch, s, m, self.mean(s), self.projection is not None)

    def resolution(self, s: Steps) -> None:
        """Implicit from theta = 1/2 on: stiff forces are what it is for."""
        if self.scheme.theta < 0.5:
            super().resolution(s)

    def spoken_of(self, s: Steps, m: Midpoint) -> Midpoint:
        """Relative velocities as the laws speak of them, (16c): at q_theta, or at both ends of the step."""
        if self.scheme.directions != "end":
            return m
        q_E = s.q_E
        if self.projection == "direct":  # velocities are those before positions were moved
            q_E = s.q_B + self.batch.q_dot(m.t, m.q, s.dt[:, None] * self.mean(s))
        gamma = []
        for t, q, u in ((s.t_B, s.q_B, s.u_B), (s.t_B + s.dt, q_E, s.u_E)):
            WT, zeta = self.batch.directions(t, q)
            gamma.append(times(WT, u) + zeta)
        return replace(m, rate_B=gamma[0], rate_E=gamma[1], zeta=np.zeros_like(m.zeta), WT=WT)

    def laws(self, s: Steps, m: Midpoint, u_max: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        theta = self.scheme.theta
        lasting = (1.0 - theta) / theta if self.scheme.directions in ("enduring", "secant") else None
        return law_residuals(self.batch, s, self.spoken_of(s, m), u_max, lasting)

    def made(self, s: Steps, m: Midpoint) -> Gains:
        return energy_gains(self.batch, s, self.spoken_of(s, m))

    def mismatch(self, s: Steps, m: Midpoint) -> np.ndarray:
        """(16e), or how else it was decided which contacts act."""
        batch, n_N = self.batch, self.batch.n_N
        if n_N == 0:
            return np.zeros(len(s), dtype=bool)
        if self.scheme.activation == "midpoint":
            gap = batch.gaps(*MoreauAudit.point(self, s))
        else:
            gap = batch.gaps(s.t_B, s.q_B)
        if self.scheme.activation == "forecast":
            WT, zeta = batch.directions(s.t_B, s.q_B)
            gap = gap + self.scheme.gamma * s.dt[:, None] * (times(WT, s.u_B) + zeta)[:, :n_N]
        return activation_mismatch(batch, s, m, gap, self.projection == "combined")
