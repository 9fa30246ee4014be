"""The stages of a Runge-Kutta method on motion in given modes, eq. (64) of Acary 2012 with its acceleration term:

    Q_i = q + h sum_j a_ij B(Q_j) V_j,     V_i = u + h sum_j a_ij V'_j,     M(Q_i) V'_i = h(t_i, Q_i, V_i) + W(Q_i) la_i
    equalities (62)          W^T V'_i + kappa_i = 0 for every law that holds
    complementarity (63)     0 <= W^T V'_i + kappa_i  _|_  la_i >= 0 for closed contacts, Coulomb's law on accelerations with them
    index 2                  W^T(Q_i) V_i + zeta = 0 instead, by shifts s_i of the accelerations, W^T V'_i + kappa_i + s_i = 0

Forces are eliminated in each stage. What is left is solved by a simplified Newton method for the accelerations V',

    (I - h A x J_u - h^2 A^2 x J_q B) dV' = r_u + h A x J_q r_q,     J = du'/d(q, u) by differences, kept as long as it serves;

half-explicit methods need one sweep. Iterations start from the slopes of the step before, continued as a polynomial. Where the tangent
has proved so good that one correction is enough, the slope at the end of the step, which the last stage shares, shows whether it was.
The shifts of the index-2 form follow from s <- s + A~^-1 gamma / h, where A~ takes accelerations of
stages to velocities of those that follow from them; each sweep gains a factor of h.

The embedded error of implicit methods is filtered, (I - h gamma J)^-1 err (Hairer & Wanner 1996, IV.8): stiff parts of the motion, which
the method damps, do not hold its steps down.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import VECTOR, by_reference, float64, int64, kernel, noinline, phase, scalars
from nonsmooth._core.linalg.dense_lu import lu_factor, lu_solve
from nonsmooth._core.linalg.small import cholesky, solve_lower
from nonsmooth._core.records.laws import CONSTRAINT, FREE, INACTIVE
from nonsmooth._core.records.scene import (
    EXAMPLE,
    State,
    make_state,
    scene_at,
    state_at,
    state_reference,
)
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.stepping.event_driven import is_held
from nonsmooth._core.stepping.smooth_motion import (
    INFINITY,
    KIND,
    acts,
    delassus,
    evaluate,
    forces,
    law_functions,
    own_at,
    powers,
    slip_direction,
    slopes,
)
from nonsmooth._core.stepping.transitions import fixed_force, friction_share, new_modes

MOST_ITERATIONS = 25
SLOW = 7  # iterations after which the tangent is made anew before the next step
RESOLVED = 1e-15  # change of an iteration that is nothing but rounding ...
STALLED = 1e-11  # ... and one that does not get smaller any more
FARTHEST = 2.0  # steps of the one before whose slopes it can tell
SAME = 1e-12  # part of a step by which two of the same length may differ
REACH = 1e-7
BLUR = 1e-15  # of an instant: on which side of a breakpoint it lies
ROUNDED = 1e-10  # part of its terms below which an acceleration is none

CaptureControl = scalars(
    "CaptureControl",
    # asked for
    dt=float,  # of the grid (0: chosen by the error)
    order=int,  # p
    implicit=int,
    complementary=int,
    index_2=int,
    critical_order=int,
    constant=float,  # C of the critical step
    time_scale=float,
    newton=float,  # change at which the iterations stop
    filter=float,  # gamma of the error estimate
    unloaded=int,  # no law can carry a force in the step: stages need no more than smooth forces
    # where the run stands
    grid_begin=float,
    grid_step=int,
    have_tangent=int,
    rate=float,  # at which the last iterations with this tangent converged
    dt_factored=float,  # length of the step whose matrix stands factored (0: none)
    dt_before=float,  # length of the step before, whose slopes are kept (0: none)
    ratio=float,  # of the lengths of the steps that `continued` stands for
    ended=int,  # the slope at the end of the step is known
    error=float,  # that a critical step may leave of an instant
    width=float,  # of the critical step that is being located
    f_lo=float,  # least of the laws' functions at the ends of the bracket
    f_hi=float,
    polishing=int,  # one more trial, inside the bracket
    closing=int,  # a contact closes in the critical step
    last_trial=float,  # the length of the smooth step that ends at the critical one (0: not known yet)
    crossing=int,  # Moreau's step over the critical step comes next
    crossed=int,  # the step just taken was that one
    t_critical=float,  # its end
    t_event=float,  # the instant inside it
    # what happened
    critical_steps=int,
    forecast_right=int,
    forecast_wrong=int,
    t_wrong=float,
)


class Capture(NamedTuple):
    """What `event-capturing` has besides the record of motion in given modes (`smooth_motion.EventDriven`)."""

    control: Any
    A2: np.ndarray  # A^2 of the stages
    E: np.ndarray  # error estimator of an implicit method
    X_q: np.ndarray  # q', u' of the stages that are being solved for
    X_u: np.ndarray
    J_q: np.ndarray  # du'/dq, du'/du
    J_u: np.ndarray
    J_qB: np.ndarray
    LU: np.ndarray
    pivots: np.ndarray
    rhs: np.ndarray
    reach: np.ndarray  # size of each coordinate for differences, where it has no other
    shift: np.ndarray  # of the index-2 form, by stage and row
    gamma: np.ndarray  # relative velocities of the stages
    inverse: np.ndarray  # A~^-1
    before_q: np.ndarray  # q', u' of the stages of the step before
    before_u: np.ndarray
    continued: np.ndarray  # takes them to the stages of this step
    predicted: np.ndarray  # by law: closes in the critical step
    free: State  # end of the free motion of a critical step


def make_capture(size, stages, A2, E, inverse, reach):
    """The record for a model of that size and a method with so many stages."""
    s, n_q, n_u, r = stages + 1, size.n_q, size.n_u, max(size.n_rows, 1)
    n = stages * n_u
    return Capture(
        control=CaptureControl(), A2=A2, E=E, X_q=np.zeros((s, n_q)), X_u=np.zeros((s, n_u)), J_q=np.zeros((n_u, n_q)),
        J_u=np.zeros((n_u, n_u)), J_qB=np.zeros((n_u, n_u)), LU=np.zeros((n, n)), pivots=np.zeros(n, dtype=np.int64),
        rhs=np.zeros(n), reach=reach, shift=np.zeros((s, r)), gamma=np.zeros((s, r)), inverse=inverse,
        before_q=np.zeros((s, n_q)), before_u=np.zeros((s, n_u)), continued=np.zeros((s, s)),
        predicted=np.zeros(max(size.n_laws, 1), dtype=np.int64), free=make_state(size),
    )  # fmt: skip


_, capture_at = by_reference(
    make_capture(EXAMPLE.model.size, 1, np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), np.zeros(1))
)


@kernel(VECTOR, references=False)
def no_acceleration_term(t, q, u, p, out):
    """kappa as eqs. (62)-(64) are printed: none."""
    for i in range(out.size):
        out[i] = 0.0


@kernel(int64(int64, int64, int64, float64, int64), part=True)
def stage(at_scene, at_point, at_begin, t, k):
    """Slopes, forces and the laws' functions of stage `k` at a state, in the modes of the begin of the step."""
    noinline()
    scene, point, modes = scene_at(at_scene), state_at(at_point), state_at(at_begin).modes
    own, capture = own_at(scene.at.own), capture_at(scene.at.control)
    model, work, la, u = scene.model, scene.work, own.La[k], point.u
    status = evaluate(scene, own, t, point.q, u)
    if status != OK:
        return status
    for i in range(model.size.n_rows):
        capture.gamma[k, i] = own.gamma[i]
        own.kappa[i] += capture.shift[k, i]
    if model.size.n_rows > 0 and not capture.control.unloaded:
        delassus(scene, own)
        if capture.control.complementary:
            status = complementary_forces(scene, own, modes, la)
        else:
            forces(scene, own, modes, la, False)
    else:
        solve_lower(work.L, work.h, work.du, model.size.n_u)
        for i in range(model.size.n_rows):
            la[i] = 0.0
    check = slopes(model, work, u, la, own.K_q[k], own.K_u[k])
    powers(model, work, own, u, la, k)
    law_functions(scene, own, modes, la, own.phi[k])
    if capture.control.complementary and not capture.control.unloaded:
        less_accelerations(scene, own, modes, own.K_u[k], own.phi[k])
    return status if check == 0.0 else NON_FINITE


@kernel(int64(int64, int64, float64, int64), part=True)
def free_stage(at_scene, at_point, t, k):
    """Slopes of stage `k` where no law carries a force; gaps are looked at when the stages are known."""
    noinline()
    scene, point = scene_at(at_scene), state_at(at_point)
    own, model, work = own_at(scene.at.own), scene.model, scene.work
    at, size, q, u = model.at, model.size, point.q, point.u
    if not size.constant_M:
        call_matrix(at.mass, t, q, u, model.p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            return MASS_SINGULAR
    call_vector(at.force, t, q, u, model.p, work.h)
    if size.has_B:
        call_matrix(at.kinematics, t, q, u, model.p, work.B)
    solve_lower(work.L, work.h, work.du, size.n_u)
    for i in range(size.n_rows):
        own.La[k, i] = 0.0
    check = slopes(model, work, u, own.La[k], own.K_q[k], own.K_u[k])
    own.power[k, 0], own.power[k, 1] = 0.0, 0.0
    for j in range(size.n_u):
        own.power[k, 0] += work.h[j] * u[j]
    for l in range(size.n_laws):
        own.phi[k, l] = INFINITY
    return OK if check == 0.0 else NON_FINITE


@phase
def gaps_of_stages(scene, own, capture, begin, t, dt):
    """Gaps at the stages inside the step, where no law carries a force."""
    model, s = scene.model, own.control.stages
    for k in range(1, s):
        if model.size.n_N > 0 and 0.0 < own.c[k] < 1.0:
            at_stage(model, own, capture, begin, dt, k)
            call_vector(model.at.gap, t + own.c[k] * dt, own.trial.q, own.trial.u, model.p, scene.work.g)
            for l in range(model.size.n_N):
                own.phi[k, l] = scene.work.g[l]


@phase
def is_unloaded(model, begin):
    """Whether no law can carry a force in these modes."""
    for l in range(model.size.n_laws):
        if acts(model, begin.modes, l):
            return 0
    return 1


@phase
def complementary_forces(scene, own, modes, la):
    """(63): forces of the laws that hold from the contact problem on accelerations; those of the others follow from them."""
    model, work, problem = scene.model, scene.work, scene.problem
    laws, n = model.laws, model.size.n_rows
    for l in range(model.size.n_laws):
        own.mode[l] = modes[l]
        if laws.dim[l] == 2 and modes[l] > CONSTRAINT:
            slip_direction(own, model, l)
    status = new_modes(scene, own, scene.at.problem)
    for i in range(n):
        la[i] = 0.0
    for a in range(problem.count.laws):
        for d in range(problem.laws.dim[a]):
            la[laws.row[problem.laws.law[a]] + d] = problem.rows.P[problem.laws.row[a] + d]
    for l in range(model.size.n_laws):
        slides = modes[l] != CONSTRAINT and modes[l] != INACTIVE
        if not slides or laws.kind[l] == FREE:
            continue
        own.mode[l] = modes[l]
        for d in range(laws.dim[l]):
            i = laws.row[l] + d
            if laws.link[l] >= 0:
                la[i] = friction_share(own, laws, l, d) * la[laws.row[laws.link[l]]]
            else:
                la[i] = fixed_force(own, work, laws, l, d, n)
    return status


@phase
def less_accelerations(scene, own, modes, du, phi):
    """Laws' functions that go on below zero where a force vanishes and an acceleration takes its place: la - gamma'/G."""
    model, work = scene.model, scene.work
    laws = model.laws
    for l in range(model.size.n_laws):
        if modes[l] != CONSTRAINT or laws.kind[l] == FREE:
            continue
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            a, terms = own.kappa[i], abs(own.kappa[i])
            for k in range(model.size.n_u):
                a += work.WT[i, k] * du[k]
                terms += abs(work.WT[i, k] * du[k])
            if work.G_all[i, i] > 0.0 and abs(a) > ROUNDED * terms:
                phi[l] -= abs(a) / work.G_all[i, i]


@kernel(int64(int64, int64, float64, float64), part=True)
def solve_stages(at_scene, at_begin, t, dt):
    """A step of the method into ``own.trial``; the slope at its end is stage `stages`. Stage 0 is known."""
    noinline()
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, capture = own_at(scene.at.own), capture_at(scene.at.control)
    status, s = OK, own.control.stages
    capture.control.unloaded = is_unloaded(scene.model, begin)
    capture.control.ended = 0
    if capture.control.index_2:
        for k in range(s + 1):
            for i in range(scene.model.size.n_rows):
                capture.shift[k, i] = 0.0
    if not capture.control.implicit:
        return explicit_sweeps(scene, own, capture, begin, at_scene, at_begin, t, dt)
    for attempt in range(2):
        if not capture.control.have_tangent:
            status = tangent(scene, own, capture, begin, at_scene, at_begin, t, dt)
            if status != OK:
                return status
            attempt = 1
        status = newton(scene, own, capture, begin, at_scene, at_begin, t, dt)
        if status == OK:
            break
        capture.control.have_tangent = 0
        capture.control.dt_before = 0.0  # their slopes do not tell those of this step
        if attempt == 1:
            return status
    return OK if capture.control.ended else end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt)


@phase
def end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """State and slope at the end of the step from the slopes of the stages that were solved for; gaps on the way."""
    s, size = own.control.stages, scene.model.size
    for k in range(1, s):
        for i in range(size.n_q):
            own.K_q[k, i] = capture.X_q[k, i]
        for i in range(size.n_u):
            own.K_u[k, i] = capture.X_u[k, i]
    if capture.control.unloaded:
        gaps_of_stages(scene, own, capture, begin, t, dt)
    combine(scene.model, own, begin, dt, s, s)
    for i in range(size.n_rows):
        capture.shift[s, i] = capture.shift[s - 1, i]
    return stage(at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, s), s)


@phase
def time_of_stage(scene, own, t, dt, k):
    """Where functions are asked in stage k: before the end of a segment, not on it, since they may jump there."""
    return min(t + own.c[k] * dt, max(t, scene.ask.t_stop - BLUR * (abs(t) + dt)))


@phase
def combine(model, own, begin, dt, k, last):
    """State of stage k from the slopes of those before `last`, into ``own.trial``."""
    trial = own.trial
    for i in range(model.size.n_q):
        x = 0.0
        for j in range(last):
            x += own.A[k, j] * own.K_q[j, i]
        trial.q[i] = begin.q[i] + dt * x
    for i in range(model.size.n_u):
        x = 0.0
        for j in range(last):
            x += own.A[k, j] * own.K_u[j, i]
        trial.u[i] = begin.u[i] + dt * x


@phase
def explicit_sweeps(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """Half-explicit: one stage after the other; in the index-2 form again, until velocities hold."""
    s, before = own.control.stages, 1e300
    for _ in range(MOST_ITERATIONS):
        for k in range(0 if capture.control.index_2 else 1, s + 1):
            combine(scene.model, own, begin, dt, k, k)
            status = stage(
                at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, k), k
            )
            if status != OK:
                return status
        if not capture.control.index_2:
            return OK
        change = correct_shifts(scene, own, capture, begin, dt)
        if change <= RESOLVED or (change <= STALLED and change > 0.5 * before):
            return OK
        before = change
    return IMPLICIT_UNSOLVED


@phase
def newton(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """Simplified Newton iterations for the slopes of the stages 1 ... s - 1, into X."""
    control, s, size = capture.control, own.control.stages, scene.model.size
    first_slopes(own, capture, size, dt)
    if abs(dt - control.dt_factored) > SAME * dt and not factor(own, capture, size, dt):
        return IMPLICIT_UNSOLVED
    control.dt_factored = dt
    before = 1e300
    for iteration in range(MOST_ITERATIONS):
        for k in range(1, s):
            at_stage(scene.model, own, capture, begin, dt, k)
            if control.unloaded:
                status = free_stage(
                    at_scene, state_reference(own.trial), time_of_stage(scene, own, t, dt, k), k
                )
            else:
                status = stage(
                    at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, k), k
                )
            if status != OK:
                return status
        change = newton_change(scene.model, scene.work, own, capture, dt)
        if control.index_2:
            change = max(change, correct_shifts(scene, own, capture, begin, dt))
        if not change - change == 0.0:
            return NON_FINITE
        if iteration == 0 and change > control.newton and not control.index_2:
            if change * control.rate <= control.newton:
                status = end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt)
                if status == OK and end_is_right(size, own, capture, dt):
                    control.ended = 1
                    return OK
        rate = change / before
        small = change <= control.newton
        if iteration > 0 and rate < 1.0:
            small = small or change * rate / (1.0 - rate) <= control.newton
            control.rate = rate
        if small or (change <= STALLED and rate > 0.5):
            control.have_tangent = 1 if iteration < SLOW else 0
            return OK
        if rate > 2.0 and iteration > 1:
            break
        before = change
    return IMPLICIT_UNSOLVED


@phase
def first_slopes(own, capture, size, dt):
    """Where the iterations start: the slopes of the step before, continued, or the one at the begin of the step."""
    control, s = capture.control, own.control.stages
    if control.dt_before == 0.0 or dt > FARTHEST * control.dt_before:
        for k in range(1, s):
            for i in range(size.n_q):
                capture.X_q[k, i] = own.K_q[0, i]
            for i in range(size.n_u):
                capture.X_u[k, i] = own.K_u[0, i]
        return
    ratio = dt / control.dt_before
    if abs(ratio - control.ratio) > SAME:
        control.ratio = ratio
        for k in range(1, s):
            lagrange(own.c, s, 1.0 + ratio * own.c[k], capture.continued[k])
    for k in range(1, s):
        for i in range(size.n_q):
            x = 0.0
            for j in range(s):
                x += capture.continued[k, j] * capture.before_q[j, i]
            capture.X_q[k, i] = x
        for i in range(size.n_u):
            x = 0.0
            for j in range(s):
                x += capture.continued[k, j] * capture.before_u[j, i]
            capture.X_u[k, i] = x


@phase
def lagrange(c, n, x, out):
    """Weights that take values at the first n nodes to that of their polynomial at x."""
    for j in range(n):
        out[j] = 1.0
        for m in range(n):
            if m != j:
                out[j] *= (x - c[m]) / (c[j] - c[m])


@phase
def remember_slopes(own, capture, size, dt):
    """The step is accepted: the next one starts its iterations from its slopes."""
    if not capture.control.implicit:
        return
    capture.control.dt_before = dt
    for k in range(own.control.stages):
        for i in range(size.n_q):
            capture.before_q[k, i] = own.K_q[k, i]
        for i in range(size.n_u):
            capture.before_u[k, i] = own.K_u[k, i]


@phase
def end_is_right(size, own, capture, dt):
    """Whether the last stage, which is the end of the step, has the slope that was solved for."""
    s, u_max, worst = own.control.stages, 0.0, 0.0
    for i in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + i])
    for i in range(size.n_u):
        ruler = max(own.scale[size.n_q + i], KIND * u_max, dt * abs(own.K_u[0, i]))
        worst = max(worst, relative(dt * (own.K_u[s, i] - capture.X_u[s - 1, i]), ruler))
    return worst <= capture.control.newton


@phase
def at_stage(model, own, capture, begin, dt, k):
    """State of stage k from the slopes that are being solved for, into ``own.trial``."""
    s, trial = own.control.stages, own.trial
    for i in range(model.size.n_q):
        x = own.A[k, 0] * own.K_q[0, i]
        for j in range(1, s):
            x += own.A[k, j] * capture.X_q[j, i]
        trial.q[i] = begin.q[i] + dt * x
    for i in range(model.size.n_u):
        x = own.A[k, 0] * own.K_u[0, i]
        for j in range(1, s):
            x += own.A[k, j] * capture.X_u[j, i]
        trial.u[i] = begin.u[i] + dt * x


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
def newton_change(model, work, own, capture, dt):
    """One correction of the slopes; returns its size, relative to the motion."""
    size, s, rhs = model.size, own.control.stages, capture.rhs
    n_q, n_u = size.n_q, size.n_u
    # residuals stand in K
    for k in range(1, s):
        for i in range(n_q):
            own.K_q[k, i] -= capture.X_q[k, i]
        for i in range(n_u):
            own.K_u[k, i] -= capture.X_u[k, i]
    for k in range(1, s):
        for i in range(n_u):
            r = own.K_u[k, i]
            for m in range(n_q):
                x = 0.0
                for j in range(1, s):
                    x += own.A[k, j] * own.K_q[j, m]
                r += dt * capture.J_q[i, m] * x
            rhs[(k - 1) * n_u + i] = r
    lu_solve(capture.LU, capture.pivots, (s - 1) * n_u, rhs)
    worst, q_max, u_max = 0.0, 0.0, 0.0
    for i in range(n_q):
        q_max = max(q_max, own.scale[i])
    for i in range(n_u):
        u_max = max(u_max, own.scale[n_q + i])
    for k in range(1, s):
        for i in range(n_q):
            x = own.K_q[k, i]
            for m in range(n_u):
                if size.has_B or m == i:
                    v = 0.0
                    for j in range(1, s):
                        v += own.A[k, j] * rhs[(j - 1) * n_u + m]
                    x += dt * v * (work.B[i, m] if size.has_B else 1.0)
            capture.X_q[k, i] += x
            worst = max(worst, relative(dt * x, max(own.scale[i], KIND * q_max, dt * u_max)))
        for i in range(n_u):
            x = rhs[(k - 1) * n_u + i]
            capture.X_u[k, i] += x
            ruler = max(own.scale[n_q + i], KIND * u_max, KIND * q_max / dt, dt * abs(own.K_u[0, i]))
            worst = max(worst, relative(dt * x, ruler))
        for i in range(n_q):
            worst += capture.X_q[k, i] - capture.X_q[k, i]  # not a number, if one of them is not
    return worst


@phase
def estimate_error(scene, own, capture, dt):
    """The filtered estimate of an implicit method, as a slope in the place of the one at the end (which nobody needs any more)."""
    size, s, LU, x = scene.model.size, own.control.stages, capture.LU, capture.rhs
    n_q, n_u, a = size.n_q, size.n_u, dt * capture.control.filter
    e_q, e_u = own.K_q[s], own.K_u[s]
    for i in range(n_q):
        e_q[i] *= capture.E[s]
        for j in range(s):
            e_q[i] += capture.E[j] * own.K_q[j, i]
    for i in range(n_u):
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


@phase
def relative(x, ruler):
    """|x| in units of the ruler; a change beside nothing counts as one."""
    if x == 0.0:
        return 0.0
    return abs(x) / ruler if ruler > 0.0 else 1.0


@phase
def correct_shifts(scene, own, capture, begin, dt):
    """Index 2: shifts of accelerations such that relative velocities of stages vanish; returns how far they are from it."""
    model, s = scene.model, own.control.stages
    first = 1 if capture.control.implicit else 0
    count = s - 1 if capture.control.implicit else s
    worst, fastest = 0.0, 0.0
    for i in range(model.size.n_u):
        fastest = max(fastest, own.scale[model.size.n_q + i], dt * abs(own.K_u[0, i]))
    for l in range(model.size.n_laws):
        if not is_held(model, begin, l):
            continue
        for i in range(model.laws.row[l], model.laws.row[l] + model.laws.dim[l]):
            w = abs(scene.work.zeta[i])
            for k in range(model.size.n_u):
                w = max(w, abs(scene.work.WT[i, k]) * fastest)
            if capture.control.implicit:
                add_correction(scene, own, capture, i, dt)
            for j in range(count):
                x = 0.0
                for k in range(count):
                    x += capture.inverse[j, k] * capture.gamma[k + 1, i]
                capture.shift[j + first, i] += x / dt
                worst = max(worst, relative(capture.gamma[j + 1, i], w))
    return worst


@phase
def add_correction(scene, own, capture, i, dt):
    """Relative velocities of row i in the stages after the correction of Newton's method that was just made."""
    s, n = own.control.stages, scene.model.size.n_u
    for k in range(1, s):
        for j in range(1, s):
            for m in range(n):
                capture.gamma[k, i] += dt * own.A[k, j] * scene.work.WT[i, m] * capture.rhs[(j - 1) * n + m]


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
