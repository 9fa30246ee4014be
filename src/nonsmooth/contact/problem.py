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
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth.contact.equalities import MixedForm, eliminate
from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError

#: Above this share of non-zero blocks a matrix is treated as dense by the direct solvers.
DENSE_SHARE = 0.3

#: Largest entries of W and q have to lie between this and its inverse.
EXTREME = 1e-100


class Blocks(NamedTuple):
    """W in block rows: block `k` of contact `i` is ``data[k]`` for
    ``k in range(indptr[i], indptr[i + 1])``."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    diagonal: np.ndarray


class GlobalForm(NamedTuple):
    """The matrices of (2); `solve_mass` applies the inverse of M to a vector or to columns."""

    M: Any
    H: Any
    f: np.ndarray
    w: np.ndarray
    G: Any
    b: np.ndarray | None
    solve_mass: Any
    solve_kkt: Any


class ContactProblem:
    """A frictional-contact problem ``u = W r + q`` with Coulomb's law at every contact.

    Parameters
    ----------
    W : array_like or sparse matrix, shape (dim*n, dim*n)
        Delassus matrix. It is used as given: neither symmetry nor full rank nor definiteness is assumed, and
        nothing is repaired silently.
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
    W, q, mu, bilateral : the data, never modified by a solver
    solution, guesses, info : what an FCLIB file held besides the problem (see `read_fclib`)
    """

    def __init__(self, W, q, mu=0.0, dim=3, bilateral=None):
        self.dim = _dimension(dim)
        self.q = _vector(q, "q")
        n = self.q.size
        if n % self.dim:
            raise ShapeError(
                f"ContactProblem: q has {n} entries, which is no multiple of dim = {self.dim}; "
                "give `dim` rows per contact, normal component first."
            )
        self.W = _matrix(W, "W", (n, n))
        self._init_laws(mu, bilateral)
        self.global_form = self.mixed_form = None

    def _init_laws(self, mu, bilateral):
        self.n_contacts = self.q.size // self.dim
        self.mu = _friction(mu, self.n_contacts, self.dim)
        self.bilateral = np.zeros(self.n_contacts, dtype=bool)
        if bilateral is not None:
            flags = np.asarray(bilateral)
            if flags.dtype != bool or flags.shape != (self.n_contacts,):
                raise ShapeError(
                    f"ContactProblem: bilateral has dtype {flags.dtype} and shape {flags.shape}; "
                    f"give one bool per contact, shape ({self.n_contacts},)."
                )
            self.bilateral = flags.copy()
        _check_magnitude(self.q, "q")
        self.q_norm = float(np.linalg.norm(self.q))
        self.solution = None
        self.guesses = []
        self.info = {}

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
        problem.dim = _dimension(dim)
        f, w = _vector(f, "f"), _vector(w, "w")
        if w.size % problem.dim:
            raise ShapeError(
                f"ContactProblem.from_global: w has {w.size} entries, no multiple of dim = {problem.dim}."
            )
        M = _matrix(M, "M", (f.size, f.size))
        H = _matrix(H, "H", (f.size, w.size))
        n_v = f.size
        if G is None:
            solve_mass, solve_kkt = _mass_solver(M), None
            v_free = solve_mass(f)
        else:
            G = _matrix(G, "G", (n_v, None))
            b = _vector(np.zeros(G.shape[1]) if b is None else b, "b")
            if b.size != G.shape[1]:
                raise ShapeError(
                    f"ContactProblem.from_global: b has {b.size} entries, G has {G.shape[1]} columns."
                )
            kkt = sp.bmat([[sp.csc_matrix(M), -sp.csc_matrix(G)], [sp.csc_matrix(G).T, None]], format="csc")
            solve_kkt = _mass_solver(kkt)

            def solve_mass(rhs):
                padded = np.zeros((n_v + b.size,) + rhs.shape[1:])
                padded[:n_v] = rhs.toarray() if sp.issparse(rhs) else rhs
                return solve_kkt(padded)[:n_v]

            v_free = solve_kkt(np.concatenate([f, -b]))[:n_v]
        problem.q = np.asarray(H.T @ v_free + w)
        problem.global_form = GlobalForm(M, H, f, w, G, b, solve_mass, solve_kkt)
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
        q, s = _vector(q, "q"), _vector(s, "s")
        W = _matrix(W, "W", (q.size, q.size))
        V, R = _matrix(V, "V", (q.size, s.size)), _matrix(R, "R", (s.size, s.size))
        reduced, free, solve = eliminate(W, V, R, q, s)
        problem = cls(reduced, free, mu, dim, bilateral)
        problem.mixed_form = MixedForm(W, V, R, q, s, solve)
        return problem

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
        if g.G is None:
            return {"v": g.solve_mass(load)}
        both = g.solve_kkt(np.concatenate([load, -g.b]))
        return {"v": both[: g.f.size], "l": both[g.f.size :]}

    def __getattr__(self, name):
        # W of a global problem is formed on first use only
        if name == "W" and self.__dict__.get("global_form") is not None:
            self.W = _delassus(self.global_form)
            return self.W
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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
        laws = np.column_stack([self.diagonal[:, 0], self.diagonal[:, min(1, self.dim - 1) :].max(axis=1)])
        return _inverse(laws)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Absolute values on the diagonal of W, shape (n, dim)."""
        if not self.matrix_free:
            return np.abs(np.asarray(self.W.diagonal())).reshape(-1, self.dim)
        g = self.global_form
        found = np.empty(self.q.size)
        Ht = sp.csr_matrix(g.H.T)
        for start in range(0, self.q.size, 512):
            columns = sp.csc_matrix(g.H)[:, start : start + 512]
            solved = g.solve_mass(columns)
            found[start : start + 512] = np.asarray(
                Ht[start : start + 512].multiply(solved.T).sum(axis=1)
            ).ravel()
        return np.abs(found).reshape(-1, self.dim)

    @cached_property
    def weight(self) -> np.ndarray:
        """``1 / rho**2``: makes squares of velocities of the squares of impulses, shape (n,)."""
        return 1.0 / self.rho**2

    @cached_property
    def dense_W(self) -> np.ndarray:
        return self.W.toarray() if sp.issparse(self.W) else self.W

    @cached_property
    def matrix_free(self) -> bool:
        """Whether W stays unformed: a large global problem whose W would be far fuller than H (sampled
        columns decide)."""
        if self.global_form is None or "W" in self.__dict__ or self.q.size <= 3000:
            return False
        g = self.global_form
        sample = np.linspace(0, self.q.size - 1, 8).astype(int)
        columns = g.H.T @ g.solve_mass(g.H[:, sample])
        filled = np.count_nonzero(np.asarray(columns)) / sample.size * self.q.size
        entries = g.H.nnz if sp.issparse(g.H) else g.H.size
        return filled > 2e7 and filled > 30 * entries

    @property
    def share(self) -> float:
        """Share of non-zero blocks in W."""
        return self.blocks.indices.size / max(1, self.n_contacts**2)

    def velocity(self, r) -> np.ndarray:
        """``u = W r + q``; a global problem answers without forming W."""
        if self.global_form is not None and "W" not in self.__dict__:
            g = self.global_form
            return np.asarray(g.H.T @ g.solve_mass(np.asarray(g.H @ r).ravel())).ravel() + self.q
        return np.asarray(self.W @ r).ravel() + self.q

    def check_impulse(self, r, name="guess") -> np.ndarray:
        """A start value as a fresh float array of the right shape, or a typed error."""
        r = _vector(r, name)
        if r.size != self.q.size:
            raise ShapeError(f"{name} has {r.size} entries; the problem has {self.q.size} rows.")
        return r.copy()


def _inverse(scale) -> np.ndarray:
    """One over each entry; entries that are next to nothing count as the mean, one if there is none."""
    typical = scale.mean() if scale.size else 0.0
    if typical == 0.0:
        return np.ones_like(scale)
    return 1.0 / np.where(scale > 1e-14 * typical, scale, typical)


def _dimension(dim) -> int:
    if isinstance(dim, bool) or dim not in (1, 2, 3):
        raise RangeError(f"ContactProblem: dim = {dim!r}; a contact has 1 (frictionless), 2 or 3 rows.")
    return int(dim)


def _vector(value, name) -> np.ndarray:
    array = _floats(value, name)
    if array.ndim != 1:
        raise ShapeError(f"{name} has shape {array.shape}; a one-dimensional array is wanted.")
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(
            f"{name}[{int(np.argmin(np.isfinite(array)))}] is not finite; give finite numbers."
        )
    return array


def _floats(value, name) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            if array.size == 0:
                return np.zeros(array.shape)
            raise TypeError
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{name} is no array of real numbers (got {type(value).__name__}).") from None


def _matrix(value, name, shape):
    if sp.issparse(value):
        if value.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {value.dtype}; a real matrix is wanted.")
        A = value.astype(np.float64)
        A = A if A.format in ("csc", "csr", "bsr") else A.tocsc()
        entries = A.data
    else:
        A = _floats(value, name)
        if A.ndim != 2 and A.size == 0:
            A = A.reshape(tuple(0 if s is None else s for s in shape) if 0 in shape else (0, 0))
        entries = A
    wanted = tuple(have if s is None else s for have, s in zip(A.shape, shape)) if A.ndim == 2 else shape
    if A.ndim != 2 or A.shape != wanted:
        raise ShapeError(f"{name} has shape {A.shape}; {shape} is wanted (rows of q decide).")
    if not np.all(np.isfinite(entries)):
        raise NonFiniteError(f"{name} holds NaN or infinite entries; give finite numbers.")
    _check_magnitude(entries, name)
    return A


def _check_magnitude(entries, name):
    """Refuse numbers whose squares overflow or vanish: a residual computed from them would mean nothing."""
    top = float(np.max(np.abs(entries))) if entries.size else 0.0
    if top != 0.0 and not EXTREME < top < 1.0 / EXTREME:
        raise RangeError(
            f"the largest entry of {name} is {top:.1e}; beyond {EXTREME:.0e} to {1 / EXTREME:.0e} "
            "rounding cannot be judged. Choose other units."
        )


def _friction(mu, n, dim) -> np.ndarray:
    mu = _floats(mu, "mu")
    if mu.ndim == 0:
        mu = np.full(n, float(mu))
    if mu.shape != (n,):
        raise ShapeError(f"mu has shape {mu.shape}; give a number or one value per contact, shape ({n},).")
    if not np.all(np.isfinite(mu)):
        raise NonFiniteError("mu holds NaN or infinite entries; give finite numbers (or a bilateral block).")
    if np.any(mu < 0.0):
        k = int(np.argmax(mu < 0.0))
        raise RangeError(f"mu[{k}] = {mu[k]:g}; a friction coefficient is not negative.")
    return np.zeros(n) if dim == 1 else mu.copy()


def _mass_solver(M):
    """Factor M once; the returned function applies its inverse to a vector or to the columns of an array."""
    try:
        if M.shape[0] == 0:
            return lambda rhs: np.zeros(np.shape(rhs))
        factor = spl.splu(sp.csc_matrix(M))
        diagonal = np.abs(factor.U.diagonal())
    except RuntimeError:
        diagonal = np.zeros(1)
    if diagonal.min() <= 1e-14 * diagonal.max():
        raise ModelError(
            "ContactProblem.from_global: M (with the joints G) is singular; "
            "remove bodies without mass or redundant joints."
        )
    return lambda rhs: factor.solve(rhs.toarray() if sp.issparse(rhs) else np.asarray(rhs))


def _delassus(g: GlobalForm):
    """``W = H^T M^-1 H``, sparse where it is sparse: columns are solved in slices, tiny fill is dropped
    exactly at zero."""
    n = g.w.size
    Ht = sp.csr_matrix(g.H.T)
    inverse = _sparse_inverse(g.M) if g.G is None else None
    if inverse is not None:
        W = sp.csc_matrix(Ht @ (inverse @ sp.csc_matrix(g.H)))
        return W if W.nnz < DENSE_SHARE * n * n else W.toarray()
    slices = []
    for start in range(0, n, 512):
        columns = g.H[:, start : start + 512]
        slices.append(sp.csc_matrix(Ht @ g.solve_mass(columns)))
    W = sp.hstack(slices, format="csc") if slices else sp.csc_matrix((n, n))
    W.eliminate_zeros()
    return W if W.nnz < DENSE_SHARE * n * n else W.toarray()


def _sparse_inverse(M, largest=24):
    """``M^-1`` as a sparse matrix where M falls into small independent blocks (bodies without joints), else
    None."""
    M = sp.csr_matrix(M)
    count, label = sp.csgraph.connected_components(M, directed=False)
    sizes = np.bincount(label, minlength=count)
    if M.shape[0] == 0 or sizes.max() > largest:
        return None
    order = np.argsort(label, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows, columns, values = [], [], []
    for size in np.unique(sizes):
        members = order[starts[:-1][sizes == size][:, None] + np.arange(size)]  # one block per line
        place = np.empty(M.shape[0], dtype=np.int64)
        place[members] = np.arange(members.shape[0])[:, None]
        inner = np.empty(M.shape[0], dtype=np.int64)
        inner[members] = np.arange(size)
        entries = M[members.ravel()].tocoo()
        blocks = np.zeros((members.shape[0], size, size))
        source = members.ravel()[entries.row]
        np.add.at(blocks, (place[source], inner[source], inner[entries.col]), entries.data)
        values.append(np.linalg.inv(blocks).ravel())
        rows.append(np.repeat(members, size, axis=1).ravel())
        columns.append(np.tile(members, (1, size)).ravel())
    return sp.csr_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=M.shape
    )
