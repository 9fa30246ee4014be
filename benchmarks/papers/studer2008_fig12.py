"""Studer, Leine, Glocker 2008, Fig. 12: impact oscillator with fixed order p, dt_min = 0.01 dt_max^p.

The error is averaged over twelve end times; the finest steps of high orders would ask for a dt_min below rounding and are
left out.
"""

import numpy as np
from _table import figure, save, show

from nonsmooth import ExtrapolatedMoreau, problems

ENDS = np.linspace(1.8, 2.35, 12)


def study(problem, p, steps, locate):
    exact = problem.reference.q(ENDS)[0]
    errors, work, lost = [], [], 0
    impacts = np.sum(problem.reference.event_times() < 2.4)
    for dt_max in steps:
        method = ExtrapolatedMoreau(
            order=p, dt_min=max(0.01 * dt_max**p, 2e-14), dt_max=dt_max, locate=locate
        )
        run = problem.simulate((0.0, 2.4), t_eval=ENDS, audit=False, method=method)
        lost += impacts - sum(event.kind == "impact" for event in run.events)
        errors.append(np.mean(np.abs(run.q[0] - exact)))
        work.append(problem.simulate((0.0, 2.4), audit=False, method=method).nbase)
    return np.array(errors), np.array(work), int(lost)


if __name__ == "__main__":
    problem = problems.impact_oscillator()
    rows = []
    picture, axes = figure(1, 2, size=(10.0, 4.5))
    for p in range(1, 7):
        steps = np.geomspace(0.003, 0.03, 12) if p == 1 else np.geomspace(0.012, 0.05, 12)
        for locate in (False, True):
            errors, work, lost = study(problem, p, steps, locate)
            slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
            name = "location" if locate else "bisection"
            rows.append(
                (
                    f"order {p}, {name}",
                    f"slope {p}",
                    f"slope {slope:.2f}, {lost} impacts lost, error {errors.min():.1e}",
                )
            )
            if locate == (p > 1):
                axes[0].loglog(steps, errors, "o-", markersize=3, label=f"p = {p}")
                axes[1].loglog(work, errors, "o-", markersize=3, label=f"p = {p}")
    show("Fig. 12(e), (f): impact oscillator, fixed order", rows)
    axes[0].set(xlabel="dt_max", ylabel="error of x")
    axes[1].set(xlabel="base steps", ylabel="error of x")
    for axis in axes:
        axis.legend(fontsize=8)
        axis.grid(True, alpha=0.3)
    save(picture, "studer2008_fig12.png")
    save(problem.simulate(rtol=1e-8).plot(panels=["P_N", "q", "u", "dt", "order"]), "studer2008_fig12bcd.png")
