"""A model function at many points by one call: what the audit and `Result.gaps`, `.energy` are made of."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.faults import explained, forget
from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    address,
    caller,
    f8_1,
    f8_2,
    int64,
    kernel,
    types,
    void,
)

f8_3 = types.Array(types.float64, 3, "C")
_call_vector, _call_matrix = caller(VECTOR), caller(MATRIX)


@kernel(void(int64, f8_1, f8_2, f8_2, f8_1, f8_2))
def _vectors(address, t, q, u, p, out):
    for i in range(t.size):
        _call_vector(address, t[i], q[i], u[i], p, out[i])


@kernel(void(int64, f8_1, f8_2, f8_2, f8_1, f8_3))
def _matrices(address, t, q, u, p, out):
    for i in range(t.size):
        _call_matrix(address, t[i], q[i], u[i], p, out[i])


def values_at(function, t, q, u, p, shape):
    """Values of a model function ``(t, q, u, p, out)`` at n points.

    Parameters
    ----------
    function : compiled function of signature VECTOR or MATRIX
    t, q, u : ndarray, shapes (n,), (n, n_q), (n, n_u), C order
    p : ndarray
        Flat parameters.
    shape : tuple of int
        Shape of one value.

    Returns
    -------
    ndarray, shape (n, *shape)
    """
    out = np.zeros((t.size, *shape))
    signature, loop = (VECTOR, _vectors) if len(shape) == 1 else (MATRIX, _matrices)
    forget()
    try:
        loop(address(function, signature), t, q, u, p, out)
    except Exception as exc:
        raise explained(exc)[0] from None
    return out
