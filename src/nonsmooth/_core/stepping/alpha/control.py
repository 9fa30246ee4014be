"""Step-size control of the generalized-alpha method: one trial of a step, compiled.

Local error of positions, with sigma = alpha_m - alpha_f the shift of a (erratum 2), in steps of length h:

    e = |beta + sigma/2 - 1/6| h^2 |Delta|,    Delta = w_1 - w_0 or (a_1 - w_1)/sigma, whichever is larger: both are h dw/dt
    e_v = |1/12 + c - sigma^2/2| h |Delta^2|   of velocities, Delta^2 = h^2 d^2 w/dt^2 from this step and the one before
    e + h |J|                                  where the structure changes: the instant of an impact is known to a step, no better;
    h |w_1 - w_0|                              and velocities are wrong by what accelerations jump, relative to velocities

The first follows from (65j) with a = w + sigma h dw/dt, the second from (65k), where c h^2 d^2 w/dt^2 is what (65l) adds to a: in smooth
motion it is about as large, but where a force jumps or has a pole it alone sees the step of w. After changes of structure accelerations
are made consistent again (sec. 4.4), so that the next step has no memory, and no Delta^2.

Errors are relative to how far a coordinate has moved from the start, at least a hundredth of how far the farthest one has, lengths
compared in the norm of the masses: units and the origin do not matter.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import by_reference, kernel, phase, scalars
from nonsmooth._core.records.scene import STEP, Books, call_step, scene_at, state_at
from nonsmooth._core.records.status import OK, REJECTED, STEP_UNDERFLOW
from nonsmooth._core.stepping.adaptive import choose_next, copy_books, length_of_step, shorten
from nonsmooth._core.stepping.alpha.records import STEADY, alpha_at, memory

SMALL_PART = 0.01
SHORT = 1e-3  # of the span: what velocities move in it counts as moved
BURST = 1e-6  # part of a velocity that counts in a step as short as time resolves
FAR = 10.0  # such steps: who has come farther did not just start from rest

Control = scalars(
    "Control",
    rtol=float,
    dt_next=float,
    dt_min=float,
    dt_max=float,
    span=float,
    alpha=float,  # safety, least and largest change of a step
    alpha_min=float,
    alpha_max=float,
    velocity=float,  # |1/12 + c - sigma^2/2|
    dt_before=float,  # of the last step with a Delta, or 0
    bursts=int,  # the run ended because accelerations change velocities by their own size in the shortest step
)


class Controlled(NamedTuple):
    """What the control works on."""

    control: Any
    moved: np.ndarray  # from the start, by velocity
    size: np.ndarray  # largest of it so far
    speed: np.ndarray  # largest velocities so far
    change: np.ndarray  # Delta of the last step
    kept: Any  # books before the step


def make_controlled(n_u):
    """The record for a model with so many velocities."""
    return Controlled(Control(), *(np.zeros(n_u) for _ in range(4)), Books())


_, controlled_at = by_reference(make_controlled(1))


@kernel(STEP, part=True)
def controlled_step(at_scene, at_state, t, left):
    """One trial of a step."""
    scene = scene_at(at_scene)
    own, ours = alpha_at(scene.at.own), controlled_at(scene.at.control)
    control, info = ours.control, scene.info
    h, t_new = length_of_step(control, t, scene.ask.t_stop)
    info.dt = h
    if not t < t_new:
        return STEP_UNDERFLOW
    copy_books(scene.books, ours.kept)
    status = call_step(scene.at.base, at_scene, at_state, t, h)
    info.base_steps += 1
    if status != OK:
        copy_books(ours.kept, scene.books)
        return shorten(control, status, h)
    size = scene.model.size
    old, new = (
        memory(state_at(at_state).own, size.n_u, size.n_rows),
        memory(scene.end.own, size.n_u, size.n_rows),
    )
    jumps = new.jumped[0] != STEADY
    if old.jumped[0] != STEADY or old.ready[0] == 0.0:
        control.dt_before = 0.0
    error = local_error(own, ours, scene.end, size, h, jumps)
    choose_next(control, h, error, 0 if jumps else 2)
    if error > 1.0 and h > control.dt_min:
        copy_books(ours.kept, scene.books)
        return REJECTED
    if error > 1.0 and not jumps and bursts(own, ours, scene.end, size, h):
        control.bursts = 1
        return STEP_UNDERFLOW
    for j in range(ours.moved.size):
        ours.moved[j] += own.it.delta[j]
        ours.size[j] = max(ours.size[j], abs(ours.moved[j]))
        ours.change[j] = new.w[j] - own.it.w_0[j]
    control.dt_before = h
    info.t_new, info.error = t_new, error
    return OK


@phase
def local_error(own, ours, end, size, h, jumps):
    """The largest error of a coordinate in terms of its tolerance."""
    x, it, control, new = own.options, own.it, ours.control, memory(end.own, size.n_u, size.n_rows)
    sigma, farthest, fastest, worst = x.alpha_m - x.alpha_f, 0.0, 0.0, 0.0
    factor = abs(x.beta + 0.5 * sigma - 1.0 / 6.0) * h * h
    for j in range(size.n_u):
        ours.speed[j] = max(ours.speed[j], abs(end.u[j]))
        ours.size[j] = max(
            ours.size[j], SHORT * control.span * abs(end.u[j]), abs(ours.moved[j] + it.delta[j])
        )
        farthest = max(farthest, ours.size[j] * root_of_mass(own, j))
        fastest = max(fastest, ours.speed[j] * root_of_mass(own, j))
    for j in range(size.n_u):
        root, jump = root_of_mass(own, j), abs(new.w[j] - it.w_0[j])
        change = max(jump, abs((new.a[j] - new.w[j]) / sigma) if abs(sigma) > 1e-3 else 0.0)
        e = factor * change + (h * abs(new.W[j]) if jumps else 0.0)
        worst = max(worst, over(e, control.rtol * max(ours.size[j], SMALL_PART * farthest / root)))
        e = h * jump
        if not jumps:
            e = control.velocity * h * second_change(control, ours.change[j], new.w[j] - it.w_0[j], h)
        worst = max(worst, over(e, control.rtol * max(ours.speed[j], SMALL_PART * fastest / root)))
    return worst


@phase
def second_change(control, before, change, h):
    """h^2 d^2 w/dt^2, from the changes of w in this step and in the one before; 0 where that is not known."""
    if control.dt_before == 0.0:
        return 0.0
    return abs(change / h - before / control.dt_before) * 2.0 * h * h / (h + control.dt_before)


@phase
def bursts(own, ours, end, size, h):
    """Whether a body in motion is torn away in the shortest step: its acceleration changes by what its velocity is in no time. (Where a
    force jumps velocities hardly change in such a step; at a start from rest nothing has moved yet.)"""
    w = memory(end.own, size.n_u, size.n_rows).w
    for j in range(size.n_u):
        way = abs(ours.moved[j])
        if h * abs(w[j] - own.it.w_0[j]) > BURST * ours.speed[j] and way > FAR * h * ours.speed[j]:
            return True
    return False


@phase
def over(e, tolerance):
    """e in terms of its tolerance."""
    return e / tolerance if e > 0.0 else 0.0


@phase
def root_of_mass(own, j):
    """sqrt(M_jj)."""
    for k in range(own.row_start[j], own.row_start[j + 1]):
        if own.columns[k] == j:
            return abs(own.M[k]) ** 0.5
    return 1.0
