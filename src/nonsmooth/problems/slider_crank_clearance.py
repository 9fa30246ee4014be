r"""Slider-crank whose slider has clearance: simultaneous impacts of two corners, accumulation, release.

Coordinates: angles of crank, rod and slider. With Y = l_1 sin th_1 + l_2 sin th_2 the height of the slider's centre,
:math:`(\mp a, \pm b)` its corners and d = 2 (b + c) the height of the guide

.. math:: g_N = d/2 \mp (Y \mp a \sin\theta_3) - b \cos\theta_3, \qquad
          k = (m_2/2 + m_3) l_1 l_2,

.. math:: M = \begin{pmatrix} J_1 + (m_1/4 + m_2 + m_3) l_1^2 & k \cos(\theta_2 - \theta_1) & 0 \\
          \cdot & J_2 + (m_2/4 + m_3) l_2^2 & 0 \\ 0 & 0 & J_3 \end{pmatrix}.

The exact motion keeps th_3 = 0: both upper corners hit together, their impacts accumulate at 9.14563 ms, both
release together at 15.0287 ms. A scheme that tears the two impacts apart makes the slider rotate.
"""

from __future__ import annotations

import numpy as np

from .base import Problem, Reference, as_state, require, stored

SOURCE = (
    "P. Flores, R. Leine, Ch. Glocker: Modeling and analysis of planar rigid multibody systems with translational "
    "clearance joints based on the non-smooth dynamics approach. Multibody System Dynamics 23 (2010) 165-190. "
    "Reference computed event by event."
)
#: Lengths, masses, inertias in SI units.
PARAMETERS = {
    "l1": 0.153,
    "l2": 0.306,
    "a": 0.05,
    "b": 0.025,
    "c": 0.001,
    "m1": 0.038,
    "m2": 0.038,
    "m3": 0.076,
    "J1": 7.4e-5,
    "J2": 5.9e-4,
    "J3": 2.7e-6,
    "g": 9.81,
}
CONTACTS = ("upper left", "upper right", "lower left", "lower right")


def mass(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = p.J1 + (0.25 * p.m1 + p.m2 + p.m3) * p.l1**2
    out[0, 1] = (0.5 * p.m2 + p.m3) * p.l1 * p.l2 * np.cos(q[1] - q[0])
    out[1, 0] = out[0, 1]
    out[1, 1] = p.J2 + (0.25 * p.m2 + p.m3) * p.l2**2
    out[2, 2] = p.J3


def force(t, q, u, p, out):
    k = (0.5 * p.m2 + p.m3) * p.l1 * p.l2 * np.sin(q[0] - q[1])
    out[0] = -k * u[1] ** 2 - (0.5 * p.m1 + p.m2 + p.m3) * p.g * p.l1 * np.cos(q[0])
    out[1] = k * u[0] ** 2 - (0.5 * p.m2 + p.m3) * p.g * p.l2 * np.cos(q[1])
    out[2] = 0.0


def gap(t, q, p, out):
    Y = p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[1])
    tilt, height = p.a * np.sin(q[2]), p.b * np.cos(q[2])
    half = p.b + p.c
    out[0] = half - (Y - tilt + height)
    out[1] = half - (Y + tilt + height)
    out[2] = half + (Y - tilt - height)
    out[3] = half + (Y + tilt - height)


def gap_jacobian(t, q, p, out):
    sin, cos = np.sin(q[2]), np.cos(q[2])
    for i in range(4):
        side = -1.0 if i < 2 else 1.0
        out[i, 0] = side * p.l1 * np.cos(q[0])
        out[i, 1] = side * p.l2 * np.cos(q[1])
    out[0, 2] = p.a * cos + p.b * sin
    out[1, 2] = -p.a * cos + p.b * sin
    out[2, 2] = -p.a * cos + p.b * sin
    out[3, 2] = p.a * cos + p.b * sin


def tangent(t, q, p, out):
    sin, cos = np.sin(q[2]), np.cos(q[2])
    for i in range(4):
        out[0, i] = -p.l1 * np.sin(q[0])
        out[1, i] = -p.l2 * np.sin(q[1])
    out[2, 0] = p.a * sin - p.b * cos
    out[2, 1] = -p.a * sin - p.b * cos
    out[2, 2] = p.a * sin + p.b * cos
    out[2, 3] = -p.a * sin + p.b * cos


def slider_crank_clearance(
    restitution: float = 0.4, friction: float = 0.01, t_end: float = 0.02, **physical: float
) -> Problem:
    """Slider-crank with clearance in the guide of the slider.

    Parameters
    ----------
    restitution, friction : float
        Of all four corners.
    t_end : float
        End of the usual run.
    **physical : float
        Any of `PARAMETERS`. With changed data there is no reference.
    """
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

        guide = Contact(
            gap,
            restitution=np.full(4, restitution),
            friction=np.full(4, friction),
            tangent=tangent,
            jacobian=gap_jacobian,
            name=CONTACTS,
        )
        draw = drawings.slider_crank(constants, CONTACTS)
        return MechanicalSystem(mass, force, contacts=[guide], params=constants, draw=draw)

    standard = not physical and (restitution, friction) == (0.4, 0.01)
    record = stored("slider_crank_clearance")
    return Problem(
        name="slider_crank_clearance",
        title="Slider-crank with clearance",
        source=SOURCE,
        summary="Two corners hit at one instant, again and again; their impacts accumulate, both release together.",
        build=build,
        q0=as_state([0.0, 0.0, 0.0]),
        u0=as_state([150.0, -75.0, 0.0]),
        t_span=(0.0, t_end),
        params={"restitution": restitution, "friction": friction, "t_end": t_end, **constants},
        dt=2e-6,
        coordinates=("theta_1", "theta_2", "theta_3"),
        reference=Reference.from_record(record, record["how"]) if standard else None,
    )
