"""Marbles in a jar: spring-damper contacts of N disks with each other, a floor and two walls taken as one
(2-D).

In the spirit of Compere 2001, sec. 5.3.4, whose data are not given; this definition is our own. N = 2 ... 16
disks of radius r = 0.5 and mass 1 fall into a jar of half width R = 0.6 + 0.5 sqrt(N) with a floor at height
0, gravity 9.81. They start at rest in height, in rows of marbles 1.15 apart and 1.2 above each other, each
moved a little and with its own horizontal velocity (`marble_jar`: y0). Switching functions, as many as in the
paper, N (N + 3)/2: distance of each pair minus 2 r, height above the floor minus r, and R - r - |x| for the
walls. Contact: spring k = 1e14 and, damped, dash-pot c = 0.2 sqrt(k) (a tenth of the critical one) along the
normal while the switching function is negative; no friction. Energy (5.10) is constant without damping. Damped
marbles come to rest, which is stiff: there k = 1e10 is used with explicit methods.

The stiffness is the one with which a smooth solver at tolerance 1e-3 has as much trouble with one contact as in
Table 5.6 of the paper: 32 accepted and 29 rejected steps there, 29 and 32 here (a contact lasts 3e-7 s).
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import user_kernel

from ..errors import RangeError
from ..events.switch import Switch
from .ode import OdeProblem


def marble_jar(
    n: int = 10, damping: float = 0.0, t_end: float = 2.0, stiffness: float = 1e14, tol: float = 1e-10
) -> OdeProblem:
    """`n` marbles (2 to 16), dash-pot `damping` (0 or, damped, ``0.2 * sqrt(stiffness)``)."""
    if not 2 <= n <= 64:
        raise RangeError(f"`n` is {n}; 2 to 64 marbles are wanted.")
    radius, gravity = 0.5, 9.81
    half = 0.6 + 0.5 * np.sqrt(n)
    columns = max(1, int((2 * half - 0.2) // 1.15))
    y0 = np.zeros(4 * n)
    for i in range(n):
        row, column = divmod(i, columns)
        y0[2 * i] = (column - 0.5 * (columns - 1)) * 1.15 + 0.03 * np.sin(1.0 + 2.3 * i)
        y0[2 * i + 1] = 0.8 + 1.2 * row + 0.05 * np.sin(0.7 + 1.9 * i)
        y0[2 * n + 2 * i] = 0.8 * np.sin(2.0 + 3.7 * i)
    pairs = n * (n - 1) // 2
    size = pairs + 2 * n

    def gaps(t, y):
        out = np.empty(size)
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                dx, dy = y[2 * j] - y[2 * i], y[2 * j + 1] - y[2 * i + 1]
                out[k] = np.sqrt(dx * dx + dy * dy) - 2.0 * radius
                k += 1
        for i in range(n):
            out[k] = y[2 * i + 1] - radius
            out[k + 1] = half - radius - abs(y[2 * i])
            k += 2
        return out

    def fun(t, y, mode):
        out = np.zeros(4 * n)
        v = 2 * n
        for i in range(2 * n):
            out[i] = y[v + i]
        for i in range(n):
            out[v + 2 * i + 1] = -gravity
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                if mode[k] < 0:
                    dx, dy = y[2 * j] - y[2 * i], y[2 * j + 1] - y[2 * i + 1]
                    d = np.sqrt(dx * dx + dy * dy)
                    nx, ny = dx / d, dy / d
                    rate = (y[v + 2 * j] - y[v + 2 * i]) * nx + (y[v + 2 * j + 1] - y[v + 2 * i + 1]) * ny
                    force = -stiffness * (d - 2.0 * radius) - damping * rate
                    out[v + 2 * i] -= force * nx
                    out[v + 2 * i + 1] -= force * ny
                    out[v + 2 * j] += force * nx
                    out[v + 2 * j + 1] += force * ny
                k += 1
        for i in range(n):
            if mode[k] < 0:
                out[v + 2 * i + 1] -= stiffness * (y[2 * i + 1] - radius) + damping * y[v + 2 * i + 1]
            if mode[k + 1] < 0:
                x = y[2 * i]
                sign = 1.0 if x > 0.0 else -1.0
                out[v + 2 * i] -= sign * stiffness * (abs(x) - half + radius) + damping * y[v + 2 * i]
            k += 2
        return out

    def energy(y):
        # Compere 2001, eq. (5.10)
        q, u = y[: 2 * n], y[2 * n :]
        depth = np.minimum(gaps(0.0, y), 0.0)
        return float(gravity * q[1::2].sum() + 0.5 * (u * u).sum() + 0.5 * stiffness * (depth * depth).sum())

    return OdeProblem(
        name="marble_jar",
        source="after Compere 2001, sec. 5.3.4; all data chosen here",
        summary=f"{n} marbles in a jar, {size} switching functions, {'damped' if damping else 'undamped'}",
        fun=fun,
        y0=y0,
        t_span=(0.0, t_end),
        switches=(Switch(gaps, size=size, tol=tol, name="gap"),),
        reference={"n_g": size},
        options={"rtol": 1e-3, "atol": 1e-3, "max_step": 0.1, "controller": "compere"},
        energy=energy,
    )


def smooth_right_hand_side(problem: OdeProblem):
    """The same right-hand side as a smooth solver sees it: modes from the signs of g at every evaluation
    (compiled).
    """
    (switch,) = problem.switches
    gaps, fun = user_kernel(switch.g), user_kernel(problem.fun)

    def smooth(t, y):
        g = gaps(t, y)
        mode = np.empty(g.size, np.int8)
        for i in range(g.size):
            mode[i] = -1 if g[i] < 0.0 else 1
        return fun(t, y, mode)

    return smooth
