"""The step of `event-driven`: smooth motion in fixed modes by a Runge-Kutta method, every end of a mode located, transitions between.

A step is one of two kinds. A *smooth step* integrates the equations of `smooth_motion`; its error is controlled, the functions of all
laws are watched at its stages and its end, and where one of them vanishes the step is taken again with the length at which it
does (on the integration itself, so that the instant is as accurate as the motion; Illinois' method on the least of the laws'
functions). A *transition* has no length (`transitions`). At the end of a smooth step positions and velocities are put back onto the
constraints they obey (`projection`), by no more than the error of the step.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.small import cholesky
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE
from nonsmooth._core.records.scene import (
    BETWEEN,
    STEP,
    call_step,
    scene_at,
    state_at,
    state_reference,
)
from nonsmooth._core.records.status import (
    CHATTER,
    MASS_SINGULAR,
    OK,
    REJECTED,
    STEP_UNDERFLOW,
    SURFACE_ENDED,
    WAITING,
)
from nonsmooth._core.stepping.phases import copy_state, first_change, normalise
from nonsmooth._core.stepping.projection import correction, hold_row, shift
from nonsmooth._core.stepping.smooth_motion import (
    AT_STATE,
    INFINITY,
    KIND,
    acts,
    call_accelerate,
    call_at_state,
    error_of_step,
    own_at,
    pulls,
)
from nonsmooth._core.stepping.switching_points import least_of_cubic
from nonsmooth._core.stepping.transitions import GRAZING, rounding_of_gap, small

EPS = 2.220446049250313e-16
MOST_REPEATED = 40
MOST_SEARCHED = 120
SUSPICIOUS = 4  # rejections in a row, to a thousandth of the step, that an undeclared discontinuity makes
CUBIC = 2e-2  # part of the way in a step by which a cubic may miss a gap in its middle: steps of two radians of a vibration
CLOSER = 0.8  # part of the way to the stop of a slip in two directions that a step goes while its direction still turns
STEADY = 1e-2  # tolerances of error below which it has stopped turning (the estimate is rough where stages lie behind the stop)
NOISE = 100.0  # by which a force must exceed what counts as zero before its zero ends a mode
LEAST = 1e-10  # part of the longest step after which a mode that does not hold is looked at again


@kernel(STEP, part=True)
def event_driven_step(at_scene, at_state, t, left):
    """One transition, or one trial of a smooth step."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    control, info = own.control, scene.info
    info.jump_next = 0
    if control.jump:
        control.repeated += 1
        if control.repeated > MOST_REPEATED:
            return CHATTER
        status = call_at_state(own.at.transition, at_scene, at_state, t)
        info.changed = changes(scene, begin)
        return status
    t_stop = scene.ask.t_stop
    if t_stop - t <= rounding_of_time(t, t_stop):
        return nothing_left(scene, begin, t)
    dt = length_of_trial(own, t, t_stop)
    if not dt > 4.0 * EPS * abs(t):
        info.dt = dt
        return STEP_UNDERFLOW
    status = call_at_state(own.at.begin_trial, at_scene, at_state, t)
    if status == OK and due(scene, own, begin):
        return WAITING
    if status == OK:
        info.base_steps += 1
        status = call_step(own.at.integrate, at_scene, at_state, t, dt)
    if status != OK:
        return shorter(own, info, status, 0.25 * dt, t)
    if control.searching:
        return search(scene, own, begin, at_scene, at_state, t, dt)
    error = error_of_step(scene, own, begin, dt)
    factor = 0.9 * max(error, 1e-12) ** (-1.0 / (control.error_order + 1))
    if error > 1.0:
        info.error = error
        return shorter(own, info, REJECTED, dt * min(max(factor, 0.1), 0.9), t)
    early = alarm(scene, own, begin, dt)
    if early < 1.0:
        if early * dt < LEAST * control.dt_max and unexpected(scene, own, begin):
            control.jump = 1
            return WAITING
        return shorter(own, info, WAITING, early * dt, t)
    f_end = least_function(scene, own, begin)
    if f_end > 0.0 and passes_by(scene, own, begin, dt):
        control.grazings += 1
        control.t_grazing = t
    if f_end <= 0.0:
        control.searching, control.side = 1, 0
        control.lo, control.hi, control.f_lo, control.f_hi = 0.0, dt, 1.0, f_end
        return WAITING
    whole = t + dt >= t_stop
    if control.rejected >= SUSPICIOUS and dt < 1e-3 * control.dt_smooth:
        control.discontinuities += 1
        control.t_discontinuity = t + dt
    control.rejected = 0
    # a step cut short by the end of the segment tells nothing about the next one
    control.dt_next = min(
        max(dt, control.dt_next if whole else 0.0) * min(max(factor, 0.3), 4.0), control.dt_max
    )
    control.dt_smooth = dt
    info.error = error
    info.t_new = t_stop if whole else t + dt
    if whole and closes_at_end(scene, own, begin, t, t_stop):
        before_end(scene, own, t)
    return call_step(own.at.finish, at_scene, at_state, t, dt)


@phase
def rounding_of_time(t, t_stop):
    """Time left of a segment that is none."""
    return 4.0 * EPS * max(abs(t), abs(t_stop))


@phase
def nothing_left(scene, begin, t):
    """What is left of the segment is rounding: its end is reached."""
    info = scene.info
    copy_state(begin, scene.end)
    for l in range(scene.model.size.n_laws):
        scene.work.struck[l] = 0
    for i in range(scene.model.size.n_rows):
        scene.end.P[i] = 0.0
    info.t_new, info.dt, info.changed, info.residual, info.iterations = (
        scene.ask.t_stop,
        scene.ask.t_stop - t,
        -1,
        0.0,
        0,
    )
    return OK


@phase
def closes_at_end(scene, own, begin, t, t_stop):
    """Whether contacts close at the end of the segment, up to what rounding hides of that instant: they are struck there."""
    some = False
    for l in range(scene.model.size.n_N):
        gap, rate = own.phi[own.control.stages, l], own.rate[l]
        if begin.modes[l] != CONSTRAINT and armed(own, l) and rate < -small(scene, own, l):
            if gap <= max(own.size[l], -16.0 * rate * rounding_of_time(t, t_stop)):
                own.fired[l] = 1
                some = True
    return some


@phase
def before_end(scene, own, t):
    """An event at the very end of a segment happens two numbers before it: so it belongs to the segment."""
    own.control.jump = 1
    scene.info.jump_next = 1
    last = scene.ask.t_stop - 0.5 * rounding_of_time(t, scene.ask.t_stop)
    scene.info.t_new = min(scene.info.t_new, last)


@phase
def length_of_trial(own, t, t_stop):
    """Length of the step to try: what is planned, up to the end of the segment; or the next trial of the search."""
    control = own.control
    if control.searching:
        width = control.hi - control.lo
        x = control.lo + width * control.f_lo / (control.f_lo - control.f_hi)
        if control.searching % 8 == 0:
            x = 0.5 * (control.lo + control.hi)  # a safeguard for functions that are far from straight
        edge = max(2.0 * EPS * max(abs(t), control.hi), 1e-3 * width)
        return min(max(x, control.lo + edge), control.hi - edge)
    left = t_stop - t
    if control.dt_next >= left * (1.0 - 1e-10):
        return left
    return min(control.dt_next, 0.5 * left) if control.dt_next > 0.5 * left else control.dt_next


@kernel(AT_STATE, part=True)
def begin_trial(at_scene, at_begin, t):
    """Slopes and laws' functions at the begin of the step."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, model, work = own_at(scene.at.own), scene.model, scene.work
    own.slip_0[:] = 0.0
    status = call_accelerate(own.at.accelerate, at_scene, at_begin, at_begin, t, 0)
    if status != OK:
        return status
    for i in range(model.size.n_rows):
        own.slip_0[i] = own.slip[i]
    force_scales(scene, own)
    for l in range(model.size.n_laws):
        own.phi_0[l] = own.phi[0, l]
        own.rate_0[l] = own.rate[l]
        own.gap_0[l] = 0.0
        if l < model.size.n_N:
            work.slack[l] = rounding_of_gap(scene, own, begin, l, t)
            own.gap_0[l] = work.g[l] - own.rest_gap[l]
            own.gap_max[l] = max(own.gap_max[l], work.g[l])
        own.size[l] = zero_of(scene, own, begin, l)
        # (forces that cancel leave the rounding of derivatives)
        own.blur[l] = NOISE if begin.modes[l] == CONSTRAINT else 1.0
    return OK


@phase
def force_scales(scene, own):
    """The largest forces and accelerations so far: where all of them vanish at once, what is left is rounding.

    The acceleration c of a row is a sum of terms that may cancel (two bodies that fall side by side): each of them counts.
    """
    pulls(own, scene.work.L, scene.work.du, scene.work.u_free, 1.0)
    for i in range(scene.model.size.n_rows):
        c, G = abs(scene.problem.rows.c[i]), scene.work.G_all[i, i]
        for k in range(scene.model.size.n_u):
            c = max(c, abs(scene.work.WT[i, k]) * own.pull[k])
        own.push_scale[i] = max(own.push_scale[i], c)
        own.force_scale[i] = max(own.force_scale[i], abs(own.La[0, i]), c / G if G > 0.0 else 0.0)
    for i in range(scene.model.size.n_rows):
        if own.La[0, i] != 0.0:
            pulls(own, scene.work.L, scene.work.Y[i], scene.work.u_free, own.La[0, i])


@phase
def due(scene, own, begin):
    """Whether a contact closes where the run stands (within what rounding hides of its gap): a transition comes first."""
    for l in range(scene.model.size.n_N):
        if begin.modes[l] != CONSTRAINT and not armed(own, l) and own.rate_0[l] < -small(scene, own, l):
            own.fired[l] = 1
            own.control.jump = 1
    return own.control.jump == 1


@phase
def zero_of(scene, own, begin, l):
    """What counts as zero in the function of law `l`: rounding of gaps, of forces, of relative velocities."""
    laws, i = scene.model.laws, scene.model.laws.row[l]
    if laws.kind[l] == HALF_LINE and begin.modes[l] != CONSTRAINT:
        return scene.work.slack[l]
    if begin.modes[l] == CONSTRAINT:
        largest = 0.0
        for j in range(scene.model.size.n_rows):
            largest = max(largest, abs(own.La[0, j]))
        return 1e-12 * (largest + own.force_scale[i])
    return 1e-3 * small(scene, own, l)


@phase
def shorter(own, info, status, dt, t):
    """A trial failed: the next one is shorter, unless there is no time left between two numbers."""
    own.control.searching = 0
    own.control.dt_next = dt
    info.dt = dt
    if status != WAITING:
        own.control.rejected += 1
    if dt > 16.0 * EPS * abs(t) and (
        status == WAITING or status == REJECTED or dt > 1e-14 * own.control.dt_max
    ):
        return REJECTED if status != WAITING else WAITING
    return STEP_UNDERFLOW if status == REJECTED or status == WAITING else status


@phase
def armed(own, l):
    """Whether the function of law `l` was clearly positive at the begin of the step."""
    return own.phi_0[l] > own.size[l] * own.blur[l]


@phase
def least_function(scene, own, begin):
    """The least of the laws' functions at the end of the trial, relative to the begin of the step."""
    least, s = INFINITY, own.control.stages
    for l in range(scene.model.size.n_laws):
        if armed(own, l) and own.phi_0[l] < INFINITY:
            least = min(least, own.phi[s, l] / own.phi_0[l])
    return least


@phase
def alarm(scene, own, begin, dt):
    """The part of the step to take instead, where a law's function may have vanished and come back inside; 1 if none has."""
    model, s = scene.model, own.control.stages
    part = 1.0
    for l in range(model.size.n_laws):
        if own.phi_0[l] >= INFINITY:
            continue
        end = own.phi[s, l]
        if not armed(own, l):
            if end < lowest(scene, own, begin, l):  # its mode is not what was expected, or ends in this step
                part = min(part, 0.2)
            continue
        if end <= 0.0:
            continue
        for k in range(1, s):
            if own.phi[k, l] < -own.size[l] and own.c[k] < part and own.c[k] > 0.0:
                part = own.c[k]
        if model.laws.kind[l] == HALF_LINE and begin.modes[l] != CONSTRAINT:
            z, least = least_of_cubic(own.gap_0[l], own.rate_0[l] * dt, end, own.rate[l] * dt)
            if 0.0 < z < part and least < missed(own, l, z, dt):
                part = z
    return part


@phase
def missed(own, l, z, dt):
    """What is looked at where it is nearest: a gap that comes within what the cubic may be off there, least near the ends of the step
    (the cubic is less accurate than the motion: of a vibration w by (w dt)^2/192 of the way), or within a grazing."""
    graze = GRAZING * own.control.rtol * own.gap_max[l]
    if own.gap_0[l] <= graze:
        return -own.size[l]
    off = CUBIC * max(abs(own.rate_0[l]), abs(own.rate[l])) * dt
    near = max(graze, min(off, 0.5 * own.gap_0[l]))
    if z < 0.999:
        return near
    return max(16.0 * (1.0 - z) ** 2 * near, -own.size[l])


@phase
def passes_by(scene, own, begin, dt):
    """Whether a contact came within the accuracy of closing, and parts again."""
    for l in range(scene.model.size.n_N):
        near = GRAZING * own.control.rtol * own.gap_max[l]
        if begin.modes[l] != CONSTRAINT and armed(own, l) and own.gap_0[l] > near:
            gap, rate = own.phi[own.control.stages, l], own.rate[l]
            if gap <= near and abs(rate) * dt <= 1e-2 * own.gap_0[l]:
                return True
    return False


@phase
def lowest(scene, own, begin, l):
    """What the function of a law may come down to where it begins at zero: a contact may open out of the overlap it started with."""
    if l < scene.model.size.n_N and begin.modes[l] != CONSTRAINT:
        return min(own.gap_0[l], 0.0) - own.size[l]
    return -own.size[l] * own.blur[l]


@phase
def unexpected(scene, own, begin):
    """Laws whose modes do not hold even for the shortest time: they are settled anew."""
    some = False
    for l in range(scene.model.size.n_laws):
        if (
            own.phi_0[l] < INFINITY
            and not armed(own, l)
            and own.phi[own.control.stages, l] < lowest(scene, own, begin, l)
        ):
            own.fired[l] = 1
            some = True
    return some


@phase
def search(scene, own, begin, at_scene, at_state, t, dt):
    """One iteration of Illinois' method for the first end of a mode; the step that ends behind it is the one."""
    control = own.control
    f = least_function(scene, own, begin)
    control.searching += 1
    if f <= 0.0:
        control.hi, control.f_hi = dt, f
        if control.side == 1:
            control.f_lo *= 0.5
        control.side = 1
    else:
        control.lo, control.f_lo = dt, f
        if control.side == -1:
            control.f_hi *= 0.5
        control.side = -1
    narrow = control.hi - control.lo <= 8.0 * EPS * max(abs(t), control.hi)
    there = is_zero(scene, own) if f <= 0.0 else is_nearly(scene, own)
    # (where the bracket is narrow and the last trial was before the event, the one behind it is two numbers away)
    if not there and not narrow and control.searching <= MOST_SEARCHED:
        return WAITING
    if stops_on_disk(scene, own, begin) and error_of_step(scene, own, begin, dt) > STEADY:
        return shorter(own, scene.info, WAITING, CLOSER * dt, t)
    if found(scene, own, begin, t, dt):
        before_end(scene, own, t)
    return call_step(own.at.finish, at_scene, at_state, t, dt)


@phase
def stops_on_disk(scene, own, begin):
    """Whether a slip in two directions stops at the end of the trial: its direction has a limit there, but no value, and the last
    stages may turn it about. Where the error shows that, the stop is approached by steps of which each leaves a part of the way."""
    for l in range(scene.model.size.n_laws):
        slips = scene.model.laws.dim[l] == 2 and begin.modes[l] != CONSTRAINT
        if slips and ends_here(scene, own, begin, l):
            return True
    return False


@phase
def ends_here(scene, own, begin, l):
    """Whether the mode of law `l` ends where the trial does."""
    # a trial that ends two numbers before the event counts as the event: what comes first then is the least function
    control, phi = own.control, own.phi[own.control.stages, l]
    first = max(least_function(scene, own, begin), 0.0) * (1.0 + 1e-12)
    if (
        l < scene.model.size.n_N and begin.modes[l] != CONSTRAINT
    ):  # (a gap, by what it closes between two numbers)
        first = min(first, 16.0 * abs(own.rate[l]) * (control.hi - control.lo) / own.phi_0[l])
    return armed(own, l) and own.phi_0[l] < INFINITY and phi <= max(own.size[l], first * own.phi_0[l])


@phase
def is_zero(scene, own):
    """Whether every function that is negative is so by no more than rounding."""
    s = own.control.stages
    for l in range(scene.model.size.n_laws):
        if armed(own, l) and own.phi[s, l] < -own.size[l]:
            return False
    return True


@phase
def is_nearly(scene, own):
    """Whether a gap is closed within rounding, before it is seen to be negative."""
    s = own.control.stages
    for l in range(scene.model.size.n_N):
        if armed(own, l) and own.phi[s, l] <= 0.25 * own.size[l]:
            return True
    return False


@phase
def found(scene, own, begin, t, dt):
    """The step ends where modes end; whether any does (a function that is nothing but rounding has no zeros)."""
    control, some = own.control, False
    for l in range(scene.model.size.n_laws):
        own.fired[l] = 1 if ends_here(scene, own, begin, l) else 0
        some = some or own.fired[l] == 1
    control.searching = 0
    control.rejected = 0
    control.dt_next = max(control.dt_smooth, dt)
    scene.info.t_new = t + dt
    return some


@kernel(STEP, part=True)
def finish(at_scene, at_begin, t, dt):
    """The trial becomes the end of the step, at ``info.t_new``: impulses, books, constraints held."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, model, info, end, books = own_at(scene.at.own), scene.model, scene.info, scene.end, scene.books
    t_new = info.t_new
    s, size = own.control.stages, model.size
    copy_state(own.trial, end)
    for l in range(size.n_laws):
        end.modes[l] = begin.modes[l]
        scene.work.struck[l] = 0
    for i in range(size.n_rows):
        end.P[i] = 0.0
        for k in range(s):
            end.P[i] += dt * own.A[s, k] * own.La[k, i]
    for k in range(s):
        books.work_forces += dt * own.A[s, k] * own.power[k, 0]
        books.work_contacts += dt * own.A[s, k] * own.power[k, 1]
    normalise(model, end.q)
    if surface_ended(scene, own, begin, dt):
        return SURFACE_ENDED
    status = call_at_state(own.at.hold, at_scene, state_reference(end), t_new)
    if status != OK:
        return status
    for l in range(size.n_N):
        gap = scene.work.g[l] if begin.modes[l] != CONSTRAINT else own.rest_gap[l]
        if gap < books.gap:
            books.gap, books.gap_t = gap, t_new
        if gap > 0.0:
            own.rest_gap[l] = 0.0
    for k in range(size.n_q):
        own.scale[k] = max(own.scale[k], abs(end.q[k]))
    for k in range(size.n_u):
        own.scale[size.n_q + k] = max(own.scale[size.n_q + k], abs(end.u[k]))
    own.control.repeated = 0
    info.dt, info.changed, info.residual, info.iterations = dt, -1, 0.0, 0
    return OK


@phase
def surface_ended(scene, own, begin, dt):
    """Whether the gap of a closed contact left zero by more than the error of the step: one that does not follow its directions jumps."""
    work, size, control, largest = scene.work, scene.model.size, own.control, 0.0
    if control.ledge == 0.0:
        return False
    for k in range(size.n_q):
        largest = max(largest, own.scale[k], abs(own.trial.q[k]))
    for l in range(size.n_N):
        if begin.modes[l] != CONSTRAINT:
            continue
        ruler, direction = own.gap_max[l], 0.0
        for k in range(size.n_u):
            # what rests at zero is measured by how far a force would have moved it (q' = B u: any coordinate may move with this velocity)
            moved = largest if size.has_B else max(own.scale[k], abs(own.trial.q[k]), KIND * largest)
            ruler = max(ruler, abs(work.WT[l, k]) * max(moved, own.pull[k] * dt * dt))
            direction = max(direction, abs(work.WT[l, k]))
        allowed = control.ledge * (control.rtol * ruler + control.atol * direction)
        if abs(work.g[l] - own.rest_gap[l]) > allowed:
            return True
    return False


@phase
def is_held(model, state, l):
    """Whether the rows of law `l` are constraints."""
    return state.modes[l] == CONSTRAINT and acts(model, state.modes, l)


@kernel(AT_STATE, part=True)
def hold(at_scene, at_state, t):
    """Positions (twice: what is left after the first is its square) and velocities on the constraints."""
    scene, state = scene_at(at_scene), state_at(at_state)
    own, model, work = own_at(scene.at.own), scene.model, scene.work
    held = False
    for l in range(model.size.n_laws):
        held = held or is_held(model, state, l)
    if not held or own.control.drifts:
        return OK
    for stage in range(3):
        if stage < 2:
            status = at_constraints(scene, own, state, t)
            if status != OK:
                return status
        residuals(scene, own, state, stage == 2)
        correction(scene)
        if stage < 2:
            shift(model, work, state.q)
        else:
            for k in range(model.size.n_u):
                state.u[k] -= work.du[k]
    return OK


@phase
def at_constraints(scene, own, state, t):
    """Gaps, joints, mass and directions at a state."""
    model, work, p = scene.model, scene.work, scene.model.p
    size, at = model.size, model.at
    if not size.constant_M:
        call_matrix(at.mass, t, state.q, state.u, p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            return MASS_SINGULAR
    if size.n_N > 0:
        call_vector(at.gap, t, state.q, state.u, p, work.g)
    if size.n_joints > 0:
        call_vector(at.joints, t, state.q, state.u, p, own.joints)
    if size.has_B:
        call_matrix(at.kinematics, t, state.q, state.u, p, work.B)
    if not size.constant_W:
        call_matrix(at.directions, t, state.q, state.u, p, work.WT)
    if size.has_zeta:
        call_vector(at.zeta, t, state.q, state.u, p, work.zeta)
    return OK


@phase
def residuals(scene, own, state, velocity):
    """What the rows of constraints miss, in `rows.b`; and their matrix."""
    model, work, b = scene.model, scene.work, scene.problem.rows.b
    laws, size = model.laws, model.size
    first_joint = size.n_rows - size.n_J
    for l in range(size.n_laws):
        keep = is_held(model, state, l)
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            b[i] = 0.0
            if keep and velocity:
                b[i] = work.zeta[i]
                for k in range(size.n_u):
                    b[i] += work.WT[i, k] * state.u[k]
            elif keep and laws.kind[l] == HALF_LINE:
                b[i] = work.g[l] - own.rest_gap[l]
            elif keep and laws.kind[l] == FREE and i - first_joint < size.n_joints:
                b[i] = own.joints[i - first_joint]
            hold_row(scene, i, keep)


@phase
def changes(scene, begin):
    """The first law that changed its structure or was struck, or -1."""
    for l in range(scene.model.size.n_laws):
        if scene.work.struck[l]:
            return l
    return first_change(scene.model, begin, scene.end)


@kernel(BETWEEN, part=True)
def event_driven_between(at_scene, at_state, t, dt, t_out):
    """The same integration again, up to the instant asked for."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    if dt == 0.0 or t_out >= scene.info.t_new:
        copy_state(scene.end, scene.between)
        return OK
    status = call_at_state(own.at.begin_trial, at_scene, at_state, t)
    if status == OK:
        status = call_step(own.at.integrate, at_scene, at_state, t, t_out - t)
    if status != OK:
        return status
    copy_state(own.trial, scene.between)
    for l in range(scene.model.size.n_laws):
        scene.between.modes[l] = begin.modes[l]
    normalise(scene.model, scene.between.q)
    return call_at_state(own.at.hold, at_scene, state_reference(scene.between), t_out)
