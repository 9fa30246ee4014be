"""Newton's systems of a global problem, factorised in the velocities of its bodies.

With ``W = h^T M^-1 h`` and one pair of blocks A, B per contact, the system ``(A (W + eps I) + B) d = b`` of many contacts is one
of fewer velocities, with ``D = (eps A + B)^-1``::

    (M + h D A h^T) x = h D b,        d = D (b - A h^T x)                                                 (1)

The matrix has the pattern of the bodies that touch, which does not change between iterations: the unknowns are put into
an order that keeps the factors small once (`nonsmooth.contact.dissection`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth.contact.dissection import dissect


class Bodies:
    """System (1) for the scaled directions ``h = H S`` of a global problem without joints."""

    def __init__(self, problem, s):
        g = problem.global_form
        n, dim = problem.q.size, problem.dim
        h = sp.csr_matrix(g.H) @ sp.diags(np.repeat(s, dim))
        order = dissect(abs(sp.csr_matrix(g.M)) + abs(h) @ abs(h.T))
        self.dim, self.n = dim, n
        self.h = sp.csr_matrix(h[order])
        self.ht = sp.csr_matrix(self.h.T)
        self.M = sp.csc_matrix(sp.csr_matrix(g.M)[order][:, order])
        self.places = np.arange(n // dim), np.arange(n // dim + 1)

    def factor(self, A, B, eps):
        """A function that applies the inverse of ``A (W + eps I) + B``; `A`, `B` of shape (n, dim, dim)."""
        D = np.linalg.inv(eps * A + B)
        DA = sp.bsr_matrix((D @ A, *self.places), shape=(self.n, self.n))
        K = sp.csc_matrix(self.M + self.h @ (DA @ self.ht))
        options = {"SymmetricMode": True}
        factors = spl.splu(K, permc_spec="NATURAL", diag_pivot_thresh=0.01, options=options)

        def solve(b):
            blocks = b.reshape(-1, self.dim)
            x = factors.solve(self.h @ np.einsum("iab,ib->ia", D, blocks).ravel())
            rest = blocks - np.einsum("iab,ib->ia", A, (self.ht @ x).reshape(-1, self.dim))
            return np.einsum("iab,ib->ia", D, rest).ravel()

        return solve


def bodies_of(problem, s, smallest):
    """`Bodies` of a global problem with more than `smallest` rows, kept with it, else None."""
    g = problem.global_form
    if g is None or g.G is not None or problem.q.size <= smallest:
        return None
    if "_bodies" not in problem.__dict__:
        problem.__dict__["_bodies"] = Bodies(problem, s)
    return problem.__dict__["_bodies"]
