"""The single-step methods as data. A new explicit method is one function here: a tableau and a few lines.

| name | order (error estimate) | dense output | source |
| --- | --- | --- | --- |
| RK3 | 3 (2) | 3 | Kutta 1901; the midpoint rule as estimate |
| RK23 | 3 (2) | 3 | Bogacki & Shampine 1989 |
| RKF45 | 5 (4) | 4 | Fehlberg 1969, propagating the fifth-order solution |
| RK45 | 5 (4) | 4 | Dormand & Prince 1980 |
| RKF78 | 8 (7) | 6 | Fehlberg 1968, propagating the eighth-order solution |
| DOP853 | 8 (5, 3) | 7 | Hairer, Norsett & Wanner 1993 |
| SDIRK4 | 4 (3) | 3 | Hairer & Wanner 1996, table IV.6.5 |
| Radau | 5 (3) | 3 | Radau IIA, Hairer & Wanner 1996, IV.8 |
"""

from __future__ import annotations

from functools import cache

import numpy as np

from nonsmooth._core.integrators.records import EXPLICIT, RADAU, SDIRK, Method, Tableau

from . import dop853_data
from .continuous import dense_rows, stage_weights


def explicit(
    rows, b, b_error, c, *, order, error_order, D=(), extra_rows=(), extra_c=(), second=None
) -> Method:
    """An explicit method.

    Parameters
    ----------
    rows : list of dict
        Rows of A as ``{column: value}``, one for each stage after the first.
    b : dict or sequence
        Weights of the propagated solution.
    b_error : sequence, length stages + 1
        Weights of the error estimate, the last one multiplying the slope at the end of the step.
    c : sequence
        Nodes.
    D, extra_rows, extra_c
        Dense output: rows of D and further stages (see `nonsmooth._core.integrators.dense_output`).
    """
    s = len(c)
    total = s + 1 + len(extra_c)
    A = np.zeros((total, total))
    for i, row in enumerate(rows, start=1):
        for j, value in row.items():
            A[i, j] = value
    weights = np.zeros(s)
    for j, value in b.items() if isinstance(b, dict) else enumerate(b):
        weights[j] = value
    A[s, :s] = weights
    for i, row in enumerate(extra_rows, start=s + 1):
        for j, value in row.items():
            A[i, j] = value
    nodes = np.concatenate([c, [1.0], extra_c])
    E = np.zeros((2, s + 1))
    E[0] = b_error
    if second is not None:
        E[1] = second
    return pack(EXPLICIT, s, len(extra_c), order, error_order, A, weights, nodes, E, D)


def pack(kind, stages, extra, order, error_order, A, b, c, E, D=()) -> Method:
    """The record of a method from its tableau, padded to the number of all its stages."""
    S = len(A)

    def padded(rows):
        out = np.zeros((len(rows), S))
        for k, row in enumerate(rows):
            out[k, : len(row)] = row
        return out

    tableau = Tableau(np.ascontiguousarray(A), padded([b])[0], padded([c])[0], padded(E), padded(D))
    return Method(kind, stages, extra, order, error_order, tableau)


def rk3() -> Method:
    """Kutta's method of order 3; the cubic through values and slopes is its dense output."""
    return explicit(
        [{0: 1 / 2}, {0: -1, 1: 2}],
        [1 / 6, 2 / 3, 1 / 6],
        [1 / 6, -1 / 3, 1 / 6, 0],
        [0, 1 / 2, 1],
        order=3,
        error_order=2,
    )


def rkf45() -> Method:
    """Fehlberg 4(5), propagating the fifth-order solution."""
    rows = [
        {0: 1 / 4},
        {0: 3 / 32, 1: 9 / 32},
        {0: 1932 / 2197, 1: -7200 / 2197, 2: 7296 / 2197},
        {0: 439 / 216, 1: -8, 2: 3680 / 513, 3: -845 / 4104},
        {0: -8 / 27, 1: 2, 2: -3544 / 2565, 3: 1859 / 4104, 4: -11 / 40},
    ]
    b = [16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55]
    low = [25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0]
    b_error = [*(np.array(b) - np.array(low)), 0.0]
    c = [0, 1 / 4, 3 / 8, 12 / 13, 1, 1 / 2]
    options = dict(order=5, error_order=4)
    bare = explicit(rows, b, b_error, c, **options)
    return explicit(rows, b, b_error, c, D=dense_rows(bare.tableau.A, bare.tableau.b, 6, 4), **options)


def rk23() -> Method:
    """Bogacki-Shampine 3(2); the cubic through values and slopes is its dense output."""
    return explicit(
        [{0: 1 / 2}, {1: 3 / 4}],
        [2 / 9, 1 / 3, 4 / 9],
        [5 / 72, -1 / 12, -1 / 9, 1 / 8],
        [0, 1 / 2, 3 / 4],
        order=3,
        error_order=2,
    )


def rk45() -> Method:
    """Dormand-Prince 5(4)."""
    return explicit(
        [
            {0: 1 / 5},
            {0: 3 / 40, 1: 9 / 40},
            {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
            {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
            {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
        ],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        [-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40],
        [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1],
        order=5,
        error_order=4,
        D=[
            [
                -12715105075 / 11282082432,
                0,
                87487479700 / 32700410799,
                -10690763975 / 1880347072,
                701980252875 / 199316789632,
                -1453857185 / 822651844,
                69997945 / 29380423,
            ]
        ],
    )


def rkf78() -> Method:
    """Fehlberg 7(8), propagating the eighth-order solution; dense output of order 6 from two more stages."""
    rows = [
        {0: 2 / 27},
        {0: 1 / 36, 1: 1 / 12},
        {0: 1 / 24, 2: 1 / 8},
        {0: 5 / 12, 2: -25 / 16, 3: 25 / 16},
        {0: 1 / 20, 3: 1 / 4, 4: 1 / 5},
        {0: -25 / 108, 3: 125 / 108, 4: -65 / 27, 5: 125 / 54},
        {0: 31 / 300, 4: 61 / 225, 5: -2 / 9, 6: 13 / 900},
        {0: 2, 3: -53 / 6, 4: 704 / 45, 5: -107 / 9, 6: 67 / 90, 7: 3},
        {0: -91 / 108, 3: 23 / 108, 4: -976 / 135, 5: 311 / 54, 6: -19 / 60, 7: 17 / 6, 8: -1 / 12},
        {
            0: 2383 / 4100,
            3: -341 / 164,
            4: 4496 / 1025,
            5: -301 / 82,
            6: 2133 / 4100,
            7: 45 / 82,
            8: 45 / 164,
            9: 18 / 41,
        },
        {0: 3 / 205, 5: -6 / 41, 6: -3 / 205, 7: -3 / 41, 8: 3 / 41, 9: 6 / 41},
        {
            0: -1777 / 4100,
            3: -341 / 164,
            4: 4496 / 1025,
            5: -289 / 82,
            6: 2193 / 4100,
            7: 51 / 82,
            8: 33 / 164,
            9: 12 / 41,
            11: 1,
        },
    ]
    b = {5: 34 / 105, 6: 9 / 35, 7: 9 / 35, 8: 9 / 280, 9: 9 / 280, 11: 41 / 840, 12: 41 / 840}
    c = [0, 2 / 27, 1 / 9, 1 / 6, 5 / 12, 1 / 2, 5 / 6, 1 / 6, 2 / 3, 1 / 3, 1, 0, 1]
    b_error = np.zeros(14)
    b_error[[0, 10, 11, 12]] = np.array([1, 1, -1, -1]) * 41 / 840
    bare = explicit(rows, b, b_error, c, order=8, error_order=7)
    points = (0.25, 0.75)
    extra = [dict(enumerate(stage_weights(bare.tableau.A, theta, 5))) for theta in points]
    options = dict(order=8, error_order=7, extra_rows=extra, extra_c=points)
    full = explicit(rows, b, b_error, c, **options)
    return explicit(rows, b, b_error, c, D=dense_rows(full.tableau.A, full.tableau.b, 13, 6), **options)


def dop853() -> Method:
    """Dormand-Prince 8(5,3)."""
    data = dop853_data
    c = data.C[: data.STAGES]

    def padded(row, length):
        out = np.zeros(length)
        for j, value in row.items():
            out[j] = value
        return out

    return explicit(
        data.A[1 : data.STAGES],
        data.B,
        padded(data.E5, 13),
        c,
        order=8,
        error_order=7,
        second=padded(data.E3, 13),
        extra_rows=data.A[data.STAGES + 1 :],
        extra_c=data.C[data.STAGES + 1 :],
        D=[padded(row, 16) for row in data.D],
    )


def sdirk4() -> Method:
    """Hairer-Wanner SDIRK of order 4, gamma = 1/4, stiffly accurate. Stage 0 is the slope at the start."""
    g = 1 / 4
    inner = [
        [g],
        [1 / 2, g],
        [17 / 50, -1 / 25, g],
        [371 / 1360, -137 / 2720, 15 / 544, g],
        [25 / 24, -49 / 48, 125 / 16, -85 / 12, g],
    ]
    b_low = [59 / 48, -17 / 96, 225 / 32, -85 / 12, 0]
    A = np.zeros((7, 7))
    for i, row in enumerate(inner, start=1):
        A[i, 1 : 1 + len(row)] = row
    A[6] = A[5]
    b = A[5].copy()
    E = np.zeros((2, 7))
    E[0, 1:6] = np.array(inner[-1]) - np.array(b_low)
    c = np.array([0, 1 / 4, 3 / 4, 11 / 20, 1 / 2, 1, 1])
    return pack(SDIRK, 6, 0, 4, 3, A, b, c, E)


def radau() -> Method:
    """Radau IIA of order 5 (its numbers stand beside its step in `nonsmooth._core.integrators.radau`)."""
    s6 = 6**0.5
    c = np.array([0, (4 - s6) / 10, (4 + s6) / 10, 1, 1])
    return pack(RADAU, 4, 0, 5, 3, np.zeros((5, 5)), [], c, np.zeros((2, 5)))


#: Name -> function returning the method. Names are SciPy's where SciPy has the method.
METHODS = {
    "RK3": rk3,
    "RK23": rk23,
    "RK45": rk45,
    "RKF45": rkf45,
    "RKF78": rkf78,
    "DOP853": dop853,
    "SDIRK4": sdirk4,
    "Radau": radau,
}
ALIASES = {
    "DOPRI5": "RK45",
    "Dormand-Prince": "RK45",
    "Kutta": "RK3",
    "Fehlberg": "RKF45",
    "RadauIIA5": "Radau",
}


@cache
def get_method(name: str) -> Method:
    """The method called `name` (see `METHODS`)."""
    return METHODS[ALIASES.get(name, name)]()


def explicit_methods() -> list[str]:
    """Names of the explicit methods, those added from outside included."""
    return [name for name in METHODS if get_method(name).kind == EXPLICIT]
