"""Spring, damper and a wall at the rest position: the oscillator of Acary 2012, three sets of parameters.

Every flight after the first lasts half a damped period; the closed form gives all impacts.
"""

import numpy as np

import nonsmooth as ns

# Problems and simulation
cases = {case: ns.problems.acary_oscillator(case=case) for case in (1, 2, 3)}
results = {case: problem.simulate(dt=1e-3) for case, problem in cases.items()}

# Impacts found by the scheme, and the exact instants
found = {
    case: np.array([event.t for event in result.events if event.kind == "impact"])
    for case, result in results.items()
}
exact = {case: problem.reference.event_times("impact") for case, problem in cases.items()}


def visualize():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(8, 7))
    for axis, (case, result) in zip(axes, results.items()):
        axis.plot(result.t, result.q[0], label="computed")
        axis.plot(exact[case], np.zeros_like(exact[case]), "r.", label="exact impacts")
        axis.set_ylabel(f"q, case {case}")
    axes[0].legend()
    axes[-1].set_xlabel("t")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    for case in cases:
        error = np.max(np.abs(found[case] - exact[case]))
        print(f"case {case}: {found[case].size} impacts, worst time error {error:.1e}")
    visualize()
    plt.show()
