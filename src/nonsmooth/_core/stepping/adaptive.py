"""Adaptive steps around any scheme: one step, compiled.

V. Acary, "Higher order event capturing time-stepping schemes for nonsmooth multibody systems with unilateral constraints and impacts",
Applied Numerical Mathematics 62 (2012) 1259-1275, sec. 4. The base scheme takes a step h to q_1 and two half steps to q_(1/2):

    e = (q_(1/2) - q_1) / (2^p - 1)                                     half steps of a scheme of order p   (57, erratum 6)
    e = q_(1/2) - q_1                                                   where p = 0: across impacts         (61)
    error = max_i |e_i| / (atol + rtol s_i),   s_i the largest |q_i| so far                                 (59)
    h_new = h min(a_max, max(a_min, a (1/error)^(1/(p + 1))))                                               (58), (60)

To (61) is added what all three steps can miss alike:

    a contact that is passed unseen     e_i is at least |W_i| d / sum_j W_j^2, the way out of a gap more negative by d
    a slip that stops or reverses       the force turns from P_0 to P_1 somewhere in a half step and is taken as P_1 in all of it: error of
                                        u up to |M^-1 W (P_1 - P_0)|_i / (rtol v_i), v_i the largest |u_i| so far

Only positions are compared: velocities jump, their local error is O(1). Where a slip stops or reverses they do not, and an error of theirs
is carried on to the end of the run: (61) alone leaves one that does not fall with the tolerance.

By default p = 0 everywhere, as in the paper. The event-aware variant takes the order of the base scheme in steps without a change of
modes, and p = 0 in the others.

The run goes on from the two half steps, which are handed out one by one: a run is a chain of steps of the base scheme, and is audited as
such.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import address_record, by_reference, kernel, phase, scalars
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE, INACTIVE
from nonsmooth._core.records.scene import EXAMPLE, STEP, Books, State, call_step, scene_at, state_at
from nonsmooth._core.records.status import (
    IMPLICIT_UNSOLVED,
    NON_FINITE,
    OK,
    REJECTED,
    STEP_UNDERFLOW,
    UNCONVERGED,
    UNPROJECTED,
)
from nonsmooth._core.stepping.phases import copy_state, first_change

SHRINK = 0.25  # of a step that could not be taken
SMALL_PART = 0.01  # a coordinate is measured by at least this part of the largest one

Control = scalars(
    "Control",
    atol=float,
    rtol=float,
    alpha=float,
    alpha_min=float,
    alpha_max=float,
    order=int,  # p in steps without an event (0: everywhere)
    dt_next=float,
    dt_min=float,
    dt_max=float,
    accept_shortest=int,  # a step of dt_min is taken whatever its error
    waiting=int,  # the second half of a step is still to be handed out
    t_half=float,  # where it begins
    t_new=float,  # and ends
    dt_half=float,  # length of the half step handed out last
    error=float,
    largest=float,  # of all coordinates so far
    fastest=float,  # of all velocities so far
    residual=float,
    iterations=int,
)


class Adaptive(NamedTuple):
    """What the controller works on."""

    at: Any  # addresses: middle (the state between the two half steps)
    control: Any
    middle: State
    second: State
    whole: State  # after one step h
    size: np.ndarray  # largest coordinates so far
    speed: np.ndarray  # largest velocities so far
    g_0: np.ndarray  # gaps at the begin of the step
    g_1: np.ndarray  # ... and at its end
    WT: np.ndarray
    M: np.ndarray
    L: np.ndarray
    doubt: np.ndarray  # of an impulse, then of the velocities
    kept: Any  # books before the step


def make_adaptive(at, make, size):
    """The record for a model of that size; `make()` makes a state."""
    n_u, n_N, rows = size.n_u, max(size.n_N, 1), max(size.n_rows, 1)
    return Adaptive(
        at, Control(), make(), make(), make(), np.zeros(size.n_q), np.zeros(n_u), np.zeros(n_N), np.zeros(n_N), np.zeros((rows, n_u)),
        np.zeros((n_u, n_u)), np.zeros((n_u, n_u)), np.zeros(n_u), Books(),
    )  # fmt: skip


_, adaptive_at = by_reference(
    make_adaptive(address_record(middle=0), lambda: EXAMPLE.end, EXAMPLE.model.size)
)


@kernel(STEP, part=True)
def adaptive_step(at_scene, at_state, t, left):
    """One half of a step that was accepted, or a trial: a step and its two halves by the base scheme."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = adaptive_at(scene.at.control)
    control = own.control
    if control.waiting:
        return hand_out_second(scene, own, begin)
    h, t_new = length_of_step(control, t, scene.ask.t_stop)
    t_half = t + 0.5 * h
    if not t < t_half < t_new:
        return STEP_UNDERFLOW
    copy_books(scene.books, own.kept)
    status = trial(scene, own, at_scene, at_state, t, t_half, t_new)
    if status != OK:
        copy_books(own.kept, scene.books)
        scene.info.dt = h
        return shorten(control, status, h)
    p = order_of_step(scene, own, begin)
    error = difference(scene, own, begin) / (2.0**p - 1.0 if p > 0 else 1.0)
    error = max(error, passed_unseen(scene, own, begin, t, t_new))
    error = max(error, turning_slips(scene, own, begin, t_half, t_half - t))
    choose_next(control, h, error, p)
    if error > 1.0 and not (control.accept_shortest and h <= control.dt_min):
        copy_books(own.kept, scene.books)
        return REJECTED if h > control.dt_min else STEP_UNDERFLOW
    control.error, control.t_half, control.t_new = error, t_half, t_new
    return hand_out_first(scene, own, begin, t)


@phase
def length_of_step(control, t, t_stop):
    """Length and end of the next step; no remainder shorter than half a step is left."""
    h = max(min(control.dt_next, control.dt_max), control.dt_min)
    left = t_stop - t
    if h >= left * (1.0 - 1e-9):
        return left, t_stop
    if h > 0.5 * left:
        h = 0.5 * left
    return h, t + h


@phase
def trial(scene, own, at_scene, at_state, t, t_half, t_new):
    """A whole step, into `whole`, and two half steps, into `middle` and `second`. Returns a status."""
    ask, info, control = scene.ask, scene.info, own.control
    wanted = ask.books
    ask.books = 0
    status = call_step(scene.at.base, at_scene, at_state, t, t_new - t)
    ask.books = wanted
    info.base_steps += 1
    if status != OK:
        return status
    copy_state(scene.end, own.whole)
    status = call_step(scene.at.base, at_scene, at_state, t, t_half - t)
    info.base_steps += 1
    if status != OK:
        return status
    copy_state(scene.end, own.middle)
    residual, iterations = info.residual, info.iterations
    status = call_step(scene.at.base, at_scene, own.at.middle, t_half, t_new - t_half)
    info.base_steps += 1
    copy_state(scene.end, own.second)
    control.residual, control.iterations = info.residual, info.iterations
    info.residual, info.iterations = residual, iterations
    return status


@phase
def shorten(control, status, h):
    """A step that could not be taken is tried again shorter, as long as that can help."""
    helps = (
        status == UNCONVERGED or status == IMPLICIT_UNSOLVED or status == NON_FINITE or status == UNPROJECTED
    )
    if not helps or h * SHRINK < control.dt_min:
        return status
    control.dt_next = h * SHRINK
    return REJECTED


@phase
def order_of_step(scene, own, begin):
    """p: 0 where modes change in the step (Proposition 1), else the order of the base scheme; 0 everywhere if that is asked for."""
    model = scene.model
    if own.control.order == 0:
        return 0
    changed = first_change(model, begin, own.middle) >= 0 or first_change(model, own.middle, own.second) >= 0
    return 0 if changed or first_change(model, begin, own.whole) >= 0 else own.control.order


@phase
def difference(scene, own, begin):
    """(59) without the factor of (57)."""
    size, n_q, control = own.size, scene.model.size.n_q, own.control
    control.largest = 0.0
    for i in range(n_q):
        size[i] = max(size[i], abs(begin.q[i]), abs(own.middle.q[i]), abs(own.second.q[i]))
        control.largest = max(control.largest, size[i])
    error = 0.0
    for i in range(n_q):
        error = max(error, in_tolerances(own, abs(own.second.q[i] - own.whole.q[i]), i))
    return error


@phase
def in_tolerances(own, e, i):
    """An error of coordinate i in terms of its tolerance."""
    control = own.control
    if e == 0.0:
        return 0.0
    return e / (control.atol + control.rtol * max(own.size[i], SMALL_PART * control.largest))


@phase
def passed_unseen(scene, own, begin, t, t_new):
    """The way out of gaps that have become more negative in the step."""
    model, size, second = scene.model, scene.model.size, own.second
    if size.n_N == 0 or size.has_B:
        return 0.0
    call_vector(model.at.gap, t, begin.q, begin.u, model.p, own.g_0)
    call_vector(model.at.gap, t_new, second.q, second.u, model.p, own.g_1)
    error, known = 0.0, False
    for l in range(size.n_N):
        deeper = min(own.g_0[l], 0.0) - own.g_1[l]
        if not deeper > 0.0:
            continue
        if not known:
            call_matrix(model.at.directions, t_new, second.q, second.u, model.p, own.WT)
            known = True
        squares = 0.0
        for j in range(size.n_u):
            squares += own.WT[l, j] * own.WT[l, j]
        for j in range(size.n_u):
            error = max(error, in_tolerances(own, abs(own.WT[l, j]) * deeper / squares, j))
    return error


@phase
def turning_slips(scene, own, begin, t, h):
    """What forces of slips that stop or reverse in one of the half steps, h long, may be wrong by, in velocities."""
    model, control, speed = scene.model, own.control, own.speed
    for j in range(model.size.n_u):
        speed[j] = max(speed[j], abs(begin.u[j]), abs(own.middle.u[j]), abs(own.second.u[j]))
        control.fastest = max(control.fastest, speed[j])
    error = 0.0
    if control.dt_half > 0.0 and impulses_in_doubt(model, own, begin, own.middle, t, h / control.dt_half):
        error = velocities_in_doubt(model, own, t)
    if impulses_in_doubt(model, own, own.middle, own.second, t, 1.0):
        error = max(error, velocities_in_doubt(model, own, t))
    return error


@phase
def impulses_in_doubt(model, own, begin, end, t, ratio):
    """W (P_1 - P_0) of slips that stop or reverse, into `doubt`, P_0 times the `ratio` of the steps; returns whether there are any."""
    laws, found = model.laws, False
    for l in range(model.size.n_laws):
        if laws.kind[l] == FREE or laws.kind[l] == HALF_LINE:
            continue
        before, along = 0.0, 0.0
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            before += begin.P[i] * begin.P[i]
            along += begin.P[i] * end.P[i]
        slid = begin.modes[l] != CONSTRAINT and begin.modes[l] != INACTIVE and before > 0.0
        if not slid or (end.modes[l] != CONSTRAINT and not along < 0.0):
            continue
        if not found:
            found = True
            call_matrix(model.at.directions, t, end.q, end.u, model.p, own.WT)
            for j in range(model.size.n_u):
                own.doubt[j] = 0.0
        share_before, share_after = forces_of_both(laws, begin, end, l, ratio)
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            for j in range(model.size.n_u):
                own.doubt[j] += own.WT[i, j] * (share_after * end.P[i] - share_before * begin.P[i])
    return found


@phase
def forces_of_both(laws, begin, end, l, ratio):
    """Shares of P_0 and P_1 that are forces over this step: where one of the two holds an impact, the other one says how hard law l
    was pressed by forces. The impact's own part does not become less with the step, nor does it depend on when the slip turns."""
    if laws.link[l] < 0:
        return ratio, 1.0
    normal = laws.row[laws.link[l]]
    before, after = ratio * begin.P[normal], end.P[normal]
    pressed = min(before, after)
    if not pressed > 0.0:
        return 0.0, 0.0
    return ratio * pressed / before, pressed / after


@phase
def velocities_in_doubt(model, own, t):
    """M^-1 times the impulses in doubt, in terms of the tolerance of velocities."""
    n, control = model.size.n_u, own.control
    call_matrix(model.at.mass, t, own.middle.q, own.middle.u, model.p, own.M)
    if cholesky(own.M, own.L, n) != 0:
        return 0.0  # (a step says so)
    solve_lower(own.L, own.doubt, own.doubt, n)
    solve_lower_transposed(own.L, own.doubt, own.doubt, n)
    error = 0.0
    for j in range(n):
        tolerance = control.rtol * max(own.speed[j], SMALL_PART * control.fastest)
        if own.doubt[j] != 0.0 and tolerance > 0.0:
            error = max(error, abs(own.doubt[j]) / tolerance)
    return error


@phase
def choose_next(control, h, error, p):
    """(58), (60); a step that was rejected becomes shorter in any case."""
    factor = control.alpha_max
    if error > 0.0:
        factor = control.alpha * (1.0 / error) ** (1.0 / (p + 1.0))
        factor = min(control.alpha_max, max(control.alpha_min, factor))
    if error > 1.0:
        factor = min(factor, 0.9)
    control.dt_next = min(h * factor, control.dt_max)


@phase
def hand_out_first(scene, own, begin, t):
    """The first half step is the step of the run; the second one waits."""
    info, control = scene.info, own.control
    copy_state(own.middle, scene.end)
    info.t_new, info.dt = control.t_half, control.t_half - t
    info.error = control.error
    info.changed = first_change(scene.model, begin, scene.end)
    control.waiting, control.dt_half = 1, info.dt
    return OK


@phase
def hand_out_second(scene, own, begin):
    """The second half step."""
    info, control = scene.info, own.control
    copy_state(own.second, scene.end)
    info.t_new, info.dt = control.t_new, control.t_new - control.t_half
    info.residual, info.iterations, info.error = control.residual, control.iterations, control.error
    info.changed = first_change(scene.model, begin, scene.end)
    control.waiting = 0
    return OK


@phase
def copy_books(source, target):
    """`target` becomes `source`."""
    target.gap, target.gap_t = source.gap, source.gap_t
    target.residual, target.residual_t = source.residual, source.residual_t
    target.work_forces, target.work_contacts = source.work_forces, source.work_contacts
    target.gain, target.gain_t, target.gain_law = source.gain, source.gain_t, source.gain_law
    target.gain_before, target.gain_after = source.gain_before, source.gain_after
    target.gain_count = source.gain_count
    target.unconverged, target.unconverged_t = source.unconverged, source.unconverged_t
    target.solves, target.iterations = source.solves, source.iterations
    target.iterations_max = source.iterations_max
    target.work_projection, target.projected = source.work_projection, source.projected
