"""The same five tests in every engine, each against its closed form (`python benchmarks/engines.py`).

1. bounce      a ball falls from 1 m with restitution 0.8: height of the first rebound, exactly 0.64 m
2. creep       a block on a slope of 20 degrees with friction 0.5, ten seconds: how far it moves, exactly 0
3. slip        a block on a slope of 30 degrees with friction 0.3: acceleration, exactly g (sin a - mu cos a)
4. stack       five boxes, the top one 100 times heavier than the others, five seconds: how far the top one sinks, exactly 0
5. four-bar    a loop of three rods that falls for two seconds: the largest opening of the loop, exactly 0

All runs with a step of 1 ms. MuJoCo (`pip install mujoco`) is an optional peer, with its elliptic cone and Newton's solver;
what is not installed is left out.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import nonsmooth as ns

sys.path.insert(0, str(Path(__file__).parent))

DT, G = 1e-3, 9.81
EXACT = {
    "bounce": 0.64,
    "creep": 0.0,
    "slip": G * (np.sin(np.deg2rad(30)) - 0.3 * np.cos(np.deg2rad(30))),
    "stack": 0.0,
    "four-bar": 0.0,
}


def bounce(**method):
    ball = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0], restitution=0.8))
    first = np.sqrt(2 / G)
    t = np.linspace(0, 2 * first, 20_001)
    run = ns.simulate(ball, (0, 2 * first), [1.0], [0.0], t_eval=t, audit=False, **method)
    return np.max(run.q[0, t > 1.1 * first])


def slope(angle, friction, speed, duration, **method):
    a = np.deg2rad(angle)
    ground = ns.Contact(lambda t, q: q[1], friction=friction, tangent=lambda t, q: np.array([1.0, 0.0]))
    block = ns.MechanicalSystem(np.eye(2), np.array([G * np.sin(a), -G * np.cos(a)]), ground)
    return ns.simulate(block, (0, duration), [0.0, 0.0], [speed, 0.0], audit=False, **method)


def creep(**method):
    return abs(slope(20, 0.5, 0.0, 10.0, **method).q[0, -1])


def slip(**method):
    return slope(30, 0.3, 0.1, 1.0, **method).u[0, -1] - 0.1


def stack(**method):
    masses = np.array([1.0, 1.0, 1.0, 1.0, 100.0])
    below = np.array([0.1, 0.2, 0.2, 0.2, 0.2])  # distance of a centre from what is below
    faces = ns.Contact(lambda t, q: np.append(q[:1], np.diff(q)) - below)
    column = ns.MechanicalSystem(np.diag(masses), -G * masses, faces)
    start = 0.1 + 0.2 * np.arange(5.0)
    return start[-1] - ns.simulate(column, (0, 5), start, np.zeros(5), audit=False, **method).q[-1].min()


def loop_gap(t, q):
    """Opening of the loop: crank 0.3, coupler 0.8, rocker 0.5 about (0.7, 0)."""
    return np.array(
        [
            0.3 * np.cos(q[0]) + 0.8 * np.cos(q[1]) - 0.5 * np.cos(q[2]) - 0.7,
            0.3 * np.sin(q[0]) + 0.8 * np.sin(q[1]) - 0.5 * np.sin(q[2]),
        ]
    )


def closed_loop(crank):
    """Angles of coupler and rocker."""
    from scipy.optimize import fsolve

    return np.array([crank, *fsolve(lambda x: loop_gap(0, np.array([crank, *x])), [0.3, 1.2], xtol=1e-14)])


def four_bar(**method):
    """Three uniform rods of 1 kg in absolute angles; crank and coupler are one chain, the rocker closes it."""

    def mass(t, q):
        c = 0.5 * 0.3 * 0.8 * np.cos(q[0] - q[1])
        return np.array([[0.09 / 3 + 0.09, c, 0.0], [c, 0.64 / 3, 0.0], [0.0, 0.0, 0.25 / 3]])

    def force(t, q, u):
        s = 0.5 * 0.3 * 0.8 * np.sin(q[0] - q[1])
        return np.array(
            [
                -s * u[1] ** 2 - 1.5 * 9.81 * 0.3 * np.cos(q[0]),
                s * u[0] ** 2 - 0.5 * 9.81 * 0.8 * np.cos(q[1]),
                -0.5 * 9.81 * 0.5 * np.cos(q[2]),
            ]
        )

    loop = ns.MechanicalSystem(mass, force, joints=ns.Joint(loop_gap, name="loop"))
    run = ns.simulate(loop, (0, 2), closed_loop(1.0), np.zeros(3), audit=False, **method)
    return max(np.hypot(*loop_gap(0, q)) for q in run.q.T)


TESTS = {"bounce": bounce, "creep": creep, "slip": slip, "stack": stack, "four-bar": four_bar}


def engines():
    """Name of each engine, and a function that runs one test."""
    yield "moreau", lambda name: TESTS[name](dt=DT)
    yield "moreau, projected", lambda name: TESTS[name](method=ns.Moreau(dt=DT, projection="direct"))
    yield "rtol 1e-8", lambda name: TESTS[name](rtol=1e-8)
    if importlib.util.find_spec("mujoco") is not None:
        from peers import mujoco_tests

        yield "MuJoCo", lambda name: mujoco_tests.TESTS[name](DT)


def main():
    found = {engine: {name: run(name) for name in TESTS} for engine, run in engines()}
    print(f"{'test':10} {'exact':>10}" + "".join(f" {engine:>20}" for engine in found))
    for name, exact in EXACT.items():
        print(
            f"{name:10} {exact:10.6f}"
            + "".join(f" {values[name] - exact:+20.2e}" for values in found.values())
        )
    print("columns show the difference from the exact value")


if __name__ == "__main__":
    main()
