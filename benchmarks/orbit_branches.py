"""Branches of periodic orbits: an oscillator with a wall in the frequency of its drive, the woodpecker in its friction.

Run ``python benchmarks/orbit_branches.py``; prints orbits, multipliers and marks, and grazing beside the closed condition.

The oscillator  x'' + 0.1 x' + x = 0.5 cos(w t), wall at x = 1, e = 0.8  grazes where the amplitude of its linear response is one,
(1 - w^2)^2 + (0.1 w)^2 = 0.25. Two of its orbits with one impact per period meet (fold) where a quadratic in the speed v after the impact
has one root: with the flow Phi of the free motion over a period the forced response at the impact is (1 - Phi)^-1 ((1, -v/e) - Phi (1, v)).
"""

import numpy as np
from scipy.optimize import brentq

import nonsmooth as ns
from nonsmooth.problems.woodpecker import CONTACTS, PARAMETERS, gap, gap_jacobian, mass, tangent
from nonsmooth.problems.woodpecker import force as toy_force

WALL = ns.Contact(lambda t, q: 1.0 - q[0], restitution=0.8, name="wall")


def force(t, q, u, p):
    return np.array([0.5 * np.cos(p.w * t + p.phase) - 0.1 * u[0] - q[0]])


def turn(p):
    return 2.0 * np.pi / p.w


def show(branch):
    """One line per orbit, then the marks."""
    for value, orbit in zip(branch.values, branch.orbits):
        largest = orbit.multipliers[0]
        print(
            f"  {branch.parameter} = {value:.6f}  {len(orbit.events)} events  multiplier {largest:.6f}  stable {orbit.stable}"
        )
    for kind, value, index in branch.marks:
        print(f"  {kind} at {value:.9f} (behind orbit {index})")
    print(f"  {branch.message}")


def discriminant(w, e=0.8, c=0.1):
    """Of the quadratic in v."""
    T, z, wd = 2 * np.pi / w, c / 2, np.sqrt(1 - c * c / 4)
    C, S = np.cos(wd * T), np.sin(wd * T)
    Phi = np.exp(-z * T) * np.array([[C + z / wd * S, S / wd], [-S / wd, C - z / wd * S]])
    K = np.linalg.inv(np.eye(2) - Phi)
    A, B = K @ (np.eye(2)[0] - Phi[:, 0]), K @ (np.array([0.0, -1 / e]) - Phi[:, 1])
    A, B = A / [1.0, w], B / [1.0, w]
    return (2 * A @ B) ** 2 - 4 * (B @ B) * (A @ A - 0.25 / ((1 - w * w) ** 2 + (c * w) ** 2))


def oscillator():
    """Linear response through its grazing; orbits with one impact down to it, and up through a fold to the other grazing."""
    system = ns.MechanicalSystem(1.0, force, WALL, params={"w": 0.6, "phase": 0.0})
    z = 0.5 / (1.0 - 0.36 + 0.06j)
    orbit = ns.find_periodic_orbit(system, ([z.real], [-0.6 * z.imag]), period=turn)
    low, high = (np.sqrt((1.99 + side * np.sqrt(1.99**2 - 3.0)) / 2.0) for side in (-1, 1))
    print("linear response")
    show(ns.continue_orbit(orbit, "w", (0.6, 0.8), step=0.2))
    late = system.with_params(w=0.9, phase=2.5)
    orbit = ns.find_periodic_orbit(late, ([0.0], [0.0]), period=turn, transient=40)
    print(f"impacting orbits from w = 0.9 ({len(orbit.events)} impacts per period), down")
    show(ns.continue_orbit(orbit, "w", (0.9, 0.6), step=0.1, max_points=30))
    print("and up")
    show(ns.continue_orbit(orbit, "w", (0.9, 2.5), step=0.2, max_points=60))
    print(
        f"closed conditions: grazing {low:.9f} and {high:.9f}, fold {brentq(discriminant, 1.5, 1.6, xtol=1e-13):.9f}"
    )


def woodpecker():
    """The toy in its coefficient of friction."""
    problem = ns.problems.woodpecker(start="consistent")
    pole = ns.Contact(
        gap,
        restitution=np.array([0.5, 0.0, 0.0]),
        friction=lambda p: np.full(3, p.mu),
        tangent=tangent,
        jacobian=gap_jacobian,
        name=CONTACTS,
    )
    system = ns.MechanicalSystem(mass, toy_force, pole, params={**PARAMETERS, "mu": 0.3})
    section = ("stick", "lower sleeve friction")
    orbit = ns.find_periodic_orbit(system, (problem.q0, problem.u0), section, drift=[0], transient=2)
    for end in (0.35, 0.25):
        print(f"woodpecker from mu = 0.3 towards {end}: period {orbit.period:.11f}")
        show(ns.continue_orbit(orbit, "mu", (0.3, end), step=0.2, max_points=12))


if __name__ == "__main__":
    oscillator()
    woodpecker()
