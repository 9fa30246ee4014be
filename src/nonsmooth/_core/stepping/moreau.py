"""Moreau's midpoint rule: one step, compiled.

Studer, Leine, Glocker 2008, sec. 3, with erratum 3 (no extra zeta in c) and kinematics q' = B(t, q) u:

    t_M = t_B + dt/2,  q_M = q_B + B(q_B) u_B dt/2                                        midpoint
    M_M (u_E - u_B) - h_M dt - sum_i W_i P_i = 0,  h_M = h(t_M, q_M, u_B)                 (15)
    contacts with g(t_M, q_M) <= 0 are active, friction and other elements always
    gamma = W_M^T u + zeta_M
    -(gamma_E + e gamma_B) in N(P)                                                        (17)
    gamma_E + e gamma_B = G P + c,  G = W^T M^-1 W                                        (18)
    c = W^T (u_B + M^-1 h dt) + zeta + e gamma_B
    P = prox(P - r (G P + c))                                                             (19)
    q_E = q_B + B(q_M) (u_B + u_E)/2 dt                                                   (21)

The implicit variant (a second base scheme for extrapolation) evaluates M, h, W at the end (t_E, q_E, u_E) by fixed-point
iteration, and q_E = q_B + B u_E dt.

Enduring laws (an option, used by extrapolation where W depends on q). A law that was a constraint has gamma_B = 0 at the
begin of the step, so that no restitution can act; but W_M^T u_B = kappa dt/2, kappa = d/dt(W^T) u. The force
-(kappa + W^T M^-1 h)/G that keeps it comes out right in every step for e = 1, W_M^T (u_E + u_B) = 0, the midpoint
rule for the constraint. (With evaluation at the end of the step for e = 0.) The same holds for a contact that approaches
or parts no faster than the forces move it within the step.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.scene import STEP, scene_at, state_at
from nonsmooth._core.records.status import NON_FINITE, OK, UNCONVERGED
from nonsmooth._core.stepping.books import book_forces, book_gaps, book_laws, end_of_solve
from nonsmooth._core.stepping.phases import (
    active_laws,
    contact_problem,
    directions,
    evaluation_point,
    first_change,
    free_velocity,
    impulses,
    kick,
    move,
    not_finite_gap,
)
from nonsmooth._core.stepping.run_loop import loop

MAX_SWEEPS = 30


@kernel(STEP, part=True)
def moreau_step(at_scene, at_state, t, dt):
    """One step of Moreau's midpoint rule, at an address."""
    return midpoint_rule(scene_at(at_scene), state_at(at_state), at_scene, at_state, t, dt)


@kernel(references=False)
def run_moreau(at_scene, at_state, at_run, budget):
    """The run loop with Moreau's step inside."""
    return loop(midpoint_rule, at_scene, at_state, at_run, budget)


@phase
def midpoint_rule(scene, begin, at_scene, at_state, t, dt):
    """One step of Moreau's midpoint rule."""
    model, work, end, info = scene.model, scene.work, scene.end, scene.info
    for i in range(model.size.n_u):
        work.u_e[i] = begin.u[i]
    evaluation_point(model, begin, work, t, t + 0.5 * dt, 0.5 * dt)
    status = velocity_step(scene, begin, t + 0.5 * dt, dt, 1.0, True)
    if status != OK and status != UNCONVERGED:
        info.ready = 0
        return status
    finite = move(model, begin, end, work, 0.5, dt)
    return close_step(scene, begin, status if finite else NON_FINITE, t, dt)


@kernel(STEP, part=True)
def implicit_step(at_scene, at_state, t, dt):
    """One step of the implicit variant: M, h, W at the end of the step, found by fixed-point iteration."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    model, work, end, info = scene.model, scene.work, scene.end, scene.info
    for i in range(model.size.n_u):
        work.u_e[i] = begin.u[i]
    status = OK
    for sweep in range(MAX_SWEEPS):
        evaluation_point(model, begin, work, t, t + dt, dt)
        status = velocity_step(scene, begin, t + dt, dt, 0.0, sweep == 0)
        if status != OK and status != UNCONVERGED:
            info.ready = 0
            return status
        if stands_still(model, end, work) and sweep > 0:
            break
    finite = move(model, begin, end, work, 1.0, dt)
    return close_step(scene, begin, status if finite else NON_FINITE, t, dt)


@phase
def velocity_step(scene, begin, t_m, dt, lasting, choose):
    """u_E and the impulses, with everything evaluated at (t_m, q_m, u_e); `choose` which laws act, or keep them."""
    model, work, problem, end, info, ask = (
        scene.model, scene.work, scene.problem, scene.end, scene.info, scene.ask
    )  # fmt: skip
    status = free_velocity(model, begin, end, work, info, t_m, dt)  # M, h, u_F                        (15)
    if status != OK:
        return status
    another = not choose
    if choose:
        another = active_laws(model, begin, end, work, problem, info, ask, t_m)  # g(t_M, q_M) <= 0
        if not_finite_gap(info) != OK:
            return not_finite_gap(info)
    directions(model, begin, work, problem, info, t_m)  # W, zeta
    info.ready = 1
    if problem.count.rows > 0:
        status = contact_problem(model, begin, work, problem, info, ask, another, lasting, dt)  # G, c  (18)
        if status != OK:
            return status
        status = impulses(problem, info, scene.at.problem, dt)  # P = prox(P - r (G P + c))            (19)
        kick(model, end, work, problem)  # u_E = u_F + M^-1 W P
    return status


@phase
def stands_still(model, end, work):
    """Whether the velocity at the end is the one everything was evaluated with; it is the next one."""
    change, largest = 0.0, 0.0
    for j in range(model.size.n_u):
        change = max(change, abs(end.u[j] - work.u_e[j]))
        largest = max(largest, abs(end.u[j]))
        work.u_e[j] = end.u[j]
    return change <= 1e-14 * largest


@phase
def close_step(scene, begin, status, t, dt):
    """Quaternions, books and structure at the end of a step; what is not solved goes on only if that was asked for."""
    model, work, end, books = scene.model, scene.work, scene.end, scene.books
    status = end_of_solve(scene, status, t + dt)
    if status != OK:
        return status
    if scene.ask.books:
        book_gaps(model, work, books, t + 0.5 * dt)
        book_forces(model, begin, end, work, books, dt)
        if scene.problem.count.rows > 0:
            book_laws(model, begin, end, work, scene.problem, books, t + dt)
    scene.info.changed = first_change(model, begin, end)
    return OK
