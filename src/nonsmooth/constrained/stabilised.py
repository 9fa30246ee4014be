"""The stabilised index-1 form of constrained motion, for integrators of ordinary and differential-algebraic equations.

O. Bruls, V. Acary, A. Cardona, "On the constraints formulation in the nonsmooth generalized-alpha method" (2018), eq. (69): constraints
hold on positions, velocities and accelerations at once,

    M w - W la = f,    W^T w + kappa = 0        smooth accelerations, functions of (t, q, v)          (69a, b)
    q' = v + M^-1 W mu,    g(q) = 0             mu puts positions back                                (69c, d)
    v' = w + M^-1 W xi,    W^T v + zeta = 0     xi puts velocities back                               (69e, f)

On solutions mu = xi = 0. With y = (q, v) and z = (mu, xi) this is y' = fun(t, y, z), 0 = constraint(t, y), of index 2 for `solve_dae`;
without z it is an ordinary equation for `solve_ivp`, whose constraints drift.

Rows are those of the joints and of the contacts that are closed. A form holds from one change of contacts to the next: its switches vanish
where an open contact closes and where the force of a closed one ends, and `after` says what follows there,

    0 <= gamma^+ + e gamma^-  _|_  P >= 0        impact of all contacts that touch                     (5)
    0 <= W^T w + kappa        _|_  la >= 0       contacts that touch and rest: la > 0 closes them      (15)

with the joints as rows of both problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.contact.lcp import solve_lcp
from nonsmooth.errors import InputError, RangeError
from nonsmooth.events.switch import Switch
from nonsmooth.model.start import length_scale
from nonsmooth.model.statics import bound_model, joint_forces

TOUCHES = 1e-9  # gap, relative to the coordinates, that counts as none
RESTS = 1e-9  # velocity, relative to the velocities, that counts as none


class StabilisedForm:
    """Motion of a system with joints and closed contacts as equations in y = (q, v); see `stabilised_form`.

    Attributes
    ----------
    n_q, n_z : int
        Coordinates in y; multipliers in z: mu of the closed contacts and joints, then xi of all constraints.
    closed : tuple of str
        Contacts that are held.
    """

    def __init__(self, model: Any, held: tuple[int, ...] = (), rest: float = 0.0):
        laws = model.laws
        self.model, self.n_q, self.rest = model, model.n_q, rest
        self._held = held
        self._joints = np.arange(laws.n_rows - laws.n_J, laws.n_rows)
        self._rows = np.concatenate([np.array(held, dtype=np.int64), self._joints])
        self._n_mu = len(held) + model.size().n_joints
        self.n_z = self._n_mu + self._rows.size
        self.closed = tuple(laws.name[l] for l in held)

    # -- equations ---------------------------------------------------------------------------------------------------------

    def accelerations(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and la of (69a, b): closed contacts, then joints. Smallest la where rows are redundant."""
        q, v = self._parts(y)
        return joint_forces(self.model, float(t), q, v, self._held)

    def rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        """y' with mu = xi = 0, for `solve_ivp`."""
        w, _ = self.accelerations(t, y)
        return np.concatenate([np.asarray(y)[self.n_q :], w])

    def fun(self, t: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """y' with the multipliers z, for `solve_dae`."""
        q, v = self._parts(y)
        z = np.asarray(z, dtype=float)
        W = self.model.directions(float(t), q)[0][self._rows].T
        back = np.linalg.solve(
            self.model.mass_matrix(float(t), q),
            np.column_stack([W[:, : self._n_mu] @ z[: self._n_mu], W @ z[self._n_mu :]]),
        )
        w, _ = self.accelerations(t, y)
        return np.concatenate([v + back[:, 0], w + back[:, 1]])

    def constraint(self, t: float, y: np.ndarray) -> np.ndarray:
        """g(q) and W^T v + zeta: closed contacts, then joints."""
        (q, v), held = self._parts(y), list(self._held)
        g, _ = self.model.joint_residuals(float(t), q, v)
        return np.concatenate([self.model.gaps(float(t), q)[held], g, self._rates(t, y, self._rows)])

    # -- contacts ----------------------------------------------------------------------------------------------------------

    @property
    def switches(self) -> tuple[Switch, ...]:
        """One for each contact, terminal: its gap where it is open, its force where it is closed. Both fall through zero."""
        return tuple(
            Switch(
                self._force_of(l) if l in self._held else self._gap_of(l),
                direction=-1,
                terminal=True,
                name=name,
            )
            for l, name in enumerate(self.model.laws.name[: self.model.laws.n_N])
        )

    def after(self, t: float, y: np.ndarray) -> tuple[StabilisedForm, np.ndarray]:
        """The form that holds from (t, y) on, and y after the impact, if there is one."""
        (q, _), laws = self._parts(y), self.model.laws
        gaps = self.model.gaps(float(t), q)
        touching = [l for l in range(laws.n_N) if gaps[l] <= TOUCHES * length_scale(q) or l in self._held]
        y = np.concatenate([q, self._struck(t, y, touching)])
        gamma = self._rates(t, y, np.arange(laws.n_N))
        slow = max(self.rest, RESTS * float(np.max(np.abs(y[self.n_q :]), initial=0.0)))
        resting = [l for l in touching if gamma[l] <= slow]
        rows, n = np.concatenate([np.array(resting, dtype=np.int64), self._joints]), len(resting)
        v = y[self.n_q :]
        M_inv_W, G = self._delassus(t, y, rows)
        c = M_inv_W.T @ self.model.forces(float(t), q, v) + self.model.quadratic_term(float(t), q, v)[rows]
        la = _with_joints(G, c, n) if n else np.zeros(0)
        form = StabilisedForm(self.model, tuple(l for l, force in zip(resting, la) if force > 0.0), self.rest)
        return form, form._onto(t, y) if form.closed else y

    def _struck(self, t, y, touching):
        """Velocities after the impact of the contacts that touch, (5); joints act with their impulses."""
        rows = np.concatenate([np.array(touching, dtype=np.int64), self._joints])
        n, v, gamma = len(touching), self._parts(y)[1], self._rates(t, y, rows)
        if n == 0 or np.min(gamma[:n]) >= 0.0:
            return v
        e = np.concatenate([self.model.laws.e[list(touching)], np.zeros(self._joints.size)])
        M_inv_W, G = self._delassus(t, y, rows)
        return v + M_inv_W @ _with_joints(G, gamma + e * gamma, n)

    def _onto(self, t, y):
        """Positions and velocities with held contacts closed: what is left of gaps and (below `rest`) of velocities goes, others follow."""
        n_mu, off = self._n_mu, self.constraint(t, y)
        M_inv_W, G = self._delassus(t, y, self._rows)
        q = y[: self.n_q] - M_inv_W[:, :n_mu] @ np.linalg.lstsq(G[:n_mu, :n_mu], off[:n_mu], rcond=1e-12)[0]
        v = y[self.n_q :] - M_inv_W @ np.linalg.lstsq(G, off[n_mu:], rcond=1e-12)[0]
        return np.concatenate([q, v])

    def _gap_of(self, l):
        return lambda t, y: float(self.model.gaps(float(t), self._parts(y)[0])[l])

    def _force_of(self, l):
        return lambda t, y: float(self.accelerations(t, y)[1][self._held.index(l)])

    # -- parts of both -----------------------------------------------------------------------------------------------------

    def _delassus(self, t, y, rows):
        """M^-1 W and W^T M^-1 W of these rows."""
        q, _ = self._parts(y)
        W = self.model.directions(float(t), q)[0][rows].T
        M_inv_W = np.linalg.solve(self.model.mass_matrix(float(t), q), W)
        return M_inv_W, W.T @ M_inv_W

    def _rates(self, t, y, rows):
        q, v = self._parts(y)
        WT, zeta = self.model.directions(float(t), q)
        return WT[rows] @ v + zeta[rows]

    def _parts(self, y) -> tuple[np.ndarray, np.ndarray]:
        if np.iscomplexobj(y):  # whoever tries complex steps takes differences then
            raise TypeError("the functions of a stabilised form take real numbers.")
        y = np.ascontiguousarray(y, dtype=float)
        return y[: self.n_q], y[self.n_q :]


def _with_joints(G, c, n):
    """0 <= x _|_ G x + c >= 0 in the first n rows, G x + c = 0 in those of joints: the smallest of what redundant joints can carry."""
    of_joints = np.linalg.lstsq(G[n:, n:], np.column_stack([G[n:, :n], c[n:]]), rcond=1e-12)[0]
    x = solve_lcp(G[:n, :n] - G[:n, n:] @ of_joints[:, :n], c[:n] - G[:n, n:] @ of_joints[:, n]).z
    return np.concatenate([x, -of_joints[:, :n] @ x - of_joints[:, n]])


def stabilised_form(
    system: Any, q0: Any = None, u0: Any = None, t: float = 0.0, rest: float = 0.0
) -> StabilisedForm:
    """The stabilised index-1 form (69) of a system, for `solve_dae`, `solve_ivp` or an integrator of one's own.

    Parameters
    ----------
    system : MechanicalSystem or World
        With joints, contacts without friction, or both, whose velocities are the rates of its coordinates.
    q0, u0 : array_like
        Start; a world has its own. Contacts that touch, rest and carry a force there are closed.
    t : float
    rest : float
        Relative velocity after an impact below which a contact stays closed: where impacts accumulate, it says when to stop counting.

    Returns
    -------
    StabilisedForm
        ``fun(t, y, z)`` and ``constraint(t, y)`` for `solve_dae` (where ``n_z > 0``), ``rhs(t, y)`` for `solve_ivp`,
        ``accelerations(t, y)``; y = (q, v). ``switches`` stop either where a contact closes or opens, ``after(t, y)`` gives the form
        and the state to go on with.
    """
    model, q, u = bound_model(system, q0, u0, t)
    laws = model.laws
    if laws.n_J + laws.n_N == 0:
        raise InputError(
            "`system` has no joints and no contacts: its motion is an ordinary differential equation already."
        )
    if laws.n_J + laws.n_N < laws.n_rows:
        raise InputError(
            f"law {laws.name[laws.n_N]!r} is friction: the stabilised form is for joints and contacts without friction; use simulate(...)."
        )
    if model.f_kinematics is not None:
        raise InputError(
            "`system` has rotations in space or kinematics of its own: the stabilised form takes q' = u; use simulate(...)."
        )
    if isinstance(rest, bool) or not isinstance(rest, int | float) or not 0.0 <= rest < np.inf:
        raise RangeError(f"`rest` is {rest!r}: a velocity that is not negative is wanted.")
    form = StabilisedForm(model, (), float(rest))
    return form.after(t, np.concatenate([q, u]))[0] if laws.n_N else form
