"""A run of a smooth problem in slices: fills the output arrays it is given and returns."""

from __future__ import annotations

from nonsmooth._core.integrators.records import FULL, OK, call_adapt, call_dense, solver_at
from nonsmooth._core.integrators.single_step import accept
from nonsmooth._core.jit import kernel


@kernel(references=False, forceinline=False)
def run(address, t_out, y_out, q_out):
    """Steps until `t_bound`, a failure, or until the output is full.

    Parameters
    ----------
    address : int
        Of a started `Solver`.
    t_out, y_out, q_out : ndarray, shapes (m,), (m, n), (m, rows, n)
        End times, end states and dense-output coefficients of the steps, written in place.

    Returns
    -------
    count, status
    """
    s = solver_at(address)
    count = 0
    while s.now.t != s.now.t_bound:
        if count == t_out.size:
            return count, FULL
        status = call_adapt(s.at.adapt, address)
        if status != OK:
            return count, status
        rows = call_dense(s.at.dense, address, s.now.h)
        for k in range(s.y.size):
            y_out[count, k] = s.step.y_new[k]
            for j in range(rows):
                q_out[count, j, k] = s.step.Q[j, k]
        accept(address, s.now.h)
        t_out[count] = s.now.t
        count += 1
    return count, OK


@kernel(references=False, forceinline=False)
def one_step(address, pending):
    """One step; with ``pending=1`` the one before it is accepted first (its dense output can be had until then)."""
    s = solver_at(address)
    if pending == 1:
        accept(address, s.now.h)
    return call_adapt(s.at.adapt, address)


@kernel(references=False, forceinline=False)
def late_dense(address, h):
    """Dense output of the step of size h just taken."""
    s = solver_at(address)
    return call_dense(s.at.dense, address, h)
