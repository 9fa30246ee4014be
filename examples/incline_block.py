"""A block is pushed up an incline: does it stick at the top or slide back?

Coulomb friction with a normal force that the contact law finds: the block sticks if mu >= tan(angle).
Otherwise the slip velocity changes its sign: an event of its own ("reversal"), or a stick of one single step
followed by slip, if the instant of zero velocity is caught by a step.
"""

import numpy as np

import nonsmooth as ns

# Parameters
angle, v0 = np.deg2rad(20.0), 2.0
params = {"m": 1.0, "g": 9.81, "sin": np.sin(angle), "cos": np.cos(angle)}


# System: q = (x, z), x up the slope, z away from it
def mass(t, q, p):
    return p.m * np.eye(2)


def force(t, q, u, p):
    return np.array([-p.m * p.g * p.sin, -p.m * p.g * p.cos])


def gap(t, q):
    return q[1]


def tangent(t, q):
    return np.array([1.0, 0.0])


# Simulation with friction above and below tan(20 deg) = 0.364
results = {}
for mu in (0.4, 0.2):
    slope = ns.Contact(gap, friction=mu, tangent=tangent, name="slope")
    block = ns.MechanicalSystem(mass, force, contacts=[slope], params=params)
    results[mu] = ns.simulate(block, (0, 1), q0=[0.0, 0.0], u0=[v0, 0.0], dt=1e-3)


def visualize():
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    for mu, result in results.items():
        axis.plot(result.t, result.q[0], label=f"mu = {mu}")
        for event in result.events:
            axis.annotate(event.kind, (event.t, np.interp(event.t, result.t, result.q[0])))
    axis.set(xlabel="t", ylabel="way up the slope")
    axis.legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    for mu, result in results.items():
        print(f"mu = {mu}: {[(round(event.t, 4), event.kind) for event in result.events]}")
    visualize()
    plt.show()
