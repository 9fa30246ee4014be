"""Stick-slip: a mass on a moving belt, held by a spring.

The friction force falls with the slip velocity, so the equilibrium is unstable and the motion settles on a
cycle: the belt carries the mass along, the spring tears it loose, it slips back, and so on.
"""

import numpy as np

import nonsmooth as ns

# Parameters: spring, friction force at rest, its fall with the slip velocity, belt
params = {"c": 4.0, "F": 1.0, "kappa": 0.4, "v_belt": 0.5}


# System: x'' + c x = friction, slip velocity x' - v_belt
def mass(t, q):
    return np.array([[1.0]])


def force(t, q, u, p):
    return np.array([-p.c * q[0]])


def direction(t, q):
    return np.array([1.0])


def limit(t, q, u, p):
    return p.F - p.kappa * abs(u[0] - p.v_belt)


def surface_velocity(t, q, p):
    return -p.v_belt


belt = ns.FrictionElement(direction, limit, surface_velocity=surface_velocity, name="belt")
system = ns.MechanicalSystem(mass, force, friction=[belt], params=params)

# Simulation
result = ns.simulate(system, (0, 20), q0=[1.0], u0=[0.0], dt=1e-3)
stick_times = np.array([event.t for event in result.events if event.kind == "stick"])
period = np.diff(stick_times)[-1]


def visualize():
    import matplotlib.pyplot as plt

    figure, (time, phase) = plt.subplots(1, 2, figsize=(10, 4))
    time.plot(result.t, result.u[0])
    time.axhline(params["v_belt"], color="0.7", linewidth=1)
    time.set(xlabel="t", ylabel="velocity", title=f"stick-slip, period {period:.3f}")
    phase.plot(result.q[0], result.u[0])
    phase.set(xlabel="position", ylabel="velocity")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
