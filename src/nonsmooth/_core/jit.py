"""The one module that imports Numba: the decorator of the core and the home of its flags.

``fastmath`` stays off and the order of sums is fixed, so that runs are bit-reproducible. Library kernels use
``kernel`` (cached on disk); small functions made around user code use ``user_kernel`` (never cached: a closure has
no stable identity between processes).

A cached kernel does not notice an edited helper in another file: develop with a fresh ``NUMBA_CACHE_DIR``.
"""

import numba
import numpy as np
from numba import types

JIT_ENABLED = not numba.config.DISABLE_JIT

float64 = types.float64
complex128 = types.complex128
int64 = types.int64
int8 = types.int8
void = types.void
f8_1 = types.Array(types.float64, 1, "C")
f8_2 = types.Array(types.float64, 2, "C")
c16_1 = types.Array(types.complex128, 1, "C")
i8_1 = types.Array(types.int64, 1, "C")
b1_1 = types.Array(types.int8, 1, "C")


def kernel(*args, **kwargs):
    """Compile a library kernel: nopython, cached on disk, IEEE arithmetic, Python's division semantics."""
    options = {"cache": True, "fastmath": False, "error_model": "python", "nogil": False, **kwargs}
    if args and callable(args[0]):
        return numba.njit(**options)(args[0])
    return numba.njit(*args, **options)


def user_kernel(function, signature=None):
    """Compile a function made around user code, at once for `signature` if one is given."""
    options = {"fastmath": False, "error_model": "numpy", "cache": False}
    if signature is None:
        return numba.njit(**options)(function)
    return numba.njit(signature, **options)(function)


def function_type(signature):
    """The first-class function type of `signature`: a loop taking it compiles once for every model."""
    return types.FunctionType(signature)


def empty_like_complex(n):
    return np.empty(n, dtype=np.complex128)
