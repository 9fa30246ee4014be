"""The mass matrix of a model as schemes use it: factorised where it stands, solved with; constant, dense, banded or sparse."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import MATRIX, VECTOR, Reference, address_record
from nonsmooth._core.linalg.mass import Mass, MassInfo, factorise_mass
from nonsmooth.errors import ModelError
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.matrix_operator import MatrixOperator


class MassOperator:
    """M(t, q) of a bound model.

    Attributes
    ----------
    kind : str
        "dense", "banded" or "sparse".
    constant : bool
        Whether M depends on nothing: factorised once.
    reference : Reference
        ``reference.address`` is what the kernel `factorise_mass` takes; ``factors.reference.address`` is for `solve`.
    """

    def __init__(self, model, pattern: Pattern):
        self.factors = MatrixOperator(pattern, definite=True)
        self.kind, self.constant = self.factors.kind, model.constant_mass
        info = MassInfo()
        info.constant = int(self.constant)
        self._p, self._u0 = model.parameters.flat, np.zeros(model.n_u)
        on_pattern = getattr(model, "mass_values", None)
        self._mass = model.core.mass if on_pattern is None else on_pattern  # kept alive
        writer = (
            {"mass": (self._mass, MATRIX), "mass_values": 0}
            if on_pattern is None
            else {"mass": 0, "mass_values": (self._mass, VECTOR)}
        )
        self._record = Mass(
            at=address_record(**writer, factors=self.factors.reference),
            info=info,
            rows=np.repeat(np.arange(model.n_u), np.diff(pattern.row_start)),
            columns=pattern.columns,
            values=np.zeros(pattern.size),
            M=np.zeros((model.n_u, model.n_u) if on_pattern is None else (1, 1)),
        )
        self.reference = Reference(self._record)

    def factorise(self, t: float, q) -> None:
        """Factors of M(t, q)."""
        q = np.ascontiguousarray(q, float)
        status = factorise_mass(self.reference.address, float(t), q, self._u0, self._p)
        if status:
            raise ModelError(f"the mass matrix is not positive definite at t = {t:.6g} (pivot {status - 1}).")

    def solve(self, b) -> np.ndarray:
        """M^-1 b with the last factors."""
        return self.factors.solve(b)
