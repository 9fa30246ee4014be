"""The state of a stage from the slopes of others:  x_k = x_0 + dt sum_j A_kj x'_j."""

from nonsmooth._core.jit import phase
from nonsmooth._core.stepping.phases import within_segment


@phase
def combine(size, own, begin, dt, k, last):
    """State of stage `k` from the slopes of those before `last`, into ``own.trial``."""
    trial = own.trial
    for i in range(size.n_q):
        x = 0.0
        for j in range(last):
            x += own.A[k, j] * own.K_q[j, i]
        trial.q[i] = begin.q[i] + dt * x
    for i in range(size.n_u):
        x = 0.0
        for j in range(last):
            x += own.A[k, j] * own.K_u[j, i]
        trial.u[i] = begin.u[i] + dt * x


@phase
def time_of_stage(scene, own, t, dt, k):
    """Where functions are asked in stage k: before the end of a segment, not on it, since they may jump there."""
    return within_segment(scene, t, dt, t + own.c[k] * dt)


@phase
def velocities(size, work, u, dq):
    """q' = B u. Returns zero if it is finite."""
    check = 0.0
    for i in range(size.n_q):
        s = 0.0
        if size.has_B:
            for j in range(size.n_u):
                s += work.B[i, j] * u[j]
        else:
            s = u[i]
        dq[i] = s
        check += s - s
    return check


@phase
def slope(own, size, k, i):
    """Entry i of the slopes (q', u') of stage k."""
    return own.K_q[k, i] if i < size.n_q else own.K_u[k, i - size.n_q]
