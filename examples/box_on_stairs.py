"""A box tumbles down a stair: its corners on the steps are a contact of functions, the edges of the steps on the box one of the library.

Every pair is named; nothing is detected. The distance of a point from a stair is that from the nearest of its blocks.
"""

import numpy as np

import nonsmooth as ns

steps, run, rise, edge = 5, 0.5, 0.35, 0.004
width, height = 0.45, 0.3
reach = 1e3  # the last step goes on
x_edge = np.append(run * np.arange(1, steps), reach)
y_edge = -rise * np.arange(steps)
corners = 0.5 * np.array([(-width, -height), (width, -height), (width, height), (-width, height)])


def nearest(x, y):
    """Distance of a point from the stair (negative inside) and the normal there."""
    best, n_x, n_y = 1e9, 0.0, 1.0
    for k in range(steps):
        across, above = x - x_edge[k], y - y_edge[k]
        if across > 0.0 and above > 0.0:
            distance = np.sqrt(across**2 + above**2)
            n = (across / distance, above / distance)
        elif across > above:
            distance, n = across, (1.0, 0.0)
        else:
            distance, n = above, (0.0, 1.0)
        if distance < best:
            best, n_x, n_y = distance, n[0], n[1]
    return best, n_x, n_y


def place(q, k):
    c, s = np.cos(q[2]), np.sin(q[2])
    return c * corners[k, 0] - s * corners[k, 1], s * corners[k, 0] + c * corners[k, 1]


def gap(t, q):
    g = np.zeros(4)
    for k in range(4):
        r_x, r_y = place(q, k)
        g[k] = nearest(q[0] + r_x, q[1] + r_y)[0]
    return g


def gradient(t, q):
    G = np.zeros((4, 3))
    for k in range(4):
        r_x, r_y = place(q, k)
        _, n_x, n_y = nearest(q[0] + r_x, q[1] + r_y)
        G[k, 0], G[k, 1], G[k, 2] = n_x, n_y, r_x * n_y - r_y * n_x
    return G


def sliding(t, q):
    W = np.zeros((3, 4))
    for k in range(4):
        r_x, r_y = place(q, k)
        _, n_x, n_y = nearest(q[0] + r_x, q[1] + r_y)
        W[0, k], W[1, k], W[2, k] = n_y, -n_x, -r_x * n_x - r_y * n_y
    return W


world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.2, friction=0.5))
box = world.add(
    ns.Body(
        ns.Box(width, height),
        mass=5.0,
        position=(0.1, 0.5),
        velocity=(1.6, 0),
        angular_velocity=-3.0,
        name="box",
    )
)
names = [f"corner {k}" for k in range(4)]
world.add(ns.Contact(gap, 0.2, 0.5, sliding, jacobian=gradient, name=names, bodies=box))
for k in range(steps - 1):  # the edges of the steps, rounded, below the corners by their radius
    world.contact(box, ns.Circle(edge, (x_edge[k] - edge, y_edge[k] - edge), name=f"edge {k}"))
result = ns.simulate(world, (0, 2.5), dt=2e-4, every=5)
deepest = float(result.audit.worst_gap)
speed = float(np.abs(result.u[:, -1]).max())


def visualize():
    import matplotlib.pyplot as plt

    figure, (scene, energy) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", width_ratios=(2, 1))
    outline = np.vstack([corners, corners[:1]])
    for k in range(0, len(result), 100):
        x, y, phi = result.q[:, k]
        c, s = np.cos(phi), np.sin(phi)
        scene.plot(
            x + c * outline[:, 0] - s * outline[:, 1],
            y + s * outline[:, 0] + c * outline[:, 1],
            color=plt.cm.viridis(k / len(result)),
        )
    last = result["box"].position[0].max() + 0.6
    for k in range(steps):
        left, right = -0.5 if k == 0 else x_edge[k - 1], min(x_edge[k], last)
        scene.plot([left, right, right], [y_edge[k], y_edge[k], y_edge[k] - rise * (k < steps - 1)], "k")
    scene.set(aspect="equal", title="every 100 ms")
    found = result.energy()
    energy.plot(result.t, found.kinetic + found.potential)
    energy.set(xlabel="t", title="energy [J]")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
