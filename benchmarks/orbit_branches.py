"""Branches of periodic orbits: an oscillator with a wall in the frequency of its drive, the woodpecker in its friction.

Run ``python benchmarks/orbit_branches.py``; prints orbits, multipliers and marks, and grazing beside the closed condition.

The oscillator  x'' + 0.1 x' + x = 0.5 cos(w t), wall at x = 1, e = 0.8  grazes where the amplitude of its linear response is one,
(1 - w^2)^2 + (0.1 w)^2 = 0.25.
"""

import numpy as np

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


def oscillator():
    """Linear response up to its grazing, one-impact orbits down towards it."""
    system = ns.MechanicalSystem(1.0, force, WALL, params={"w": 0.6, "phase": 0.0})
    z = 0.5 / (1.0 - 0.36 + 0.06j)
    orbit = ns.find_periodic_orbit(system, ([z.real], [-0.6 * z.imag]), period=turn)
    print("linear response")
    branch = ns.continue_orbit(orbit, "w", (0.6, 0.8), step=0.2)
    show(branch)
    closed = np.sqrt((1.99 - np.sqrt(1.99**2 - 3.0)) / 2.0)
    print(f"  closed condition {closed:.9f}")
    late = system.with_params(w=0.9, phase=2.5)
    orbit = ns.find_periodic_orbit(late, ([0.0], [0.0]), period=turn, transient=40)
    print(f"impacting orbits from w = 0.9 ({len(orbit.events)} impacts per period)")
    show(ns.continue_orbit(orbit, "w", (0.9, 0.6), step=0.1, max_points=30))


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
