"""Time per step of `generalized-alpha`, `moreau` or `theta` on hanging chains of spatial links, and how it grows with their number.

A chain starts level and at rest, turning slowly; every link is 1 m long, so that the iterations per step stay the same. Times are those
of the processor, the difference of a long run and a short one (what a run costs to set up drops out), the least of some repetitions.

    python benchmarks/chain_speed.py [generalized-alpha | moreau | theta] [links ...]
"""

import sys
import time

import numpy as np

import nonsmooth as ns

SHORT, LONG, REPETITIONS, DT = 5, 45, 5, 1e-3
METHODS = {
    "generalized-alpha": ns.GeneralizedAlpha(dt=DT), "moreau": ns.Moreau(dt=DT), "theta": ns.Theta(dt=DT)
}  # fmt: skip


def chain(n):
    """Links along x, joined by spherical joints, turning as one body about the first."""
    world, omega = ns.World(gravity=(0, 0, -9.81)), np.array([1.2, 8.0, -2.8]) / n
    before = world.ground
    for k in range(n):
        x = np.array([k + 0.5, 0.0, 0.0])
        link = ns.Body(
            mass=1.0, inertia=(1 / 24, 1 / 12, 1 / 11), position=x, velocity=np.cross(omega, x), angular_velocity=omega, name=f"link {k}"
        )  # fmt: skip
        link = world.add(link)
        world.add(ns.Spherical(before, link, at=(k, 0, 0), name=f"joint {k}"))
        before = link
    return world


def seconds(world, steps, method):
    """Processor time of a run, and its mean number of iterations per step (where the scheme shows it)."""
    begin = time.process_time()
    result = ns.simulate(world, (0, steps * DT), method=method, audit=False, progress=False)
    taken = time.process_time() - begin
    return taken, float(np.mean(result.newton[1:])) if hasattr(result, "newton") else np.nan


def main(numbers, name):
    """Print the table and the fitted exponent."""
    method = METHODS[name]
    seconds(chain(10), SHORT, method)
    print(f"{'links':>6} {'ms per step':>12} {'us per link':>12} {'iterations':>11} {'set-up s':>9}")
    times = []
    for n in numbers:
        world = chain(n)
        seconds(world, SHORT, method)
        short = min(seconds(world, SHORT, method)[0] for _ in range(REPETITIONS))
        runs = [seconds(world, LONG, method) for _ in range(REPETITIONS)]
        step = (min(run[0] for run in runs) - short) / (LONG - SHORT)
        times.append(step)
        print(
            f"{n:6d} {1e3 * step:12.3f} {1e6 * step / n:12.2f} {runs[0][1]:11.2f} {short - SHORT * step:9.3f}",
            flush=True,
        )
    if len(numbers) > 1:
        print(
            f"time per step grows as N^{np.polyfit(np.log(numbers), np.log(times), 1)[0]:.2f} (wanted: at most N^1.1)"
        )


if __name__ == "__main__":
    asked = sys.argv[1:]
    chosen = asked.pop(0) if asked and asked[0] in METHODS else "generalized-alpha"
    main([int(x) for x in asked] or [50, 100, 200, 400, 800], chosen)
