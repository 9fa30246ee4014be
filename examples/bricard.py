"""Bricard's loop: six hinges along the edges of a cube. Counting says that it cannot move; it does.

Five rods and the ground have 30 velocities and 30 rows, one of which the others imply.
"""

import numpy as np

import nonsmooth as ns

corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
edges = np.roll(corners, -1, axis=0) - corners
axes = np.cross(np.roll(edges, 1, axis=0), edges)

world = ns.World(gravity=(0, -9.81, 0))
rods = world.add_bodies(
    5, "rod", mass=1.0, inertia=[(0.1, 0.1, 0.1)] * 5, position=(corners + 0.5 * edges)[:5]
)
sides = [world.ground, *rods, world.ground]
world.add(*(ns.Revolute(sides[k], sides[k + 1], corners[k], axes[k], name=f"hinge {k}") for k in range(6)))

diagnosis = ns.diagnose(world)
result = ns.simulate(world, (0, 3), method=ns.GeneralizedAlpha(dt=2e-3))
energy = result.energy()
total = energy.kinetic + energy.potential


def visualize():
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    for k in np.linspace(0, len(result) - 1, 6).astype(int):
        ends = np.array([result[f"rod[{i}]"].point(-0.5 * edges[i])[:, k] for i in range(5)])
        last = result["rod[4]"].point(0.5 * edges[4])[:, k]
        points = np.vstack([ends, last, ends[0]])
        scene.plot(*points.T, "o-", markersize=3, alpha=0.3 + 0.7 * k / len(result))
    scene.set_title("the loop on its way")
    plot = figure.add_subplot(1, 2, 2)
    plot.plot(result.t, energy.kinetic, label="kinetic")
    plot.plot(result.t, energy.potential, label="potential")
    plot.plot(result.t, total, label="total")
    plot.set(xlabel="t", title="energy [J]")
    plot.legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
