"""The discrete frictional-contact problem: what every contact solver is given.

Local form, contact `i` a block of `dim` rows with the normal component first::

    u = W r + q,      K_i  ∋  r_i  ⟂  u_i + (mu_i |u_T,i|, 0, 0)  ∈  K_i*                                 (1)

with Coulomb's cone ``K_i = {r : |r_T| <= mu_i r_N}`` and its dual ``K_i* = {u : u_N >= mu_i |u_T|}``; this
is the form of De Saxcé and Feng (1998), with the exact second-order cone. ``mu_i = 0`` is a frictionless
contact, a *bilateral* block has ``K_i = R^dim`` (free impulse, zero velocity).

Global form::

    M v = H r + f,    u = H^T v + w                                                                       (2)

which is the local one with ``W = H^T M^-1 H`` and ``q = H^T M^-1 f + w``.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from nonsmooth.contact.delassus import Entries, OfBodies, Products, as_delassus
from nonsmooth.contact.equalities import MixedForm, eliminate
from nonsmooth.contact.global_form import GlobalForm, mass_solver
from nonsmooth.contact.law_form import LawForm
from nonsmooth.contact.problem_input import check_magnitude, dimension, friction, matrix, vector
from nonsmooth.errors import ShapeError


class Blocks(NamedTuple):
    """W in block rows: block `k` of contact `i` is ``data[k]`` for
    ``k in range(indptr[i], indptr[i + 1])``."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    diagonal: np.ndarray


class ContactProblem:
    """A frictional-contact problem ``u = W r + q`` with Coulomb's law at every contact.

    Parameters
    ----------
    W : array_like, sparse matrix or scipy.sparse.linalg.LinearOperator, shape (dim*n, dim*n)
        Delassus operator (see `nonsmooth.contact.delassus`). It is used as given: neither symmetry nor full rank nor
        definiteness is assumed, and nothing is repaired silently.
    q : array_like, shape (dim*n,)
        Relative velocities without impulses.
    mu : float or array_like, shape (n,)
        Friction coefficients; 0 is a frictionless contact.
    dim : {1, 2, 3}
        Rows of one contact, normal component first. With ``dim=1`` all contacts are frictionless.
    bilateral : array_like of bool, shape (n,), optional
        Blocks with free impulse and zero velocity.

    Attributes
    ----------
    n_contacts, dim : int
    q, mu, bilateral : the data, never modified by a solver
    delassus : products with W, its diagonal, its entries, in whichever form it was given
    W : its entries
    solution, guesses, info : what an FCLIB file held besides the problem (see `read_fclib`)
    """

    def __init__(self, W, q, mu=0.0, dim=3, bilateral=None):
        self.dim = dimension(dim)
        self.q = vector(q, "q")
        n = self.q.size
        if n % self.dim:
            raise ShapeError(
                f"ContactProblem: q has {n} entries, which is no multiple of dim = {self.dim}; "
                "give `dim` rows per contact, normal component first."
            )
        self.delassus: Entries | OfBodies | Products = as_delassus(W, n)
        self._init_laws(mu, bilateral)
        self.global_form: GlobalForm | None = None
        self.mixed_form: MixedForm | None = None

    def _init_laws(self, mu, bilateral):
        self.n_contacts = self.q.size // self.dim
        self.mu = friction(mu, self.n_contacts, self.dim)
        self.bilateral = np.zeros(self.n_contacts, dtype=bool)
        if bilateral is not None:
            flags = np.asarray(bilateral)
            if flags.dtype != bool or flags.shape != (self.n_contacts,):
                raise ShapeError(
                    f"ContactProblem: bilateral has dtype {flags.dtype} and shape {flags.shape}; "
                    f"give one bool per contact, shape ({self.n_contacts},)."
                )
            self.bilateral = flags.copy()
        check_magnitude(self.q, "q")
        self.q_norm = float(np.linalg.norm(self.q))
        self.solution = None
        self.guesses = []
        self.info = {}
        self.law_form: LawForm | None = None

    @classmethod
    def from_global(cls, M, H, f, w, mu=0.0, dim=3, bilateral=None, G=None, b=None):
        """The problem ``M v = H r + f, u = H^T v + w`` (2), optionally with joints ``G^T v + b = 0``.

        Parameters
        ----------
        M : array_like or sparse matrix, shape (n_v, n_v)
            Mass matrix (or iteration matrix of an implicit scheme), non-singular.
        H : array_like or sparse matrix, shape (n_v, dim*n)
        f : array_like, shape (n_v,)
        w : array_like, shape (dim*n,)
        G : array_like or sparse matrix, shape (n_v, m), optional
            Directions of bilateral constraints, with the right-hand side `b` of shape (m,); their
            multipliers are eliminated.
        """
        problem = cls.__new__(cls)
        problem.dim = dimension(dim)
        f, w = vector(f, "f"), vector(w, "w")
        if w.size % problem.dim:
            raise ShapeError(
                f"ContactProblem.from_global: w has {w.size} entries, no multiple of dim = {problem.dim}."
            )
        M = matrix(M, "M", (f.size, f.size))
        H = matrix(H, "H", (f.size, w.size))
        n_v = f.size
        if G is None:
            solve_mass, solve_kkt = mass_solver(M), None
            v_free = solve_mass(f)
        else:
            G = matrix(G, "G", (n_v, None))
            b = vector(np.zeros(G.shape[1]) if b is None else b, "b")
            if b.size != G.shape[1]:
                raise ShapeError(
                    f"ContactProblem.from_global: b has {b.size} entries, G has {G.shape[1]} columns."
                )
            kkt = sp.bmat([[sp.csc_matrix(M), -sp.csc_matrix(G)], [sp.csc_matrix(G).T, None]], format="csc")
            solve_kkt = mass_solver(kkt)

            def solve_mass(rhs):
                padded = np.zeros((n_v + b.size,) + rhs.shape[1:])
                padded[:n_v] = rhs.toarray() if sp.issparse(rhs) else rhs
                return solve_kkt(padded)[:n_v]

            v_free = solve_kkt(np.concatenate([f, -b]))[:n_v]
        problem.q = np.asarray(H.T @ v_free + w)
        problem.global_form = GlobalForm(M, H, f, w, G, b, solve_mass, solve_kkt)
        problem.delassus = OfBodies(problem.global_form)
        problem.mixed_form = None
        problem._init_laws(mu, bilateral)
        return problem

    @classmethod
    def from_mixed(cls, W, V, R, q, s, mu=0.0, dim=3, bilateral=None):
        """The problem ``u = W r + V l + q, 0 = V^T r + R l + s`` with free multipliers `l`, which are eliminated.

        Parameters
        ----------
        W : array_like or sparse matrix, shape (dim*n, dim*n)
        V : array_like or sparse matrix, shape (dim*n, m)
        R : array_like or sparse matrix, shape (m, m)
            Singular only if the joints are redundant and consistent.
        q, s : array_like, shapes (dim*n,) and (m,)
        """
        q, s = vector(q, "q"), vector(s, "s")
        W = matrix(W, "W", (q.size, q.size))
        V, R = matrix(V, "V", (q.size, s.size)), matrix(R, "R", (s.size, s.size))
        reduced, free, solve = eliminate(W, V, R, q, s)
        problem = cls(reduced, free, mu, dim, bilateral)
        problem.mixed_form = MixedForm(W, V, R, q, s, solve)
        return problem

    @classmethod
    def from_laws(cls, G, c, laws, lower=None, upper=None):
        """The problem of a time step: laws of any kinds between ``xi = G P + c`` and P.

        Parameters
        ----------
        G : array_like, sparse matrix or scipy.sparse.linalg.LinearOperator, shape (m, m)
        c : array_like, shape (m,)
        laws : LawTable
            Kind, first row, number of rows, normal law and friction coefficient of every law (`nonsmooth.contact.laws`).
        lower, upper : array_like, shape (m,), optional
            Bounds of intervals, by row; `upper` is the radius of a disk.

        Returns
        -------
        ContactProblem
            Every law as a contact or an equality row (see `nonsmooth.contact.law_form`). ``impulses(r)`` are the P of its
            impulses, ``guess(P)`` the way there.
        """
        c = vector(c, "c")
        form = LawForm(laws, c.size, lower, upper)
        problem = form.problem(cls, as_delassus(G, c.size), c)
        problem.law_form = form
        return problem

    @classmethod
    def of_step(cls, step):
        """The problem of a step in time (`nonsmooth._core.records.problem.Problem`), as it is for its solver."""
        laws, m = step.laws, int(step.count.rows)
        table = type(laws)(*(column[: step.count.laws] for column in laws))
        G = _near_diagonal(step.G[:m, :m], int(step.count.reach))
        return cls.from_laws(G, step.rows.c[:m], table, step.rows.lo[:m], step.rows.hi[:m])

    def impulses(self, r) -> np.ndarray:
        """Impulses of the laws the problem was made from (`from_laws`) for impulses `r` of its contacts; else `r` itself."""
        r = self.check_impulse(r, "r")
        return r if self.law_form is None else self.law_form.impulses(r, self.multipliers(r).get("l"))

    def guess(self, P) -> np.ndarray:
        """Impulses of the contacts for impulses `P` of the laws: the inverse of `impulses`."""
        return self.check_impulse(P, "P") if self.law_form is None else self.law_form.guess(vector(P, "P"))

    def multipliers(self, r) -> dict:
        """What an FCLIB solution holds besides `r` and `u`: ``v``, the velocities of the bodies (global form), and ``l``,
        the multipliers of joints or equality rows."""
        r = np.asarray(r, dtype=float)
        if self.mixed_form is not None:
            m = self.mixed_form
            return {"l": -np.asarray(m.solve(np.asarray(m.V.T @ r).ravel() + m.s)).ravel()}
        g = self.global_form
        if g is None:
            return {}
        load = np.asarray(g.H @ r).ravel() + g.f
        if g.G is None or g.b is None:
            return {"v": g.solve_mass(load)}
        both = g.solve_kkt(np.concatenate([load, -g.b]))
        return {"v": both[: g.f.size], "l": both[g.f.size :]}

    @property
    def W(self):
        """The Delassus operator as a matrix, dense or sparse (of bodies it is formed on first use)."""
        return self.delassus.entries()

    def __repr__(self):
        form = "global" if self.global_form is not None else "local"
        return f"<ContactProblem {form}, {self.n_contacts} contacts in {self.dim}-D>"

    def _repr_html_(self):
        from nonsmooth.results.notebook import text_block

        return text_block(self)

    @cached_property
    def blocks(self) -> Blocks:
        """W as sorted block rows with every diagonal block present (shape of `data`: (blocks, dim, dim))."""
        n, d = self.n_contacts, self.dim
        if not sp.issparse(self.W):
            full = self.W.reshape(n, d, n, d).transpose(0, 2, 1, 3)
            if n <= 8:
                indices = np.tile(np.arange(n), n)
                return Blocks(
                    np.arange(0, n * n + 1, n) if n else np.zeros(1, dtype=np.int64),
                    indices,
                    full.copy().reshape(n * n, d, d),
                    np.arange(n) * (n + 1),
                )
            present = np.any(full != 0.0, axis=(2, 3))
            np.fill_diagonal(present, True)
            rows, indices = np.nonzero(present)
            data = np.ascontiguousarray(full[rows, indices])
            indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        else:
            # a stored zero on the diagonal keeps every diagonal block in the pattern
            B = self.W.tocoo()
            key = (B.row // d).astype(np.int64) * n + B.col // d
            key = np.unique(np.concatenate([key, np.arange(n, dtype=np.int64) * (n + 1)]))
            rows, indices = np.divmod(key, max(n, 1))
            data = np.zeros((key.size, d, d))
            where = np.searchsorted(key, (B.row // d).astype(np.int64) * n + B.col // d)
            np.add.at(data, (where, B.row % d, B.col % d), B.data)
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        diagonal = np.searchsorted(rows * max(n, 1) + indices, np.arange(n) * (n + 1))
        return Blocks(indptr.astype(np.int64), indices.astype(np.int64), data, diagonal.astype(np.int64))

    @cached_property
    def rho(self) -> np.ndarray:
        """``rho_i = 1 / mean |diag W_ii|``, the scale of contact `i`, shape (n,). Blocks without diagonal
        use the mean."""
        return _inverse(self.diagonal.mean(axis=1))

    @cached_property
    def law_rho(self) -> np.ndarray:
        """``1 / W_NN`` and ``1 / max W_TT`` of every contact, the scales of its two laws, shape (n, 2)."""
        laws = np.empty((self.n_contacts, 2))
        laws[:, 0], laws[:, 1] = self.diagonal[:, 0], self.diagonal[:, -1]
        if self.dim == 3:
            np.maximum(laws[:, 1], self.diagonal[:, 1], out=laws[:, 1])
        return _inverse(laws)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Absolute values on the diagonal of W, shape (n, dim)."""
        return np.abs(self.delassus.diagonal()).reshape(-1, self.dim)

    @cached_property
    def weight(self) -> np.ndarray:
        """``1 / rho**2``: makes squares of velocities of the squares of impulses, shape (n,)."""
        return 1.0 / self.rho**2

    @cached_property
    def dense_W(self) -> np.ndarray:
        return self.W.toarray() if sp.issparse(self.W) else self.W

    @property
    def matrix_free(self) -> bool:
        """Whether methods had better do without the entries of W."""
        return self.delassus.unformed

    @property
    def share(self) -> float:
        """Share of non-zero blocks in W."""
        return self.blocks.indices.size / max(1, self.n_contacts**2)

    def velocity(self, r) -> np.ndarray:
        """``u = W r + q``, without forming W."""
        return self.delassus.apply(r) + self.q

    def check_impulse(self, r, name="guess") -> np.ndarray:
        """A start value as a fresh float array of the right shape, or a typed error."""
        r = vector(r, name)
        if r.size != self.q.size:
            raise ShapeError(f"{name} has {r.size} entries; the problem has {self.q.size} rows.")
        return r.copy()


def _near_diagonal(G, reach: int):
    """`G`, sparse if its entries stand at most `reach` from the diagonal and that is few of them."""
    if 4 * reach >= len(G):
        return G
    offsets = range(-reach, reach + 1)
    return sp.csr_matrix(sp.diags([np.diagonal(G, k) for k in offsets], offsets))


def _inverse(scale) -> np.ndarray:
    """One over each entry; entries that are next to nothing count as the mean, one if there is none."""
    typical = scale.mean() if scale.size else 0.0
    if typical == 0.0:
        return np.ones_like(scale)
    return 1.0 / np.where(scale > 1e-14 * typical, scale, typical)
