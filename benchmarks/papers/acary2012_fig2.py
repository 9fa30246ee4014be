"""Acary 2012, Fig. 2: empirical order of Moreau's scheme in four norms, both examples.

The paper prints no parameters of the oscillator; case 1 of `problems.acary_oscillator` is used. Steps are no fractions of the impact times
(a grid instant on an impact spoils grid norms, erratum 14); the norms here are integrals over all instants.
"""

import math

import numpy as np
from _table import IMG, show

import nonsmooth as ns

STEPS = np.geomspace(0.05, 1e-4, 16) * math.pi / 3
PAPER = {
    "L1": "near 1 (q, v 1 +- 0.2 wanted)",
    "L2": "(picture)",
    "sup": "no convergence of v (0.00 +- 0.05 wanted)",
    "hausdorff": "near 1 (v 1 +- 0.2 wanted, ball >= 0.65)",
}


def study(problem, theta):
    methods = [ns.Theta(dt=dt, theta=theta, gamma=1.0) for dt in STEPS]
    return ns.compare(problem.system, problem.t_span, problem.q0, problem.u0, methods, problem.reference)


if __name__ == "__main__":
    for problem in (ns.problems.acary_ball(t_end=4.0), ns.problems.acary_oscillator(case=1, t_end=4.0)):
        rows = []
        for theta in (0.5, 1.0):
            table = study(problem, theta)
            label = table.labels[0]
            for norm in table.norms:
                q, u = table.slopes("q", norm)[label], table.slopes("u", norm)[label]
                rows.append(
                    (f"theta = {theta:g}, {norm}", PAPER[norm], f"order {q:5.2f} in q, {u:5.2f} in v")
                )
            if theta == 0.5:
                # both ways: the largest difference of velocities neither shrinks nor grows
                largest = [row.errors["u", "sup"] for row in table.of(label)]
                rows.append(
                    (
                        "theta = 0.5, sup(v), coarse ... fine",
                        "neither falls nor grows",
                        f"{largest[0]:.3f} ... {largest[-1]:.3f}",
                    )
                )
                table.plot(IMG / f"acary2012_fig2_{problem.name}.png")
        show(f"Fig. 2: {problem.title}, {len(STEPS)} steps from {STEPS[0]:.3g} to {STEPS[-1]:.3g}", rows)
