"""A small sphere rolls on a large one, thrown onto it from a state that violates all its constraints.

The surfaces of the constraints are reached in finite time, one after the other; from then on the energy stays (Compere 2001, sec. 3.6).
"""

import numpy as np

import nonsmooth as ns

# System and start: 0.1 m above the sphere, spinning too fast
problem = ns.problems.rolling_spheres(consistent=False)

# Simulation: eta are the rates at which the surfaces go to zero
result = problem.simulate((0, 8), method=ns.SlidingMode(dt=0.01, eta=[0.5, 0.05, 0.05], sigma=10))
reached = {event.name: event.t for event in result.events}


def visualize():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, sharex=True)
    axes[0].semilogy(result.t, np.abs(result.q[0] - 0.6) + 1e-17)
    axes[0].set(ylabel="distance from the sphere")
    axes[1].plot(result.t, result.energy().total)
    for t in reached.values():
        axes[1].axvline(t, color="k", linewidth=0.5)
    axes[1].set(xlabel="t", ylabel="energy")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print("reached:", {name: round(t, 6) for name, t in reached.items()})
    visualize()
    plt.show()
