"""A rod falls over on rough ground: its lower end slides, turns back, sticks and slips before the rod lies flat.

q = (x, y, theta): centre and angle of the rod. The directions of contact and friction turn with the rod, so that even
a lasting contact is no straight line.
"""

import numpy as np

import nonsmooth as ns

# Parameters
theta0, omega0 = 1.2, -0.5
params = {"m": 1.0, "l": 0.5, "g": 9.81}


# System
def mass(t, q, p):
    return np.diag(np.array([p.m, p.m, p.m * p.l**2 / 3.0]))


def force(t, q, u, p):
    return np.array([0.0, -p.m * p.g, 0.0])


def gap(t, q, p):
    """Left and right end."""
    return np.array([q[1] - p.l * np.sin(q[2]), q[1] + p.l * np.sin(q[2])])


def tangent(t, q, p):
    return np.array([[1.0, 1.0], [0.0, 0.0], [p.l * np.sin(q[2]), -p.l * np.sin(q[2])]])


ground = ns.Contact(gap, friction=[0.3, 0.3], tangent=tangent, name=("left", "right"))
rod = ns.MechanicalSystem(mass, force, contacts=[ground], params=params)

# Simulation: the left end touches the ground and moves along it
q0 = [0.0, params["l"] * np.sin(theta0), theta0]
u0 = [1.0, params["l"] * np.cos(theta0) * omega0, omega0]
result = ns.simulate(rod, (0, 1), q0, u0, dt=2e-4)


def visualize():
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    for k in range(0, result.t.size, 250):
        x, y, theta = result.q[:, k]
        dx, dy = params["l"] * np.cos(theta), params["l"] * np.sin(theta)
        axis.plot([x - dx, x + dx], [y - dy, y + dy], color="C0", alpha=0.3 + 0.7 * k / result.t.size)
    axis.set(xlabel="x", ylabel="y", aspect="equal")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(f"the rod lies still at x = {result.q[0, -1]:.4f}")
    visualize()
    plt.show()
