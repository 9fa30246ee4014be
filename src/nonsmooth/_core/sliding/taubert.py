"""Taubert's methods as compiled loops: Euler and the classical Runge-Kutta method with a selected field at every stage.

At each evaluation the field of the smallest indicator of every group is taken (Taubert 1976, 1981; Stewart
1996, sec. 5). No switching point is located: the error is of first order whatever the Runge-Kutta method,
and sliding appears as chattering.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.integrators.records import call_field
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.sliding.records import run_at


@phase
def selected_field(run, t, y, out):
    """The sum of the fields of the smallest indicators, which become the active regions."""
    I, h = run.set, run.values.h
    call_field(run.at.switch, run.at.run, t, y, run.psi.root)
    for j in range(run.starts.size - 1):
        best = run.starts[j]
        for k in range(run.starts[j], run.starts[j + 1]):
            I.active[k] = 0.0
            if h[k] < h[best]:
                best = k
        I.active[best] = 1.0
        I.members[j] = best
    call_field(run.solver.at.field, run.at.run, t, y, out)


@phase
def euler(run, t, h):
    """y + h f(t, y) (Taubert I)."""
    y, K = run.solver.y, run.solver.step.K
    selected_field(run, t, y, K[0])
    for k in range(y.size):
        y[k] += h * K[0, k]


@phase
def rk4(run, t, h):
    """The classical Runge-Kutta method (Taubert II)."""
    y, K, x = run.solver.y, run.solver.step.K, run.solver.step.stage
    selected_field(run, t, y, K[0])
    for s in range(1, 4):
        c = 0.5 * h if s < 3 else h
        for k in range(y.size):
            x[k] = y[k] + c * K[s - 1, k]
        selected_field(run, t + c, x, K[s])
    for k in range(y.size):
        y[k] += h / 6.0 * (K[0, k] + 2.0 * K[1, k] + 2.0 * K[2, k] + K[3, k])


@kernel
def taubert(address, dt, stages, t_out, y_out, mode_out):
    """Steps of size `dt`, cut at the instants `t_out`; states there into the rows of `y_out`, active regions
    into `mode_out`.

    `stages` is 1 (Euler, Taubert I) or 4 (classical Runge-Kutta, Taubert II).

    Returns
    -------
    steps : int
        Negative: the state was not finite after that many steps.
    """
    run = run_at(address)
    t, y = run.solver.now.t, run.solver.y
    steps = 0
    run.size.codimension = 0
    run.size.active = run.starts.size - 1
    for k in range(run.set.watch.size):
        run.set.watch[k] = 1.0
    for i in range(t_out.size):
        while t < t_out[i]:
            h = min(dt, t_out[i] - t)
            if stages == 1:
                euler(run, t, h)
            else:
                rk4(run, t, h)
            t += h
            steps += 1
        for k in range(y.size):
            if not np.isfinite(y[k]):
                return -steps
            y_out[i, k] = y[k]
        for k in range(run.set.active.size):
            mode_out[i, k] = 1 if run.set.active[k] > 0.0 else 0
    return steps
