"""Runge-Kutta methods for motion in given modes, as tables: what `event-capturing` steps with (Acary 2012, sec. 5).

| name | order (error estimate) | kind | source |
| --- | --- | --- | --- |
| radau1, radau3, radau5 | 1 (1), 3 (2), 5 (3) | implicit | Radau IIA, Hairer & Wanner 1996, IV.5 |
| lobatto2, lobatto4, lobatto6 | 2 (1), 4 (2), 6 (3) | implicit | Lobatto IIIA, the same; lobatto2 is the trapezoidal rule |
| midpoint2 | 2 (1) | half-explicit | Runge 1895 |
| kutta3 | 3 (2) | half-explicit | Kutta 1901 |
| rk4 | 4 (2) | half-explicit | Kutta 1901, the classical one |
| RK45 (dopri5) | 5 (4) | half-explicit | Dormand & Prince 1980 |
| RK23, RKF78, DOP853, SDIRK4 | 3, 8, 8, 4 | as in `tableaus` | |

All tables have one layout: stage 0 is the slope at the begin, stages 1 ... s - 1 follow, row s of A are the weights b, and the last
column of E multiplies the slope at the end. Collocation methods are made from their nodes, a_ij = int_0^c_i l_j, and estimate their error
by the quadrature on all nodes but the last.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from nonsmooth._core.integrators.records import EXPLICIT

from .tableaus import explicit, get_method


class StageTable(NamedTuple):
    """A Runge-Kutta method in the layout of the module's text."""

    name: str
    order: int
    error_order: int
    stages: int  # s, with stage 0
    implicit: bool
    A: np.ndarray  # (s + 1, s + 1)
    c: np.ndarray  # (s + 1,)
    E: np.ndarray  # (2, s + 1)

    @property
    def filter(self) -> float:
        """gamma of the filter (I - h gamma J)^-1 of the error of an implicit method: the mean size of the eigenvalues of A."""
        block = self.A[1 : self.stages, 1 : self.stages]
        return float(abs(np.linalg.det(block)) ** (1.0 / (self.stages - 1))) if self.implicit else 0.0

    @property
    def solves_velocities(self) -> np.ndarray | None:
        """Inverse of the map from accelerations of stages to velocities of those that follow from them, or None if it has none.

        Implicit methods: stages 1 ... s - 1 onto themselves; half-explicit ones: stage k onto k + 1.
        """
        s = self.stages
        block = self.A[1:s, 1:s] if self.implicit else self.A[1 : s + 1, :s]
        if self.implicit and np.any(self.A[1:s, 0] != 0):  # the first stage is explicit: A is singular
            return None
        if not self.implicit and not np.all(np.diag(block)):
            return None
        return np.ascontiguousarray(np.linalg.inv(block))


def lagrange_integrals(nodes, ends) -> np.ndarray:
    """Integrals from 0 to each of `ends` of the Lagrange polynomials of `nodes`, shape (ends, nodes)."""
    out = np.zeros((len(ends), len(nodes)))
    for j, c in enumerate(nodes):
        others = [x for i, x in enumerate(nodes) if i != j]
        basis = np.polynomial.Polynomial.fromroots(others) if others else np.polynomial.Polynomial([1.0])
        primitive = (basis / basis(c)).integ()
        out[:, j] = [primitive(x) for x in ends]
    return out


def collocation(name: str, nodes, order: int) -> StageTable:
    """The collocation method with these nodes; a node at 0 is the slope at the begin."""
    later = [c for c in nodes if c > 0]
    s = len(later) + 1
    first = s - len(nodes)  # 0 if there is a node at 0
    A, E = np.zeros((s + 1, s + 1)), np.zeros((2, s + 1))
    A[1:s, first:s] = lagrange_integrals(nodes, later)
    A[s, first:s] = lagrange_integrals(nodes, [1.0])[0]
    E[0] = A[s]
    E[0, : s - 1] -= lagrange_integrals([0.0, *later[:-1]], [1.0])[0]
    return StageTable(name, order, s - 1, s, True, A, np.array([0.0, *later, 1.0]), E)


def of_library(name: str) -> StageTable:
    """A method of `nonsmooth.integrators.tableaus`."""
    method = get_method(name)
    s, tableau = method.stages, method.tableau
    return from_method(name, method, method.kind != EXPLICIT, s, tableau)


def from_method(name, method, implicit, s, tableau) -> StageTable:
    """The parts of a method without those of its dense output."""
    A, c, E = tableau.A[: s + 1, : s + 1], tableau.c[: s + 1], tableau.E[:, : s + 1]
    return StageTable(
        name, method.order, method.error_order, s, implicit, np.ascontiguousarray(A), c.copy(), np.ascontiguousarray(E)
    )  # fmt: skip


def half_explicit(name: str, rows, b, b_error, c, order: int, error_order: int = 0) -> StageTable:
    """An explicit method given by its tableau."""
    method = explicit(rows, b, b_error, c, order=order, error_order=error_order or order - 1)
    return from_method(name, method, False, len(c), method.tableau)


ROOT_5, ROOT_6 = 5**0.5, 6**0.5

#: Name -> function that makes the table.
TABLES = {
    "radau1": lambda: collocation("radau1", [1.0], 1),
    "radau3": lambda: collocation("radau3", [1 / 3, 1.0], 3),
    "radau5": lambda: collocation("radau5", [(4 - ROOT_6) / 10, (4 + ROOT_6) / 10, 1.0], 5),
    "lobatto2": lambda: collocation("lobatto2", [0.0, 1.0], 2),
    "lobatto4": lambda: collocation("lobatto4", [0.0, 0.5, 1.0], 4),
    "lobatto6": lambda: collocation("lobatto6", [0.0, (5 - ROOT_5) / 10, (5 + ROOT_5) / 10, 1.0], 6),
    "midpoint2": lambda: half_explicit("midpoint2", [{0: 1 / 2}], [0, 1], [-1, 1, 0], [0, 1 / 2], 2),
    "kutta3": lambda: half_explicit(
        "kutta3", [{0: 1 / 2}, {0: -1, 1: 2}], [1 / 6, 2 / 3, 1 / 6], [1 / 6, -1 / 3, 1 / 6, 0], [0, 1 / 2, 1], 3
    ),
    "rk4": lambda: half_explicit(
        "rk4", [{0: 1 / 2}, {1: 1 / 2}, {2: 1}], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [1 / 12, -1 / 12, -1 / 12, 0, 1 / 12],
        [0, 1 / 2, 1 / 2, 1], 4, error_order=2,  # (the usual third-order one, K_4 against the end, is blind to forces of time alone)
    ),
    "RK23": lambda: of_library("RK23"),
    "RK45": lambda: of_library("RK45"),
    "RKF78": lambda: of_library("RKF78"),
    "DOP853": lambda: of_library("DOP853"),
    "SDIRK4": lambda: of_library("SDIRK4"),
}  # fmt: skip
ALIASES = {"dopri5": "RK45", "DOPRI5": "RK45", "Radau": "radau5", "trapezoid": "lobatto2"}


@cache
def stage_table(name: str) -> StageTable:
    """The table called `name` (see `TABLES`)."""
    return TABLES[ALIASES.get(name, name)]()
