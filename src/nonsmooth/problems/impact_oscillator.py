r"""Impact oscillator whose impacts tend to grazing (Studer, Leine & Glocker 2008, sec. 10.3).

.. math:: m \ddot x + c (x + d) = -\lambda, \qquad 0 \le g = -x \perp \lambda \ge 0,
          \qquad \dot g^+ = -e \dot g^-

A spring, free of force at x = -d, pulls the mass away from the wall at x = 0. The speed before an impact is
exactly e times the one before, the time between impacts tends to the period :math:`2 \pi \sqrt{m / c}`:
late impacts nearly graze, and they never accumulate.

Flight with start velocity -v from the wall: :math:`x = -d + d \cos\omega\tau - (v/\omega) \sin\omega\tau`,
back at the wall after :math:`\omega\tau = 2 \,\mathrm{atan2}(v, -\omega d)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack
from .sources import STUDER_2008

SOURCE = f"{STUDER_2008}, sec. 10.3. The wall is put at x = 0: the text does not place it."


def mass(t, q, p, out):
    out[0, 0] = p.m


def force(t, q, u, p, out):
    out[0] = -p.c * (q[0] + p.d)


def gap(t, q, p, out):
    out[0] = -q[0]


def gap_jacobian(t, q, p, out):
    out[0, 0] = -1.0


def potential(t, q, p):
    return 0.5 * p.c * (q[0] + p.d) ** 2


def flights(
    omega: float, offset: float, restitution: float, x_0: float, v_0: float, t_end: float
) -> tuple[Array, Array]:
    """Impacts up to t_end: instants (k,) and speeds before impact (k,)."""
    # First flight: x + d = A cos + B sin = R cos(theta - delta) reaches d.
    a, b = x_0 + offset, v_0 / omega
    radius = np.hypot(a, b)
    times: list[float] = []
    speeds: list[float] = []
    if radius <= offset:
        return np.empty(0), np.empty(0)
    delta, reach = np.arctan2(b, a), np.arccos(offset / radius)
    # on the way out the mass is at phase -reach of its cosine
    theta = (delta - reach) % (2.0 * np.pi)
    t, v = theta / omega, omega * np.sqrt(radius**2 - offset**2)
    while t <= t_end and v > 0.0:
        times.append(float(t))
        speeds.append(float(v))
        v *= restitution
        t += 2.0 * np.arctan2(v, -omega * offset) / omega
    return np.array(times), np.array(speeds)


def closed_form(
    t: ArrayLike,
    omega: float,
    offset: float,
    restitution: float,
    x_0: float,
    v_0: float,
) -> tuple[Array, Array]:
    """Position and velocity (right limit) at the instants t, both of the shape of t."""
    t = np.asarray(t, dtype=np.float64)
    t_end = float(t.max()) if t.size else 0.0
    times, speeds = flights(omega, offset, restitution, x_0, v_0, t_end)
    n = np.searchsorted(times, t, side="right")
    start = np.concatenate(([0.0], times))[n]
    x_start = np.concatenate(([x_0], np.zeros(times.size)))[n]
    v_start = np.concatenate(([v_0], -restitution * speeds))[n]
    # x + d = (x_start + d) cos + (v_start / omega) sin
    phase = omega * (t - start)
    a, b = x_start + offset, v_start / omega
    x = -offset + a * np.cos(phase) + b * np.sin(phase)
    v = omega * (b * np.cos(phase) - a * np.sin(phase))
    return np.minimum(x, 0.0), v


def impact_oscillator(
    m: float = 0.1,
    c: float = 20.0,
    offset: float = 0.15,
    restitution: float = 0.6,
    x0: float = -0.5,
    v0: float = 0.2,
    t_end: float = 5.0,
) -> Problem:
    """Impact oscillator (Studer et al. 2008, sec. 10.3).

    Parameters
    ----------
    m, c : float
        Mass and stiffness, positive.
    offset : float
        Distance d > 0 of the spring's rest position from the wall.
    restitution : float
        Newton's coefficient in [0, 1].
    x0, v0 : float
        Start, x0 < 0.
    t_end : float
        End of the usual run.
    """
    require(m > 0.0, "m", m, "positive")
    require(c > 0.0, "c", c, "positive")
    require(offset > 0.0, "offset", offset, "positive")
    require(0.0 <= restitution <= 1.0, "restitution", restitution, "in [0, 1]")
    require(x0 < 0.0, "x0", x0, "negative (the wall is at 0)")
    require(t_end > 0.0, "t_end", t_end, "positive")

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        wall = Contact(gap, restitution=restitution, jacobian=gap_jacobian, name="wall")
        params, draw = {"m": m, "c": c, "d": offset}, drawings.mass_at_wall("wall", -1.0, -x0, 2.2 * x0)
        return MechanicalSystem(mass, force, contacts=[wall], params=params, potential=potential, draw=draw)

    motion = (float(np.sqrt(c / m)), offset, restitution, x0, v0)
    times, speeds = flights(*motion, t_end)
    reference = Reference(
        origin="closed form, flight by flight",
        error=1e-13,
        q=lambda t: stack(t, closed_form(t, *motion)[0]),
        u=lambda t: stack(t, closed_form(t, *motion)[1]),
        events=tuple(
            ReferenceEvent(float(t), "impact", "wall", (float(v),), (-float(restitution * v),))
            for t, v in zip(times, speeds)
        ),
    )
    return Problem(
        name="impact_oscillator",
        title="Impact oscillator",
        source=SOURCE,
        summary="Impacts that get weaker by a constant factor and tend to grazing, without accumulation.",
        build=build,
        q0=as_state([x0]),
        u0=as_state([v0]),
        t_span=(0.0, t_end),
        params={
            "m": m,
            "c": c,
            "offset": offset,
            "restitution": restitution,
            "x0": x0,
            "v0": v0,
            "t_end": t_end,
        },
        dt=1e-3,
        coordinates=("x",),
        reference=reference,
    )
