"""The slider-crank whose slider has play in its guide, as a world: no equation of motion, no gap function.

The same machine as `slider_crank_clearance.py`, which writes it down in three angles: here every body has its own coordinates.
"""

import numpy as np

import nonsmooth as ns

l1, l2, half_length, half_height, play, omega = 0.153, 0.306, 0.05, 0.025, 0.001, 150.0

world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.4, friction=0.01))
crank = ns.Body(mass=0.038, inertia=7.4e-5, position=(l1 / 2, 0), name="crank")
rod = ns.Body(mass=0.038, inertia=5.9e-4, position=(l1 + l2 / 2, 0), name="rod")
slider = ns.Body(
    ns.Box(2 * half_length, 2 * half_height), mass=0.076, inertia=2.7e-6, position=(l1 + l2, 0), name="slider"
)
crank.velocity, crank.angular_velocity = (0, omega * l1 / 2), omega
rod.velocity, rod.angular_velocity = (0, omega * l1 - 0.5 * omega * l2 / 2), -0.5 * omega
world.add(crank, rod, slider)
world.add(
    ns.Revolute(world.ground, crank, (0, 0), name="shaft"),
    ns.Revolute(crank, rod, (l1, 0), name="crank pin"),
    ns.Revolute(rod, slider, (l1 + l2, 0), name="piston pin"),
    ns.HalfPlane((0, half_height + play), (0, -1), name="upper guide"),
    ns.HalfPlane((0, -half_height - play), (0, 1), name="lower guide"),
)
result = ns.simulate(world, (0, 0.02), dt=2e-6, every=5)
height = result["slider"].position[1]


def visualize():
    import matplotlib.pyplot as plt

    figure, (path, force) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    path.plot(1e3 * result.t, 1e3 * height)
    path.set(xlabel="t [ms]", ylabel="mm", title="height of the slider in its play")
    pin = np.linalg.norm(result["crank pin"].force, axis=0)
    force.plot(1e3 * result.t, pin, linewidth=0.8)
    force.set(
        xlabel="t [ms]", ylabel="N", title="force in the crank pin", ylim=(0, 1.2 * np.nanpercentile(pin, 99))
    )
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
