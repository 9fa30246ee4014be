"""Smooth motion in given modes by an implicit method for stiff forces: a step of Radau IIA of order 5, in the place of the explicit one.

With y = (q, u) and f the slopes of `motion` in the modes of the begin of the step (Hairer, Wanner 1996, IV.8):

    Z_i = dt sum_j a_ij f(t + c_j dt, y_0 + Z_j),   i = 1, 2, 3,        y_1 = y_0 + Z_3                                  (8.2)
    error = (mu_0/dt I - J)^-1 (f(t, y_0 + error) + (e_1 Z_1 + e_2 Z_2 + e_3 Z_3)/dt),                                (8.19), (8.20)

by simplified Newton iterations, (I - dt A x J) dZ = -(Z - dt A F), with J = df/dy at the begin, by differences. Closed contacts,
sticking and joints are part of f (their forces are eliminated on the level of accelerations), so that everything else of `event-driven`
stays as it is.

Rows of the stages: 0 the begin, 1 to 3 those of the method, 4 the end; the error of the step is left as the last slope.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import by_reference, kernel, phase
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve
from nonsmooth._core.records.scene import STEP, scene_at, state_at, state_reference
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, OK
from nonsmooth._core.stepping.event_driven.records import call_accelerate, own_at
from nonsmooth._core.stepping.event_driven.sizes import KIND
from nonsmooth._core.stepping.event_driven.stage_state import slope, time_of_stage

STAGES = 4
MOST_ITERATIONS = 12
CLOSE = 1e-4  # tolerances that a Newton step may have to be the last
SMALL = 1.5e-8  # relative changes for differences
_S6 = 6.0**0.5
MU = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
E_1, E_2, E_3 = (-13.0 - 7.0 * _S6) / 3.0, (-13.0 + 7.0 * _S6) / 3.0, -1.0 / 3.0


def tableau():
    """A (its last row is b), c and the estimators, as `runge_kutta` takes them."""
    A = np.zeros((5, 5))
    A[1, 1:4] = (88 - 7 * _S6) / 360, (296 - 169 * _S6) / 1800, (-2 + 3 * _S6) / 225
    A[2, 1:4] = (296 + 169 * _S6) / 1800, (88 + 7 * _S6) / 360, (-2 - 3 * _S6) / 225
    A[3, 1:4] = A[4, 1:4] = (16 - _S6) / 36, (16 + _S6) / 36, 1 / 9
    c = np.array([0.0, (4 - _S6) / 10, (4 + _S6) / 10, 1.0, 1.0])
    E = np.zeros((2, 5))
    E[0, 4] = 1.0
    return A, c, E


class Stiff(NamedTuple):
    """Work space of an implicit step."""

    J: np.ndarray
    N: np.ndarray  # I - dt A x J, then its factors
    M: np.ndarray  # mu_0/dt I - J, then its factors
    N_rows: Any  # exchanges of rows
    M_rows: Any
    Z: np.ndarray  # stages less the begin, one after the other
    r: np.ndarray
    y: np.ndarray  # the begin
    f: np.ndarray
    error: np.ndarray
    size: np.ndarray  # of the components, for tolerances and differences


def make_stiff(n):
    """Work space for n = n_q + n_u."""
    return Stiff(
        J=np.zeros((n, n)), N=np.zeros((3 * n, 3 * n)), M=np.zeros((n, n)), N_rows=np.zeros(3 * n, dtype=np.int64),
        M_rows=np.zeros(n, dtype=np.int64), Z=np.zeros(3 * n), r=np.zeros(3 * n), y=np.zeros(n), f=np.zeros(n), error=np.zeros(n),
        size=np.zeros(n),
    )  # fmt: skip


_, stiff_at = by_reference(make_stiff(1))


@kernel(STEP, part=True)
def integrate_stiff(at_scene, at_begin, t, dt):
    """A step of the implicit method into ``own.trial``; stage 0 is known."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, w = own_at(scene.at.own), stiff_at(scene.at.projection)
    size = scene.model.size
    n = size.n_q + size.n_u
    for i in range(n):
        w.y[i] = begin.q[i] if i < size.n_q else begin.u[i - size.n_q]
        w.f[i] = slope(own, size, 0, i)
    sizes(w, own, size, dt)
    status = jacobian(w, own, size, at_scene, at_begin, t, n)
    if status != OK:
        return status
    own.control.fastest = norm(w, n)
    matrices(w, own, dt, n)
    if lu_factor(w.N, w.N_rows, 3 * n) == 0.0 or lu_factor(w.M, w.M_rows, n) == 0.0:
        return IMPLICIT_UNSOLVED
    status = newton(w, own, size, at_scene, at_begin, t, dt, n)
    if status != OK:
        return status
    status = estimate(w, own, size, at_scene, at_begin, t, dt, n)
    if status == OK:
        status = evaluate_at(
            w, own, size, w.Z, 2 * n, at_scene, at_begin, time_of_stage(scene, own, t, dt, STAGES - 1), STAGES
        )
    for i in range(size.n_q):
        own.K_q[STAGES, i] = w.error[i] / dt
    for i in range(size.n_u):
        own.K_u[STAGES, i] = w.error[size.n_q + i] / dt
    return status


@phase
def sizes(w, own, size, dt):
    """Sizes of the components: the largest so far, or what a step moves (what starts from rest moves by its acceleration)."""
    q_max, u_max = 0.0, 0.0
    for i in range(size.n_q):
        q_max = max(q_max, own.scale[i])
    for i in range(size.n_q, size.n_q + size.n_u):
        u_max = max(u_max, own.scale[i], dt * abs(w.f[i]))
    for i in range(size.n_q + size.n_u):
        largest = q_max if i < size.n_q else u_max
        w.size[i] = max(own.scale[i], KIND * largest, abs(w.y[i]), dt * abs(w.f[i]))
        if w.size[i] == 0.0:
            w.size[i] = dt * u_max if i < size.n_q and u_max > 0.0 else 1e-300


@phase
def evaluate_at(w, own, size, shift, first, at_scene, at_begin, t, k):
    """Slopes at the begin moved by a part of `shift`, as stage k; the state is left in ``own.trial``."""
    trial = own.trial
    for i in range(size.n_q):
        trial.q[i] = w.y[i] + shift[first + i]
    for i in range(size.n_u):
        trial.u[i] = w.y[size.n_q + i] + shift[first + size.n_q + i]
    return call_accelerate(own.at.accelerate, at_scene, state_reference(trial), at_begin, t, k)


@phase
def jacobian(w, own, size, at_scene, at_begin, t, n):
    """J = df/dy at the begin, by differences."""
    for i in range(n):
        w.error[i] = 0.0
    for j in range(n):
        h = SMALL * w.size[j]
        h = (w.y[j] + h) - w.y[j] if w.y[j] + h != w.y[j] else h
        w.error[j] = h
        status = evaluate_at(w, own, size, w.error, 0, at_scene, at_begin, t, STAGES)
        if status != OK:
            return status
        w.error[j] = 0.0
        for i in range(n):
            w.J[i, j] = (slope(own, size, STAGES, i) - w.f[i]) / h
    return OK


@phase
def norm(w, n):
    """Largest sum of a row of |J|, in units in which every component is as large as it has been."""
    largest = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += abs(w.J[i, j]) * w.size[j]
        largest = max(largest, s / w.size[i])
    return largest


@phase
def matrices(w, own, dt, n):
    """I - dt A x J, and mu_0/dt I - J."""
    for a in range(3):
        for b in range(3):
            for i in range(n):
                for j in range(n):
                    w.N[a * n + i, b * n + j] = -dt * own.A[a + 1, b + 1] * w.J[i, j]
    for i in range(3 * n):
        w.N[i, i] += 1.0
    for i in range(n):
        for j in range(n):
            w.M[i, j] = -w.J[i, j]
        w.M[i, i] += MU / dt


@phase
def newton(w, own, size, at_scene, at_begin, t, dt, n):
    """Simplified Newton iterations for Z, until their steps are small beside the tolerance."""
    control = own.control
    for i in range(3 * n):
        w.Z[i] = 0.0
    before = 0.0
    for iteration in range(MOST_ITERATIONS):
        for k in range(3):
            t_k = time_of_stage(scene_at(at_scene), own, t, dt, k + 1)
            status = evaluate_at(w, own, size, w.Z, k * n, at_scene, at_begin, t_k, k + 1)
            if status != OK:
                return status
        for a in range(3):
            for i in range(n):
                s = -w.Z[a * n + i]
                for b in range(3):
                    s += dt * own.A[a + 1, b + 1] * slope(own, size, b + 1, i)
                w.r[a * n + i] = s
        lu_solve(w.N, w.N_rows, 3 * n, w.r)
        step = 0.0
        for a in range(3):
            for i in range(n):
                w.Z[a * n + i] += w.r[a * n + i]
                step = max(step, abs(w.r[a * n + i]) / (control.rtol * w.size[i] + control.atol))
        if not step - step == 0.0:
            return IMPLICIT_UNSOLVED
        if step <= CLOSE or (iteration > 1 and step <= 1e-2 and step >= 0.5 * before):
            return OK  # (rounding leaves no more to gain)
        if iteration > 1 and step >= 2.0 * before:
            return IMPLICIT_UNSOLVED
        before = step
    return IMPLICIT_UNSOLVED


@phase
def estimate(w, own, size, at_scene, at_begin, t, dt, n):
    """The error of the step, filtered twice: so that it stays small for what is stiff."""
    for i in range(n):
        w.r[i] = (E_1 * w.Z[i] + E_2 * w.Z[n + i] + E_3 * w.Z[2 * n + i]) / dt
        w.error[i] = w.r[i] + w.f[i]
    lu_solve(w.M, w.M_rows, n, w.error)
    status = evaluate_at(w, own, size, w.error, 0, at_scene, at_begin, t, STAGES)
    for i in range(n):
        w.error[i] = w.r[i] + slope(own, size, STAGES, i)
    lu_solve(w.M, w.M_rows, n, w.error)
    return status
