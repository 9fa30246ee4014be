"""Small prox problems for the tests of the core, and a plain NumPy check of their solutions."""

import numpy as np

from nonsmooth._core.jit import Reference
from nonsmooth._core.laws import solve_laws as S
from nonsmooth._core.records import laws as L
from nonsmooth._core.records import problem as O
from nonsmooth._core.stepping.trivial import no_projection

METHODS = {"exact": O.AUTO, "psor": O.PSOR, "pjor": O.PJOR, "newton": O.NEWTON}
STRATEGIES = {"local": 0, "row-sum": 1, "common": 2}


class Prox:
    """xi = G P + c with laws [(kind, dim, link, mu), ...]; bounds of interval and disk laws by row."""

    def __init__(self, G, c, laws, lower=None, upper=None, project=no_projection):
        self.n, self.laws, self.f_project = len(c), laws, project
        n_laws = len(laws)
        self.problem = O.make_problem(S.addresses(project), n_laws, self.n, O.SolverOptions())
        self.reference = Reference(self.problem)
        self.table, self.rows, self.G = self.problem.laws, self.problem.rows, self.problem.G
        self.G[:] = G
        self.rows.c[:] = c
        self.rows.lo[:] = 0.0 if lower is None else lower
        self.rows.hi[:] = 0.0 if upper is None else upper
        row = 0
        for l, (kind, dim, link, mu) in enumerate(laws):
            self.table.law[l], self.table.kind[l], self.table.row[l], self.table.dim[l] = l, kind, row, dim
            self.table.link[l], self.table.mu[l] = link, mu
            row += dim
        assert row == self.n

    def solve(
        self, method="exact", tol=1e-10, max_iter=20_000, omega=1.0, strategy="local", newton=12, dt=1.0
    ):
        """Impulses; `iterations`, `residual`, `modes`, `xi` are left as attributes."""
        options = self.problem.options
        options.method, options.tol, options.max_iter = METHODS[method], tol, max_iter
        options.omega, options.strategy, options.newton = omega, STRATEGIES[strategy], newton
        self.residual = S.solve(self.reference.address, dt, len(self.laws), self.n)
        self.iterations = self.problem.count.iterations
        self.modes, self.xi = self.table.mode.copy(), self.rows.xi.copy()
        return self.rows.P.copy()

    def violation(self, P):
        """How far P is from solving the laws, by plain NumPy: |P - prox(P - xi/g)| g, g the diagonal of G."""
        xi = self.G @ P + self.rows.c
        worst, row = 0.0, 0
        for kind, dim, link, mu in self.laws:
            i = slice(row, row + dim)
            g = self.G[row, row]
            x = P[i] - xi[i] / g
            if kind == L.HALF_LINE:
                y = np.maximum(x, 0.0)
            elif kind == L.FREE:
                y = x
            else:
                r = self.rows.hi[row]
                if kind in (L.COULOMB_1D, L.COULOMB_2D):
                    r = mu * max(P[self.table.row[link]], 0.0)
                if dim == 1:
                    y = np.clip(x, self.rows.lo[row] if kind == L.INTERVAL else -r, r)
                else:
                    y = x if np.hypot(*x) <= r else x * (r / np.hypot(*x))
            worst = max(worst, g * np.max(np.abs(P[i] - y)))
            row += dim
        return worst / max(np.max(np.abs(self.rows.c)), 1e-300)


def spd(rng, n, rank=None):
    """A random symmetric matrix, positive definite unless `rank` is smaller than n."""
    A = rng.normal(size=(n, n + 2 if rank is None else rank))
    return A @ A.T


def coulomb(n_contacts, dim, mu):
    """Laws of frictional contacts: normals first, then friction."""
    kind = L.COULOMB_1D if dim == 1 else L.COULOMB_2D
    return [(L.HALF_LINE, 1, -1, 0.0)] * n_contacts + [(kind, dim, k, mu) for k in range(n_contacts)]


def contact_matrix(rng, n_contacts, dim, coupling=0.2):
    """Delassus matrix of contacts with weak coupling, so that the frictional problem has one solution."""
    n = n_contacts * (1 + dim)
    A = np.eye(n) + coupling * rng.uniform(-1, 1, (n, n)) / np.sqrt(n)
    return A @ A.T
