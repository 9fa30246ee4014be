r"""Woodpecker toy (Studer, Leine & Glocker 2008, sec. 10.4; model of Glocker 1995, Glocker & Studer 2005).

A sleeve with a hole slightly larger than the pole carries a bird on a spring. Coordinates: height y of the
sleeve, angle phi_M of the sleeve, angle phi_S of the bird. Three frictional contacts with the pole: beak,
lower and upper edge of the sleeve.

.. math:: M = \begin{pmatrix} m_S + m_M & m_S l_M & m_S l_G \\ m_S l_M & J_M + m_S l_M^2 & m_S l_M l_G \\
              m_S l_G & m_S l_M l_G & J_S + m_S l_G^2 \end{pmatrix}, \qquad
          h = \begin{pmatrix} -(m_S + m_M) g \\ -c (\varphi_M - \varphi_S) - m_S g l_M \\
              -c (\varphi_S - \varphi_M) - m_S g l_G \end{pmatrix}

.. math:: g_1 = (l_M + l_G - l_S - r_0) - h_S \varphi_S, \quad g_2 = (r_M - r_0) + h_M \varphi_M, \quad
          g_3 = (r_M - r_0) - h_M \varphi_M

with tangential directions (1, l_M, l_G - l_S) at the beak and (1, r_M, 0) at the sleeve. The published
start has phi_M(0) = -0.1036, rounded: it lies 8.8e-7 m inside contact 2. The start "literal" keeps it,
"consistent" puts the contact exactly on the pole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Problem, Reference, ReferenceEvent, as_state, require, stored
from .sources import STUDER_2008

SOURCE = (
    f"{STUDER_2008}, sec. 10.4, with the data of Ch. Glocker, C. Studer: Formulation and preparation for "
    "numerical evaluation of linear complementarity systems in dynamics. Multibody System Dynamics 13 (2005) "
    "447-463."
)

#: Physical data in SI units.
PARAMETERS = {
    "m_M": 3e-4,
    "m_S": 4.5e-3,
    "J_M": 5e-9,
    "J_S": 7e-7,
    "c": 5.6e-3,
    "g": 9.81,
    "r_0": 2.5e-3,
    "r_M": 3.1e-3,
    "h_M": 5.8e-3,
    "l_M": 0.01,
    "l_G": 0.015,
    "h_S": 0.02,
    "l_S": 0.0201,
}

CONTACTS = ("beak", "lower sleeve", "upper sleeve")
COORDINATES = ("y", "phi_M", "phi_S")


def mass(t, q, p, out):
    out[0, 0] = p.m_S + p.m_M
    out[0, 1] = p.m_S * p.l_M
    out[0, 2] = p.m_S * p.l_G
    out[1, 0] = out[0, 1]
    out[1, 1] = p.J_M + p.m_S * p.l_M**2
    out[1, 2] = p.m_S * p.l_M * p.l_G
    out[2, 0] = out[0, 2]
    out[2, 1] = out[1, 2]
    out[2, 2] = p.J_S + p.m_S * p.l_G**2


def force(t, q, u, p, out):
    spring = p.c * (q[1] - q[2])
    out[0] = -(p.m_S + p.m_M) * p.g
    out[1] = -spring - p.m_S * p.g * p.l_M
    out[2] = spring - p.m_S * p.g * p.l_G


def gap(t, q, p, out):
    out[0] = (p.l_M + p.l_G - p.l_S - p.r_0) - p.h_S * q[2]
    out[1] = (p.r_M - p.r_0) + p.h_M * q[1]
    out[2] = (p.r_M - p.r_0) - p.h_M * q[1]


def gap_jacobian(t, q, p, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
    out[0, 2] = -p.h_S
    out[1, 1] = p.h_M
    out[2, 1] = -p.h_M


def tangent(t, q, p, out):
    for i in range(3):
        out[0, i] = 1.0
    out[1, 0] = p.l_M
    out[2, 0] = p.l_G - p.l_S
    out[1, 1] = p.r_M
    out[2, 1] = 0.0
    out[1, 2] = p.r_M
    out[2, 2] = 0.0


def potential(t, q, p):
    spring = 0.5 * p.c * (q[1] - q[2]) ** 2
    return spring + p.g * ((p.m_S + p.m_M) * q[0] + p.m_S * (p.l_M * q[1] + p.l_G * q[2]))


def data() -> dict[str, Any]:
    """Reference incidents and states of both starts, and the periodic orbit."""
    return stored("woodpecker")


def incidents(events: tuple[ReferenceEvent, ...]) -> list[tuple[float, str, str, str]]:
    """Events as in Table VII: (t, law, from, to), an impact counted as a closing and an opening."""
    words = {
        "stick": [("slip", "stick")],
        "slip": [("stick", "slip")],
        "open": [("closed", "open")],
        "close": [("open", "closed")],
        "impact": [("open", "closed"), ("closed", "open")],
    }
    return [(e.t, e.name, *pair) for e in events for pair in words[e.kind]]


def woodpecker(
    start: str = "literal",
    restitution: float = 0.5,
    friction: float = 0.3,
    t_end: float = 0.4,
    **physical: float,
) -> Problem:
    """Woodpecker toy (Studer et al. 2008, sec. 10.4).

    Parameters
    ----------
    start : {"literal", "consistent"}
        The published start, or the one whose lower sleeve touches the pole exactly. Event times differ by
        about 1e-5 s.
    restitution : float
        Newton's coefficient of the beak; the sleeve has 0.
    friction : float
        Coulomb's coefficient of all three contacts.
    t_end : float
        End of the usual run. The references end at 0.45 s.
    **physical : float
        Any of `PARAMETERS`: m_M, m_S, J_M, J_S, c, g, r_0, r_M, h_M, l_M, l_G, h_S, l_S. With changed data
        there is no reference.
    """
    require(start in ("literal", "consistent"), "start", start, "'literal' or 'consistent'")
    require(0.0 <= restitution <= 1.0, "restitution", restitution, "in [0, 1]")
    require(friction >= 0.0, "friction", friction, "not negative")
    require(t_end > 0.0, "t_end", t_end, "positive")
    for key, value in physical.items():
        require(key in PARAMETERS, key, value, f"one of {', '.join(PARAMETERS)}")
        require(value > 0.0, key, value, "positive")
    constants = {**PARAMETERS, **physical}

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        pole = Contact(
            gap,
            restitution=np.array([restitution, 0.0, 0.0]),
            friction=np.full(3, friction),
            tangent=tangent,
            jacobian=gap_jacobian,
            name=CONTACTS,
        )
        draw = drawings.woodpecker(constants)
        return MechanicalSystem(
            mass, force, contacts=[pole], params=constants, potential=potential, draw=draw
        )

    phi_M = -0.1036 if start == "literal" else -(constants["r_M"] - constants["r_0"]) / constants["h_M"]
    published = not physical and restitution == 0.5 and friction == 0.3
    return Problem(
        name="woodpecker",
        title="Woodpecker toy",
        source=SOURCE,
        summary="Three frictional contacts: impacts, jamming, stick-slip and release in a periodic descent.",
        build=build,
        q0=as_state([0.0, phi_M, -0.2788]),
        u0=as_state([-0.3411, 0.0, -7.4583]),
        t_span=(0.0, t_end),
        params={
            "start": start,
            "restitution": restitution,
            "friction": friction,
            "t_end": t_end,
            **constants,
        },
        dt=2e-5,
        coordinates=COORDINATES,
        reference=Reference.from_record(data()[start], data()["how"]) if published else None,
    )
