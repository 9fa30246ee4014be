"""Taubert's methods as compiled loops: Euler and the classical Runge-Kutta method with a selected field at
every stage.

At each evaluation the field of the smallest indicator of every group is taken (Taubert 1976, 1981; Stewart
1996, sec. 5). No switching point is located: the error is of first order whatever the Runge-Kutta method,
and sliding appears as chattering.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel
from nonsmooth._core.sliding.functions import field, switch
from nonsmooth._core.sliding.layout import ACTIVE, HEAD, LIST, N_ACTIVE, R_, SLIDES, WATCH, H


@kernel
def select(t, y, p, lay, starts, buffer):
    """Make the region of the smallest indicator the only active one in every group."""
    switch(t, y, p, buffer)
    a, h = lay[ACTIVE], lay[H]
    for j in range(starts.size - 1):
        best = starts[j]
        for k in range(starts[j], starts[j + 1]):
            p[a + k] = 0.0
            if p[h + k] < p[h + best]:
                best = k
        p[a + best] = 1.0
        p[lay[LIST] + j] = best


@kernel
def taubert(t, y, dt, stages, p, lay, starts, t_out, y_out, mode_out):
    """Steps of size `dt`, cut at the instants `t_out`; states there into the rows of `y_out`, active regions
    into `mode_out`.

    `stages` is 1 (Euler, Taubert I) or 4 (classical Runge-Kutta, Taubert II).

    Returns
    -------
    steps : int
        Negative: the state was not finite after that many steps.
    """
    n = y.size
    R = lay[R_]
    buffer = np.empty(R)
    K = np.empty((4, n))
    x = np.empty(n)
    steps = 0
    p[lay[HEAD] + SLIDES] = 0.0
    p[lay[HEAD] + N_ACTIVE] = starts.size - 1
    for k in range(R):
        p[lay[WATCH] + k] = 1.0
    for i in range(t_out.size):
        while t < t_out[i]:
            h = min(dt, t_out[i] - t)
            select(t, y, p, lay, starts, buffer)
            field(t, y, p, K[0])
            if stages == 1:
                for k in range(n):
                    y[k] += h * K[0, k]
            else:
                for s in range(1, 4):
                    c = 0.5 * h if s < 3 else h
                    for k in range(n):
                        x[k] = y[k] + c * K[s - 1, k]
                    select(t + c, x, p, lay, starts, buffer)
                    field(t + c, x, p, K[s])
                for k in range(n):
                    y[k] += h / 6.0 * (K[0, k] + 2.0 * K[1, k] + 2.0 * K[2, k] + K[3, k])
            t += h
            steps += 1
        for k in range(n):
            if not np.isfinite(y[k]):
                return -steps
            y_out[i, k] = y[k]
        for k in range(R):
            mode_out[i, k] = 1 if p[lay[ACTIVE] + k] > 0.0 else 0
    return steps
