r"""Point mass falling on a table: impacts that accumulate (Studer, Leine & Glocker 2008, sec. 10.1).

.. math:: m \ddot z = -m g + \lambda, \qquad 0 \le z \perp \lambda \ge 0, \qquad \dot z^+ = -e \dot z^-

The n-th impact is at :math:`t_n = t_1 (1 + 2 e (1 - e^{n-1}) / (1 - e))` with :math:`t_1 = \sqrt{2 z_0 /
g}`; impacts accumulate at :math:`t_* = t_1 (1 + e) / (1 - e)`, from where on the mass rests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack
from .sources import STUDER_2008

SOURCE = f"{STUDER_2008}, sec. 10.1. Gravity 9.81 is assumed: the paper gives none."


def mass(t, q, p, out):
    out[0, 0] = p.m


def force(t, q, u, p, out):
    out[0] = -p.m * p.g


def gap(t, q, p, out):
    out[0] = q[0]


def gap_jacobian(t, q, p, out):
    out[0, 0] = 1.0


def potential(t, q, p):
    return p.m * p.g * q[0]


def impact_times(height: float, restitution: float, gravity: float, t_end: float) -> Array:
    """Instants of all impacts up to t_end that double precision can tell apart, shape (k,)."""
    t_1 = np.sqrt(2.0 * height / gravity)
    e = restitution
    if e == 0.0:
        times = np.array([t_1])
    elif e == 1.0:
        times = t_1 * np.arange(1.0, max(2.0, np.floor(t_end / t_1) + 2.0), 2.0)
    else:
        # e^n falls below the resolution of t_* after this many impacts.
        count = int(np.ceil(np.log(2.0**-54) / np.log(e))) + 1
        # 1 - e^(n-1) by expm1: no cancellation for e close to 1.
        n = np.arange(count)
        times = t_1 * (1.0 - 2.0 * e * np.expm1(n * np.log(e)) / (1.0 - e))
        times = np.unique(times)
    return times[times <= t_end]


def closed_form(t: ArrayLike, height: float, restitution: float, gravity: float) -> tuple[Array, Array]:
    """Height and velocity (right limit) at the instants t, both of the shape of t."""
    t = np.asarray(t, dtype=np.float64)
    e, g = restitution, gravity
    t_1 = np.sqrt(2.0 * height / g)
    t_end = float(t.max()) if t.size else 0.0
    impacts = impact_times(height, e, g, max(t_end, t_1))
    n = np.searchsorted(impacts, t, side="right")  # number of impacts up to and including t
    # Flight after the n-th impact: starts with e^n g t_1.
    start = impacts[np.maximum(n, 1) - 1]
    speed = g * t_1 * e ** n.astype(np.float64)
    tau = t - start
    z = np.where(n == 0, height - 0.5 * g * t**2, tau * (speed - 0.5 * g * tau))
    v = np.where(n == 0, -g * t, speed - g * tau)
    # At rest after the accumulation point.
    rest = (t >= accumulation_time(height, e, g)) & (n > 0)
    return np.where(rest, 0.0, np.maximum(z, 0.0)), np.where(rest, 0.0, v)


def accumulation_time(height: float, restitution: float, gravity: float) -> float:
    """Instant at which the impacts accumulate; infinite for restitution 1."""
    if restitution == 1.0:
        return float("inf")
    return float(np.sqrt(2.0 * height / gravity) * (1.0 + restitution) / (1.0 - restitution))


def falling_ball(
    height: float = 0.07, restitution: float = 0.7, gravity: float = 9.81, m: float = 1.0, t_end: float = 1.0
) -> Problem:
    """Point mass falling on a table (Studer et al. 2008, sec. 10.1).

    Parameters
    ----------
    height : float
        Start height z_0 > 0; the mass starts at rest.
    restitution : float
        Newton's coefficient e in [0, 1].
    gravity, m : float
        Positive.
    t_end : float
        End of the usual run.
    """
    require(height > 0.0, "height", height, "positive")
    require(0.0 <= restitution <= 1.0, "restitution", restitution, "in [0, 1]")
    require(gravity > 0.0, "gravity", gravity, "positive")
    require(m > 0.0, "m", m, "positive")
    require(t_end > 0.0, "t_end", t_end, "positive")

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        table = Contact(gap, restitution=restitution, jacobian=gap_jacobian, name="table")
        params, draw = {"m": m, "g": gravity}, drawings.ball_on_table("table", height)
        return MechanicalSystem(mass, force, contacts=[table], params=params, potential=potential, draw=draw)

    times = impact_times(height, restitution, gravity, t_end)
    speed = gravity * np.sqrt(2.0 * height / gravity) * restitution ** np.arange(times.size)
    events = tuple(
        ReferenceEvent(float(t), "impact", "table", (-float(v),), (float(restitution * v),))
        for t, v in zip(times, speed)
    )
    reference = Reference(
        origin="closed form, flight by flight",
        error=1e-15,
        q=lambda t: stack(t, closed_form(t, height, restitution, gravity)[0]),
        u=lambda t: stack(t, closed_form(t, height, restitution, gravity)[1]),
        events=events,
    )
    return Problem(
        name="falling_ball",
        title="Falling point mass",
        source=SOURCE,
        summary="Infinitely many impacts in finite time; afterwards the mass rests.",
        build=build,
        q0=as_state([height]),
        u0=as_state([0.0]),
        t_span=(0.0, t_end),
        params={
            "height": height,
            "restitution": restitution,
            "gravity": gravity,
            "m": m,
            "t_end": t_end,
        },
        dt=1e-3,
        coordinates=("z",),
        reference=reference,
    )
