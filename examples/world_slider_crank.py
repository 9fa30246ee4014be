"""A slider-crank in twenty lines: bodies and joints instead of equations, a motor with a characteristic, friction at the cylinder.

The motor speeds the crank up from rest against dry friction of the piston; the force in the crank pin shows the load of every turn.
"""

import numpy as np

import nonsmooth as ns

world = ns.World(gravity=(0, -9.81), params=dict(speed=20.0))
crank = world.add(ns.Body(mass=0.2, inertia=2e-4, position=(0.05, 0), name="crank"))
rod = world.add(ns.Body(mass=0.3, inertia=3e-3, position=(0.25, 0), name="rod"))
piston = world.add(ns.Body(ns.Box(0.08, 0.06), mass=0.4, position=(0.4, 0), name="piston"))


def motor(t, q, u, p):
    return 0.2 * (p.speed - u[2])


world.add(
    ns.Revolute(world.ground, crank, (0, 0), name="shaft"),
    ns.Revolute(crank, rod, (0.1, 0), name="crank pin"),
    ns.Revolute(rod, piston, (0.4, 0), name="piston pin"),
    ns.Prismatic(world.ground, piston, axis=(1, 0), friction=2.0, name="cylinder"),
    ns.Load(crank, torque=motor, name="motor"),
)
result = ns.simulate(world, (0, 1), method=ns.Moreau(dt=1e-4, projection="direct"))
drift = np.abs(np.hypot(*(result["rod"].point((-0.15, 0)))) - 0.1).max()  # of the crank pin from its circle


def visualize():
    import matplotlib.pyplot as plt

    figure, (path, force) = plt.subplots(1, 2, figsize=(10, 4))
    for k in range(0, len(result), max(len(result) // 25, 1)):
        points = [(0, 0), result["crank"].point((0.05, 0))[:, k], result["piston"].position[:, k]]
        path.plot(*np.transpose(points), color="tab:blue", alpha=0.3, marker="o", markersize=3)
    path.plot(*result["rod"].position, color="tab:red", label="centre of the rod")
    path.set(aspect="equal", title="slider-crank")
    path.legend(loc="upper right")
    force.plot(result.t, np.hypot(*result["crank pin"].force))
    force.set(xlabel="t", title="force in the crank pin")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
