"""A mass slides in the plane, is turned around by a force, and sticks when the force is gone.

Studer, Leine & Glocker 2008, sec. 10.2. Friction is a disk of radius a = 2 N. The force (2.512 N) is
stronger, so the mass turns without stopping; at t = 3 the force is switched off, and the mass comes to rest
at t = 3.66565.
"""

import numpy as np

import nonsmooth as ns

# Parameters
friction_force, t_off = 2.0, 3.0


# System: m u' = F(t) + friction
def mass(t, q):
    return np.eye(2)


def force(t, q, u, p):
    return np.array([-2.5, -0.25]) if t < p.t_off else np.zeros(2)


def direction(t, q):
    return np.eye(2)  # two directions in columns: the friction force lies in a disk


floor = ns.FrictionElement(direction, limit=friction_force, name="floor")
system = ns.MechanicalSystem(mass, force, friction=[floor], params={"t_off": t_off})

# Simulation: the force is discontinuous at t_off, so a step has to end there
result = ns.simulate(system, (0, 5), q0=[0, 0], u0=[2.0, -0.2], dt=1e-3, breakpoints=[t_off])
stick = next(event for event in result.events if event.kind == "stick")


def visualize():
    import matplotlib.pyplot as plt

    figure, (path, speed) = plt.subplots(1, 2, figsize=(10, 4))
    path.plot(result.q[0], result.q[1])
    path.set(xlabel="x", ylabel="y", title="path")
    speed.plot(result.t, np.hypot(*result.u))
    speed.axvline(stick.t, color="tab:red", linewidth=1, label=f"sticks at {stick.t:.4f}")
    speed.set(xlabel="t", title="speed")
    speed.legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
