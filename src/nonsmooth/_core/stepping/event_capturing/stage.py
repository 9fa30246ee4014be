"""One stage of a Runge-Kutta method on motion in given modes, eqs. (62)-(64) of Acary 2012: slopes, forces, the laws' functions.

    M(Q_i) V'_i = h(t_i, Q_i, V_i) + W(Q_i) la_i
    equalities (62)          W^T V'_i + kappa_i = 0 for every law that holds
    complementarity (63)     0 <= W^T V'_i + kappa_i  _|_  la_i >= 0 for closed contacts, Coulomb's law on accelerations with them

Forces are eliminated; kappa = d/dt(W^T) u + d zeta/dt is what the printed equations leave out.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import VECTOR, float64, int64, kernel, noinline, phase
from nonsmooth._core.linalg.small import cholesky, solve_lower
from nonsmooth._core.records.laws import CONSTRAINT, FREE, INACTIVE
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.stepping.event_capturing.records import capture_at
from nonsmooth._core.stepping.event_driven.acceleration_laws import fixed_force, friction_share, new_modes
from nonsmooth._core.stepping.event_driven.law_functions import acts, law_functions
from nonsmooth._core.stepping.event_driven.motion import (
    delassus,
    evaluate,
    forces,
    powers,
    slip_direction,
    slopes,
)
from nonsmooth._core.stepping.event_driven.records import own_at
from nonsmooth._core.stepping.event_driven.sizes import INFINITY

ROUNDED = 1e-10  # part of its terms below which an acceleration is none


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
    in_flight = capture.control.unloaded and not capture.control.index_2
    status = evaluate(scene, own, t, point.q, u, in_flight)
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
