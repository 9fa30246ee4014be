"""A run of a smooth problem in slices: fills the output arrays it is given and returns."""

from __future__ import annotations

from .jit import kernel
from .rk import H_TAKEN, OK, Q_0, Y_NEW
from .single_step import accept

#: The output arrays are full; call again to continue.
FULL = 9


@kernel
def run(method, try_step, adapt, dense, f, jac, t, y, t_bound, p, work, control, t_out, y_out, q_out):
    """Steps from (t, y) until `t_bound`, a failure, or until the output is full.

    Parameters
    ----------
    try_step, adapt, dense : first-class functions
        The method's step, `adaptive_step` and `dense` (see `nonsmooth._core.single_step`).
    t_out, y_out, q_out : ndarray, shapes (m,), (m, n), (m, rows, n)
        End times, end states and dense-output coefficients of the steps, written in place.

    Returns
    -------
    count, t, status
    """
    count = 0
    while t != t_bound:
        if count == t_out.size:
            return count, t, FULL
        status = adapt(method, try_step, f, jac, t, y, t_bound, p, work, control)
        if status != OK:
            return count, t, status
        h = work.reals[H_TAKEN]
        rows = dense(method, f, t, y, h, p, work)
        for k in range(y.size):
            y_out[count, k] = work.F[Y_NEW, k]
            for j in range(rows):
                q_out[count, j, k] = work.F[Q_0 + j, k]
        accept(method, t, y, h, work)
        t = t_bound if h == t_bound - t else t + h
        t_out[count] = t
        count += 1
    return count, t, OK
