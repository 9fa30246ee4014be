"""What a user gives as a contact problem, checked: arrays of finite real numbers of the right shape, or a typed error."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError

#: Largest entries of W and q have to lie between this and its inverse.
EXTREME = 1e-100


def dimension(dim) -> int:
    """Rows of a contact."""
    if isinstance(dim, bool) or dim not in (1, 2, 3):
        raise RangeError(f"ContactProblem: dim = {dim!r}; a contact has 1 (frictionless), 2 or 3 rows.")
    return int(dim)


def vector(value, name) -> np.ndarray:
    """A vector of finite numbers, copied."""
    array = floats(value, name)
    if array.ndim != 1:
        raise ShapeError(f"{name} has shape {array.shape}; a one-dimensional array is wanted.")
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(
            f"{name}[{int(np.argmin(np.isfinite(array)))}] is not finite; give finite numbers."
        )
    return array


def floats(value, name) -> np.ndarray:
    """Real numbers, copied."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            if array.size == 0:
                return np.zeros(array.shape)
            raise TypeError
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{name} is no array of real numbers (got {type(value).__name__}).") from None


def matrix(value, name, shape):
    """A finite matrix of that shape (None: any), dense or sparse."""
    if sp.issparse(value):
        if value.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {value.dtype}; a real matrix is wanted.")
        A = value.astype(np.float64)
        A = A if A.format in ("csc", "csr", "bsr") else A.tocsc()
        entries = A.data
    else:
        A = floats(value, name)
        if A.ndim != 2 and A.size == 0:
            A = A.reshape(tuple(0 if s is None else s for s in shape) if 0 in shape else (0, 0))
        entries = A
    wanted = tuple(have if s is None else s for have, s in zip(A.shape, shape)) if A.ndim == 2 else shape
    if A.ndim != 2 or A.shape != wanted:
        raise ShapeError(f"{name} has shape {A.shape}; {shape} is wanted (rows of q decide).")
    if not np.all(np.isfinite(entries)):
        raise NonFiniteError(f"{name} holds NaN or infinite entries; give finite numbers.")
    check_magnitude(entries, name)
    return A


def check_magnitude(entries, name):
    """Refuse numbers whose squares overflow or vanish: a residual computed from them would mean nothing."""
    top = float(np.max(np.abs(entries))) if entries.size else 0.0
    if top != 0.0 and not EXTREME < top < 1.0 / EXTREME:
        raise RangeError(
            f"the largest entry of {name} is {top:.1e}; beyond {EXTREME:.0e} to {1 / EXTREME:.0e} "
            "rounding cannot be judged. Choose other units."
        )


def friction(mu, n, dim) -> np.ndarray:
    """One coefficient per contact."""
    mu = floats(mu, "mu")
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
