"""Types of arrays and numbers, and the signatures of model functions."""

import numba
from numba import types

JIT_ENABLED = not numba.config.DISABLE_JIT

float64 = types.float64
complex128 = types.complex128
int64 = types.int64
int8 = types.int8
void = types.void
f8_1 = types.Array(types.float64, 1, "C")
f8_2 = types.Array(types.float64, 2, "C")
f8_ro = types.Array(types.float64, 1, "C", readonly=True)
c16_1 = types.Array(types.complex128, 1, "C")
i8_1 = types.Array(types.int64, 1, "C")
b1_1 = types.Array(types.int8, 1, "C")
i8_2 = types.Array(types.int64, 2, "C")

# Signatures of model functions inside the loops: (t, q, u, p, out), p the flat parameter array.
VECTOR = void(float64, f8_ro, f8_ro, f8_ro, f8_1)
MATRIX = void(float64, f8_ro, f8_ro, f8_ro, f8_2)
# Projection of a user-defined convex set: (law, x, out).
PROJECT = void(int64, f8_ro, f8_1)


# The same on complex numbers, for derivatives by the complex step.
c16_ro = types.Array(types.complex128, 1, "C", readonly=True)
COMPLEX_VECTOR = void(complex128, c16_ro, c16_ro, f8_ro, c16_1)
COMPLEX_MATRIX = void(complex128, c16_ro, c16_ro, f8_ro, types.Array(types.complex128, 2, "C"))
MODEL_SIGNATURES = (VECTOR, MATRIX, COMPLEX_VECTOR, COMPLEX_MATRIX)
