"""A rod pinned at its end, written as a free body and two constraints; they hold to rounding while the energy tells the accuracy.

q = (x, y, theta): centre of the rod, x pointing down, and its angle from the vertical (Compere 2001, sec. 3.5).
"""

import numpy as np

import nonsmooth as ns

# Parameters
theta0, omega0 = np.pi / 9, 1.0
params = {"m": 36.0, "l": 1.0, "g": 9.81}


# System
def mass(t, q, p):
    return np.diag(np.array([p.m, p.m, p.m * p.l**2 / 12.0]))


def force(t, q, u, p):
    return np.array([p.m * p.g, 0.0, 0.0])


def pin(t, q, p):
    """The end of the rod stays at the origin."""
    return np.array([q[0] - 0.5 * p.l * np.cos(q[2]), q[1] - 0.5 * p.l * np.sin(q[2])])


def potential(t, q, p):
    return -p.m * p.g * q[0]


pendulum = ns.MechanicalSystem(
    mass, force, joints=[ns.Joint(pin, name="pin")], params=params, potential=potential
)

# Simulation
c, s = 0.5 * params["l"] * np.cos(theta0), 0.5 * params["l"] * np.sin(theta0)
q0, u0 = [c, s, theta0], [-s * omega0, c * omega0, omega0]
result = ns.simulate(pendulum, (0, 5), q0, u0, ns.SlidingMode(integrator="RKF78", dt=0.01))


def visualize():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, sharex=True)
    axes[0].plot(result.t, result.q[2])
    axes[0].set(ylabel="theta")
    energy = result.energy().total
    axes[1].plot(result.t, energy - energy[0])
    axes[1].set(xlabel="t", ylabel="change of the energy")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(f"the pin is kept to {result.audit.joint_drift_position:.1e} m")
    visualize()
    plt.show()
