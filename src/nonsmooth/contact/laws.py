"""The table of set-valued laws of a model: the meeting point of models, solvers and results.

Order of laws (rows of ``result.modes``): unilateral contacts, then the friction of contacts, then friction elements, then
other set-valued elements, then bilateral constraints. Order of rows (impulses): the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nonsmooth._core.records import laws as codes
from nonsmooth._core.records.laws import Laws, make_laws

KIND_NAMES = {
    codes.HALF_LINE: "unilateral contact",
    codes.INTERVAL: "interval",
    codes.DISK: "disk",
    codes.COULOMB_1D: "Coulomb friction (line)",
    codes.COULOMB_2D: "Coulomb friction (disk)",
    codes.USER_SET: "convex set",
    codes.FREE: "bilateral constraint",
}


@dataclass
class LawTable:
    """One entry per law.

    Attributes
    ----------
    kind, row, dim, link : ndarray of int64, shape (n_laws,)
        Kind of set, first row, number of rows, index of the normal law of a Coulomb law (else -1).
    mu, e : ndarray of float64, shape (n_laws,)
        Friction coefficient and restitution.
    name : list of str
    n_N : int
        Number of unilateral laws (they come first, one row each).
    n_J : int
        Number of rows of bilateral constraints (they come last).
    """

    kind: np.ndarray
    row: np.ndarray
    dim: np.ndarray
    link: np.ndarray
    mu: np.ndarray
    e: np.ndarray
    name: list[str] = field(default_factory=list)
    n_N: int = 0
    n_J: int = 0

    @property
    def n_laws(self) -> int:
        return self.kind.size

    @property
    def n_rows(self) -> int:
        return int(self.dim.sum())

    def core(self) -> Laws:
        """The table as the compiled loops take it (never empty, so that types stay the same)."""
        table = make_laws(self.n_laws)
        for name, column in zip(Laws._fields, table):
            column[: self.n_laws] = getattr(self, name)
        return table


class LawTableBuilder:
    """Collects laws in the order of the table."""

    def __init__(self):
        self.entries: list[tuple] = []
        self.names: list[str] = []
        self.row = 0

    def add(self, kind, dim, name, link=-1, mu=0.0, e=0.0) -> int:
        """Append a law; returns its first row."""
        row = self.row
        self.entries.append((kind, row, dim, link, mu, e))
        self.names.append(name)
        self.row += dim
        return row

    def build(self, n_N: int, n_J: int) -> LawTable:
        kind, row, dim, link = (np.array([e[k] for e in self.entries], dtype=np.int64) for k in range(4))
        mu, e = (np.array([entry[k] for entry in self.entries], dtype=np.float64) for k in (4, 5))
        return LawTable(kind, row, dim, link, mu, e, name=self.names, n_N=n_N, n_J=n_J)
