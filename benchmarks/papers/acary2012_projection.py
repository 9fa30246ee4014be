"""Acary 2012, eq. (19), projection: bouncing pendulum of Bruls et al. 2018 (sec. 6.1), four-bar, columns of ten blocks."""

import sys
import time
from pathlib import Path

import numpy as np
from _table import show

import nonsmooth as ns

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "schemes"))
from test_projection import column, energies, four_bar, residuals, swing, tower, work_of_impulses

if __name__ == "__main__":
    rows = []
    variants = [("secant", "combined"), ("enduring", "combined"), ("enduring", "direct"), ("theta", "direct")]
    for directions, projection in variants:
        run = swing(ns.Theta(dt=1e-3, directions=directions, projection=projection), t_end=100.0)
        (gap, joint), (E, work) = residuals(run), energies(run)
        gain = np.diff(E)
        name = f"pendulum, {directions}, {projection}, {run.nsteps} steps"
        rows += [
            (name + ": penetration, joint drift", "<= 1e-12 wanted", f"{max(-gap, 0.0):.1e}, {joint:.1e}"),
            (
                name + ": energy above the start, largest gain of a step",
                "never wanted",
                f"{np.max(E) - E[0]:.1e}, {np.max(gain):.1e}",
            ),
            (
                name + ": gain of a step - work of the projection",
                "<= 0 wanted",
                f"at most {np.max(gain - work):.1e}",
            ),
        ]
        if (
            directions == "theta"
        ):  # (16c): the impulses of joints and wall take energy away; nothing else changes it
            impulses = work_of_impulses(run)
            rest = np.max(np.abs(gain - work - impulses))
            text = f"at most {np.max(impulses):.1e}; left of the balance of a step {rest:.1e}"
            rows.append((name + ": work of impulses in a step", "<= 0, 0 wanted", text))
    for method in (
        ns.Moreau(dt=1e-3),
        ns.Moreau(dt=1e-3, projection="direct"),
        ns.Theta(dt=1e-3, projection="direct"),
    ):
        name = f"four-bar, {method.name}, projection = {method.projection}: loop gap"
        rows.append((name, "Drake 5e-5, Kamino 2e-3", f"{four_bar(method):.1e}"))
    # planar blocks with friction, and blocks that only move up and down
    for (system, q0), steps in ((column(), 100_000), (tower(), 100_000)):
        begin = time.perf_counter()
        method = ns.Moreau(dt=1e-3, projection="direct")
        run = ns.simulate(system, (0, steps * 1e-3), q0, 0 * q0, method=method, every=steps // 100)
        moved, seconds = np.max(np.abs(run.q.T - q0)), time.perf_counter() - begin
        text = f"moved by {moved:.1e}, worst gap {run.audit.worst_gap:.1e} ({seconds:.0f} s)"
        rows.append(
            (f"column of ten blocks, {q0.size} coordinates, {run.nsteps} steps", "stays wanted", text)
        )
    show("Projection, eq. (19)", rows)
