"""Relay systems with known solutions: coupled relays that slide along intersections, and Filippov's spiral.

`coupled_relays`: ``x' = -A sgn(x)``. For the matrices below the origin is reached in finite time by sliding
along more and more surfaces. `filippov_spiral`: ``x_1' = -sgn x_1 + 2 sgn x_2``, ``x_2' = -2 sgn x_1 - sgn
x_2``. Since ``d/dt (|x_1| + |x_2|) = -2`` the origin is reached at ``t = (|x_1(0)| + |x_2(0)|)/2``, after
infinitely many crossings (Filippov 1988, ch. 3).
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from .base import as_state
from .three_mass import FilippovProblem

_MATRICES = {
    2: ((2.0, 1.0), (1.0, 2.0)),
    3: ((2.0, 1.0, 0.5), (0.3, 2.0, 1.0), (-0.5, 0.2, 1.5)),
}


def coupled_relays(n: int = 2) -> FilippovProblem:
    """``x' = -A sgn(x)`` with 2 or 3 surfaces from (0.5, ..., 1); switching points found surface by surface."""
    if n not in _MATRICES:
        raise ShapeError(f"coupled_relays: n = {n}, known are {sorted(_MATRICES)}")
    A = np.array(_MATRICES[n])

    def build():
        from ..sliding.groups import FilippovSystem, sign_term

        e = np.eye(n)
        return FilippovSystem(None, [sign_term(-1.0, A[:, j], e[j], name=f"relay {j + 1}") for j in range(n)])

    x0 = np.linspace(0.5, 1.0, n)
    return FilippovProblem(
        f"coupled_relays_{n}",
        f"{n} coupled relays",
        "closed form: sliding along S needs (A s)_S = 0",
        build,
        as_state(x0.tolist()),
        (0.0, 2.0),
        _relay_times(A, x0),
        np.zeros(n),
        {"n": n},
    )


def _relay_times(A, x):
    """Switching points of ``x' = -A sgn(x)`` as long as every surface that is reached is slid along."""
    n = len(x)
    x, t, on, times = x.copy(), 0.0, [], []
    while len(on) < n:
        off = [k for k in range(n) if k not in on]
        s = np.sign(x)
        if on:
            s[on] = -np.linalg.solve(A[np.ix_(on, on)], A[np.ix_(on, off)] @ s[off])
        v = -A @ s
        dt, k = min((-x[k] / v[k], k) for k in off if x[k] * v[k] < 0.0)
        x, t = x + dt * v, t + dt
        x[k] = 0.0
        on.append(k)
        times.append(t)
    return np.array(times)


def filippov_spiral(x1: float = 1.0, x2: float = 0.5) -> FilippovProblem:
    """Infinitely many crossings before the origin, which is reached at (|x1| + |x2|)/2 and held."""

    def build():
        from ..sliding.groups import FilippovSystem, sign_term

        groups = [
            sign_term(-1.0, [1.0, 2.0], [1.0, 0.0], name="x_1"),
            sign_term(1.0, [2.0, -1.0], [0.0, 1.0], name="x_2"),
        ]
        return FilippovSystem(None, groups, names=["x_1", "x_2"])

    reached = 0.5 * (abs(x1) + abs(x2))
    return FilippovProblem(
        "filippov_spiral",
        "relay spiral with an accumulation of switching points",
        "A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, Kluwer 1988, ch. 3",
        build,
        as_state([x1, x2]),
        (0.0, 2.0 * reached or 1.0),
        np.array([reached]),
        np.zeros(2),
        {"x1": x1, "x2": x2},
    )
