"""Newton's systems of a global problem, factorised in the velocities of its bodies.

With ``W = h^T M^-1 h`` and one pair of blocks A, B per contact, the system ``(A (W + eps I) + B) d = b`` of many contacts is one
of fewer velocities, with ``D = (eps A + B)^-1``::

    (M + h D A h^T) x = h D b,        d = D (b - A h^T x)                                                 (1)

The matrix has the pattern of the bodies that touch, which does not change between iterations: the plan of its elimination
is made once (`nonsmooth.contact.multifrontal`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from nonsmooth.contact.multifrontal import Multifrontal


class Bodies:
    """System (1) for the scaled directions ``h = H S`` of a global problem without joints."""

    def __init__(self, problem, s):
        g = problem.global_form
        n, dim = problem.q.size, problem.dim
        h = sp.csr_matrix(g.H) @ sp.diags(np.repeat(s, dim))
        self.dim, self.n = dim, n
        self.h = sp.csr_matrix(h)
        self.ht = sp.csr_matrix(self.h.T)
        self.M = sp.csr_matrix(g.M)
        # velocities that one contact connects, in whatever directions; absolute values, so that nothing cancels
        touch = abs(self.h) @ sp.kron(sp.identity(n // dim), np.ones((dim, 1)), format="csr")
        self.fronts = Multifrontal(abs(self.M) + abs(self.M.T) + touch @ touch.T)
        self.places = np.arange(n // dim), np.arange(n // dim + 1)
        self.symmetric_mass = (self.M != self.M.T).nnz == 0

    def factor(self, A, B, eps, symmetric=False):
        """A function that applies the inverse of ``A (W + eps I) + B``; `A`, `B` of shape (n, dim, dim).

        `symmetric` says that A are identities and B symmetric and positive definite.
        """
        D = np.linalg.inv(eps * A + B)
        DA = sp.bsr_matrix((D @ A, *self.places), shape=(self.n, self.n))
        inverse = self.fronts.factor(self.M + self.h @ (DA @ self.ht), symmetric and self.symmetric_mass)

        def solve(b):
            blocks = b.reshape(-1, self.dim)
            x = inverse(self.h @ np.einsum("iab,ib->ia", D, blocks).ravel())
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
