"""What a model answers in plain NumPy, from the user's own functions: the independent route the audit takes."""

from __future__ import annotations

from typing import Any

import numpy as np


class PlainAnswers:
    """M, h, g, W, zeta, bounds, B, joints and kappa of a `Model` at one state."""

    n_q: int
    n_u: int
    laws: Any
    parameters: Any
    core: Any
    f_mass: Any
    f_force: Any
    f_kinematics: Any
    f_potential: Any
    gaps_of: Any
    bounds_of: Any
    friction_of: Any
    joints_of: Any
    _u0: np.ndarray
    _quadratic: Any

    def mass_matrix(self, t, q) -> np.ndarray:
        """M, shape (n_u, n_u)."""
        return self.f_mass.call(t, q, self._u0, self.parameters.flat)

    def forces(self, t, q, u) -> np.ndarray:
        """h, shape (n_u,)."""
        return self.f_force.call(t, q, u, self.parameters.flat)

    def gaps(self, t, q) -> np.ndarray:
        """g_N, shape (n_N,)."""
        values = [f.call(t, q, self._u0, self.parameters.flat) for f in self.gaps_of]
        return np.concatenate(values) if values else np.zeros(0)

    def directions(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """W^T, shape (n_rows, n_u), and zeta, shape (n_rows,)."""
        WT = np.zeros((max(self.laws.n_rows, 1), self.n_u))
        zeta = np.zeros(max(self.laws.n_rows, 1))
        q = np.ascontiguousarray(q, dtype=np.float64)
        core = self.core
        core.directions(float(t), q, self._u0, self.parameters.flat, WT)
        core.zeta(float(t), q, self._u0, self.parameters.flat, zeta)
        return WT[: self.laws.n_rows], zeta[: self.laws.n_rows]

    def bounds(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper force bounds by row (zero where a law has none of its own).

        Where friction of a contact is a function of the state: the coefficients -mu and mu of all contacts in their rows.
        """
        n = max(self.laws.n_rows, 1)
        both = np.zeros(2 * n)
        if self.bounds_of or self.friction_of:
            args = (float(t), np.ascontiguousarray(q, float), np.ascontiguousarray(u, float))
            self.core.bounds(*args, self.parameters.flat, both)
        return both[:n][: self.laws.n_rows], both[n:][: self.laws.n_rows]

    def kinematic_matrix(self, t, q) -> np.ndarray:
        """B, shape (n_q, n_u)."""
        if self.f_kinematics is None:
            return np.eye(self.n_q)
        return self.f_kinematics.call(t, q, self._u0, self.parameters.flat)

    def potential_energy(self, t, q) -> float | None:
        if self.f_potential is None:
            return None
        return float(self.f_potential.call(t, q, self._u0, self.parameters.flat)[0])

    def joint_residuals(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Position residual of joints and velocity residual of all bilateral constraints."""
        position = [f.call(t, q, u, self.parameters.flat) for f in self.joints_of]
        n_J = self.laws.n_J
        if n_J == 0:
            return np.zeros(0), np.zeros(0)
        WT, zeta = self.directions(t, q)
        velocity = WT[-n_J:] @ np.asarray(u) + zeta[-n_J:]
        return (np.concatenate(position) if position else np.zeros(0)), velocity

    def quadratic_term(self, t, q, u) -> np.ndarray:
        """kappa = d/dt(W^T) u + d zeta/dt along the motion at fixed u, shape (n_rows,); see `model.quadratic_term`."""
        q, u = np.ascontiguousarray(q, float), np.ascontiguousarray(u, float)
        return self._quadratic.call(float(t), q, u, self.parameters.flat)
