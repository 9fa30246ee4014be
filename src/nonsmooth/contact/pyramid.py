"""Friction cones with facets: the contact problem as a linear complementarity problem.

Impulses ``r_T = D b`` with ``b >= 0`` and unit directions D (two in the plane, `facets` in space) leave, per contact
(Stewart and Trinkle 1996; Anitescu and Potra 1997)::

    0 <= u_N            ⟂  r_N >= 0
    0 <= D^T u_T + l    ⟂  b   >= 0                                                                       (1)
    0 <= mu r_N - sum b ⟂  l   >= 0

In the plane this is Coulomb's law itself. In space the disk of radius ``mu r_N`` is replaced by the polygon inside it: the
impulses lie in the exact cone, but slip directions and the size of friction are wrong by up to ``1 - cos(pi / facets)``. That
is an approximation, and the residual of the exact cone, which `solve_contact` reports, says how good it is.
"""

from __future__ import annotations

import numpy as np

from nonsmooth.errors import InputError, RangeError

#: Facets of a pyramid in space unless the caller says otherwise.
FACETS = 8
#: Largest linear complementarity problem that is set up (it is dense).
LARGEST = 1500


class Pyramid:
    """Problem (1) of a contact problem, and the way back to impulses.

    Attributes
    ----------
    M : ndarray, shape (m, m)
    q : ndarray, shape (m,)
    free : ndarray of bool, shape (m,)
        Rows of bilateral blocks (``w = 0``, z of any sign).
    """

    def __init__(self, problem, facets=FACETS):
        dim = problem.dim
        if isinstance(facets, bool) or not isinstance(facets, (int, np.integer)) or not 3 <= facets <= 1000:
            raise RangeError(f"facets = {facets!r}; a whole number from 3 to 1000 is wanted.")
        angle = 2.0 * np.pi * np.arange(facets) / facets
        fan = {1: np.zeros((0, 0)), 2: np.array([[1.0, -1.0]]), 3: np.array([np.cos(angle), np.sin(angle)])}[
            dim
        ]
        rubbing = (problem.mu > 0.0) & ~problem.bilateral
        columns = np.where(problem.bilateral, dim, 1) + np.where(rubbing, fan.shape[1], 0)
        total = int(columns.sum())
        size = total + int(rubbing.sum())
        if size > LARGEST:
            raise InputError(
                f"the problem with facets has {size} unknowns, and at most {LARGEST} are set up; "
                "choose fewer facets or a method for the exact cone (`auto`)."
            )
        # r = T z, one column per unknown
        T = np.zeros((problem.q.size, size))
        free = np.zeros(size, dtype=bool)
        start = 0
        slack = total
        E = np.zeros((size, size))
        for i in range(problem.n_contacts):
            row = dim * i
            if problem.bilateral[i]:
                T[row : row + dim, start : start + dim] = np.identity(dim)
                free[start : start + dim] = True
            else:
                T[row, start] = 1.0
                if rubbing[i]:
                    k = slice(start + 1, start + 1 + fan.shape[1])
                    T[row + 1 : row + dim, k] = fan
                    E[k, slack] = 1.0
                    E[slack, start] = problem.mu[i]
                    E[slack, k] = -1.0
                    slack += 1
            start += int(columns[i])
        self.T, self.free = T, free
        self.M = T.T @ problem.dense_W @ T + E
        self.q = T.T @ problem.q

    def impulses(self, z):
        """Contact impulses, shape (dim*n,), of a solution `z` of (1)."""
        return self.T @ z
