"""The tangent J = du'/d(q, u) of motion in given modes by one-sided differences, and the matrix of Newton's method

    I - h A x J_u - h^2 A^2 x J_q B

The embedded error of implicit methods is filtered, (I - h gamma J)^-1 err (Hairer & Wanner 1996, IV.8): stiff parts of the motion, which
the method damps, do not hold its steps down.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve
from nonsmooth._core.records.scene import state_reference
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_capturing.stage import stage
from nonsmooth._core.stepping.event_driven.sizes import KIND

REACH = 1e-7


@phase
def tangent(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """du'/dq and du'/du at the begin of the step, by one-sided differences. Stage 0 is known."""
    size, s, trial = scene.model.size, own.control.stages, own.trial
    status = OK
    for k in range(size.n_q + size.n_u):
        for i in range(size.n_q):
            trial.q[i] = begin.q[i]
        for i in range(size.n_u):
            trial.u[i] = begin.u[i]
        if k < size.n_q:
            x = begin.q[k]
            trial.q[k] = x + REACH * max(own.scale[k], capture.reach[k])
            step = trial.q[k] - x
        else:
            x = begin.u[k - size.n_q]
            fallback = capture.reach[min(k - size.n_q, size.n_q - 1)] / dt
            trial.u[k - size.n_q] = x + REACH * max(own.scale[k], KIND * fallback)
            step = trial.u[k - size.n_q] - x
        status = stage(at_scene, state_reference(trial), at_begin, t, s)
        if status != OK:
            return status
        for i in range(size.n_u):
            slope = (own.K_u[s, i] - own.K_u[0, i]) / step
            if k < size.n_q:
                capture.J_q[i, k] = slope
            else:
                capture.J_u[i, k - size.n_q] = slope
    for i in range(size.n_u):
        for j in range(size.n_u):
            x = 0.0
            for k in range(size.n_q):
                x += capture.J_q[i, k] * (scene.work.B[k, j] if size.has_B else (1.0 if k == j else 0.0))
            capture.J_qB[i, j] = x
    capture.control.have_tangent, capture.control.rate, capture.control.dt_factored = 1, 1.0, 0.0
    return status


@phase
def factor(own, capture, size, dt):
    """I - h A x J_u - h^2 A^2 x J_q B, factored; False if it is singular."""
    s, n, LU = own.control.stages, size.n_u, capture.LU
    for k in range(1, s):
        for j in range(1, s):
            a, a2 = dt * own.A[k, j], dt * dt * capture.A2[k, j]
            for i in range(n):
                for m in range(n):
                    x = -a * capture.J_u[i, m] - a2 * capture.J_qB[i, m]
                    if k == j and i == m:
                        x += 1.0
                    LU[(k - 1) * n + i, (j - 1) * n + m] = x
    return lu_factor(LU, capture.pivots, (s - 1) * n) > 0.0


@phase
def estimate_error(scene, own, capture, dt):
    """The filtered estimate of an implicit method, as a slope in the place of the one at the end (which is kept in X)."""
    size, s, LU, x = scene.model.size, own.control.stages, capture.LU, capture.rhs
    n_q, n_u, a = size.n_q, size.n_u, dt * capture.control.filter
    e_q, e_u = own.K_q[s], own.K_u[s]
    for i in range(n_q):
        capture.X_q[s, i] = e_q[i]
        e_q[i] *= capture.E[s]
        for j in range(s):
            e_q[i] += capture.E[j] * own.K_q[j, i]
    for i in range(n_u):
        capture.X_u[s, i] = e_u[i]
        e_u[i] *= capture.E[s]
        for j in range(s):
            e_u[i] += capture.E[j] * own.K_u[j, i]
    for i in range(n_u):
        x[i] = e_u[i]
        for m in range(n_q):
            x[i] += a * capture.J_q[i, m] * e_q[m]
        for m in range(n_u):
            LU[i, m] = (1.0 if i == m else 0.0) - a * capture.J_u[i, m] - a * a * capture.J_qB[i, m]
    capture.control.dt_factored = 0.0
    if not lu_factor(LU, capture.pivots, n_u) > 0.0:
        return
    lu_solve(LU, capture.pivots, n_u, x)
    for i in range(n_u):
        e_u[i] = x[i]
    for i in range(n_q):
        for m in range(n_u):
            if size.has_B or m == i:
                e_q[i] += a * x[m] * (scene.work.B[i, m] if size.has_B else 1.0)
