r"""Point mass sliding in the plane with dry friction (Studer, Leine & Glocker 2008, sec. 10.2).

.. math:: m \dot u = F(t) + \lambda, \qquad \lambda \in -a \, \mathrm{Sgn}(u) \ \text{(a disk)},
          \qquad F = F_0 \ (t < t_B), \ 0 \ (t > t_B)

The force turns the mass around without stopping it (|F| > a): near the turn the speed is small and the
direction changes quickly, a hard but smooth passage. After the force is off (t_B) the mass slides straight
on and sticks at t_C.

Hodograph solution while F acts: with phi the angle between u and F, w = ln tan(phi/2), kappa = a/|F| and
:math:`\dot w = -|F| / (m |u|)`

.. math:: |u| = C e^{\kappa w} \cosh w, \qquad t = \frac{C m}{2 |F|} [E(w_0) - E(w)], \qquad
          E(w) = \frac{e^{(\kappa+1) w}}{\kappa+1} + \frac{e^{(\kappa-1) w}}{\kappa-1}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, exp_integral, require, stack
from .sources import STUDER_2008

SOURCE = f"{STUDER_2008}, sec. 10.2. The start position is put at the origin."


def mass(t, q, p, out):
    out[0, 0] = p.m
    out[0, 1] = 0.0
    out[1, 0] = 0.0
    out[1, 1] = p.m


def force(t, q, u, p, out):
    on = 1.0 if t < p.t_off else 0.0
    out[0] = on * p.F_x
    out[1] = on * p.F_y


def direction(t, q, p, out):
    out[0, 0] = 1.0
    out[0, 1] = 0.0
    out[1, 0] = 0.0
    out[1, 1] = 1.0


class Turn:
    """Motion under a constant force and friction, started with a velocity not parallel to the force.

    Parameters
    ----------
    F, u_0 : array_like, shape (2,)
        Force per unit mass and start velocity.
    a : float
        Friction force per unit mass.
    """

    def __init__(self, F: ArrayLike, u_0: ArrayLike, a: float):
        F, u_0 = np.asarray(F, dtype=np.float64), np.asarray(u_0, dtype=np.float64)
        self.strength = float(np.hypot(*F))
        self.along = F / self.strength
        cross = self.along[0] * u_0[1] - self.along[1] * u_0[0]
        # Unit vector across F on the side of u_0, so that the angle phi lies in (0, pi).
        self.across = np.sign(cross) * np.array([-self.along[1], self.along[0]])
        phi = np.arctan2(abs(cross), float(self.along @ u_0))
        self.kappa = a / self.strength
        self.w_0 = float(np.log(np.tan(0.5 * phi)))
        self.C = float(np.hypot(*u_0) / (np.exp(self.kappa * self.w_0) * np.cosh(self.w_0)))
        # With |F| < a the mass stops after a finite time (w -> -infinity).
        self.t_stop = float("inf")
        if self.kappa > 1.0:
            k = self.kappa
            self.t_stop = (
                self.C
                / (2.0 * self.strength)
                * (np.exp((k + 1.0) * self.w_0) / (k + 1.0) + np.exp((k - 1.0) * self.w_0) / (k - 1.0))
            )

    def time(self, w: ArrayLike) -> Array:
        """Time at which the hodograph parameter has come down to w."""
        k = self.kappa
        total = exp_integral(k + 1.0, w, self.w_0) + exp_integral(k - 1.0, w, self.w_0)
        return self.C / (2.0 * self.strength) * total

    def parameter(self, t: ArrayLike) -> Array:
        """Hodograph parameter w at time t (0 <= t < t_stop): bisection, then Newton to full accuracy."""
        t = np.asarray(t, dtype=np.float64)
        upper = np.full(t.shape, self.w_0)
        lower, reach = upper - 1.0, 1.0
        while reach < 500.0 and np.any(self.time(lower) < t):
            reach *= 2.0
            lower = np.where(self.time(lower) < t, self.w_0 - reach, lower)
        for _ in range(60):
            middle = 0.5 * (lower + upper)
            late = self.time(middle) > t
            lower, upper = np.where(late, middle, lower), np.where(late, upper, middle)
        w = 0.5 * (lower + upper)
        for _ in range(2):
            w = np.clip(w + (self.time(w) - t) * self.strength / self.speed(w), lower, upper)
        return w

    def speed(self, w: ArrayLike) -> Array:
        """|u| = C exp(kappa w) cosh w."""
        return self.C * np.exp(self.kappa * np.asarray(w)) * np.cosh(w)

    def velocity(self, w: ArrayLike) -> Array:
        """Velocity, shape (2,) + shape of w. Along F: -|u| tanh w, across: |u| / cosh w."""
        scale = self.C * np.exp(self.kappa * np.asarray(w))
        return np.multiply.outer(self.along, -scale * np.sinh(w)) + np.multiply.outer(self.across, scale)

    def displacement(self, w: ArrayLike) -> Array:
        """Way since the start, shape (2,) + shape of w: the velocity integrated with dt = -|u| dw / |F|."""
        k, factor = self.kappa, self.C**2 / self.strength
        along = exp_integral(2 * k + 2.0, w, self.w_0) - exp_integral(2 * k - 2.0, w, self.w_0)
        across = exp_integral(2 * k + 1.0, w, self.w_0) + exp_integral(2 * k - 1.0, w, self.w_0)
        return np.multiply.outer(self.along, -0.25 * factor * along) + np.multiply.outer(
            self.across, 0.5 * factor * across
        )


def closed_form(t: ArrayLike, turn: Turn, a: float, t_off: float) -> tuple[Array, Array]:
    """Position and velocity at the instants t, shape (2,) + shape of t; a is friction per unit mass."""
    t = np.asarray(t, dtype=np.float64)
    t_turn_end = min(t_off, turn.t_stop)
    w = turn.parameter(np.minimum(t, np.nextafter(t_turn_end, 0.0)))
    x, u = turn.displacement(w), turn.velocity(w)
    # Straight deceleration after the force is off, then rest.
    w_B = turn.parameter(np.array(np.nextafter(t_turn_end, 0.0)))
    x_B, u_B = turn.displacement(w_B), turn.velocity(w_B)
    speed_B = 0.0 if turn.t_stop <= t_off else float(np.hypot(*u_B))
    tau = np.clip(t - t_turn_end, 0.0, speed_B / a)
    unit = u_B / np.hypot(*u_B)
    x_late = x_B.reshape((2,) + (1,) * t.ndim) + np.multiply.outer(unit, tau * (speed_B - 0.5 * a * tau))
    u_late = np.multiply.outer(unit, np.maximum(speed_B - a * np.maximum(t - t_turn_end, 0.0), 0.0))
    late = t >= t_turn_end
    return np.where(late, x_late, x), np.where(late, u_late, u)


def sliding_mass(
    friction: float = 2.0,
    force_x: float = -2.5,
    force_y: float = -0.25,
    t_off: float = 3.0,
    m: float = 1.0,
    ux0: float = 2.0,
    uy0: float = -0.2,
    t_end: float = 5.0,
) -> Problem:
    """Point mass sliding in the plane (Studer et al. 2008, sec. 10.2).

    Parameters
    ----------
    friction : float
        Largest friction force a > 0.
    force_x, force_y : float
        Force while t < t_off.
    t_off : float
        Instant at which the force is switched off.
    m : float
        Mass.
    ux0, uy0 : float
        Start velocity. The closed form needs it not parallel to the force; otherwise `reference` is None.
    t_end : float
        End of the usual run.
    """
    require(friction > 0.0, "friction", friction, "positive")
    require(m > 0.0, "m", m, "positive")
    require(t_off > 0.0, "t_off", t_off, "positive")
    require(t_end > 0.0, "t_end", t_end, "positive")

    def build():
        from ..model.elements import FrictionElement
        from ..model.system import MechanicalSystem
        from . import drawings

        floor = FrictionElement(direction, limit=friction, name="floor")
        params = {"m": m, "F_x": force_x, "F_y": force_y, "t_off": t_off}
        draw = drawings.sliding_mass(0.05)
        return MechanicalSystem(mass, force, friction=[floor], params=params, draw=draw)

    return Problem(
        name="sliding_mass",
        title="Sliding point mass in the plane",
        source=SOURCE,
        summary="Friction disk: a fast turn without sticking, the force is switched off, the mass sticks.",
        build=build,
        q0=as_state([0.0, 0.0]),
        u0=as_state([ux0, uy0]),
        t_span=(0.0, t_end),
        params={
            "friction": friction,
            "force_x": force_x,
            "force_y": force_y,
            "t_off": t_off,
            "m": m,
            "ux0": ux0,
            "uy0": uy0,
            "t_end": t_end,
        },
        dt=1e-3,
        breakpoints=(t_off,),
        coordinates=("x", "y"),
        reference=_reference(friction / m, (force_x / m, force_y / m), (ux0, uy0), t_off),
    )


def _reference(a: float, F: tuple[float, float], u_0: tuple[float, float], t_off: float) -> Reference | None:
    cross = F[0] * u_0[1] - F[1] * u_0[0]
    if abs(cross) <= 1e-12 * np.hypot(*F) * np.hypot(*u_0):
        return None
    turn = Turn(F, u_0, a)
    if turn.t_stop <= t_off:
        events = (
            ReferenceEvent(turn.t_stop, "stick", "floor"),
            ReferenceEvent(t_off, "breakpoint", ""),
        )
    else:
        speed = float(np.hypot(*closed_form(np.array(t_off), turn, a, t_off)[1]))
        events = (
            ReferenceEvent(t_off, "breakpoint", ""),
            ReferenceEvent(t_off + speed / a, "stick", "floor"),
        )
    return Reference(
        origin="closed form, hodograph",
        error=1e-13,
        q=lambda t: stack(t, *closed_form(t, turn, a, t_off)[0]),
        u=lambda t: stack(t, *closed_form(t, turn, a, t_off)[1]),
        events=events,
    )
