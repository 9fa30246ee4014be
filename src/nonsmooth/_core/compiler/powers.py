"""Whole powers of complex numbers by multiplication, as derivatives by the complex step want them.

Numba's own goes by angle and modulus, but for squares: of (-1 + 1e-30i)**3 the imaginary part is then the rounding of sin(3 pi), 1e14
times the derivative, while for positive numbers it is right. The motion of a table `sin(t)**3` is tried where it is positive, and asked for
everywhere.
"""

import operator

from numba import types
from numba.core import typing
from numba.core.imputils import lower_builtin
from numba.cpython.numbers import complex_power_impl
from numba.extending import intrinsic

MOST = 64  # of the exponents taken by multiplication


@intrinsic
def any_power(typingctx, z, w):
    """Numba's own."""
    return z(z, w), complex_power_impl


def power(z, w):
    """z**w"""
    n = int(abs(w.real)) if abs(w.real) <= MOST else MOST + 1
    if w.imag != 0.0 or abs(w.real) != n or (w.real < 0.0 and z == 0.0):
        return any_power(z, w)
    product, square = z * 0.0 + 1.0, z
    while n > 0:
        if n & 1:
            product = product * square
        n >>= 1
        if n > 0:
            square = square * square
    return product if w.real >= 0.0 else 1.0 / product


@lower_builtin(operator.pow, types.Complex, types.Complex)
@lower_builtin(operator.ipow, types.Complex, types.Complex)
@lower_builtin(pow, types.Complex, types.Complex)
def lower_power(context, builder, sig, args):
    """The same for Numba."""
    signature = typing.signature(sig.return_type, *sig.args)
    return context.compile_internal(builder, power, signature, args)
