"""A walking toy on a slope: a wheel without rim steps from spoke to spoke (McGeer 1990).

Its feet are one contact of functions on a body of the world. The speed settles where every step loses in the impact what the slope gives:
omega^2 = c^2 k / (1 - c^2), c = (J + m l^2 cos 2 alpha) / (J + m l^2), k = 4 m g l sin(slope) sin(alpha) / (J + m l^2).
"""

import numpy as np

import nonsmooth as ns

n, l, m, J, slope, g = 8, 0.3, 1.0, 0.02, 0.08, 9.81
alpha = np.pi / n
spokes = 2 * alpha * np.arange(n) + alpha - np.pi / 2  # two feet on the ground at the start


def gap(t, q):
    return q[1] + l * np.sin(spokes + q[2])


def sliding(t, q):
    W = np.zeros((3, n))
    for k in range(n):
        W[0, k], W[2, k] = 1.0, -l * np.sin(spokes[k] + q[2])
    return W


world = ns.World(gravity=(g * np.sin(slope), -g * np.cos(slope)))
height = l * np.cos(alpha)
toy = world.add(
    ns.Body(
        mass=m,
        inertia=J,
        position=(0, height),
        velocity=(1.8 * height, 1.8 * l * np.sin(alpha)),
        angular_velocity=-1.8,
        name="toy",
    )
)
world.add(
    ns.Contact(
        gap, restitution=0.0, friction=1.0, tangent=sliding, name=[f"foot {k}" for k in range(n)], bodies=toy
    )
)
result = ns.simulate(world, (0, 6), dt=5e-4)

about = J + m * l**2
c, k = (J + m * l**2 * np.cos(2 * alpha)) / about, 4 * m * g * l * np.sin(slope) * np.sin(alpha) / about
expected = np.sqrt(c**2 * k / (1 - c**2))
speed = -result["toy"].angular_velocity
late = result.t > 3
steps = np.flatnonzero(late[1:] & (np.diff(speed) < -0.1 * expected)) + 1
settled = float(np.mean(speed[steps]))


def visualize():
    import matplotlib.pyplot as plt

    figure, (scene, plot) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    down = np.array([[np.cos(slope), np.sin(slope)], [-np.sin(slope), np.cos(slope)]])
    for i in range(0, result.t.size, 1000):
        x, angle = result["toy"].position[:, i], result["toy"].angle[i]
        for spoke in spokes:
            foot = x + l * np.array([np.cos(spoke + angle), np.sin(spoke + angle)])
            scene.plot(
                *(down @ np.column_stack([x, foot])), color=plt.cm.viridis(i / result.t.size), linewidth=1
            )
    scene.plot(*(down @ np.array([[-0.5, 3.5], [0, 0]])), "k")
    scene.set(aspect="equal", title="every half second")
    plot.plot(result.t, speed)
    plot.axhline(expected, color="tab:red", linewidth=1)
    plot.set(xlabel="t", title="speed of turning, and that after every step")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
