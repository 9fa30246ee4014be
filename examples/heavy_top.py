"""A heavy top on a fixed tip: it nods between two angles while it goes round.

With u = cos(theta), u'^2 is a cubic in u, and the axis moves between two of its roots (Goldstein, sec. 5.7).
"""

import numpy as np

import nonsmooth as ns

m, l, A, C, spin, theta, g = 2.0, 0.5, 0.3, 0.1, 60.0, 0.6, 9.81

world = ns.World(gravity=(0, 0, -g))
R = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
top = ns.Body(
    mass=m, inertia=(A, A, C), position=l * R[:, 2], rotation=R, angular_velocity=(0, 0, spin), name="top"
)
world.add(top)
world.add(ns.Spherical(world.ground, top, (0, 0, 0), name="tip"))
result = ns.simulate(world, (0, 2), method="event-driven", rtol=1e-8, t_eval=np.linspace(0, 2, 2001))

axis = result["top"].rotation[:, :, 2]  # the third axis of the body
# starts at a turning point: u'^2 = (u_0 - u) (a (1 - u^2) - b (u_0 - u))
a, b, u_0 = 2 * m * g * l / (A + m * l**2), (C * spin / (A + m * l**2)) ** 2, np.cos(theta)
roots = np.roots([-a, b, a - b * u_0])
lowest = float(roots[np.abs(roots) < 1][0].real)


def visualize():
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4))
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    scene.plot(*axis.T, linewidth=1)
    scene.set_title("path of the axis")
    nodding = figure.add_subplot(1, 2, 2)
    nodding.plot(result.t, axis[:, 2])
    for level in (u_0, lowest):
        nodding.axhline(level, color="tab:red", linewidth=1)
    nodding.set(xlabel="t", title="cos(theta), and the roots of the cubic")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
