"""Derivatives of an event-driven run by its start and by parameters: variational equations, and saltation matrices at events.

With s_j a number of the start or a parameter, S_j = dx/ds_j of the state x = (q, u) and p_j = dp/ds_j:

    smooth step   x_1 = Phi(x_0, p)        S_1 = Phi_x S_0 + Phi_p p_j                                                 (1)
    event         phi(t, x, p) = 0         tau = dt/ds_j = -(phi_x S^- + phi_p p_j) / (phi_t + phi_x f^-)              (2)
    transition    x^+ = R(t, x^-, p)       S^+ = R_t tau + R_x (S^- + f^- tau) + R_p p_j - f^+ tau                     (3)

Phi is the Runge-Kutta step of `event_driven` of the length it had, with its projection onto the constraints, so that (1) is the derivative
of what was computed and as accurate as that; phi is the function of the law whose mode ends, f^- and f^+ are the slopes in the
modes before and after, R is the impact problem of `event_driven.impact` (identity where nothing strikes). The derivatives along
directions are those of `directional`.

They do not exist at grazing, at events that only happen to fall together, behind impacts that accumulate, and at kinks (an impact on
the edge between sticking and slipping): the columns are NaN from then on and `control.lost` says why. Where a start is in contact or has
joints it is varied along its constraints only.
"""

import numpy as np

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE
from nonsmooth._core.records.scene import (
    BETWEEN,
    STEP,
    call_between,
    call_step,
    scene_at,
    state_at,
    state_reference,
)
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.directional import (
    ACCUMULATES,
    EVENT,
    EXISTS,
    FIRST,
    FLOW,
    GRAZES,
    HOLD,
    JUMP,
    KINK,
    TOGETHER,
    call_derive,
    moved_by,
    prepare,
    relative_size,
    variation_at,
)
from nonsmooth._core.stepping.event_driven.records import (
    AT_STATE,
    call_accelerate,
    call_at_end,
    call_at_state,
    own_at,
)
from nonsmooth._core.stepping.event_driven.sizes import small
from nonsmooth._core.stepping.event_driven.transition import approaching, touching
from nonsmooth._core.stepping.phases import copy_state

SAME = 1e-6  # relative difference between instants that are one


@kernel(STEP, part=True)
def varied_step(at_scene, at_state, t, left):
    """A step of `event-driven`, and the derivatives at its end in ``end.own``."""
    scene = scene_at(at_scene)
    own, v = own_at(scene.at.own), variation_at(scene.at.control)
    jumps, starts = own.control.jump, own.control.at_start
    grazings, accumulations, jams = own.control.grazings, own.control.accumulations, own.control.jams
    for l in range(scene.model.size.n_laws):
        v.fired[l] = own.fired[l]
    status = call_step(scene.at.base, at_scene, at_state, t, left)
    if status != OK:
        return status
    if own.control.accumulations > accumulations:
        lose(v, ACCUMULATES, t, -1)
    elif own.control.grazings > grazings:
        lose(v, GRAZES, t, -1)
    elif own.control.jams > jams:
        lose(
            v, KINK, t, own.control.law_jam
        )  # at the edge of the region that jams the motion is not even continuous
    if v.control.lost == EXISTS and jumps:
        v.control.what = HOLD if starts else JUMP
        status = call_at_state(v.at.vary_transition, at_scene, at_state, t)
    elif v.control.lost == EXISTS:
        status = call_step(v.at.vary_step, at_scene, at_state, t, scene.info.dt)
    put(v, scene.end.own)
    if jumps and not starts:
        log(v, t)
    return status


@kernel(BETWEEN, part=True)
def varied_between(at_scene, at_state, t, dt, t_out):
    """State and derivatives inside the step."""
    scene = scene_at(at_scene)
    v = variation_at(scene.at.control)
    status = call_between(v.at.between, at_scene, at_state, t, dt, t_out)
    if status != OK or dt == 0.0 or t_out >= scene.info.t_new:
        return status
    if v.control.lost == EXISTS:
        status = call_step(v.at.vary_step, at_scene, at_state, t, t_out - t)
    put(v, scene.between.own)
    return status


@phase
def lose(v, why, t, law):
    """Derivatives end here."""
    if v.control.lost == EXISTS:
        v.control.lost, v.control.t_lost, v.control.law_lost = why, t, law


@phase
def put(v, S):
    """The derivatives at the end of a step, or NaN."""
    for i in range(v.S.size):
        S[i] = v.S[i] if v.control.lost == EXISTS else np.nan


@phase
def log(v, t):
    """The instant of a transition and its derivatives."""
    k = v.control.logged
    if k < v.log_t.size:
        v.log_t[k] = t
        for j in range(v.control.columns):
            v.log_tau[k, j] = v.tau[j] if v.control.lost == EXISTS else np.nan
        v.control.logged = k + 1


@kernel(STEP, part=True)
def vary_step(at_scene, at_state, t, dt):
    """Eq. (1): the derivatives a smooth step further."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    v, size = variation_at(scene.at.control), scene.model.size
    n_x = size.n_q + size.n_u
    prepare(scene, v, begin, begin.modes, t)
    v.control.what, v.control.dt = FLOW, dt
    for j in range(v.control.columns):
        towards(v, size, begin.own, j)
        if call_derive(v.at.derive, at_scene, n_x) != OK:
            lose(v, KINK, t, -1)
            return OK
        for i in range(n_x):
            v.S[j * n_x + i] = v.slope[i]
    return OK


@kernel(AT_STATE, part=True)
def vary_transition(at_scene, at_state, t):
    """Eqs. (2), (3): the derivatives behind a transition; the state behind it is ``scene.end``. Starts are held on their constraints."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    v, size, end = variation_at(scene.at.control), scene.model.size, scene.end
    varied = scene_at(v.at.varied)
    n_x, what = size.n_q + size.n_u, v.control.what
    for j in range(v.control.columns):
        v.tau[j] = 0.0
    if what == HOLD:
        prepare(scene, v, end, end.modes, t)
    else:
        prepare(scene, v, begin, begin.modes, t)
        if not events_here(scene, varied, v, at_scene, t):
            what = FLOW  # nothing strikes
        if v.control.lost != EXISTS:
            return OK
    for j in range(v.control.columns):
        towards(v, size, begin.own, j)
        if what != HOLD and instant_of(v, varied, at_scene, j, t):
            along_motion(v, size, v.tau[j])
        for i in range(n_x):
            v.slope[i] = v.q_way[i] if i < size.n_q else v.u_way[i - size.n_q]
        v.control.what = what
        if what != FLOW and call_derive(v.at.derive, at_scene, n_x) != OK:
            lose(v, KINK, t, -1)
        if v.control.lost != EXISTS:
            return OK
        for i in range(n_x):
            v.S[j * n_x + i] = v.slope[i]
    if what != HOLD:
        leave(scene, v, end, t)
    return OK


@phase
def leave(scene, v, end, t):
    """The last term of (3), - f^+ tau."""
    size = scene.model.size
    n_x = size.n_q + size.n_u
    prepare(scene, v, end, end.modes, t)
    status = slopes_at(v, v.f_after, t)
    if status != OK:
        lose(v, KINK, t, -1)
    for j in range(v.control.columns):
        for i in range(n_x):
            v.S[j * n_x + i] -= v.f_after[i] * v.tau[j]


@phase
def slopes_at(v, f, t):
    """q', u' at the base point in its modes."""
    varied = scene_at(v.at.varied)
    own, size = own_at(varied.at.own), varied.model.size
    moved_by(v, varied, 0.0)
    at_point = state_reference(v.point)
    status = call_accelerate(own.at.accelerate, v.at.varied, at_point, at_point, t, 0)
    for i in range(size.n_q):
        f[i] = own.K_q[0, i]
    for i in range(size.n_u):
        f[size.n_q + i] = own.K_u[0, i]
    return status


@phase
def events_here(scene, varied, v, at_scene, t):
    """Which laws end their modes here (`fired`), at which rates their functions vanish; returns whether something strikes."""
    own, size, laws = own_at(varied.at.own), scene.model.size, scene.model.laws
    for i in range(v.p_way.size):
        v.p_way[i] = 0.0
    for l in range(size.n_laws):
        v.mu_way[l], v.e_way[l] = 0.0, 0.0
    status = slopes_at(v, v.f_before, t)
    for l in range(size.n_laws):
        own.fired[l] = v.fired[l]
    copy_state(v.base, varied.end)
    if status == OK:
        status = call_at_end(own.at.look, v.at.varied, t)
    if status != OK:
        lose(v, KINK, t, -1)
        return False
    touching(varied, own, v.base, v.base.modes)
    hit = approaching(varied, own)
    count = 0
    for l in range(size.n_laws):
        closes = laws.kind[l] == HALF_LINE and v.base.modes[l] != CONSTRAINT
        if hit and closes and own.touches[l] and own.gamma[laws.row[l]] < -small(varied, own, l):
            v.fired[l] = 1
        if closes and v.fired[l] and not own.gamma[laws.row[l]] < -small(varied, own, l):
            lose(v, GRAZES, t, l)
        count += v.fired[l]
    if count > 0 and v.control.lost == EXISTS:
        for i in range(size.n_q):
            v.q_way[i] = v.f_before[i]
        for i in range(size.n_u):
            v.u_way[i] = v.f_before[size.n_q + i]
        v.control.t_way, v.control.what = 1.0, EVENT
        if call_derive(v.at.derive, at_scene, size.n_laws) != OK:
            lose(v, KINK, t, -1)
        for l in range(size.n_laws):
            v.rate[l] = v.slope[l]
    return hit


@phase
def instant_of(v, varied, at_scene, j, t):
    """tau of column j, eq. (2); returns whether there is an event. Where several laws end their modes they must do so together."""
    n_laws = varied.model.size.n_laws
    any_fired, first = False, 0.0
    for l in range(n_laws):
        any_fired = any_fired or v.fired[l] == 1
    if not any_fired:
        return False
    v.control.what = EVENT
    if call_derive(v.at.derive, at_scene, n_laws) != OK:
        lose(v, KINK, t, -1)
        return False
    found = False
    for l in range(n_laws):
        if not v.fired[l]:
            continue
        tau = -v.slope[l] / v.rate[l]
        if not tau - tau == 0.0:
            lose(v, GRAZES, t, l)
            return False
        if found and abs(tau - first) > SAME * max(abs(tau), abs(first), least_time(v, varied, l)):
            lose(v, TOGETHER, t, l)
        if not found:
            found, first = True, tau
    v.tau[j] = first
    return True


@phase
def least_time(v, varied, l):
    """What rounding makes of the derivative of an instant, over `SAME`."""
    r = relative_size(v, varied)
    return r * 1e5 * own_at(varied.at.own).size[l] / (FIRST * SAME * abs(v.rate[l]))


@phase
def along_motion(v, size, tau):
    """The direction (tau, S + f tau, p_j)."""
    v.control.t_way = tau
    for i in range(size.n_q):
        v.q_way[i] += v.f_before[i] * tau
    for i in range(size.n_u):
        v.u_way[i] += v.f_before[size.n_q + i] * tau


@phase
def towards(v, size, S, j):
    """The direction (0, S_j, p_j)."""
    n_x = size.n_q + size.n_u
    v.control.t_way = 0.0
    for i in range(size.n_q):
        v.q_way[i] = S[j * n_x + i]
    for i in range(size.n_u):
        v.u_way[i] = S[j * n_x + size.n_q + i]
    for i in range(v.p_way.size):
        v.p_way[i] = v.by_p[j, i]
    for l in range(v.mu_way.size):
        v.mu_way[l], v.e_way[l] = v.by_mu[j, l], v.by_e[j, l]
