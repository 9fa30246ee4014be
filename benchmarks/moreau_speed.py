"""Speed of the scheme `moreau`: microseconds per step against hand-written loops and against Siconos, in one run.

Best and median of several repeats, 200,000 steps each, every 100th state kept. Siconos (Debian package python3-siconos) is
run by the system's Python; without it that column is left out with a message.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import handwritten
import numpy as np

import nonsmooth as ns
from nonsmooth import problems

HERE = Path(__file__).parent
STEPS, REPEATS = 200_000, 7


def timed(run):
    """Seconds of each repeat, after one for warming up."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return [1e6 * s / STEPS for s in seconds]


def ours(system, q0, u0, dt):
    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ns.simulate(system, (0, STEPS * dt), q0, u0, dt=dt, every=100, audit=False)

    return timed(run)


def plain_ball():
    """The ball as a newcomer writes it: arrays returned, no Jacobian."""

    def mass(t, q, p):
        return np.array([[p.m]])

    def force(t, q, u, p):
        return np.array([-p.m * p.g])

    def gap(t, q, p):
        return q[0]

    return ns.MechanicalSystem(mass, force, ns.Contact(gap, restitution=0.7), params={"m": 1.0, "g": 9.81})


def plain_woodpecker():
    """The woodpecker with returned arrays and automatic gap Jacobians."""
    w = problems.woodpecker().system

    def mass(t, q, p):
        a, b = p.m_S * p.l_M, p.m_S * p.l_G
        return np.array(
            [
                [p.m_S + p.m_M, a, b],
                [a, p.J_M + a * p.l_M, a * p.l_G],
                [b, a * p.l_G, p.J_S + b * p.l_G],
            ]
        )

    def force(t, q, u, p):
        spring = p.c * (q[1] - q[2])
        weight = p.m_S * p.g
        return np.array([-(p.m_S + p.m_M) * p.g, -spring - weight * p.l_M, spring - weight * p.l_G])

    def gap(t, q, p):
        play = p.r_M - p.r_0
        return np.array(
            [(p.l_M + p.l_G - p.l_S - p.r_0) - p.h_S * q[2], play + p.h_M * q[1], play - p.h_M * q[1]]
        )

    def tangent(t, q, p):
        return np.array([[1.0, 1.0, 1.0], [p.l_M, p.r_M, p.r_M], [p.l_G - p.l_S, 0.0, 0.0]])

    contact = ns.Contact(gap, restitution=[0.5, 0.0, 0.0], friction=0.3, tangent=tangent)
    return ns.MechanicalSystem(mass, force, contact, params=w.params)


def siconos():
    python = "/usr/bin/python3"
    script = HERE / "peers" / "siconos_moreau.py"
    if shutil.which(python) is None:
        return None
    done = subprocess.run(
        [python, str(script), str(STEPS // 4), str(REPEATS)], capture_output=True, text=True
    )
    if done.returncode != 0:
        print("Siconos is not installed (Debian: python3-siconos): its column is left out.", file=sys.stderr)
        return None
    result = json.loads(done.stdout[done.stdout.index("{") :])
    return {name: [1e6 * s for s in entry["seconds_per_step"]] for name, entry in result.items()}


def main():
    toy = problems.woodpecker()
    names = "m_M m_S J_M J_S c g r_0 r_M h_M l_M l_G h_S l_S".split()
    values = tuple(toy.system.params[name] for name in names)
    ball = problems.falling_ball()
    rows = {
        "ball": {
            "hand-written loop": timed(lambda: handwritten.ball(STEPS, 1e-3, 1.0, 0.0, 9.81, 0.7, 100)),
            "ours, out + Jacobians": ours(ball.system, [1.0], [0.0], 1e-3),
            "ours, plain functions": ours(plain_ball(), [1.0], [0.0], 1e-3),
        },
        "woodpecker": {
            "hand-written loop": timed(
                lambda: handwritten.woodpecker(STEPS, 2e-5, toy.q0, toy.u0, values, 100, 1e-10)
            ),
            "ours, out + Jacobians": ours(toy.system, toy.q0, toy.u0, 2e-5),
            "ours, plain functions": ours(plain_woodpecker(), toy.q0, toy.u0, 2e-5),
        },
    }
    peer = siconos()
    if peer is not None:
        for name, seconds in peer.items():
            rows[name]["Siconos, driven from Python"] = seconds
    for name, columns in rows.items():
        reference = min(columns["ours, out + Jacobians"])
        print(f"\n{name}: microseconds per step (best | median of {REPEATS}), time over ours")
        for label, seconds in columns.items():
            best, median = min(seconds), statistics.median(seconds)
            print(f"  {label:28s} {best:9.3f} | {median:9.3f}   {best / reference:8.2f}")
    ours_plain = {name: min(columns["ours, plain functions"]) for name, columns in rows.items()}
    if peer is not None:
        print("\nSiconos over ours with plain functions: " + ", ".join(
            f"{name} {min(peer[name]) / ours_plain[name]:.1f}" for name in peer))  # fmt: skip
    short, long = (cost(toy, n) for n in (20_000, 400_000))
    print(f"cost per step, 20,000 against 400,000 steps: {short:.3f} | {long:.3f} microseconds")


def cost(problem, steps):
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            span = (0, steps * 2e-5)
            ns.simulate(problem.system, span, problem.q0, problem.u0, dt=2e-5, every=100, audit=False)
        best = min(best, time.process_time() - start)
    return 1e6 * best / steps


if __name__ == "__main__":
    main()
