"""The stabilised index-1 form of motion with joints, for integrators of ordinary and differential-algebraic equations.

O. Bruls, V. Acary, A. Cardona, "On the constraints formulation in the nonsmooth generalized-alpha method" (2018), eq. (69): constraints
hold on positions, velocities and accelerations at once,

    M w - W la = f,    W^T w + kappa = 0        smooth accelerations, functions of (t, q, v)          (69a, b)
    q' = v + M^-1 W mu,    g(q) = 0             mu puts positions back                                (69c, d)
    v' = w + M^-1 W xi,    W^T v + zeta = 0     xi puts velocities back                               (69e, f)

On solutions mu = xi = 0. With y = (q, v) and z = (mu, xi) this is y' = fun(t, y, z), 0 = constraint(t, y), of index 2 for `solve_dae`;
without z it is an ordinary equation for `solve_ivp`, whose constraints drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.model.statics import bound_model, joint_forces


class StabilisedForm:
    """Motion of a system with joints as equations in y = (q, v); see `stabilised_form`.

    Attributes
    ----------
    n_q, n_z : int
        Coordinates in y; multipliers in z: mu of the joints, then xi of all constraints.
    """

    def __init__(self, model: Any):
        self.model, self.n_q = model, model.n_q
        self._first = model.laws.n_rows - model.laws.n_J
        self._n_mu = model.size().n_joints
        self.n_z = self._n_mu + model.laws.n_J

    def accelerations(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and la of (69a, b)."""
        q, v = self._parts(y)
        return joint_forces(self.model, float(t), q, v)

    def rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        """y' with mu = xi = 0, for `solve_ivp`."""
        w, _ = self.accelerations(t, y)
        return np.concatenate([np.asarray(y)[self.n_q :], w])

    def fun(self, t: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """y' with the multipliers z, for `solve_dae`."""
        q, v = self._parts(y)
        z = np.asarray(z, dtype=float)
        W = self.model.directions(float(t), q)[0][self._first :].T
        back = np.linalg.solve(
            self.model.mass_matrix(float(t), q),
            np.column_stack([W[:, : self._n_mu] @ z[: self._n_mu], W @ z[self._n_mu :]]),
        )
        w, _ = self.accelerations(t, y)
        return np.concatenate([v + back[:, 0], w + back[:, 1]])

    def constraint(self, t: float, y: np.ndarray) -> np.ndarray:
        """g(q) and W^T v + zeta."""
        return np.concatenate(self.model.joint_residuals(float(t), *self._parts(y)))

    def _parts(self, y):
        y = np.ascontiguousarray(y, dtype=float)
        return y[: self.n_q], y[self.n_q :]


def stabilised_form(system: Any, q0: Any = None, u0: Any = None, t: float = 0.0) -> StabilisedForm:
    """The stabilised index-1 form (69) of a system with joints, for `solve_dae`, `solve_ivp` or an integrator of one's own.

    Parameters
    ----------
    system : MechanicalSystem or World
        With joints, without contacts and friction, whose velocities are the rates of its coordinates.
    q0, u0 : array_like
        Start; a world has its own.
    t : float

    Returns
    -------
    StabilisedForm
        ``fun(t, y, z)`` and ``constraint(t, y)`` for `solve_dae`, ``rhs(t, y)`` for `solve_ivp`, ``accelerations(t, y)``; y = (q, v).
    """
    model, _, _ = bound_model(system, q0, u0, t)
    laws = model.laws
    if laws.n_J == 0:
        raise InputError("`system` has no joints: its motion is an ordinary differential equation already.")
    if laws.n_J < laws.n_rows:
        raise InputError(
            f"law {laws.name[0]!r} is a contact or friction: the stabilised form is for motion with joints alone; use simulate(...)."
        )
    if model.f_kinematics is not None:
        raise InputError(
            "`system` has rotations in space or kinematics of its own: the stabilised form takes q' = u; use simulate(...)."
        )
    return StabilisedForm(model)
