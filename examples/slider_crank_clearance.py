"""A slider-crank whose slider has play in its guide: two corners hit at one instant.

q = (th_1, th_2, th_3): angles of crank, rod and slider. Both upper corners of the slider hit the guide together, again
and again, until they stay; six milliseconds later they let go together. The slider never turns.
"""

import numpy as np

import nonsmooth as ns

# Parameters (SI units)
params = dict(
    l1=0.153, l2=0.306, a=0.05, b=0.025, c=0.001, m1=0.038, m2=0.038, m3=0.076, J1=7.4e-5, J2=5.9e-4, J3=2.7e-6, g=9.81,
)  # fmt: skip


# System
def mass(t, q, p):
    coupling = (0.5 * p.m2 + p.m3) * p.l1 * p.l2 * np.cos(q[1] - q[0])
    return np.array(
        [
            [p.J1 + (0.25 * p.m1 + p.m2 + p.m3) * p.l1**2, coupling, 0.0],
            [coupling, p.J2 + (0.25 * p.m2 + p.m3) * p.l2**2, 0.0],
            [0.0, 0.0, p.J3],
        ]
    )


def force(t, q, u, p):
    k = (0.5 * p.m2 + p.m3) * p.l1 * p.l2 * np.sin(q[0] - q[1])
    first = -k * u[1] ** 2 - (0.5 * p.m1 + p.m2 + p.m3) * p.g * p.l1 * np.cos(q[0])
    second = k * u[0] ** 2 - (0.5 * p.m2 + p.m3) * p.g * p.l2 * np.cos(q[1])
    return np.array([first, second, 0.0])


def gap(t, q, p):
    """Upper left, upper right, lower left, lower right corner."""
    Y = p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[1])
    tilt, height = p.a * np.sin(q[2]), p.b * np.cos(q[2])
    corners = np.array([-Y + tilt, -Y - tilt, Y - tilt, Y + tilt])
    return corners + (p.b + p.c - height)


def tangent(t, q, p):
    """Velocity of each corner along the guide, one column per corner."""
    s, c = p.a * np.sin(q[2]), p.b * np.cos(q[2])
    along = np.array([-p.l1 * np.sin(q[0]), -p.l2 * np.sin(q[1])])
    turn = np.array([s - c, -s - c, s + c, -s + c])
    return np.vstack((np.full(4, along[0]), np.full(4, along[1]), turn))


names = ("upper left", "upper right", "lower left", "lower right")
guide = ns.Contact(gap, restitution=[0.4] * 4, friction=[0.01] * 4, tangent=tangent, name=names)
mechanism = ns.MechanicalSystem(mass, force, contacts=[guide], params=params)

# Simulation
result = ns.simulate(mechanism, (0, 0.02), [0.0, 0.0, 0.0], [150.0, -75.0, 0.0], dt=2e-6)
height = params["l1"] * np.sin(result.q[0]) + params["l2"] * np.sin(result.q[1])


def visualize():
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    axis.plot(1e3 * result.t, 1e3 * height)
    axis.axhline(1e3 * params["c"], color="0.6", linestyle=":")
    axis.set(xlabel="t [ms]", ylabel="height of the slider [mm]")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(f"largest rotation of the slider: {np.abs(result.q[2]).max():.1e} rad")
    visualize()
    plt.show()
