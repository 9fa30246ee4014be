"""M a and W la of a model as compiled functions of (t, q), with a or la in the place of the velocities: what tangents and
derivatives by parameters are taken of.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.derivatives.coloured import COMPLEX
from nonsmooth._core.jit import VECTOR, user_kernel


def mass_times(model):
    """Writer ``(t, q, a, p, out)`` of M(t, q) a."""
    n = model.n_u
    return _product(model.core.mass, model.differentiator._scratch((n, n)), n, VECTOR)


def mass_times_complex(model):
    """The same for complex arguments; None where the mass function does not compile for them."""
    n, differ = model.n_u, model.differentiator
    evaluate = differ.complex_evaluator(model.f_mass)
    return (
        None if evaluate is None else _product(evaluate, differ._scratch((n, n), np.complex128), n, COMPLEX)
    )


def directions_times(model):
    """Writer ``(t, q, la, p, out)`` of W(t, q) la, for the multipliers of all rows."""
    n, m, differ = model.n_u, model.laws.n_rows, model.differentiator
    WT, rest, directions = differ._scratch((m, n)), differ._scratch(n), model.core.directions

    def write(t, q, la, p, out):
        w = WT()
        directions(t, q, rest(), p, w)
        for j in range(n):
            s = 0.0
            for i in range(m):
                s += w[i, j] * la[i]
            out[j] = s

    return user_kernel(write, VECTOR)


def _product(matrix, scratch, n, signature):
    """Compiled writer of a matrix function times the third argument."""

    def write(t, q, a, p, out):
        m = scratch()
        matrix(t, q, a, p, m)
        for i in range(n):
            s = m[i, 0] * a[0]
            for j in range(1, n):
                s += m[i, j] * a[j]
            out[i] = s

    return user_kernel(write, signature)
