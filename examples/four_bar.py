"""A four-bar linkage that is driven: the angle of the crank is prescribed, the curve of a coupler point drawn.

The drive is one more row of the hinge, with the torque that it needs as its multiplier.
"""

import numpy as np

import nonsmooth as ns


def steady(t):
    return 2.0 * np.pi * t


A, B, D = np.array([0.0, 0.2]), np.array([0.43, 0.45]), np.array([0.45, 0.0])
world = ns.World(gravity=(0, -9.81))
crank = world.add(
    ns.Body(
        mass=0.2,
        inertia=1e-3,
        position=A / 2,
        velocity=(-0.2 * np.pi, 0),
        angular_velocity=2 * np.pi,
        name="crank",
    )
)
coupler = world.add(ns.Body(mass=0.5, inertia=1e-2, position=(A + B) / 2, name="coupler"))
rocker = world.add(ns.Body(mass=0.4, inertia=8e-3, position=(B + D) / 2, name="rocker"))
world.add(
    ns.Revolute(world.ground, crank, (0, 0), drive=steady, name="shaft"),
    ns.Revolute(crank, coupler, A, name="first pin"),
    ns.Revolute(coupler, rocker, B, name="second pin"),
    ns.Revolute(world.ground, rocker, D, name="bearing"),
)
# velocities of coupler and rocker that fit the drive: the smallest change that does (project=True)
result = ns.simulate(world, (0, 2), method=ns.Moreau(dt=1e-4, projection="direct"), project=True)
point = result["coupler"].point((0.0, 0.15))
torque = result["shaft"].multipliers[-1]


def visualize():
    import matplotlib.pyplot as plt

    figure, (linkage, load) = plt.subplots(1, 2, figsize=(10, 4))
    for k in range(0, len(result) // 2, max(len(result) // 24, 1)):
        ends = [(0, 0), result["crank"].point(A / 2)[:, k], result["coupler"].point((B - A) / 2)[:, k], D]
        linkage.plot(*np.transpose(ends), color="tab:blue", alpha=0.3, marker="o", markersize=3)
    linkage.plot(*point, color="tab:red", label="coupler curve")
    linkage.set(aspect="equal", title="four-bar linkage")
    linkage.legend(loc="upper left")
    load.plot(result.t[10:], torque[10:])
    load.set(xlabel="t", title="torque of the drive")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
