r"""Compound pendulum as a free rod and a pin: the smallest index-3 problem with a closed form (Compere 2001, sec. 3.5).

.. math:: M = \mathrm{diag}(m, m, m l^2/12), \quad h = (m g, 0, 0), \quad
          \Phi_h = (x - \tfrac l2 \cos\theta,\; y - \tfrac l2 \sin\theta)

x points down. The angle obeys :math:`\ddot\theta = -\tfrac{3 g}{2 l} \sin\theta`, solved by Jacobi's elliptic functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, as_state, require, stack
from .sources import COMPERE_2001

SOURCE = f"{COMPERE_2001}, sec. 3.5. The printed energy 159.93 J is -159.93 J with zero at the pivot."


def mass(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = p.m
    out[1, 1] = p.m
    out[2, 2] = p.m * p.l**2 / 12.0


def force(t, q, u, p, out):
    out[0] = p.m * p.g
    out[1] = 0.0
    out[2] = 0.0


def pin(t, q, p, out):
    out[0] = q[0] - 0.5 * p.l * np.cos(q[2])
    out[1] = q[1] - 0.5 * p.l * np.sin(q[2])


def pin_jacobian(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = 1.0
    out[0, 2] = 0.5 * p.l * np.sin(q[2])
    out[1, 1] = 1.0
    out[1, 2] = -0.5 * p.l * np.cos(q[2])


def pin_rate(t, q, u, p, out):
    out[0] = 0.5 * p.l * np.cos(q[2]) * u[2] ** 2
    out[1] = 0.5 * p.l * np.sin(q[2]) * u[2] ** 2


def potential(t, q, p):
    return -p.m * p.g * q[0]


def angle(t: ArrayLike, theta0: float, omega0: float, gravity: float, l: float) -> tuple[Array, Array]:
    """theta(t) and theta'(t) of a pendulum that does not turn over: sin(theta/2) = k sn(w t + phi, k^2)."""
    from scipy.special import ellipj, ellipkinc

    t = np.asarray(t, dtype=np.float64)
    w = np.sqrt(1.5 * gravity / l)
    k = np.hypot(np.sin(0.5 * theta0), 0.5 * omega0 / w)
    if k == 0.0:
        return np.zeros_like(t), np.zeros_like(t)
    start = np.arctan2(
        np.sin(0.5 * theta0), 0.5 * omega0 / w
    )  # amplitude: k sn = sin(theta/2), k cn = theta'/(2 w)
    sn, cn, _, _ = ellipj(w * t + ellipkinc(start, k**2), k**2)
    return 2.0 * np.arcsin(k * sn), 2.0 * w * k * cn


def compere_pendulum(
    m: float = 36.0, l: float = 1.0, gravity: float = 9.81, theta0: float = np.pi / 9, omega0: float = 1.0, t_end: float = 5.0
) -> Problem:  # fmt: skip
    """Compound pendulum, a rod with three coordinates and two constraints.

    Parameters
    ----------
    m, l, gravity : float
        Mass, length of the rod, acceleration of gravity; positive.
    theta0, omega0 : float
        Angle from the vertical, in (-pi, pi), and its rate at the start.
    t_end : float
        End of the usual run.
    """
    for name, value in (("m", m), ("l", l), ("gravity", gravity), ("t_end", t_end)):
        require(value > 0.0, name, value, "positive")
    require(-np.pi < theta0 < np.pi, "theta0", theta0, "in (-pi, pi)")

    def build():
        from ..model import drawing
        from ..model.elements import Joint
        from ..model.system import MechanicalSystem

        def ends(t, q):
            along = l / 2 * np.array([np.sin(q[2]), -np.cos(q[2])])  # drawn with gravity pointing down
            centre = np.array([q[1], -q[0]])
            return np.array([centre - along, centre + along])

        joint = Joint(pin, jacobian=pin_jacobian, jacobian_rate=pin_rate, name="pin")
        return MechanicalSystem(
            mass, force, joints=[joint], params={"m": m, "l": l, "g": gravity}, potential=potential,
            draw=[drawing.Line(ends)],
        )  # fmt: skip

    def state(t):
        theta, omega = angle(t, theta0, omega0, gravity, l)
        at_start = np.asarray(t) == 0.0
        theta, omega = np.where(at_start, theta0, theta), np.where(at_start, omega0, omega)
        x, y = 0.5 * l * np.cos(theta), 0.5 * l * np.sin(theta)
        return stack(t, x, y, theta), stack(t, -y * omega, x * omega, omega)

    turns_over = np.sin(0.5 * theta0) ** 2 + omega0**2 * l / (6.0 * gravity) >= 1.0
    reference = None
    if not turns_over:
        reference = Reference(
            origin="closed form: Jacobi's elliptic functions", error=1e-14, q=lambda t: state(t)[0], u=lambda t: state(t)[1]
        )  # fmt: skip
    c, s = 0.5 * l * np.cos(theta0), 0.5 * l * np.sin(theta0)
    return Problem(
        name="compere_pendulum",
        title="Compound pendulum with a pin",
        source=SOURCE,
        summary="Index-3 equations with a closed form and an energy that stays: how well constraints are kept, and at which price.",
        build=build,
        q0=as_state([c, s, theta0]),
        u0=as_state([-s * omega0, c * omega0, omega0]),
        t_span=(0.0, t_end),
        params={"m": m, "l": l, "gravity": gravity, "theta0": theta0, "omega0": omega0, "t_end": t_end},
        dt=1e-2,
        coordinates=("x", "y", "theta"),
        reference=reference,
    )
