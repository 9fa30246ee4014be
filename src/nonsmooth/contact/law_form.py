"""Laws of any kinds as contacts of one dimension: the problem of a time step in the form of `ContactProblem`.

A step has laws of several kinds between ``xi = G P + c`` and P (`_core.laws.projections`); a `ContactProblem` has contacts of one
dimension. With a selection ``P = T r + p_0``, ``u = T^T xi`` every law but a user set becomes a contact or an equality row:

====================================  =================================================================================
unilateral contact, Coulomb friction  a contact; frictionless ones are padded with rows that move nothing
interval with two finite bounds       friction with mu = 1 of a contact whose normal impulse is given: half the width of
                                      the interval, by a normal row of its own (u_N = g r_N - g w is zero there only); p_0
                                      is the middle
interval with one finite bound        a frictionless contact, p_0 is the bound
disk                                  as the interval with two bounds, in space
bilateral constraint, free interval   an equality row, eliminated (`ContactProblem.from_mixed`)
====================================  =================================================================================
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth._core.records import laws as kinds
from nonsmooth.errors import ModelError, RangeError, ShapeError

COULOMB = (kinds.COULOMB_1D, kinds.COULOMB_2D)
ROWS = {kinds.DISK: (2,), kinds.COULOMB_2D: (2,), kinds.FREE: range(1, 1000)}  # all others have one


class AsContact(NamedTuple):
    """A law as a contact: its rows, the sign of its impulses, its normal impulse where that is given, its friction."""

    rows: list[int]
    sign: float
    given: float | None
    mu: float


class LawForm:
    """Laws on `m` rows as contacts.

    Attributes
    ----------
    plain : bool
        Whether there is nothing but contacts with friction of one dimension, so that every law keeps its form.
    dim : int
        Rows of a contact.
    held : list of int
        Rows that became equality rows.
    G, c : the operator and the vector of the laws, once `problem` was asked for
    """

    def __init__(self, laws, m: int, lower=None, upper=None):
        _check(laws, m)
        self.m = m
        self.laws = laws = copy.deepcopy(laws)  # of a step they change with the next one
        self.lower, self.upper = (_bounds(b, m, name) for b, name in ((lower, "lower"), (upper, "upper")))
        self.contacts: list[AsContact] = []
        self.held: list[int] = []
        self.p_0 = np.zeros(m)
        friction = {int(laws.link[k]): k for k, kind in enumerate(laws.kind) if kind in COULOMB}
        for l in range(len(laws.kind)):
            self._add(l, friction.get(l))
        self.dim = max((len(x.rows) + (x.given is not None) for x in self.contacts), default=1)
        self.plain = not self.held and all(
            x.given is None and x.sign > 0.0 and len(x.rows) == self.dim > 1 for x in self.contacts
        )
        # column by column of T: which row it selects (-1: none), with which sign; normal impulses that are given
        size = len(self.contacts) * self.dim
        self.row, self.sign, self.given = np.full(size, -1), np.zeros(size), np.full(size, np.nan)
        for k, x in enumerate(self.contacts):
            first = k * self.dim
            if x.given is not None:
                self.given[first] = x.given
                first += 1
            self.row[first : first + len(x.rows)] = x.rows
            self.sign[first : first + len(x.rows)] = x.sign

    def _add(self, l: int, friction: int | None) -> None:
        laws, row = self.laws, int(self.laws.row[l])
        kind = laws.kind[l]
        if kind == kinds.HALF_LINE:
            mine, mu = [row], 0.0
            if friction is not None:
                begin = int(laws.row[friction])
                mine += range(begin, begin + int(laws.dim[friction]))
                mu = float(laws.mu[friction])
            self.contacts.append(AsContact(mine, 1.0, None, mu))
        elif kind == kinds.DISK:
            self.contacts.append(AsContact([row, row + 1], 1.0, float(self.upper[row]), 1.0))
        elif kind == kinds.FREE:
            self.held += range(row, row + int(laws.dim[l]))
        elif kind == kinds.INTERVAL:
            self._add_interval(row, float(self.lower[row]), float(self.upper[row]))

    def _add_interval(self, row: int, lower: float, upper: float) -> None:
        below, above = np.isfinite(lower), np.isfinite(upper)
        if below and above:
            self.p_0[row] = 0.5 * (lower + upper)
            self.contacts.append(AsContact([row], 1.0, 0.5 * (upper - lower), 1.0))
        elif below or above:
            self.p_0[row] = lower if below else upper
            self.contacts.append(AsContact([row], 1.0 if below else -1.0, None, 0.0))
        else:
            self.held.append(row)

    @property
    def T(self):
        """The selection, a sparse matrix of shape (m, rows of the contacts)."""
        columns = np.flatnonzero(self.row >= 0)
        return sp.csr_matrix(
            (self.sign[columns], (self.row[columns], columns)), shape=(self.m, self.row.size)
        )

    def problem(self, cls, G, c: np.ndarray):
        """The contacts, an object of class `cls`, for an operator `G` of `contact.delassus` and ``xi = G P + c``."""
        self.G, self.c = G, c
        T, diagonal = self.T, G.diagonal()
        own, free = (
            np.zeros(self.row.size),
            np.zeros(self.row.size),
        )  # normal rows that stand for given impulses
        for k, x in enumerate(self.contacts):
            if x.given is not None:
                own[k * self.dim] = max(diagonal[i] for i in x.rows)
                free[k * self.dim] = -own[k * self.dim] * x.given
        shifted = c + G.apply(self.p_0) if np.any(self.p_0) else c
        q = T.T @ shifted + free
        mu = np.array([x.mu for x in self.contacts])
        if G.unformed and not self.held:
            return cls(_Selected(G, T, own), q, mu, self.dim)
        G = G.entries()
        W = self._selected(G, T) + (sp.diags(own, format="csr") if sp.issparse(G) else np.diag(own))
        if not self.held:
            return cls(W, q, mu, self.dim)
        F = sp.csr_matrix(
            (np.ones(len(self.held)), (self.held, range(len(self.held)))), (self.m, len(self.held))
        )
        GF = G @ F if sp.issparse(G) else G[:, self.held]
        return cls.from_mixed(W, T.T @ GF, F.T @ GF, q, F.T @ shifted, mu, self.dim)

    def _selected(self, G, T):
        """``T^T G T``."""
        if sp.issparse(G):
            return T.T @ G @ T
        W = G[np.ix_(self.row, self.row)]  # columns that select nothing come from the last row, and go
        W *= self.sign[:, None]
        W *= self.sign
        return W

    def impulses(self, r: np.ndarray, multipliers=None) -> np.ndarray:
        """Impulses of the laws, shape (m,), from those of the contacts and of the equality rows."""
        P = self.p_0.copy()
        columns = self.row >= 0
        P[self.row[columns]] += self.sign[columns] * r[columns]
        if self.held:
            P[self.held] = multipliers
        return P

    def guess(self, P: np.ndarray) -> np.ndarray:
        """Impulses of the contacts from those of the laws."""
        if P.size != self.m:
            raise ShapeError(f"P has {P.size} entries; the laws have {self.m} rows.")
        r = np.where(self.row >= 0, self.sign * (P - self.p_0)[self.row], 0.0)
        return np.where(np.isnan(self.given), r, self.given)


class _Selected(spl.LinearOperator):
    """``T^T G T`` with an own part on the diagonal, by products."""

    def __init__(self, G, T, own):
        super().__init__(np.dtype(float), (own.size, own.size))
        self._G, self._T, self._own = G, T, own

    def _matvec(self, r):
        r = np.ravel(r)
        return self._T.T @ self._G.apply(self._T @ r) + self._own * r

    def diagonal(self):
        return (self._T.T != 0) @ self._G.diagonal() + self._own


def _bounds(values, m: int, name: str) -> np.ndarray:
    if values is None:
        return np.zeros(m)
    values = np.array(values, dtype=float)
    if values.shape != (m,):
        raise ShapeError(f"{name} has shape {values.shape}; one bound per row is wanted, shape ({m},).")
    return values


def _check(laws, m: int) -> None:
    """Laws that have the form of contacts, each row in one of them, or a typed error."""
    kind, link = np.asarray(laws.kind), np.asarray(laws.link)
    if np.any(kind == kinds.USER_SET):
        raise ModelError("the problem has convex sets of the user, which are no contacts")
    if not np.all(np.isfinite(laws.mu)):
        raise ModelError("the problem has infinite friction coefficients")
    rows: list[int] = []
    for l, code in enumerate(kind):
        if code not in range(kinds.FREE + 1):
            raise RangeError(
                f"kind[{l}] of the laws is {code}; the codes of `nonsmooth.contact.laws` are wanted."
            )
        if laws.dim[l] not in ROWS.get(int(code), (1,)):
            raise ShapeError(f"dim[{l}] of the laws is {laws.dim[l]}, which a law of that kind cannot have.")
        rows += range(int(laws.row[l]), int(laws.row[l] + laws.dim[l]))
    if sorted(rows) != list(range(m)):
        raise ShapeError(
            f"the laws have the rows {sorted(rows)}; each of the {m} rows of c belongs to one law."
        )
    linked = link[np.isin(kind, COULOMB)]
    normal = np.flatnonzero(kind == kinds.HALF_LINE)
    if not np.all(np.isin(linked, normal)) or len(set(linked.tolist())) < linked.size:
        raise ModelError("every law of Coulomb friction needs a unilateral contact of its own as its `link`.")
