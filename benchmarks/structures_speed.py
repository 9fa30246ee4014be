"""Time of one implicit step of an elastic bar (generalized-alpha, contact at its end) against the number of elements.

Differences of two runs, so that building and starting do not count; processor time, the best of five runs each.
"""

import sys
import time
from pathlib import Path

import nonsmooth as ns

DT = 2e-3


def hitting_bar(n):
    world = ns.World(gravity=(0, 0))
    bar = world.add(
        ns.Bar([(0, 0), (10, 0)], n, EA=900.0, rhoA=1.0, mass="lumped", velocity=(10.0, 0.0), name="bar")
    )
    world.contact(bar.end, ns.HalfPlane((10.1, 0), (-1, 0)))
    return world


def seconds(world, steps):
    start = time.process_time()
    method = ns.GeneralizedAlpha(dt=DT, rho_inf=0.8)
    ns.simulate(world, (0, steps * DT), method=method, t_eval=[0, steps * DT], audit=False, progress=False)
    return time.process_time() - start


def per_step(world, few, many):
    best = lambda steps: min(seconds(world, steps) for _ in range(5))  # noqa: E731
    return (best(many) - best(few)) / (many - few)


def picture(sizes, times):
    """Time of a step and of an element, into the documentation."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    axis.loglog(sizes, [1e9 * t / n for n, t in zip(sizes, times)], "o-")
    axis.axhline(60.0, color="0.6", lw=0.8)
    axis.set(xlabel="elements", ylabel="ns per element and step", ylim=(10, 200))
    figure.savefig(Path(__file__).parents[1] / "docs" / "img" / "structures_speed.png", dpi=110)


if __name__ == "__main__":
    print("elements   per step   per element")
    sizes, times = [int(x) for x in sys.argv[1:]] or [200, 632, 2000, 6325, 20000], []
    for n in sizes:
        world = hitting_bar(n)
        seconds(world, 2)
        times.append(per_step(world, 20, 20 + max(300, int(6e6 / n))))
        print(f"{n:8d} {1e6 * times[-1]:8.1f} us {1e9 * times[-1] / n:8.1f} ns")
    picture(sizes, times)
