"""Derivatives along a direction (dt, dx, dp) of what an event-driven run is made of, in a scene beside it.

What is differentiated (`control.what`): a smooth step with its projection, the laws' functions, an impact, the projection alone. Each is
a function F(s) of the compiled parts of the run, at a point moved by s along the direction; the derivative is an extrapolated central
difference

    D(h) = (F(h) - F(-h)) / 2h,    (4 D(h/2) - D(h)) / 3,

with the first h of 1e-3, 1e-4, ... 1e-6 (relative to the sizes of the motion) at which D(h) and D(h/2) agree, and the slopes on both
sides: they never do where F has a kink.

The scene `varied` has parameters, laws and work space of its own: the run does not notice.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, int64, kernel, phase, scalars
from nonsmooth._core.records.scene import (
    BETWEEN,
    EXAMPLE,
    STEP,
    State,
    call_step,
    make_state,
    scene_at,
    state_reference,
)
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_driven.impact import impact
from nonsmooth._core.stepping.event_driven.records import (
    AT_END,
    AT_STATE,
    call_accelerate,
    call_at_end,
    call_at_state,
    own_at,
)
from nonsmooth._core.stepping.event_driven.sizes import INFINITY, KIND
from nonsmooth._core.stepping.phases import copy_state, normalise, within_segment

# what is differentiated
FLOW, EVENT, JUMP, HOLD = 0, 1, 2, 3
# why derivatives end
EXISTS, GRAZES, TOGETHER, ACCUMULATES, KINK = 0, 1, 2, 3, 4

FIRST, LAST = 1e-3, 1e-6  # relative sizes of differences
AGREES, KINKED = 1e-5, 1e-2  # how far D(h) and D(h/2) may be apart
BENT = 0.05  # how far slopes on both sides may be apart: of smooth functions by the size of the difference

Control = scalars(
    "VariationControl",
    columns=int,
    what=int,  # FLOW, EVENT, JUMP, HOLD
    t=float,  # where it is evaluated
    dt=float,  # length of the step
    t_way=float,  # direction: its part in time
    lost=int,  # EXISTS, or why derivatives end
    t_lost=float,
    law_lost=int,
    logged=int,  # instants in the log
)


class Variation(NamedTuple):
    """What the derivatives of a run are made of."""

    at: Any  # the scene `varied`; the parts below
    control: Any
    by_p: np.ndarray  # dp/ds_j, by column
    by_mu: np.ndarray  # coefficients of laws that depend on parameters
    by_e: np.ndarray
    p: np.ndarray  # parameters of the run
    p_size: np.ndarray
    mu: np.ndarray
    e: np.ndarray
    base: State  # where it is evaluated
    point: State  # a little beside
    q_way: np.ndarray  # direction
    u_way: np.ndarray
    p_way: np.ndarray
    mu_way: np.ndarray
    e_way: np.ndarray
    size: np.ndarray  # of the motion, by component
    slip: np.ndarray  # directions of slip on disks
    value: np.ndarray
    value_0: np.ndarray  # at the base point
    value_1: np.ndarray  # on one side
    bend: np.ndarray  # half the difference between the slopes on both sides
    D: np.ndarray  # differences of two lengths
    slope: np.ndarray  # the derivative
    fired: np.ndarray  # laws that end their mode here
    rate: np.ndarray  # of their functions
    f_before: np.ndarray  # slopes of the motion
    f_after: np.ndarray
    tau: np.ndarray  # derivative of the instant, by column
    S: np.ndarray  # derivatives at the end of the step, as in ``state.own``
    log_t: np.ndarray
    log_tau: np.ndarray


DERIVE = int64(int64, int64)
PARTS = {
    "between": BETWEEN,
    "moved": AT_END,
    "derive": DERIVE,
    "vary_step": STEP,
    "vary_transition": AT_STATE,
}
call_derive = caller(DERIVE)


def make_variation(at, size, by_p, by_mu, by_e, p, p_size, laws, rows):
    """The record for that many columns (rows of `by_p`)."""
    n, n_x, n_laws = by_p.shape[0], size.n_q + size.n_u, max(size.n_laws, 1)
    most = max(n_x, n_laws)
    control = Control()
    control.columns = n
    return Variation(
        at=at, control=control, by_p=by_p, by_mu=by_mu, by_e=by_e, p=p.copy(), p_size=p_size, mu=laws.mu.copy(), e=laws.e.copy(),
        base=make_state(size), point=make_state(size), q_way=np.zeros(size.n_q), u_way=np.zeros(size.n_u), p_way=np.zeros(p.size),
        mu_way=np.zeros(n_laws), e_way=np.zeros(n_laws), size=np.zeros(n_x), slip=np.zeros(max(size.n_rows, 1)),
        value=np.zeros(most), value_0=np.zeros(most), value_1=np.zeros(most), bend=np.zeros(most), D=np.zeros((2, most)),
        slope=np.zeros(most),
        fired=np.zeros(n_laws, dtype=np.int64), rate=np.zeros(n_laws), f_before=np.zeros(n_x), f_after=np.zeros(n_x),
        tau=np.zeros(n), S=np.zeros(n * n_x), log_t=np.zeros(rows), log_tau=np.zeros((rows, n)),
    )  # fmt: skip


def _example():
    zero = np.zeros((1, 1))
    at = address_record(varied=0, **dict.fromkeys(PARTS, 0))
    return make_variation(
        at, EXAMPLE.model.size, zero, zero, zero, np.zeros(1), np.zeros(1), EXAMPLE.model.laws, 1
    )


_, variation_at = by_reference(_example())


@phase
def prepare(scene, v, state, modes, t):
    """The point at which derivatives are taken, and what the parts want to know of the run."""
    varied = scene_at(v.at.varied)
    mine, own, size = own_at(varied.at.own), own_at(scene.at.own), scene.model.size
    for i in range(size.n_q):
        v.base.q[i] = state.q[i]
    for i in range(size.n_u):
        v.base.u[i] = state.u[i]
    for l in range(size.n_laws):
        v.base.modes[l] = modes[l]
        v.point.modes[l] = modes[l]
        mine.size[l], mine.rest_gap[l], mine.gap_max[l] = own.size[l], own.rest_gap[l], own.gap_max[l]
    for i in range(size.n_rows):
        v.slip[i], mine.allowed[i] = own.slip[i], own.allowed[i]
    for i in range(size.n_q + size.n_u):
        mine.scale[i] = own.scale[i]
    for i in range(size.n_u):
        mine.pull[i] = own.pull[i]
    mine.control.wedged, mine.control.dt_smooth = own.control.wedged, own.control.dt_smooth
    varied.ask.t_stop = scene.ask.t_stop  # functions are asked inside the segment
    v.control.t = t
    sizes(v, own, size)


@phase
def sizes(v, own, size):
    """Sizes of the motion by component; what rests at zero is measured by how far it would move in a step."""
    dt, q_max, u_max, pull_max = own.control.dt_smooth, 0.0, 0.0, 0.0
    for i in range(size.n_q):
        q_max = max(q_max, own.scale[i])
    for i in range(size.n_u):
        u_max, pull_max = max(u_max, own.scale[size.n_q + i]), max(pull_max, own.pull[i])
    for i in range(size.n_q):
        v.size[i] = max(own.scale[i], KIND * q_max, KIND * dt * (u_max + dt * pull_max))
    for i in range(size.n_u):
        v.size[size.n_q + i] = max(
            own.scale[size.n_q + i], KIND * u_max, dt * own.pull[i], KIND * q_max / own.control.dt_max
        )


@phase
def relative_size(v, varied):
    """Size of the direction beside the sizes of the motion."""
    size, r, largest = varied.model.size, 0.0, 0.0
    if v.control.t_way != 0.0:
        r = abs(v.control.t_way) / own_at(varied.at.own).control.dt_smooth
    for i in range(size.n_q + size.n_u):
        way = abs(v.q_way[i] if i < size.n_q else v.u_way[i - size.n_q])
        largest = max(largest, way)
        if v.size[i] > 0.0:
            r = max(r, way / v.size[i])
    for i in range(v.p_way.size):
        r = max(r, abs(v.p_way[i]) / v.p_size[i])
    for l in range(v.mu_way.size):
        r = max(r, abs(v.mu_way[l]), abs(v.e_way[l]))
    return r if r > 0.0 else largest  # (a start at the origin and at rest has no size yet)


@kernel(DERIVE, part=True)
def derive(at_scene, n):
    """The derivative of what is asked for along the direction, n numbers into `slope`; OK, or KINK where differences do not agree."""
    scene = scene_at(at_scene)
    v = variation_at(scene.at.control)
    varied = scene_at(v.at.varied)
    r, best = relative_size(v, varied), INFINITY
    for i in range(n):
        v.slope[i] = 0.0
    if r == 0.0:
        return OK
    if not r < INFINITY:
        return KINK
    at_base = call_at_end(v.at.moved, at_scene, 0.0)
    for i in range(n):
        v.value_0[i] = v.value[i]
    h = FIRST
    while h > 0.5 * LAST and best > AGREES:
        status = at_base
        for k in range(2):
            if status == OK:
                status = both_sides(v, at_scene, h / r * 0.5**k, k, n)
        apart = disagreement(v, varied, n, r, h) if status == OK else INFINITY
        if apart < best:
            best = apart
            for i in range(n):
                v.slope[i] = (4.0 * v.D[1, i] - v.D[0, i]) / 3.0
        h *= 0.1
    return OK if best <= KINKED else KINK


@phase
def both_sides(v, at_scene, s, k, n):
    """The central difference of length s, and the bend between both sides."""
    status = call_at_end(v.at.moved, at_scene, s)
    for i in range(n):
        v.value_1[i] = v.value[i]
    if status == OK:
        status = call_at_end(v.at.moved, at_scene, -s)
    for i in range(n):
        v.D[k, i] = (v.value_1[i] - v.value[i]) / (2.0 * s)
        v.bend[i] = ((v.value_1[i] - v.value_0[i]) + (v.value[i] - v.value_0[i])) / (2.0 * s)
    return status


@phase
def disagreement(v, varied, n, r, h):
    """How far the two differences are apart, relative to themselves and to what rounding allows; infinite where there is a bend."""
    own, apart, bend, largest = own_at(varied.at.own), 0.0, 0.0, 0.0
    for i in range(n):
        if v.control.what == EVENT:
            room = abs(v.D[1, i]) + 1e5 * own.size[i] * r / h if v.fired[i] else 0.0
        else:
            room = v.size[i]
        if room > 0.0:
            apart = max(apart, abs(v.D[1, i] - v.D[0, i]) / room)
            bend = max(bend, abs(v.bend[i]) / room)
            largest = max(largest, abs(v.D[1, i]) / room)
        if not v.D[1, i] - v.D[0, i] - (v.D[1, i] - v.D[0, i]) == 0.0:
            return INFINITY
    if v.control.what != EVENT:
        apart, bend = apart / max(largest, r), bend / max(largest, r)
    return apart if bend <= BENT else INFINITY


@phase
def moved_by(v, varied, s):
    """State, parameters and laws, moved along the direction."""
    size, model, own = varied.model.size, varied.model, own_at(varied.at.own)
    for i in range(size.n_q):
        v.point.q[i] = v.base.q[i] + s * v.q_way[i]
    for i in range(size.n_u):
        v.point.u[i] = v.base.u[i] + s * v.u_way[i]
    for i in range(v.p.size):
        model.p[i] = v.p[i] + s * v.p_way[i]
    for l in range(size.n_laws):
        model.laws.mu[l] = v.mu[l] + s * v.mu_way[l]
        model.laws.e[l] = v.e[l] + s * v.e_way[l]
    for i in range(size.n_rows):
        own.slip[i] = v.slip[i]
    varied.info.ready = 0  # a constant mass depends on parameters


@kernel(AT_END, part=True)
def moved(at_scene, s):
    """What is asked for, at the point moved by s along the direction."""
    scene = scene_at(at_scene)
    v = variation_at(scene.at.control)
    varied = scene_at(v.at.varied)
    own, size, what = own_at(varied.at.own), varied.model.size, v.control.what
    t, at_point, point = v.control.t + s * v.control.t_way, state_reference(v.point), v.point
    moved_by(v, varied, s)
    if what == JUMP:
        copy_state(point, varied.end)
        status = call_at_end(own.at.look, v.at.varied, t)
        if status == OK:
            status = impact(varied, own, varied.end, v.at.varied, varied.at.problem)
        result(v, size, varied.end)
        return status
    status = call_accelerate(own.at.accelerate, v.at.varied, at_point, at_point, t, 0)
    if what == EVENT:
        for l in range(size.n_laws):
            v.value[l] = own.phi[0, l] if v.fired[l] else 0.0
        return status
    if what == FLOW and status == OK:
        status = call_step(own.at.integrate, v.at.varied, at_point, t, v.control.dt)
        for i in range(size.n_q):
            point.q[i] = own.trial.q[i]
        for i in range(size.n_u):
            point.u[i] = own.trial.u[i]
        normalise(varied.model, point.q)
        t = within_segment(varied, t, v.control.dt, t + v.control.dt)
    if status == OK:
        status = call_at_state(own.at.hold, v.at.varied, at_point, t)
    result(v, size, point)
    return status


@phase
def result(v, size, state):
    """A state as the value."""
    for i in range(size.n_q):
        v.value[i] = state.q[i]
    for i in range(size.n_u):
        v.value[size.n_q + i] = state.u[i]
