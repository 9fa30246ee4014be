"""Side by side with Exudyn (optional peer) on smooth motion: a hanging chain and a bending beam, both by generalized-alpha steps.

    EXUDYN_PYTHON=/path/to/python python benchmarks/exudyn.py [links or elements]

Time of a step is the difference of a long run and a short one over their steps, so that what either side needs to set up a run does not
count; the whole time of the long run is printed, too. Errors are those of the end of the chain and the tip of the beam, against a run
of the same program with eight or ten times as many steps: both discretise a beam in their own way. Both are of second order, so that times
at equal error follow. Newton ends at 1e-10 on both sides.
Processor times, one thread, least of three runs.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import nonsmooth as ns

PEER = Path(__file__).with_name("peers") / "exudyn_smooth.py"
SPAN, G = 0.5, 9.81
STEPS = {"chain": (100, 200, 400, 800, 8000), "beam": (400, 800, 1600, 3200, 25600)}


def chain(n):
    """Rods of one metre in the plane, level and at rest, hinged to each other."""
    world = ns.World((0, -G))
    before = world.ground
    for k in range(n):
        link = world.add(ns.Body(mass=1.0, inertia=1 / 12, position=(k + 0.5, 0), name=f"link {k}"))
        world.add(ns.Revolute(before, link, (k, 0)))
        before = link
    return world, lambda result: result[f"link {n - 1}"].position[:, -1]


def beam(n):
    """A clamped beam of one metre that bends under its weight, level and at rest at the start."""
    world = ns.World((0, -G))
    world.add(
        ns.Beam(
            [(0, 0), (1, 0)], n, EA=1e3, GA=4e2, EI=1.0, rhoA=1.0, rhoI=1e-3, mass="lumped", fixed="start", name="beam"
        )
    )  # fmt: skip
    return world, lambda result: result.q[-3:-1, -1]


def run(world, end, steps):
    begin = time.process_time()
    method = ns.GeneralizedAlpha(dt=SPAN / steps, rho_inf=0.9, tol=1e-10)
    result = ns.simulate(world, (0, SPAN), method=method, t_eval=[0, SPAN], audit=False, progress=False)
    return time.process_time() - begin, end(result)


def ours(case, n):
    world, end = {"chain": chain, "beam": beam}[case](n)
    run(world, end, STEPS[case][0])
    found = []
    for steps in STEPS[case]:
        runs = [run(world, end, steps) for _ in range(1 if steps == STEPS[case][-1] else 3)]
        found.append((steps, min(seconds for seconds, _ in runs), runs[0][1]))
    return found


def theirs(case, n, python):
    call = [python, str(PEER), case, str(n), str(SPAN), *map(str, STEPS[case])]
    return json.loads(
        subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    )


def figures(found):
    """Time of a step, time of the run with most steps, errors, and the limit: the end of the last run, with many more steps."""
    steps, seconds, ends = (list(column) for column in zip(*found))
    per_step = (seconds[-2] - seconds[0]) / (steps[-2] - steps[0])
    return per_step, seconds[-2], np.linalg.norm(np.array(ends[:-1]) - ends[-1], axis=1), ends[-1]


def main(n, python):
    print(f"{'':>12} {'':>9} {'us/step':>8} {'run s':>7} {'errors':>39}   end")
    for case in STEPS:
        mine = figures(ours(case, n))
        print(row(case, "here", mine))
        if python is None:
            continue
        peer = figures(theirs(case, n, python))
        print(row("", "Exudyn", peer))
        ratio = mine[0] / peer[0] * np.exp(0.5 * np.mean(np.log(mine[2] / peer[2])))
        whole = ratio * mine[1] / mine[0] / (peer[1] / peer[0])
        print(
            f"{'':>12} time at equal error, here over Exudyn: {ratio:.2f} (steps alone), {whole:.2f} (whole runs)"
        )


def row(case, who, found):
    errors = " ".join(f"{x:9.2e}" for x in found[2])
    return f"{case:>12} {who:>9} {1e6 * found[0]:8.1f} {found[1]:7.3f} {errors:>39}   {found[3][0]:.6f} {found[3][1]:.6f}"


if __name__ == "__main__":
    python = os.environ.get("EXUDYN_PYTHON")
    if python is None:
        print(
            "EXUDYN_PYTHON names no interpreter with Exudyn (pip install exudyn): only our own figures follow."
        )
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, python)
