"""Smooth motion in given modes: accelerations and forces, and one step of an explicit Runge-Kutta method along them.

With the mode of every law given the motion is an ordinary differential equation (Acary 2012, index-1 form (62)-(64), with the full
acceleration term):

    M u' = h + W la,     q' = B u
    constraint (closed contact, sticking, joint)   W_i^T u' + kappa_i = 0,   kappa = d/dt(W^T) u + d zeta/dt
    open contact                                   la_i = 0
    slipping                                       la_T = -mu la_N gamma_T/|gamma_T|, or the bound of an interval or disk

Eliminating u' leaves  sum_j G_ij la_j = -(W_i^T M^-1 h + kappa_i)  for the rows of constraints. Rows that depend on others (a box on
two corners, redundant joints) are regularised by 1e-12 of the diagonal: of all forces that hold them, those of least size. Where these
leave their cones when the modes begin although others stay inside (a body wedged in a corner), those nearest to what the laws allowed then.

Each law has a function that is positive in its mode and vanishes where it ends (`law_functions`): gap, contact force, room to the edge
of the set, slip speed.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, kernel, phase, scalars
from nonsmooth._core.linalg.small import cholesky, lu_solve, solve_lower, solve_lower_transposed
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    DISK,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    UPPER,
)
from nonsmooth._core.records.process import Process, make_process
from nonsmooth._core.records.scene import (
    EXAMPLE,
    STEP,
    State,
    make_state,
    scene_at,
    state_at,
    state_reference,
)
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.stepping.phases import bounds_of_forces

INFINITY = 1e300
EPS = 2.220446049250313e-16
REGULARISED = 1e-12
KIND = 1e-4  # least size of a component beside others of its kind

Control = scalars(
    "EventDrivenControl",
    # asked for
    rtol=float,
    atol=float,
    dt_max=float,
    error_order=int,
    stages=int,
    restitution=int,  # NEWTON, POISSON or ENERGETIC (`records.process`)
    strict=int,  # a sliding contact that jams ends the run
    drifts=int,  # constraints are left to what the integration makes of them
    ledge=float,  # contacts may move the end of a step by so many tolerances, else their surface ended (0: as far as it takes)
    # where the run stands
    dt_next=float,
    dt_smooth=float,  # length of the last step that was not cut by an event
    jump=int,  # the state jumps, or modes change, where the run stands
    at_start=int,  # no modes are known yet
    rejected=int,  # in a row
    dependent=int,  # rows of laws that depend on others were met: their forces are known to `REGULARISED` only
    wedged=int,  # forces of least size left their sets where the modes began
    repeated=int,  # transitions without a step between them
    searching=int,  # iterations of the search for the end of a mode (0: none is on)
    lo=float,  # it lies between these lengths of the step
    hi=float,
    f_lo=float,  # least of the laws' functions there, relative to the begin of the step
    f_hi=float,
    side=int,  # the end of the bracket that was kept last
    t_discontinuity=float,  # where an undeclared discontinuity was passed
    discontinuities=int,
    grazings=int,
    t_grazing=float,
    accumulations=int,
    t_accumulation=float,
    jams=int,  # impacts without collision (`paradox`)
    t_jam=float,
    law_jam=int,
    ambiguous=int,  # instants at which accelerations were not unique
    t_ambiguous=float,
)


class EventDriven(NamedTuple):
    """The scheme's own record."""

    at: Any  # addresses of its parts (see `PARTS`)
    control: Any
    A: np.ndarray  # Butcher's tableau; its row `stages` is b
    c: np.ndarray
    E: np.ndarray  # two error estimators, the last column multiplies the slope at the end
    K_q: np.ndarray  # q', u' of the stages and of the end
    K_u: np.ndarray
    La: np.ndarray  # forces of the stages, by row of the model
    power: np.ndarray  # of smooth forces and of laws, by stage
    trial: State  # end of the step being tried
    scale: np.ndarray  # largest size of each component so far
    gamma: np.ndarray  # relative velocities
    kappa: np.ndarray
    acceleration: np.ndarray  # of the relative motion: d gamma/dt
    force_scale: np.ndarray  # by row: largest force so far, of the law or needed to hold it
    push_scale: np.ndarray  # by row: largest acceleration c without forces of the laws so far
    pull: np.ndarray  # by velocity: largest acceleration so far that a single force makes
    slip: np.ndarray  # unit direction of slip of laws on a disk, by row
    slip_0: np.ndarray  # and at the begin of the step (zero: none is known)
    allowed: np.ndarray  # forces that the laws allowed when the modes began, by row
    joints: np.ndarray
    phi_0: np.ndarray  # the laws' functions at the begin of the step, its stages (by row), its end
    phi: np.ndarray
    gap_0: np.ndarray  # gaps and rates at the begin
    rate_0: np.ndarray
    rate: np.ndarray  # and at the last evaluation
    size: np.ndarray  # by law: what counts as zero in its function
    blur: np.ndarray  # and how many times that its function must exceed before it may end its mode
    fired: np.ndarray  # by law: its mode ends where the run stands
    rest_gap: np.ndarray  # overlap at which a contact closed or started: its surface, until it is above zero
    gap_max: np.ndarray  # largest gap so far: the length scale of a contact
    touches: np.ndarray  # by law: takes part in a transition
    mode: np.ndarray  # by law: modes being tried
    resting: np.ndarray  # by law: comes to rest in this transition
    jammed: np.ndarray  # by law: has an impulse in this transition without having closed
    process: Process  # an impact under another hypothesis than Newton's


def make_own(at, size, A, c, E, n_own=0):
    """The record for a model of that size and a tableau; `n_own` numbers are remembered with every state."""
    s = c.size + 1
    n_q, n_u, r, n = size.n_q, size.n_u, max(size.n_rows, 1), max(size.n_laws, 1)
    by_law = [np.zeros(n) for _ in range(4)]
    return EventDriven(
        at=at, control=Control(), A=A, c=c, E=E, K_q=np.zeros((s, n_q)), K_u=np.zeros((s, n_u)), La=np.zeros((s, r)),
        power=np.zeros((s, 2)), trial=make_state(size, n_own), scale=np.zeros(n_q + n_u), gamma=np.zeros(r), kappa=np.zeros(r),
        acceleration=np.zeros(r), force_scale=np.zeros(r), push_scale=np.zeros(r), pull=np.zeros(n_u), slip=np.zeros(r), slip_0=np.zeros(r),
        allowed=np.zeros(r),
        joints=np.zeros(max(size.n_joints, 1)), phi_0=np.zeros(n), phi=np.zeros((s, n)),
        gap_0=np.zeros(n),
        rate_0=np.zeros(n), rate=by_law[0], size=by_law[1], blur=np.ones(n), fired=np.zeros(n, dtype=np.int64),
        rest_gap=by_law[2], gap_max=by_law[3],
        touches=np.zeros(n, dtype=np.int64), mode=np.zeros(n, dtype=np.int64),
        resting=np.zeros(n, dtype=np.int64), jammed=np.zeros(n, dtype=np.int64),
        process=make_process(size.n_laws, size.n_rows),
    )  # fmt: skip


# Parts call each other at their addresses: linked in, each would be compiled again with everything that calls it.
ACCELERATE = int64(int64, int64, int64, float64, int64)
AT_STATE = int64(int64, int64, float64)
AT_END = int64(int64, float64)
SETTLE = int64(int64, int64, int64)
PARTS = {
    "accelerate": ACCELERATE, "integrate": STEP, "begin_trial": AT_STATE, "hold": AT_STATE, "finish": STEP, "transition": AT_STATE,
    "look": AT_END, "settle": SETTLE, "rest": AT_STATE, "jam": AT_STATE,
}  # fmt: skip
call_accelerate, call_at_state, call_at_end, call_settle = (
    caller(ACCELERATE),
    caller(AT_STATE),
    caller(AT_END),
    caller(SETTLE),
)

_, own_at = by_reference(
    make_own(
        address_record(**dict.fromkeys(PARTS, 0), process=0),
        EXAMPLE.model.size,
        np.zeros((2, 2)),
        np.zeros(1),
        np.zeros((2, 2)),
    )
)


@phase
def evaluate(scene, own, t, q, u, flight=False):
    """M, h, W, zeta, kappa, bounds, gaps at a state, and the relative velocities; in free flight without what only forces of laws need."""
    model, work = scene.model, scene.work
    at, size, p = model.at, model.size, model.p
    if not scene.info.ready or not size.constant_M:
        call_matrix(at.mass, t, q, u, p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            return MASS_SINGULAR
    call_vector(at.force, t, q, u, p, work.h)
    if size.n_N > 0:
        call_vector(at.gap, t, q, u, p, work.g)
    if size.n_rows > 0:
        if not scene.info.ready or not size.constant_W:
            call_matrix(at.directions, t, q, u, p, work.WT)
        if size.has_zeta:
            call_vector(at.zeta, t, q, u, p, work.zeta)
        if size.has_bounds and not flight:
            bounds_of_forces(model, work, t, q, u)
        if not flight:
            call_vector(at.kappa, t, q, u, p, own.kappa)
    if size.has_B:
        call_matrix(at.kinematics, t, q, u, p, work.B)
    scene.info.ready = 1
    for i in range(size.n_rows):
        s = work.zeta[i]
        for j in range(size.n_u):
            s += work.WT[i, j] * u[j]
        own.gamma[i] = s
        if not s - s == 0.0:
            return NON_FINITE
    return OK


@phase
def delassus(scene, own):
    """G = W^T M^-1 W of all rows, and c = W^T M^-1 h + kappa (in `rows.c`, by row of the model); du is M^-1 h."""
    model, work, c = scene.model, scene.work, scene.problem.rows.c
    n_u, n = model.size.n_u, model.size.n_rows
    solve_lower(work.L, work.h, work.du, n_u)
    for i in range(n):
        solve_lower(work.L, work.WT[i], work.Y[i], n_u)
        s = own.kappa[i]
        for k in range(n_u):
            s += work.Y[i, k] * work.du[k]
        c[i] = s
        for j in range(i + 1):
            s = 0.0
            for k in range(n_u):
                s += work.Y[i, k] * work.Y[j, k]
            work.G_all[i, j] = s
            work.G_all[j, i] = s


@phase
def pulls(own, L, y, a, force):
    """Accelerations L^-T y times a force: each of them, although their sum may vanish."""
    solve_lower_transposed(L, y, a, own.pull.size)
    for k in range(own.pull.size):
        own.pull[k] = max(own.pull[k], abs(a[k] * force))


@phase
def acts(model, modes, l):
    """Whether law `l` can carry a force in these modes."""
    if model.laws.kind[l] == HALF_LINE:
        return modes[l] == CONSTRAINT
    if model.laws.link[l] >= 0:
        return modes[model.laws.link[l]] == CONSTRAINT
    return True


@phase
def none_acts(model, modes):
    """Whether no law can carry a force: free flight."""
    for l in range(model.size.n_laws):
        if acts(model, modes, l):
            return False
    return True


@phase
def slip_direction(own, model, l):
    """Unit direction of the slip of a law on a disk; where it does not move yet, the one it will take stands there already.

    Behind a stop the direction goes on, so that forces stay smooth and the slip speed becomes negative: a step can end behind it.
    """
    i0, s, along = model.laws.row[l], 0.0, 0.0
    for d in range(model.laws.dim[l]):
        s += own.gamma[i0 + d] ** 2
        along += own.gamma[i0 + d] * own.slip_0[i0 + d]
    s = s**0.5 if along >= 0.0 else -(s**0.5)
    if abs(s) > own.size[l]:
        for d in range(model.laws.dim[l]):
            own.slip[i0 + d] = own.gamma[i0 + d] / s


@phase
def force_equation(scene, own, modes, l, regularisation, impulsive):
    """The rows of law `l` in the linear system for the forces (or for impulses, to which forces under a bound add nothing)."""
    model, work, A, b, c = (
        scene.model,
        scene.work,
        scene.problem.A,
        scene.problem.rows.b,
        scene.problem.rows.c,
    )
    kind, mode, n = model.laws.kind[l], modes[l], model.size.n_rows
    i0 = model.laws.row[l]
    free = not acts(model, modes, l)
    for i in range(i0, i0 + model.laws.dim[l]):
        held = mode == CONSTRAINT and not free
        f = 1.0 / work.G_all[i, i] if held and work.G_all[i, i] > 0.0 else 0.0
        for j in range(n):
            A[i, j] = f * work.G_all[i, j]
        A[i, i] += regularisation if held else 1.0
        b[i] = -f * c[i]
        if held and not impulsive and own.control.wedged:
            b[i] += regularisation * own.allowed[i]
        if held or free:
            continue
        if kind == INTERVAL and not impulsive:
            b[i] = work.bounds[n + i] if mode == UPPER else work.bounds[i]
        elif kind == DISK and not impulsive:
            b[i] = -work.bounds[n + i0] * own.slip[i]
        elif kind == COULOMB_1D:
            A[i, model.laws.row[model.laws.link[l]]] = (
                -model.laws.mu[l] if mode == UPPER else model.laws.mu[l]
            )
        elif kind == COULOMB_2D:
            A[i, model.laws.row[model.laws.link[l]]] = model.laws.mu[l] * own.slip[i]


@phase
def forces(scene, own, modes, la, impulsive):
    """Forces of all laws in these modes; impulses if `rows.c` holds relative velocities."""
    model, b = scene.model, scene.problem.rows.b
    n = model.size.n_rows
    for attempt in range(2):
        for l in range(model.size.n_laws):
            if attempt == 0 and model.laws.dim[l] == 2 and modes[l] == UPPER:
                slip_direction(own, model, l)
            force_equation(scene, own, modes, l, REGULARISED * attempt, impulsive)
        if lu_solve(scene.problem.A, b, n) == 0:
            break
        own.control.dependent = 1
    for i in range(n):
        la[i] = b[i]


@kernel(ACCELERATE, part=True)
def accelerate(at_scene, at_point, at_begin, t, k):
    """Slopes, forces and the laws' functions at a state, in the modes of the begin of the step: stage `k`."""
    scene, point, modes = scene_at(at_scene), state_at(at_point), state_at(at_begin).modes
    own = own_at(scene.at.own)
    model, work, la, u = scene.model, scene.work, own.La[k], point.u
    size = model.size
    flight = k > 0 and none_acts(model, modes)  # (stage 0 tells the size of forces, too)
    status = evaluate(scene, own, t, point.q, u, flight)
    if status != OK:
        return status
    if size.n_rows > 0 and not flight:
        delassus(scene, own)
        forces(scene, own, modes, la, False)
    else:
        la[:] = 0.0
        solve_lower(work.L, work.h, work.du, size.n_u)
    check = slopes(model, work, u, la, own.K_q[k], own.K_u[k])
    powers(model, work, own, u, la, k)
    law_functions(scene, own, modes, la, own.phi[k])
    return OK if check == 0.0 else NON_FINITE


@phase
def relative_accelerations(scene, own):
    """d gamma/dt of all rows with the forces of the modes in ``own.mode``, at the state evaluated last."""
    work, c, la, n = scene.work, scene.problem.rows.c, own.La[0], scene.model.size.n_rows
    delassus(scene, own)
    forces(scene, own, own.mode, la, False)
    for i in range(n):
        s = c[i]
        for j in range(n):
            s += work.G_all[i, j] * la[j]
        own.acceleration[i] = s


@phase
def slopes(model, work, u, la, dq, du):
    """u' = M^-1 (h + W la), q' = B u; `work.du` holds L^-1 h. Returns zero if they are finite."""
    size, check = model.size, 0.0
    for k in range(size.n_u):
        s = work.du[k]
        for i in range(size.n_rows):
            s += work.Y[i, k] * la[i]
        du[k] = s
    solve_lower_transposed(work.L, du, du, size.n_u)
    for i in range(size.n_q):
        s = 0.0
        if size.has_B:
            for j in range(size.n_u):
                s += work.B[i, j] * u[j]
        else:
            s = u[i]
        dq[i] = s
        check += s - s
    for k in range(size.n_u):
        check += du[k] - du[k]
    return check


@phase
def powers(model, work, own, u, la, k):
    """Power of the smooth forces and of the laws."""
    own.power[k, 0], own.power[k, 1] = 0.0, 0.0
    for j in range(model.size.n_u):
        own.power[k, 0] += work.h[j] * u[j]
    for i in range(model.size.n_rows):
        own.power[k, 1] += la[i] * (own.gamma[i] - work.zeta[i])


@phase
def law_functions(scene, own, modes, la, phi):
    """For each law a function that is positive in its mode and vanishes where that ends; gap rates on the side."""
    model, work = scene.model, scene.work
    laws, n = model.laws, model.size.n_rows
    for l in range(model.size.n_laws):
        i = laws.row[l]
        kind = laws.kind[l]
        phi[l] = INFINITY
        if kind == HALF_LINE:
            own.rate[l] = own.gamma[i]
            phi[l] = la[i] if modes[l] == CONSTRAINT else work.g[l] - own.rest_gap[l]
        elif modes[l] == INACTIVE or not acts(model, modes, l) or laws.mu[l] > INFINITY:
            continue
        elif modes[l] == CONSTRAINT:
            phi[l] = room(model, work, la, l, n)
        elif laws.dim[l] == 1:
            phi[l] = -own.gamma[i] if modes[l] == UPPER else own.gamma[i]
        else:
            phi[l] = 0.0
            for d in range(laws.dim[l]):
                phi[l] += own.gamma[i + d] * own.slip[i + d]


@phase
def room(model, work, la, l, n):
    """How far the force of a sticking law is from the edge of its set."""
    laws, i = model.laws, model.laws.row[l]
    kind = laws.kind[l]
    if kind == INTERVAL:
        return min(work.bounds[n + i] - la[i], la[i] - work.bounds[i])
    s = 0.0
    for d in range(laws.dim[l]):
        s += la[i + d] ** 2
    if kind == COULOMB_1D or kind == COULOMB_2D:
        return laws.mu[l] * la[laws.row[laws.link[l]]] - s**0.5
    if kind == DISK:
        return work.bounds[n + i] - s**0.5
    return INFINITY


@kernel(STEP, part=True)
def integrate(at_scene, at_begin, t, dt):
    """A step of the explicit method into ``own.trial``; stage 0 is known. The slope at the end is stage `stages`."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own = own_at(scene.at.own)
    size, s, trial = scene.model.size, own.control.stages, own.trial
    at_trial = state_reference(trial)
    for k in range(1, s + 1):
        for i in range(size.n_q):
            x = 0.0
            for j in range(k):
                x += own.A[k, j] * own.K_q[j, i]
            trial.q[i] = begin.q[i] + dt * x
        for i in range(size.n_u):
            x = 0.0
            for j in range(k):
                x += own.A[k, j] * own.K_u[j, i]
            trial.u[i] = begin.u[i] + dt * x
        status = call_accelerate(own.at.accelerate, at_scene, at_trial, at_begin, t + own.c[k] * dt, k)
        if status != OK:
            return status
    return OK


@phase
def error_of_step(scene, own, begin, dt):
    """Estimated error of the step relative to the tolerance (the combination of two estimators of Hairer, Norsett, Wanner for
    DOP853, one estimator for the others)."""
    size, control, s = scene.model.size, own.control, own.control.stages
    worst = 0.0
    q_max, u_max, pull_max = 0.0, 0.0, 0.0
    noise = 16.0 * REGULARISED if control.dependent else 64.0 * EPS
    for i in range(size.n_q):
        q_max = max(q_max, own.scale[i], abs(own.trial.q[i]))
    for i in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + i], abs(own.trial.u[i]))
        pull_max = max(pull_max, own.pull[i])
    for i in range(size.n_q + size.n_u):
        position = i < size.n_q
        k = i if position else i - size.n_q
        e_0, e_1 = 0.0, 0.0
        for j in range(s + 1):
            slope = own.K_q[j, k] if position else own.K_u[j, k]
            e_0 += own.E[0, j] * slope
            e_1 += own.E[1, j] * slope
        value = own.trial.q[k] if position else own.trial.u[k]
        start = begin.q[k] if position else begin.u[k]
        largest = max(abs(value), abs(start))
        # a component that is nothing but rounding beside its kind is not measured against itself
        ruler = max(largest, own.scale[i], KIND * (q_max if position else u_max))
        tolerance = control.rtol * (ruler if control.atol == 0.0 else largest) + control.atol
        # what rounding makes of forces that cancel: a body at rest has no velocity to be measured against
        pull = pull_max if position and size.has_B else own.pull[k]
        tolerance += noise * dt * pull * (dt if position else 1.0)
        e_0, e_1 = abs(dt * e_0), abs(dt * e_1)
        if e_0 > 0.0:
            error = e_0 * e_0 / (e_0 * e_0 + 0.01 * e_1 * e_1) ** 0.5
            worst = max(worst, error / tolerance if tolerance > 0.0 else 0.0)
    return worst
