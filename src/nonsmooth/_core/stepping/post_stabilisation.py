"""Post-stabilisation (Compere 2001, sec. 3.4.1): after a step the state is moved onto the constraints.

    q^  = q - F(x) Phi_h(q)                                                            (3.27), (3.29)
    u^  = u - F(x) S(q^, u)                                                            (3.28), (3.30)

F = J^T (J J^T)^-1, J at the state x before the pass; one or two passes. Positions are moved by Phi_h and J_q only (Phi_n is a velocity;
the form as printed, with all of Phi, can be asked for). With `mass_weighted` F = M^-1 J^T (J M^-1 J^T)^-1, the least change in the norm
of M.

A step may be adjusted by no more than it is uncertain, C (dt/T)^(p-1) of the size of the motion, T its time scale. What goes beyond is
counted. Surfaces that are still being reached are left alone, and so are positions after that, until they are within the bound: s_h = 0
is not Phi_h = 0.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import solve_by_rank
from nonsmooth._core.linalg.small import solve_lower, solve_lower_transposed
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.equivalent_control import DEPENDENT, at_point, dot, norm
from nonsmooth._core.stepping.projection import shift

ROUNDING = 1e-13  # of the motion, always allowed
DIFFERENCES = 1e-10  # the same where inputs are found by differences (`relative_order`)
KIND = 1e-4  # least size of a component beside others of its kind


@phase
def post_stabilise(scene, own, t, dt):
    """Passes of (3.27), (3.28) on (q, u) of the record at time t, after a step of length dt."""
    size = scene.model.size
    for i in range(size.n_q):
        own.q_before[i] = own.q[i]
    for k in range(size.n_u):
        own.u_before[k] = own.u[k]
    limit = uncertainty(own, dt)
    status = at_point(scene, own, t)
    for _ in range(own.control.passes):
        if status != OK:
            return status
        settle(scene, own, limit)
        keep_directions(scene, own)
        move_positions(scene, own)
        status = at_point(scene, own, t)
        if status != OK:
            return status
        move_velocities(scene, own)
        status = at_point(scene, own, t)
    return status


@phase
def uncertainty(own, dt):
    """How far a step of length dt may be off, relative to the motion."""
    control = own.control
    rounding = DIFFERENCES if control.highest > 2 else ROUNDING
    return max(control.bound * max((dt * control.fast) ** (control.order - 1), control.rtol), rounding)


@phase
def settle(scene, own, limit):
    """Positions are put onto the constraints that are reached and that they, and the velocities with them, miss by no more than the step is
    uncertain."""
    size = scene.model.size
    q_max, u_max = 0.0, 0.0
    for i in range(size.n_q):
        q_max = max(q_max, own.scale[i])
    for k in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + k])
    for i in range(size.n_joints):
        if own.settled[i] or own.side[i] != 0.0:
            continue
        length = norm(scene.work.WT[i], size.n_u)
        distance = abs(own.Phi[i]) / length
        if own.order[i] > 2 and abs(own.gamma[i]) > limit * u_max * length:
            continue  # its velocity is not there yet
        if distance <= limit * q_max and own.sigma[i] * distance <= limit * u_max:
            own.settled[i] = 1
            own.control.settling = 1


@phase
def keep_directions(scene, own):
    """J of F(x), in the norm that is asked for."""
    work, size = scene.work, scene.model.size
    for i in range(size.n_rows):
        if own.control.mass_weighted:
            solve_lower(work.L, work.WT[i], own.F[i], size.n_u)
        else:
            for k in range(size.n_u):
                own.F[i, k] = work.WT[i, k]
        own.length[i] = norm(own.F[i], size.n_u)


@phase
def move_positions(scene, own):
    """(3.27) with Phi_h and J_q, or as printed."""
    size = scene.model.size
    n = size.n_rows if own.control.printed else size.n_joints
    for i in range(n):
        own.b[i] = own.gamma[i]
        if i < size.n_joints:
            own.b[i] = own.Phi[i] if own.settled[i] else 0.0
    move(scene, own, n)
    shift(scene.model, scene.work, own.q)


@phase
def move_velocities(scene, own):
    """(3.28)."""
    size, du = scene.model.size, scene.work.du
    for i in range(size.n_rows):
        left_alone = own.side[i] != 0.0 or (own.order[i] > 2 and not own.settled[i])
        own.b[i] = 0.0 if left_alone else own.s[i]
    move(scene, own, size.n_rows)
    for k in range(size.n_u):
        own.u[k] -= du[k]


@phase
def move(scene, own, n):
    """F b of the first n rows, into `work.du`; rows that depend on others are satisfied with them."""
    work, n_u = scene.work, scene.model.size.n_u
    for i in range(n):
        length = own.length[i] if own.length[i] > 0.0 else 1.0
        own.b[i] /= length
        for j in range(i + 1):
            other = own.length[j] if own.length[j] > 0.0 else 1.0
            own.A[i, j] = dot(own.F[i], own.F[j], n_u) / (length * other)
            own.A[j, i] = own.A[i, j]
    solve_by_rank(own.A, own.b, own.x, own.rows, own.columns, n, DEPENDENT)
    for k in range(n_u):
        work.du[k] = 0.0
        for i in range(n):
            if own.length[i] > 0.0:
                work.du[k] += own.F[i, k] * own.x[i] / own.length[i]
    if own.control.mass_weighted:
        solve_lower_transposed(work.L, work.du, work.du, n_u)


@phase
def weigh_adjustment(scene, own, t, dt):
    """The adjustment of this step against its bound."""
    control, size = own.control, scene.model.size
    limit = uncertainty(own, dt)
    moved = moved_part(own.q, own.q_before, own.scale, 0, size.n_q)
    control.adjustment = max(moved, moved_part(own.u, own.u_before, own.scale, size.n_q, size.n_u))
    if control.silent or control.first or control.settling:
        control.settling = 0
        return
    control.largest = max(control.largest, control.adjustment)
    if control.adjustment > limit:
        if control.beyond == 0:
            control.t_beyond = t
        control.beyond += 1
        if control.adjustment > control.worst * limit:
            control.worst, control.t_worst = control.adjustment / limit, t


@phase
def moved_part(x, before, scale, first, n):
    """Largest change of a component relative to its size."""
    largest, worst = 0.0, 0.0
    for k in range(n):
        largest = max(largest, scale[first + k])
    for k in range(n):
        ruler = max(scale[first + k], KIND * largest)
        if ruler > 0.0:
            worst = max(worst, abs(x[k] - before[k]) / ruler)
    return worst
