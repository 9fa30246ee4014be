"""An oscillator hits a wall: impacts that get weaker and weaker but never accumulate.

Studer, Leine & Glocker 2008, sec. 10.3. The spring pulls the mass away from the wall, so the speed before
an impact shrinks by the restitution coefficient from one impact to the next, and late impacts nearly graze
the wall.
"""

import numpy as np

import nonsmooth as ns


# System: m x'' + c (x + 0.15) = -contact force, wall at x = 0
def mass(t, q, p):
    return np.array([[p.m]])


def force(t, q, u, p):
    return np.array([-p.c * (q[0] + 0.15)])


def gap(t, q, p):
    return np.array([-q[0]])


wall = ns.Contact(gap, restitution=0.6, name="wall")
system = ns.MechanicalSystem(mass, force, contacts=[wall], params={"m": 0.1, "c": 20.0})

# Simulation
result = ns.simulate(system, (0, 5), q0=[-0.5], u0=[0.2], dt=2e-4)
impulses = np.array([result.P_N[0, k] for k in range(result.t.size) if result.P_N[0, k] > 0])


def visualize():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(8, 7))
    axes[0].plot(result.t, result.q[0])
    axes[0].set_ylabel("position")
    axes[1].plot(result.t, result.u[0])
    axes[1].set_ylabel("velocity")
    hit = result.P_N[0] > 0
    axes[2].stem(result.t[hit], result.P_N[0, hit], basefmt=" ")
    axes[2].set(xlabel="t", ylabel="impulse", yscale="log")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
