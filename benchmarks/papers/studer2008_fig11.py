"""Studer, Leine, Glocker 2008, Fig. 11: a mass slides on a table, turns round, and sticks."""

import numpy as np
from _table import figure, save, show

from nonsmooth import ExtrapolatedMoreau, problems

if __name__ == "__main__":
    problem = problems.sliding_mass()
    run = problem.simulate(method=ExtrapolatedMoreau(dt_min=1e-6, dt_max=0.1, rtol=1e-9))
    t_C = problem.reference.event_times("stick")[0]
    switching = [event for event in run.events if event.kind != "breakpoint"]
    speed = np.hypot(*run.u)
    slides = (run.t > 0.1) & (run.t < 2.9)
    turn = run.t[slides][np.argmin(speed[slides])]
    near = np.abs(run.t - turn) < 0.05
    straight = (run.t > 2.0) & (run.t < 2.9)
    size = np.hypot(*run.P_T[:, 1:]) / run.dt[1:]
    slip = run.modes[0, 1:] == 2
    show("Fig. 11: sliding mass", [
        ("switchings", "slip-stick at t_C", ", ".join(f"{e.kind} at {e.t:.9f}" for e in switching)),
        ("t_C", f"{t_C:.9f} (closed form)", f"error {switching[0].t - t_C:.1e}"),
        ("order at the turn t_A", "high", int(run.order[near].max())),
        ("smallest step at the turn", "small", f"{run.dt[near].min():.2e}"),
        ("order on the way back", "2", str(sorted(set(run.order[straight].tolist())))),
        ("friction force while sliding", "2 N", f"{size[slip].min():.9f} ... {size[slip].max():.9f}"),
        ("error of the path", "-", f"{np.abs(run.q - problem.reference.q(run.t)).max():.1e}"),
        ("steps, base steps", "-", f"{run.nsteps}, {run.nbase}"),
    ])  # fmt: skip
    picture, axes = figure(3, 2, size=(10.0, 8.0))
    axes[0, 0].plot(*run.q)
    axes[0, 0].set(xlabel="x", ylabel="y", title="path")
    axes[0, 1].step(run.t[1:], run.order[1:], where="pre")
    axes[0, 1].set(title="order")
    axes[1, 0].semilogy(run.t[1:], run.dt[1:])
    axes[1, 0].set(title="dt")
    for k, name in enumerate("xy"):
        axes[1, 1].plot(run.t[1:], run.P_T[k, 1:] / run.dt[1:], label=name)
    axes[1, 1].legend()
    axes[1, 1].set(title="friction force")
    axes[2, 0].plot(run.t, speed)
    axes[2, 0].set(title="speed", xlabel="t")
    axes[2, 1].set_axis_off()
    save(picture, "studer2008_fig11.png")
