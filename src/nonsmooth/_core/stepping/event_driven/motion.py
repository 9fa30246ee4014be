"""Smooth motion in given modes: accelerations and forces.

With the mode of every law given the motion is an ordinary differential equation (Acary 2012, index-1 form (62)-(64), with the full
acceleration term):

    M u' = h + W la,     q' = B u
    constraint (closed contact, sticking, joint)   W_i^T u' + kappa_i = 0,   kappa = d/dt(W^T) u + d zeta/dt
    open contact                                   la_i = 0
    slipping                                       la_T = -mu la_N gamma_T/|gamma_T|, or the bound of an interval or disk

Eliminating u' leaves  sum_j G_ij la_j = -(W_i^T M^-1 h + kappa_i)  for the rows of constraints. Rows that depend on others (a box on
two corners, redundant joints) are regularised by a small part of the diagonal, which further passes take off again,
(G + r D) la_n = -c + r D la_n-1: of all forces that hold them, those of least size, smooth in time, whatever the tangents are (D is the
same for the rows of a law). Where these leave their cones when the modes begin although others stay inside (a body wedged in a corner),
those nearest to what the laws allowed then.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.elimination import SINGULAR, eliminate
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, COULOMB_1D, COULOMB_2D, DISK, INTERVAL, UPPER
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.stepping.event_driven.law_functions import acts, law_functions, none_acts
from nonsmooth._core.stepping.event_driven.records import ACCELERATE, own_at
from nonsmooth._core.stepping.event_driven.stage_state import velocities
from nonsmooth._core.stepping.phases import bounds_of_forces

REGULARISED, PASSES = 1e-7, 4
BLURRED = 1e-12  # part of the forces to which rows that depend on others are known


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
    if size.has_bounds and not flight and not have_sets(model, work, modes):
        return NON_FINITE
    if size.n_rows > 0 and not flight:
        delassus_acting(scene, own, modes, k == 0)
        forces(scene, own, modes, la, False)
    else:
        la[:] = 0.0
        solve_lower(work.L, work.h, work.du, size.n_u)
    check = slopes(model, work, u, la, own.K_q[k], own.K_u[k])
    powers(model, work, own, u, la, k)
    law_functions(scene, own, modes, la, own.phi[k])
    return OK if check == 0.0 else NON_FINITE


@phase
def have_sets(model, work, modes):
    """Whether the laws that act have sets: a limit that became negative (or NaN) leaves none, and friction would push."""
    laws, bounds, n_rows = model.laws, work.bounds, model.size.n_rows
    for l in range(model.size.n_laws):
        if acts(model, modes, l):
            for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
                if not bounds[i] <= bounds[n_rows + i]:
                    return False
    return True


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
    for l in range(scene.model.size.n_laws):
        scene.problem.acts[l] = 1
    products(scene, own, True)


@phase
def delassus_acting(scene, own, modes, all_alone):
    """The same between laws that can carry a force in these modes; of the others, if wanted (`all_alone`), c and G_ii."""
    for l in range(scene.model.size.n_laws):
        scene.problem.acts[l] = 1 if acts(scene.model, modes, l) else 0
    products(scene, own, all_alone)


@phase
def products(scene, own, all_alone):
    """c and G_ii of the laws that act, or of all; G_ij between those that act."""
    model, work, c, acting = scene.model, scene.work, scene.problem.rows.c, scene.problem.acts
    laws, n_u = model.laws, model.size.n_u
    solve_lower(work.L, work.h, work.du, n_u)
    for l in range(model.size.n_laws):
        if not (acting[l] or all_alone):
            continue
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            solve_lower(work.L, work.WT[i], work.Y[i], n_u)
            c[i] = own.kappa[i] + product(work.Y[i], work.du, n_u)
            work.G_all[i, i] = product(work.Y[i], work.Y[i], n_u)
            for m in range(l + 1 if acting[l] else 0):
                for j in range(laws.row[m], min(i, laws.row[m] + laws.dim[m]) if acting[m] else laws.row[m]):
                    work.G_all[i, j] = work.G_all[j, i] = product(work.Y[i], work.Y[j], n_u)


@phase
def product(x, y, n):
    """x^T y"""
    s = 0.0
    for k in range(n):
        s += x[k] * y[k]
    return s


@phase
def forces(scene, own, modes, la, impulsive):
    """Forces of all laws in these modes; impulses if `rows.c` holds relative velocities."""
    model = scene.model
    for l in range(model.size.n_laws):
        if model.laws.dim[l] == 2 and modes[l] == UPPER:
            slip_direction(own, model, l)
    if solved_forces(scene, own, modes, la, 0.0, impulsive):
        return
    own.control.dependent = 1
    for i in range(model.size.n_rows):
        la[i] = own.allowed[i] if own.control.wedged and not impulsive else 0.0
    for _ in range(PASSES):
        if not solved_forces(scene, own, modes, la, REGULARISED, impulsive):
            break


@phase
def solved_forces(scene, own, modes, la, regularisation, impulsive):
    """The forces that solve the equations of the laws that act, drawn towards `la` by the regularisation; whether they were found."""
    model, problem, b = scene.model, scene.problem, scene.problem.rows.b
    laws, place = model.laws, own.equation
    n = places_of_acting(model, modes, place)
    for l in range(model.size.n_laws):
        if place[l] >= 0:
            force_equation(scene, own, modes, l, la, regularisation, impulsive)
    if eliminate(problem.A, b, n, SINGULAR) != 0:
        return False
    for l in range(model.size.n_laws):
        for d in range(laws.dim[l]):
            la[laws.row[l] + d] = b[place[l] + d] if place[l] >= 0 else 0.0
    return True


@phase
def places_of_acting(model, modes, place):
    """The first equation of each law that can carry a force, -1 of the others; returns how many there are."""
    n = 0
    for l in range(model.size.n_laws):
        place[l] = n if acts(model, modes, l) else -1
        n += model.laws.dim[l] if place[l] >= 0 else 0
    return n


@phase
def force_equation(scene, own, modes, l, la, regularisation, impulsive):
    """The equations of law `l`, which acts (for impulses forces under a bound add nothing)."""
    model, work, problem, c = scene.model, scene.work, scene.problem, scene.problem.rows.c
    laws, A, b, place, n_all = model.laws, problem.A, problem.rows.b, own.equation, model.size.n_rows
    kind, held, mean = laws.kind[l], modes[l] == CONSTRAINT, 0.0
    for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
        mean += work.G_all[i, i] / laws.dim[l]
    for d in range(laws.dim[l]):
        i, e = laws.row[l] + d, place[l] + d
        f = 1.0 / work.G_all[i, i] if held and work.G_all[i, i] > 0.0 else 0.0
        for m in range(model.size.n_laws):
            for k in range(laws.dim[m] if place[m] >= 0 else 0):
                A[e, place[m] + k] = f * work.G_all[i, laws.row[m] + k]
        A[e, e] += regularisation * f * mean if f > 0.0 else 1.0
        b[e] = -f * c[i]
        if held:
            b[e] += regularisation * f * mean * la[i] if regularisation > 0.0 else 0.0
        elif kind == INTERVAL and not impulsive:
            b[e] = work.bounds[n_all + i] if modes[l] == UPPER else work.bounds[i]
        elif kind == DISK and not impulsive:
            b[e] = -work.bounds[n_all + laws.row[l]] * own.slip[i]
        elif kind == COULOMB_1D:
            A[e, place[laws.link[l]]] = -laws.mu[l] if modes[l] == UPPER else laws.mu[l]
        elif kind == COULOMB_2D:
            A[e, place[laws.link[l]]] = laws.mu[l] * own.slip[i]


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
def slopes(model, work, u, la, dq, du):
    """u' = M^-1 (h + W la), q' = B u; `work.du` holds L^-1 h. Returns zero if they are finite."""
    size, check = model.size, 0.0
    for k in range(size.n_u):
        s = work.du[k]
        for i in range(size.n_rows):
            if la[i] != 0.0:  # (rows of laws that do not act are not known)
                s += work.Y[i, k] * la[i]
        du[k] = s
    solve_lower_transposed(work.L, du, du, size.n_u)
    for k in range(size.n_u):
        check += du[k] - du[k]
    return check + velocities(size, work, u, dq)


@phase
def powers(model, work, own, u, la, k):
    """Power of the smooth forces and of the laws."""
    own.power[k, 0], own.power[k, 1] = 0.0, 0.0
    for j in range(model.size.n_u):
        own.power[k, 0] += work.h[j] * u[j]
    for i in range(model.size.n_rows):
        own.power[k, 1] += la[i] * (own.gamma[i] - work.zeta[i])


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
