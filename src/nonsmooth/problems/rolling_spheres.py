r"""Small sphere rolling on a large one: a holonomic and two nonholonomic constraints (Compere 2001, sec. 3.6; Yun & Sarkar 1998).

.. math:: q = (\rho, \alpha, \beta, \phi, \theta, \psi), \qquad \Phi_h = \rho - (R + r), \qquad
          \Phi_n = \begin{pmatrix} (R+r) \dot\alpha - r (\dot\phi \sin\theta \cos\psi - \dot\theta \sin\psi) \\
                                   (R+r) \dot\beta - r (\dot\phi \sin\theta \sin\psi + \dot\theta \cos\psi) \end{pmatrix}

No gravity: the kinetic energy (3.35) stays. The equations are solved as printed; physically the second rolling condition carries
a factor :math:`\cos\alpha`.
"""

from __future__ import annotations

import numpy as np

from .base import Problem, Reference, as_state, require, stored
from .sources import COMPERE_2001

SOURCE = f"{COMPERE_2001}, sec. 3.6, after X. Yun, N. Sarkar, IEEE Trans. Rob. Automation 14 (1998) 640-650."


def mass(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = p.m
    out[1, 1] = p.m * q[0] ** 2
    out[2, 2] = p.m * q[0] ** 2 * np.cos(q[1]) ** 2
    out[3, 3] = p.I
    out[3, 5] = p.I * np.cos(q[4])
    out[4, 4] = p.I
    out[5, 3] = p.I * np.cos(q[4])
    out[5, 5] = p.I


def force(t, q, u, p, out):
    """-V of (3.33)."""
    rho, c, s = q[0], np.cos(q[1]), np.sin(q[1])
    out[0] = p.m * rho * (u[1] ** 2 + u[2] ** 2 * c**2)
    out[1] = -p.m * rho * (2.0 * u[0] * u[1] + rho * u[2] ** 2 * c * s)
    out[2] = -2.0 * p.m * rho * (u[0] * u[2] * c**2 - rho * u[2] * u[1] * c * s)
    out[3] = p.I * u[4] * u[5] * np.sin(q[4])
    out[4] = -p.I * u[3] * u[5] * np.sin(q[4])
    out[5] = p.I * u[3] * u[4] * np.sin(q[4])


def distance(t, q, p, out):
    out[0] = q[0] - (p.R + p.r)


def distance_jacobian(t, q, p, out):
    out[:, :] = 0.0
    out[0, 0] = 1.0


def distance_rate(t, q, u, p, out):
    out[0] = 0.0


def rolling(t, q, u, p, out):
    s = np.sin(q[4])
    out[0] = (p.R + p.r) * u[1] - p.r * (u[3] * s * np.cos(q[5]) - u[4] * np.sin(q[5]))
    out[1] = (p.R + p.r) * u[2] - p.r * (u[3] * s * np.sin(q[5]) + u[4] * np.cos(q[5]))


def rolling_rate(t, q, u, p, out):
    """J_qn v of (3.26)."""
    s, c, sp, cp = np.sin(q[4]), np.cos(q[4]), np.sin(q[5]), np.cos(q[5])
    out[0] = -p.r * (u[3] * (c * cp * u[4] - s * sp * u[5]) - u[4] * cp * u[5])
    out[1] = -p.r * (u[3] * (c * sp * u[4] + s * cp * u[5]) - u[4] * sp * u[5])


def potential(t, q, p):
    return 0.0 * q[0]


def rolling_spheres(
    R: float = 0.55, r: float = 0.05, m: float = 1.0, rate: float = np.pi / 32, consistent: bool = True, t_end: float = 20.0
) -> Problem:  # fmt: skip
    """Small sphere on a large one.

    Parameters
    ----------
    R, r, m : float
        Radii of the fixed and of the rolling sphere, mass of the latter; positive.
    rate : float
        |alpha'| = |beta'| at the start; the default is 45/8 degrees per second.
    consistent : bool
        False takes the start of Fig. 3.11: 0.1 m off the sphere (in units of R + r = 0.6), spinning 1.2 and 1.5 times too fast.
    t_end : float
        End of the usual run. The reference belongs to the default values.
    """
    for name, value in (("R", R), ("r", r), ("m", m), ("t_end", t_end)):
        require(value > 0.0, name, value, "positive")

    def build():
        from ..model.drawing import Sphere
        from ..model.elements import Joint, NonholonomicConstraint
        from ..model.system import MechanicalSystem

        joint = Joint(distance, jacobian=distance_jacobian, jacobian_rate=distance_rate, name="distance")
        wheel = NonholonomicConstraint(rolling, rate=rolling_rate, name="rolling")
        params = {"R": R, "r": r, "m": m, "I": 0.4 * m * r**2}

        def centre(q):
            along = np.array([np.cos(q[1]) * np.cos(q[2]), np.cos(q[1]) * np.sin(q[2]), np.sin(q[1])])
            return q[0] * along

        return MechanicalSystem(
            mass, force, joints=[joint], nonholonomic=[wheel], params=params, potential=potential,
            draw=[Sphere((0.0, 0.0, 0.0), R, name="fixed"), Sphere(centre, r, name="rolling")],
        )  # fmt: skip

    spin = (R + r) / r * rate
    rho = R + r if consistent else (R + r) * 7.0 / 6.0
    u0 = [0.0, -rate, rate, spin * (1.0 if consistent else 1.2), spin * (1.0 if consistent else 1.5), 0.0]
    standard = (R, r, m, rate, consistent) == (0.55, 0.05, 1.0, np.pi / 32, True)
    record = stored("rolling_spheres")
    return Problem(
        name="rolling_spheres",
        title="Two rolling spheres",
        source=SOURCE,
        summary="Holonomic and nonholonomic constraints together; a start that violates all of them.",
        build=build,
        q0=as_state([rho, 0.0, np.pi / 2, 0.0, np.pi / 2, np.pi / 2]),
        u0=as_state(u0),
        t_span=(0.0, t_end),
        params={"R": R, "r": r, "m": m, "rate": rate, "consistent": consistent, "t_end": t_end},
        dt=1e-2,
        coordinates=("rho", "alpha", "beta", "phi", "theta", "psi"),
        reference=Reference.from_record(record, record["how"]) if standard else None,
    )
