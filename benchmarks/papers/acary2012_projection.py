"""Acary 2012, eq. (19), projection: bouncing pendulum of Bruls et al. 2018 (sec. 6.1), four-bar, columns of ten blocks.

The column of planar blocks takes 2000 steps, or 1e5 with ``--long`` (some minutes).
"""

import sys
import time
from pathlib import Path

import numpy as np
from _table import show

import nonsmooth as ns

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "schemes"))
from test_projection import energies, four_bar, residuals, swing, tower


def column(n=10, w=1.0, h=0.5):
    """Blocks (x, y, angle) in a plane, corners on the face below, friction 0.5."""

    def corner(q, i, side, p):
        c, s = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2])
        return c * side * p.w / 2 + s * p.h / 2, s * side * p.w / 2 - c * p.h / 2

    def gap(t, q, p, out):
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                if i == 0:
                    out[k] = q[1] + y
                else:
                    j = 3 * (i - 1)
                    dx, dy = q[3 * i] + x - q[j], q[3 * i + 1] + y - q[j + 1]
                    out[2 * i + k] = -np.sin(q[j + 2]) * dx + np.cos(q[j + 2]) * dy - p.h / 2

    def tangent(t, q, p, out):
        out[:] = 0.0
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                tx, ty = 1.0, 0.0
                if i > 0:
                    j = 3 * (i - 1)
                    tx, ty = np.cos(q[j + 2]), np.sin(q[j + 2])
                    dx, dy = q[3 * i] + x - q[j], q[3 * i + 1] + y - q[j + 1]
                    out[j, 2 * i + k], out[j + 1, 2 * i + k], out[j + 2, 2 * i + k] = (
                        -tx,
                        -ty,
                        tx * dy - ty * dx,
                    )
                out[3 * i, 2 * i + k], out[3 * i + 1, 2 * i + k] = tx, ty
                out[3 * i + 2, 2 * i + k] = ty * x - tx * y

    m = w * h
    system = ns.MechanicalSystem(
        np.diag(np.tile([m, m, m * (w**2 + h**2) / 12], n)), np.tile([0.0, -9.81 * m, 0.0], n),
        ns.Contact(gap, friction=0.5, tangent=tangent), params={"w": w, "h": h},
    )  # fmt: skip
    return system, np.ravel([(0.0, h / 2 + i * h, 0.0) for i in range(n)])


if __name__ == "__main__":
    rows = []
    for directions, projection in (("enduring", "combined"), ("enduring", "direct"), ("theta", "direct")):
        run = swing(ns.Theta(dt=1e-3, directions=directions, projection=projection), t_end=100.0)
        (gap, joint), (E, work) = residuals(run), energies(run)
        gain = np.diff(E)
        up = gain > 1e-15
        name = f"pendulum, {directions}, {projection}, {run.nsteps} steps"
        rows += [
            (name + ": penetration, joint drift", "<= 1e-12 wanted", f"{max(-gap, 0.0):.1e}, {joint:.1e}"),
            (name + ": energy above the start", "never wanted", f"{np.max(E) - E[0]:.1e}"),
            (
                name + ": gain of a step - work",
                "0 wanted",
                f"at most {np.max(gain - work):.1e}; |.| {np.max(np.abs(gain - work)[up]):.1e}",
            ),
        ]
    for method in (
        ns.Moreau(dt=1e-3),
        ns.Moreau(dt=1e-3, projection="direct"),
        ns.Theta(dt=1e-3, projection="direct"),
    ):
        name = f"four-bar, {method.name}, projection = {method.projection}: loop gap"
        rows.append((name, "Drake 5e-5, Kamino 2e-3", f"{four_bar(method):.1e}"))
    # planar blocks with friction, and blocks that only move up and down
    for (system, q0), steps in ((column(), 100_000 if "--long" in sys.argv else 2_000), (tower(), 100_000)):
        begin = time.perf_counter()
        method = ns.Moreau(dt=1e-3, projection="direct")
        run = ns.simulate(system, (0, steps * 1e-3), q0, 0 * q0, method=method, every=steps // 100)
        moved, seconds = np.max(np.abs(run.q.T - q0)), time.perf_counter() - begin
        text = f"moved by {moved:.1e}, worst gap {run.audit.worst_gap:.1e} ({seconds:.0f} s)"
        rows.append(
            (f"column of ten blocks, {q0.size} coordinates, {run.nsteps} steps", "stays wanted", text)
        )
    show("Projection, eq. (19)", rows)
