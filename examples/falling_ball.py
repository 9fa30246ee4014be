"""A ball falls on a table: infinitely many impacts in finite time, then rest.

Studer, Leine & Glocker 2008, sec. 10.1. With restitution e the impacts accumulate at t* = sqrt(2 z0/g)
(1+e)/(1-e). Time-stepping passes this instant without noticing: in the end the ball lies still.
"""

import numpy as np

import nonsmooth as ns

# Parameters
g, z0, e = 9.81, 0.07, 0.7
t_star = np.sqrt(2 * z0 / g) * (1 + e) / (1 - e)


# System: m z'' = -m g + contact force, z >= 0
def mass(t, q, p):
    return np.array([[p.m]])


def force(t, q, u, p):
    return np.array([-p.m * p.g])


def gap(t, q):
    return q[0]


table = ns.Contact(gap, restitution=e, name="table")
ball = ns.MechanicalSystem(mass, force, contacts=[table], params={"m": 1.0, "g": g})

# Simulation
result = ns.simulate(ball, (0, 1), q0=[z0], u0=[0.0], dt=1e-3)
drift = np.ptp(result.q[0, result.t > 0.9])


def visualize():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, sharex=True)
    axes[0].plot(result.t, result.q[0])
    axes[0].set_ylabel("height")
    axes[1].plot(result.t, result.u[0])
    axes[1].axvline(t_star, color="tab:red", linewidth=1, label="accumulation of impacts")
    axes[1].set(xlabel="t", ylabel="velocity")
    axes[1].legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    print(f"drift while at rest: {drift}")
    visualize()
    plt.show()
