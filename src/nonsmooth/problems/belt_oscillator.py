r"""Mass on a moving belt, held by a spring: stick-slip with friction that falls with the slip velocity.

.. math:: m \ddot x + c x = \lambda_T, \qquad \lambda_T \in -(F - \kappa |\gamma|) \, \mathrm{Sgn}(\gamma),
          \qquad \gamma = \dot x - v_b

With :math:`\kappa = 0` this is Coulomb friction. While the mass slips on the side s = sign(v_b - x') the
motion is linear with negative damping,

.. math:: m \ddot x - \kappa \dot x + c x = s F - \kappa v_b,

and it ends where x' = v_b again. There the mass sticks if :math:`|c x| \le F`, until the spring force has
grown to F; otherwise the slip changes its side. So every phase is a closed form; the instants that end a
slip phase are roots of one, bracketed by the extrema of the velocity, which are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Problem, Reference, ReferenceEvent, as_state, require, stack

SOURCE = (
    "Standard model of dry-friction oscillations (J. P. Den Hartog, Mechanical Vibrations, 4th ed. 1956, "
    "ch. 7) with linearly falling friction; closed form, phase by phase."
)


def mass(t, q, p, out):
    out[0, 0] = p.m


def force(t, q, u, p, out):
    out[0] = -p.c * q[0]


def direction(t, q, p, out):
    out[0, 0] = 1.0


def limit(t, q, u, p):
    return max(p.F - p.kappa * abs(u[0] - p.v_belt), 0.0)


def belt_velocity(t, q, p):
    return -p.v_belt


def potential(t, q, p):
    return 0.5 * p.c * q[0] ** 2


@dataclass(frozen=True)
class Phase:
    """One phase of the motion from `t` on: side +1 or -1 for slip (sign of v_b - x'), 0 for stick."""

    t: float
    x: float
    v: float
    side: int


@dataclass(frozen=True)
class Belt:
    """The constants of the motion."""

    m: float
    c: float
    F: float
    kappa: float
    v_belt: float

    def coefficients(self, phase: Phase) -> tuple[float, float, float, float, float]:
        """delta, omega and (x_s, A, B) of x = x_s + exp(delta tau) (A cos + B sin) in a slip phase."""
        delta = self.kappa / (2.0 * self.m)
        omega = float(np.sqrt(self.c / self.m - delta**2))
        x_s = (phase.side * self.F - self.kappa * self.v_belt) / self.c
        a = phase.x - x_s
        return delta, omega, x_s, a, (phase.v - delta * a) / omega

    def state(self, phase: Phase, t: ArrayLike) -> tuple[Array, Array]:
        """Position and velocity in a phase."""
        tau = np.asarray(t, dtype=np.float64) - phase.t
        if phase.side == 0:
            return phase.x + self.v_belt * tau, np.full(np.shape(tau), self.v_belt)
        delta, omega, x_s, a, b = self.coefficients(phase)
        growth, cos, sin = np.exp(delta * tau), np.cos(omega * tau), np.sin(omega * tau)
        x = x_s + growth * (a * cos + b * sin)
        return x, growth * ((delta * a + omega * b) * cos + (delta * b - omega * a) * sin)

    def next(self, phase: Phase) -> Phase | None:
        """The phase that follows, None if this one lasts for ever."""
        if phase.side == 0:
            # The belt carries the mass until the spring pulls back with F.
            x_end = self.F / self.c
            return Phase(phase.t + (x_end - phase.x) / self.v_belt, x_end, self.v_belt, 1)
        tau = self._slip_duration(phase)
        if tau is None:
            return None
        x = float(self.state(phase, phase.t + tau)[0])
        side = 0 if abs(self.c * x) <= self.F else -phase.side
        return Phase(phase.t + tau, x, self.v_belt, side)

    def _slip_duration(self, phase: Phase) -> float | None:
        """Time until x' = v_b again, None if that never happens."""
        from scipy.optimize import brentq

        delta, omega, _, a, b = self.coefficients(phase)
        # x'' = exp(delta tau) (A2 cos + B2 sin) vanishes at equidistant instants; x' is monotone in between.
        a_1, b_1 = delta * a + omega * b, delta * b - omega * a
        a_2, b_2 = delta * a_1 + omega * b_1, delta * b_1 - omega * a_1
        released = abs(a_2) <= 1e-12 * abs(b_2)  # slip that begins at the end of a stick phase has x'' = 0
        if released and delta == 0.0:
            return None  # Coulomb friction: x' = v_b cos(omega tau) only touches v_b
        first = np.pi / omega if released else (np.arctan2(-a_2, b_2) % np.pi) / omega
        # Without growth two extrema tell all; with growth the amplitude reaches v_b at last.
        enough = 3 if delta == 0.0 else 100_000

        def slip(tau: float) -> float:
            return float(self.state(phase, phase.t + tau)[1]) - self.v_belt

        left = 0.0
        for k in range(enough):
            right = first + k * np.pi / omega
            begins_at_root = k == 0 and phase.v == self.v_belt
            if not begins_at_root and slip(left) * slip(right) <= 0.0:
                return float(brentq(slip, left, right, xtol=1e-16, rtol=8.9e-16))
            left = right
        return None

    def phases(self, x_0: float, v_0: float, t_end: float) -> list[Phase]:
        """All phases that begin up to t_end."""
        if v_0 != self.v_belt:
            side = 1 if v_0 < self.v_belt else -1
        else:
            side = 0 if abs(self.c * x_0) <= self.F else int(np.sign(x_0))
        found = [Phase(0.0, x_0, v_0, side)]
        while True:
            following = self.next(found[-1])
            if following is None or following.t > t_end:
                return found
            found.append(following)


def closed_form(t: ArrayLike, belt: Belt, x_0: float, v_0: float) -> tuple[Array, Array]:
    """Position and velocity at the instants t, both of the shape of t."""
    t = np.asarray(t, dtype=np.float64)
    phases = belt.phases(x_0, v_0, float(t.max()) if t.size else 0.0)
    which = np.searchsorted([p.t for p in phases], t, side="right") - 1
    x, v = np.empty(t.shape), np.empty(t.shape)
    for k, phase in enumerate(phases):
        inside = which == k
        x[inside], v[inside] = belt.state(phase, t[inside])
    return x, v


def events(belt: Belt, x_0: float, v_0: float, t_end: float) -> tuple[ReferenceEvent, ...]:
    """Ends of the phases up to t_end."""
    phases = belt.phases(x_0, v_0, t_end)
    kinds = {True: "stick", False: "reversal"}
    return tuple(
        ReferenceEvent(after.t, "slip" if before.side == 0 else kinds[after.side == 0], "belt")
        for before, after in pairwise(phases)
    )


def belt_oscillator(
    friction: float = 1.0,
    falling: float = 0.4,
    v_belt: float = 0.5,
    m: float = 1.0,
    c: float = 4.0,
    x0: float = 1.0,
    v0: float = 0.0,
    t_end: float = 20.0,
) -> Problem:
    """Mass on a moving belt, held by a spring: reversals of the slip, then a stick-slip limit cycle.

    Parameters
    ----------
    friction : float
        Friction force F > 0 at slip velocity 0.
    falling : float
        Loss of friction force per slip velocity, kappa in [0, 2 sqrt(m c)); 0 is Coulomb friction. The
        closed form holds while F - kappa |slip velocity| stays positive.
    v_belt : float
        Velocity of the belt, positive.
    m, c : float
        Mass and stiffness, positive.
    x0, v0 : float
        Start.
    t_end : float
        End of the usual run.
    """
    require(friction > 0.0, "friction", friction, "positive")
    require(m > 0.0, "m", m, "positive")
    require(c > 0.0, "c", c, "positive")
    require(0.0 <= falling < 2.0 * np.sqrt(m * c), "falling", falling, "in [0, 2 sqrt(m c))")
    require(v_belt > 0.0, "v_belt", v_belt, "positive")
    require(t_end > 0.0, "t_end", t_end, "positive")

    def build():
        from ..model.elements import FrictionElement
        from ..model.system import MechanicalSystem
        from . import drawings

        belt = FrictionElement(direction, limit=limit, surface_velocity=belt_velocity, name="belt")
        params = {"m": m, "c": c, "F": friction, "kappa": falling, "v_belt": v_belt}
        draw = drawings.mass_on_belt(max(abs(x0), friction / c))
        return MechanicalSystem(mass, force, friction=[belt], params=params, potential=potential, draw=draw)

    belt = Belt(m, c, friction, falling, v_belt)
    # Where the friction force would become negative the closed form is not the motion of the model.
    _, velocity = closed_form(np.linspace(0.0, t_end, 2001), belt, x0, v0)
    valid = friction - falling * np.max(np.abs(velocity - v_belt)) > 0.0
    reference = Reference(
        origin="closed form, phase by phase",
        error=1e-13,
        q=lambda t: stack(t, closed_form(t, belt, x0, v0)[0]),
        u=lambda t: stack(t, closed_form(t, belt, x0, v0)[1]),
        events=events(belt, x0, v0, t_end),
    )
    return Problem(
        name="belt_oscillator",
        title="Belt oscillator",
        source=SOURCE,
        summary="Friction on a moving belt: slip reversals, then a stick-slip limit cycle.",
        build=build,
        q0=as_state([x0]),
        u0=as_state([v0]),
        t_span=(0.0, t_end),
        params={
            "friction": friction,
            "falling": falling,
            "v_belt": v_belt,
            "m": m,
            "c": c,
            "x0": x0,
            "v0": v0,
            "t_end": t_end,
        },
        dt=1e-3,
        coordinates=("x",),
        reference=reference if valid else None,
    )
