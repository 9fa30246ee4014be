r"""Damped oscillator hitting a wall at its rest position (Acary 2012, Example 2, eq. (11)).

.. math:: m \dot v + c v + k q = \lambda, \qquad 0 \le q \perp \lambda \ge 0, \qquad v^+ = -\rho v^-

With the wall where the spring is free of force, every flight after the first lasts half a damped period,
:math:`\pi / \omega_d`, :math:`\omega_d^2 = k/m - (c/2m)^2`. The paper gives no numbers; three sets are
fixed here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack
from .falling_ball import gap, gap_jacobian, mass
from .sources import ACARY_2012

SOURCE = f"{ACARY_2012}, Example 2. The paper gives no parameters."

#: Parameter sets (m, c, k, rho, q0, v0).
CASES = {
    1: (1.0, 0.0, 1.0, 0.5, 1.0, 0.0),
    2: (1.0, 0.2, 4.0, 0.7, 1.0, 0.5),
    3: (1.0, 0.5, 10.0, 0.9, 0.2, -1.0),
}


def force(t, q, u, p, out):
    out[0] = -p.c * u[0] - p.k * q[0]


def potential(t, q, p):
    return 0.5 * p.k * q[0] ** 2


def flights(
    m: float, c: float, k: float, rho: float, q_0: float, v_0: float, t_end: float
) -> tuple[Array, Array]:
    """Impacts up to t_end: instants (n,) and velocities before impact (n,), negative."""
    delta = c / (2.0 * m)
    omega = np.sqrt(k / m - delta**2)
    # first flight: q = exp(-delta t) (A cos + B sin)
    a, b = q_0, (v_0 + delta * q_0) / omega
    theta = np.arctan2(a, -b)
    t_1 = theta / omega
    v_1 = -np.exp(-delta * t_1) * omega * np.hypot(a, b)
    if t_1 > t_end:
        return np.empty(0), np.empty(0)
    n = np.arange(int(np.floor((t_end - t_1) * omega / np.pi)) + 1)
    times = t_1 + n * np.pi / omega
    return times, v_1 * (rho * np.exp(-delta * np.pi / omega)) ** n


def closed_form(
    t: ArrayLike, m: float, c: float, k: float, rho: float, q_0: float, v_0: float
) -> tuple[Array, Array]:
    """Position and velocity (right limit) at the instants t, both of the shape of t."""
    t = np.asarray(t, dtype=np.float64)
    t_end = float(t.max()) if t.size else 0.0
    times, before = flights(m, c, k, rho, q_0, v_0, t_end)
    delta = c / (2.0 * m)
    omega = np.sqrt(k / m - delta**2)
    n = np.searchsorted(times, t, side="right")
    tau = t - np.concatenate(([0.0], times))[n]
    q_start = np.concatenate(([q_0], np.zeros(times.size)))[n]
    v_start = np.concatenate(([v_0], -rho * before))[n]
    a, b = q_start, (v_start + delta * q_start) / omega
    decay, cos, sin = np.exp(-delta * tau), np.cos(omega * tau), np.sin(omega * tau)
    q = decay * (a * cos + b * sin)
    v = decay * ((b * omega - delta * a) * cos - (a * omega + delta * b) * sin)
    return np.maximum(q, 0.0), v


def acary_oscillator(case: int = 1, t_end: float = 10.0) -> Problem:
    """Damped oscillator with impacts at its rest position (Acary 2012, Example 2).

    Parameters
    ----------
    case : {1, 2, 3}
        Parameter set (m, c, k, rho, q0, v0): 1 undamped, 2 damped, 3 stiff with weak losses.
    t_end : float
        End of the usual run.
    """
    require(case in CASES, "case", case, f"one of {sorted(CASES)}")
    require(t_end > 0.0, "t_end", t_end, "positive")
    m, c, k, rho, q_0, v_0 = CASES[case]

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        wall = Contact(gap, restitution=rho, jacobian=gap_jacobian, name="wall")
        params, draw = {"m": m, "c": c, "k": k}, drawings.mass_at_wall("wall", 1.0, q_0, 3.0 * q_0)
        return MechanicalSystem(mass, force, contacts=[wall], params=params, potential=potential, draw=draw)

    times, before = flights(m, c, k, rho, q_0, v_0, t_end)
    reference = Reference(
        origin="closed form, flight by flight",
        error=1e-14,
        q=lambda t: stack(t, closed_form(t, m, c, k, rho, q_0, v_0)[0]),
        u=lambda t: stack(t, closed_form(t, m, c, k, rho, q_0, v_0)[1]),
        events=tuple(
            ReferenceEvent(float(t), "impact", "wall", (float(v),), (-float(rho * v),))
            for t, v in zip(times, before)
        ),
    )
    return Problem(
        name="acary_oscillator",
        title=f"Oscillator with impact, case {case}",
        source=SOURCE,
        summary="Spring-damper with a wall at its rest position: impacts half a damped period apart.",
        build=build,
        q0=as_state([q_0]),
        u0=as_state([v_0]),
        t_span=(0.0, t_end),
        params={"case": case, "t_end": t_end},
        dt=1e-3,
        coordinates=("q",),
        reference=reference,
    )
