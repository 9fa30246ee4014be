r"""Rod falling over on rough ground: sustained contact whose direction turns with the rod.

.. math:: M = \mathrm{diag}(m, m, J), \quad h = (0, -m g, 0), \quad g_N = y \mp l \sin\theta, \quad
          \gamma_T = \dot x \pm l \sin\theta \, \dot\theta

The lower end slides, reverses, sticks, slips again; the other end slaps the ground, both slide to rest. While the
end sticks the friction needed is 0.18 of the normal force, well inside the cone.
"""

from __future__ import annotations

import numpy as np

from .base import Problem, Reference, as_state, require, stored

SOURCE = "Textbook problem (a falling ladder without its wall); reference computed event by event."
CONTACTS = ("left", "right")


def mass(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = p.m
    out[1, 1] = p.m
    out[2, 2] = p.J


def force(t, q, u, p, out):
    out[0] = 0.0
    out[1] = -p.m * p.g
    out[2] = 0.0


def gap(t, q, p, out):
    out[0] = q[1] - p.l * np.sin(q[2])
    out[1] = q[1] + p.l * np.sin(q[2])


def gap_jacobian(t, q, p, out):
    for i in range(2):
        out[i, 0] = 0.0
        out[i, 1] = 1.0
    out[0, 2] = -p.l * np.cos(q[2])
    out[1, 2] = p.l * np.cos(q[2])


def tangent(t, q, p, out):
    for i in range(2):
        out[0, i] = 1.0
        out[1, i] = 0.0
    out[2, 0] = p.l * np.sin(q[2])
    out[2, 1] = -p.l * np.sin(q[2])


def potential(t, q, p):
    return p.m * p.g * q[1]


def rod_rough_plane(
    friction: float = 0.3,
    theta0: float = 1.2,
    omega0: float = -0.5,
    v0: float = 1.0,
    l: float = 0.5,
    m: float = 1.0,
    gravity: float = 9.81,
    t_end: float = 1.0,
) -> Problem:
    """Rod on rough ground, its left end on the ground at the start.

    Parameters
    ----------
    friction : float
        Coulomb's coefficient of both ends, not negative.
    theta0, omega0 : float
        Angle from the ground, in (0, pi), and its rate at the start.
    v0 : float
        Velocity of the centre along the ground at the start.
    l, m, gravity : float
        Half length, mass, acceleration of gravity; positive.
    t_end : float
        End of the usual run. The reference belongs to the default values.
    """
    require(friction >= 0.0, "friction", friction, "not negative")
    require(0.0 < theta0 < np.pi, "theta0", theta0, "in (0, pi)")
    for name, value in (("l", l), ("m", m), ("gravity", gravity), ("t_end", t_end)):
        require(value > 0.0, name, value, "positive")

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        ground = Contact(
            gap, friction=np.full(2, friction), tangent=tangent, jacobian=gap_jacobian, name=CONTACTS
        )
        params = {"m": m, "J": m * l**2 / 3, "g": gravity, "l": l}
        draw = drawings.rod_on_ground(l)
        return MechanicalSystem(mass, force, contacts=[ground], params=params, potential=potential, draw=draw)

    standard = (friction, theta0, omega0, v0, l, m, gravity) == (0.3, 1.2, -0.5, 1.0, 0.5, 1.0, 9.81)
    record = stored("rod_rough_plane")
    return Problem(
        name="rod_rough_plane",
        title="Rod on rough ground",
        source=SOURCE,
        summary="Sustained contact with a turning direction: slip, reversal, stick, slip, a slap, rest.",
        build=build,
        q0=as_state([0.0, l * np.sin(theta0), theta0]),
        u0=as_state([v0, l * np.cos(theta0) * omega0, omega0]),
        t_span=(0.0, t_end),
        params={
            "friction": friction,
            "theta0": theta0,
            "omega0": omega0,
            "v0": v0,
            "l": l,
            "m": m,
            "gravity": gravity,
            "t_end": t_end,
        },
        dt=1e-4,
        coordinates=("x", "y", "theta"),
        reference=Reference.from_record(record, record["how"]) if standard else None,
    )
