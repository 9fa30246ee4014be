"""Studer, Leine, Glocker 2008, Figs 9 and 10: a mass falls on a table; all against odd numbers of substeps."""

import warnings

import numpy as np
from _table import figure, save, show

from nonsmooth import ExtrapolatedMoreau, problems

T_STAR = 0.6769509168983

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    ball = problems.falling_ball()
    paper = {"dt_min": 1e-5, "dt_max": 0.05}
    runs = {
        "all substeps, bisection": ball.simulate(
            method=ExtrapolatedMoreau(**paper, locate=False, substeps="all")
        ),
        "odd substeps, bisection": ball.simulate(method=ExtrapolatedMoreau(**paper, locate=False)),
        "odd substeps, location": ball.simulate(method=ExtrapolatedMoreau(**paper)),
    }
    rows = []
    for name, run in runs.items():
        later = run.t > T_STAR + 0.05
        zeno = [event.t for event in run.events if event.kind == "zeno"]
        flight = (run.t < 0.119) & (run.dt > 2e-5)
        error = np.abs(run.q - ball.reference.q(run.t))[:, flight].max()
        back = "does not come back" if "all" in name else "comes back to 0.05"
        rows += [
            (f"{name}: largest step after t*", back, f"{run.dt[later].max():.3g}"),
            (f"{name}: steps, base steps", "-", f"{run.nsteps}, {run.nbase}"),
            (f"{name}: order in flight", "2", str(sorted(set(run.order[flight].tolist())))),
            (f"{name}: error of the first parabola", "exact", f"{error:.1e}"),
            (
                f"{name}: accumulation point t*",
                f"{T_STAR:.6f} (closed form)",
                f"{zeno[0]:.6f}" if zeno else "-",
            ),
        ]
    show("Figs 9, 10: falling mass, dt_min = 1e-5, dt_max = 0.05", rows)
    picture, axes = figure(2, 1, size=(8.0, 5.0))
    run = runs["all substeps, bisection"]
    axes[0].semilogy(run.t[1:], run.dt[1:], linewidth=0.6)
    axes[0].set(ylabel="dt", title="1, 2, 3, 4, ... substeps (Fig. 9)")
    axes[1].plot(run.t, run.u[0], linewidth=0.6)
    axes[1].set(ylim=(-0.02, 0.02), xlim=(0.6, 1.0), ylabel="dz/dt", xlabel="t")
    save(picture, "studer2008_fig9.png")
    save(runs["odd substeps, bisection"].plot(panels=["dt", "order", "q", "u"]), "studer2008_fig10.png")
