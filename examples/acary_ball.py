"""How fast does time-stepping converge through infinitely many impacts? The bouncing ball of Acary 2012.

The motion is known at every instant (eq. (10) of the paper), impacts accumulate at t = 3. Velocities jump,
so the error is measured in the mean: halving the step halves it (order 1), accumulation point included.
"""

import numpy as np

import nonsmooth as ns

# Problem with its closed form
problem = ns.problems.acary_ball()

# Simulation with six step sizes
steps = 0.01 / 2.0 ** np.arange(6)
errors = []
for dt in steps:
    result = ns.simulate(problem.system, (0, 4), problem.q0, problem.u0, dt=dt)
    errors.append(problem.reference.deviation(result.t, result.q, result.u)["mean_u"])
order = np.polyfit(np.log(steps), np.log(errors), 1)[0]


def visualize():
    import matplotlib.pyplot as plt

    figure, (motion, convergence) = plt.subplots(1, 2, figsize=(10, 4))
    motion.plot(result.t, result.q[0], label="q")
    motion.plot(result.t, result.u[0], linewidth=0.8, label="v")
    motion.set_xlabel("t")
    motion.legend()
    convergence.loglog(steps, errors, "o-", label=f"order {order:.2f}")
    convergence.set(xlabel="dt", ylabel="mean velocity error")
    convergence.legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    for dt, error in zip(steps, errors):
        print(f"dt = {dt:.6f}   mean velocity error = {error:.3e}")
    print(f"order {order:.3f}")
    visualize()
    plt.show()
