"""Studer, Leine, Glocker 2008, Fig. 14: woodpecker with fixed order p and dt_min = 1e-10 throughout."""

import warnings

import numpy as np
from _table import figure, save, show

from nonsmooth import ExtrapolatedMoreau, problems

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    problem = problems.woodpecker()
    ends = np.linspace(0.132, 0.14, 9)
    fine = ExtrapolatedMoreau(rtol=1e-12, dt_min=1e-10, dt_max=9e-4, max_order=10)
    exact = problem.simulate((0.0, 0.141), t_eval=ends, method=fine, audit=False).q[2]
    rows = []
    picture, axis = figure(size=(6.0, 4.5))
    for p in range(1, 7):
        low, high = {1: (3e-5, 4e-4), 2: (2e-4, 9e-4), 3: (2.5e-4, 1.2e-3), 4: (4e-4, 1.5e-3)}.get(
            p, (8e-4, 3e-3)
        )
        steps = np.geomspace(low, high, 10)
        for locate in (False, True):
            errors = []
            for dt_max in steps:
                method = ExtrapolatedMoreau(order=p, dt_min=1e-10, dt_max=dt_max, locate=locate)
                run = problem.simulate((0.0, 0.141), t_eval=ends, method=method, audit=False)
                errors.append(np.mean(np.abs(run.q[2] - exact)))
            errors = np.array(errors)
            # below that the crossings show, whatever the order: with dt_min, or with a hundredth of it
            above = errors > (2e-10 if locate else 2e-8)
            slope = (
                np.polyfit(np.log(steps[above]), np.log(errors[above]), 1)[0]
                if above.sum() > 3
                else float("nan")
            )
            name = "location" if locate else "bisection"
            rows.append(
                (
                    f"order {p}, {name}",
                    f"slope {p}",
                    f"slope {slope:.2f}, errors {errors.max():.1e} ... {errors.min():.1e}",
                )
            )
            if locate:
                axis.loglog(steps, errors, "o-", markersize=3, label=f"p = {p}")
    show("Fig. 14: woodpecker, fixed order, dt_min = 1e-10", rows)
    axis.set(xlabel="dt_max", ylabel="error of phi_S")
    axis.legend(fontsize=8)
    axis.grid(True, alpha=0.3)
    save(picture, "studer2008_fig14.png")
