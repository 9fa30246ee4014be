"""A spinning wheel on an arm rests on a table. Hurried around the pivot it lifts off by itself: the gyroscopic torque carries it.

The arm starts level and is driven around by a constant torque T about the vertical. While the wheel rests on the table, the rate of
turning is T t / I, and the table is unloaded when C omega T t / I carries the weight.
"""

import numpy as np

import nonsmooth as ns

m, mass_arm, l, radius, spin, torque, g = 1.0, 0.2, 0.4, 0.1, 200.0, 1.0, 9.81
C, A = 0.5 * m * radius**2, 0.25 * m * radius**2

world = ns.World(gravity=(0, 0, -g))
arm = world.add(
    ns.Body(
        mass=mass_arm,
        inertia=(1e-4, mass_arm * l**2 / 12, mass_arm * l**2 / 12),
        position=(l / 2, 0, 0),
        name="arm",
    )
)
wheel = world.add(
    ns.Body(
        ns.Sphere(radius),
        mass=m,
        inertia=(C, A, A),
        position=(l, 0, 0),
        angular_velocity=(spin, 0, 0),
        name="wheel",
    )
)
world.add(
    ns.Universal(world.ground, arm, (0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 1, 0), name="pivot"),
    ns.Revolute(arm, wheel, (l, 0, 0), axis=(1, 0, 0), name="axle"),
    ns.Load(arm, torque=(0, 0, torque), name="motor"),
)
world.contact(wheel, ns.Plane((0, 0, -radius), name="table"), restitution=0.0)
result = ns.simulate(world, (0, 1.2), method="event-driven", rtol=1e-8, t_eval=np.linspace(0, 1.2, 601))

inertia = m * l**2 + A + mass_arm * l**2 / 3
expected = (m * l + 0.5 * mass_arm * l) * g * inertia / (C * spin * torque)
lift_off = next(event.t for event in result.events if event.kind == "open")


def visualize():
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    scene.plot(*result["wheel"].position, linewidth=1)
    scene.set_title("path of the wheel")
    height = figure.add_subplot(1, 2, 2)
    height.plot(result.t, result["wheel"].position[2])
    height.axvline(expected, color="tab:red", linewidth=1)
    height.set(xlabel="t", title="height, and when the table is unloaded")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
