"""Derivatives of a model by its parameters, of h, g_N, M a and W la, compiled: what sensitivities and continuation ask for."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.derivatives.along_motion import derivative_along
from nonsmooth._core.derivatives.pieces import Pieces
from nonsmooth._core.jit import MATRIX, VECTOR, address, static_array, user_kernel


def by_parameters(writer, m: int, differ):
    """Compiled writer ``(t, q, x, p, out)`` of the derivative of `writer` by the flat parameters, `out` of shape (m, n_p); x are
    velocities, accelerations or multipliers, as `writer` takes them.

    Extrapolated differences, one parameter after the other; steps are found on the spot, as along the motion.
    """
    n_p, n_q = differ.p.size, differ.q0.size
    q_held, t_held = differ._scratch(n_q), differ._scratch(1)

    def of_parameters(
        t, x, u, p, out
    ):  # the parameters in the place of the coordinates, which are held as time is
        writer(t_held()[0], q_held(), u, x, out)

    moving = user_kernel(of_parameters, VECTOR)
    differ.keep.append(moving)
    f = address(moving, VECTOR)
    direction, zero, x_work = differ._scratch(n_p), differ._scratch(n_p), differ._scratch(n_p)
    work, column = differ._scratch((9, m)), differ._scratch(m)
    typical = np.where(differ.p != 0.0, np.abs(differ.p), 1.0)
    differ.keep.append(typical)
    scale = static_array(typical)
    all_of_time = Pieces()  # time is held
    differ.keep.append(all_of_time)
    everywhere = static_array(all_of_time.cell)

    def write(t, q, u, p, out):
        held, d, slope, size = q_held(), direction(), column(), scale()
        t_held()[0] = t
        for j in range(n_q):
            held[j] = q[j]
        for j in range(n_p):
            d[j] = max(abs(p[j]), size[j])
            derivative_along(f, 1, 1.0, everywhere(), t, p, d, zero(), u, p, x_work(), work(), slope)
            for i in range(m):
                out[i, j] = slope[i] / d[j]
            d[j] = 0.0

    return user_kernel(write, MATRIX)
