"""A run of a smooth problem in slices: fills the output arrays it is given and returns."""

from __future__ import annotations

from nonsmooth._core.calls.pointers import pointer_at
from nonsmooth._core.integrators.implicit_rk import JAC
from nonsmooth._core.integrators.rk import H_TAKEN, OK, Q_0, RHS, Y_NEW
from nonsmooth._core.integrators.single_step import DENSE, STEP, TRY, accept
from nonsmooth._core.jit import kernel

as_try, as_step, as_dense = pointer_at(TRY), pointer_at(STEP), pointer_at(DENSE)
as_rhs, as_jac = pointer_at(RHS), pointer_at(JAC)

#: The output arrays are full; call again to continue.
FULL = 9


@kernel(references=False, forceinline=False)
def run(method, try_step, adapt, dense, f, jac, t, y, t_bound, p, work, control, t_out, y_out, q_out):
    """Steps from (t, y) until `t_bound`, a failure, or until the output is full.

    Parameters
    ----------
    try_step, adapt, dense : first-class functions
        The method's step, `adaptive_step` and `dense` (see `nonsmooth._core.integrators.single_step`).
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


@kernel(references=False, forceinline=False)
def advance(entry, method, t_old, t, y, t_bound, p, work, control):
    """One step; the one before it, from `t_old`, is accepted first (so that its dense output can be had
    until then).

    `entry` holds the addresses of try_step, adapt, dense, f and jac. Returns (h, status); the new state is
    ``work.F[Y_NEW]``.
    """
    if t_old != t:
        accept(method, t_old, y, t - t_old, work)
    try_step, adapt = as_try(entry[0]), as_step(entry[1])
    status = adapt(method, try_step, as_rhs(entry[3]), as_jac(entry[4]), t, y, t_bound, p, work, control)
    return work.reals[H_TAKEN], status


@kernel(references=False, forceinline=False)
def late_dense(entry, method, t, y, h, p, work):
    """Dense output of the step just taken from (t, y)."""
    dense = as_dense(entry[2])
    return dense(method, as_rhs(entry[3]), t, y, h, p, work)
