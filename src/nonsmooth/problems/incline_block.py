r"""Block on an incline: slides up, stops, and sticks or slides back.

.. math:: m \ddot x = -m g \sin\alpha + \lambda_T, \quad m \ddot z = -m g \cos\alpha + \lambda_N, \quad
          0 \le z \perp \lambda_N \ge 0, \quad \lambda_T \in -\mu \lambda_N \, \mathrm{Sgn}(\dot x)

x runs up the slope, z away from it. The block starts on the slope with velocity v_0 upwards, decelerates with
:math:`g (\sin\alpha + \mu \cos\alpha)`, and stops. It sticks if :math:`\mu \ge \tan\alpha`; otherwise the
slip velocity changes its sign without sticking and the block slides back with :math:`g (\sin\alpha - \mu
\cos\alpha)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack

SOURCE = "Textbook problem of Coulomb friction with a normal force found by the contact law; closed form."


def mass(t, q, p, out):
    out[0, 0] = p.m
    out[0, 1] = 0.0
    out[1, 0] = 0.0
    out[1, 1] = p.m


def force(t, q, u, p, out):
    out[0] = -p.m * p.g * p.sin
    out[1] = -p.m * p.g * p.cos


def gap(t, q, p, out):
    out[0] = q[1]


def gap_jacobian(t, q, p, out):
    out[0, 0] = 0.0
    out[0, 1] = 1.0


def tangent(t, q, p, out):
    out[0, 0] = 1.0
    out[1, 0] = 0.0


def potential(t, q, p):
    return p.m * p.g * (q[0] * p.sin + q[1] * p.cos)


def closed_form(t: ArrayLike, angle: float, friction: float, v_0: float, g: float) -> tuple[Array, Array]:
    """Way up the slope and velocity at the instants t, both of the shape of t."""
    t = np.asarray(t, dtype=np.float64)
    up = g * (np.sin(angle) + friction * np.cos(angle))
    down = max(g * (np.sin(angle) - friction * np.cos(angle)), 0.0)
    t_stop = v_0 / up
    rise, back = np.minimum(t, t_stop), np.maximum(t - t_stop, 0.0)
    x = rise * (v_0 - 0.5 * up * rise) - 0.5 * down * back**2
    v = np.where(t < t_stop, v_0 - up * t, -down * back)
    return x, v


def incline_block(
    angle: float = 20.0,
    friction: float = 0.4,
    v0: float = 2.0,
    gravity: float = 9.81,
    m: float = 1.0,
    t_end: float = 1.0,
) -> Problem:
    """Block sliding up an incline; it sticks for friction >= tan(angle) and slides back otherwise.

    Parameters
    ----------
    angle : float
        Slope in degrees, in [0, 90).
    friction : float
        Coulomb's coefficient, not negative.
    v0 : float
        Start velocity up the slope, positive.
    gravity, m : float
        Positive.
    t_end : float
        End of the usual run.
    """
    require(0.0 <= angle < 90.0, "angle", angle, "in [0, 90) degrees")
    require(friction >= 0.0, "friction", friction, "not negative")
    require(angle > 0.0 or friction > 0.0, "friction", friction, "positive on a level plane")
    require(v0 > 0.0, "v0", v0, "positive")
    require(gravity > 0.0, "gravity", gravity, "positive")
    require(m > 0.0, "m", m, "positive")
    require(t_end > 0.0, "t_end", t_end, "positive")
    slope = float(np.deg2rad(angle))

    def build():
        from ..model.elements import Contact
        from ..model.system import MechanicalSystem
        from . import drawings

        ground = Contact(gap, friction=friction, tangent=tangent, jacobian=gap_jacobian, name="slope")
        params = {"m": m, "g": gravity, "sin": float(np.sin(slope)), "cos": float(np.cos(slope))}
        draw = drawings.block_on_incline(0.05 * v0**2 / gravity)
        return MechanicalSystem(mass, force, contacts=[ground], params=params, potential=potential, draw=draw)

    t_stop = v0 / (gravity * (np.sin(slope) + friction * np.cos(slope)))
    kind = "stick" if friction >= np.tan(slope) else "reversal"
    zero = np.zeros
    reference = Reference(
        origin="closed form, phase by phase",
        error=1e-15,
        q=lambda t: stack(t, closed_form(t, slope, friction, v0, gravity)[0], zero(np.shape(t))),
        u=lambda t: stack(t, closed_form(t, slope, friction, v0, gravity)[1], zero(np.shape(t))),
        events=(ReferenceEvent(float(t_stop), kind, "slope friction"),),
    )
    return Problem(
        name="incline_block",
        title="Block on an incline",
        source=SOURCE,
        summary="Coulomb friction with a computed normal force: slip, then stick or slip reversal.",
        build=build,
        q0=as_state([0.0, 0.0]),
        u0=as_state([v0, 0.0]),
        t_span=(0.0, t_end),
        params={
            "angle": angle,
            "friction": friction,
            "v0": v0,
            "gravity": gravity,
            "m": m,
            "t_end": t_end,
        },
        dt=1e-3,
        coordinates=("x", "z"),
        reference=reference,
    )
