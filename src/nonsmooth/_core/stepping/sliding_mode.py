"""The step of `sliding-mode` (Compere 2001, chapter 3 and Fig. 2.1): a Runge-Kutta step of (3.14), then post-stabilisation.

A step is one piece, or several where surfaces are reached inside: for a start that is not consistent, surface i moves to zero at the
rate eta_i (3.20), the piece ends where it arrives (located on the integration itself), and from there on it is held.

    begin -> [equivalent control at every stage] -> reached? end there -> post-stabilisation -> end

Any single-step method of the library integrates: the right-hand side is `equivalent_control.constrained_field`. Nothing but the state is
remembered from step to step, so that a step can be tried again.
"""

from nonsmooth._core.integrators.error_control import initial_step
from nonsmooth._core.integrators.records import (
    NEWTON_FAILED,
    STEP_TOO_SMALL,
    call_adapt,
    call_field,
    call_try,
    solver_at,
)
from nonsmooth._core.integrators.single_step import forget
from nonsmooth._core.jit import float64, int64, kernel, noinline, phase
from nonsmooth._core.records.laws import CONSTRAINT, LOWER, UPPER
from nonsmooth._core.records.scene import BETWEEN, STEP, scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK, STEP_UNDERFLOW
from nonsmooth._core.stepping.equivalent_control import POST, at_point, own_at
from nonsmooth._core.stepping.phases import BLUR, first_change, normalise, within_segment
from nonsmooth._core.stepping.post_stabilisation import post_stabilise, weigh_adjustment

EPS = 2.220446049250313e-16
MOST_SEARCHED = 80
MOST_PIECES = 1000
HALVINGS = 10


@kernel(STEP, part=True)
def sliding_mode_step(at_scene, at_state, t, dt):
    """One step of length dt, or of a length chosen by its error."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own, info = own_at(scene.at.own), scene.info
    own.control.silent = 0
    take_up(scene, own, begin)
    status = pieces(at_scene, t, dt)
    if status != OK:
        info.dt = dt
        return status
    hand_over(scene, own, scene.end)
    keep_books(scene, own, begin, t, dt)
    return OK


@kernel(BETWEEN, part=True)
def sliding_mode_between(at_scene, at_state, t, dt, t_out):
    """The same step again, up to the instant asked for."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    controlled = own.control.controlled
    own.control.silent, own.control.controlled = 1, 0
    take_up(scene, own, begin)
    status = pieces(at_scene, t, t_out - t) if t_out > t else OK
    own.control.silent, own.control.controlled = 0, controlled
    if status == OK:
        hand_over(scene, own, scene.between)
    return status


@phase
def take_up(scene, own, begin):
    """What the state remembers: (q, u), surfaces being reached, constraints met, sizes of the motion, the next step."""
    size, s = scene.model.size, solver_at(own.at.solver)
    n_q, n_u, n = size.n_q, size.n_u, size.n_rows
    for i in range(n_q):
        own.y[i] = begin.q[i]
    for k in range(n_u):
        own.y[n_q + k] = begin.u[k]
        own.slope[k] = begin.own[1 + n + n_q + n_u + k]
    for k in range(n + 2):
        own.y[n_q + n_u + k] = 0.0
    for i in range(n):
        own.side[i] = 0.0 if begin.modes[i] == CONSTRAINT else 0.5 * begin.modes[i]
        own.settled[i] = 1 if begin.own[1 + i] > 0.5 else 0
        scene.work.t_best[i] = 0.0
    for k in range(n_q + n_u):
        own.scale[k] = begin.own[1 + n + k]
    s.now.h_next = begin.own[0]
    own.control.adjustment = 0.0


@phase
def hand_over(scene, own, end):
    """The state after the step."""
    size, s = scene.model.size, solver_at(own.at.solver)
    n_q, n_u, n = size.n_q, size.n_u, size.n_rows
    for i in range(n_q):
        end.q[i] = own.y[i]
    for k in range(n_u):
        end.u[k] = own.y[n_q + k]
        end.own[1 + n + n_q + n_u + k] = own.slope[k]
    for i in range(n):
        end.P[i] = own.y[n_q + n_u + i]
        end.modes[i] = CONSTRAINT if own.side[i] == 0.0 else (UPPER if own.side[i] > 0.0 else LOWER)
        end.own[1 + i] = own.settled[i]
    for k in range(n_q + n_u):
        end.own[1 + n + k] = own.scale[k]
    end.own[0] = s.now.h_next


@kernel(int64(int64, float64, float64), part=True)
def pieces(at_scene, t, dt):
    """Pieces of the step until dt is used up; with steps chosen by their error, one piece."""
    noinline()
    scene = scene_at(at_scene)
    own = own_at(scene.at.own)
    left = dt
    for _ in range(MOST_PIECES):
        begin_piece(scene, own, t, left)
        status = own.control.status
        if status == OK:
            status = integrate(own, left)
        if status != OK:
            return status
        if reaching(scene, own):
            status = locate(scene, own, t)
            if status != OK:
                return status
        status = end_piece(scene, own, t)
        if status != OK:
            return status
        h = own.control.h
        if own.control.controlled or left - h <= 4.0 * EPS * max(abs(t), dt):
            return OK
        t, left = t + h, left - h
    return STEP_UNDERFLOW


@phase
def begin_piece(scene, own, t, left):
    """Slope and surfaces at the begin, and the input that some forms freeze there."""
    s, control, size = solver_at(own.at.solver), own.control, scene.model.size
    control.status = OK
    for k in range(s.y.size):
        s.y[k] = own.y[k]
    s.now.t, s.now.t_bound = t, t + left
    control.earliest = t + BLUR * (abs(t) + left) if t == control.border else t
    control.latest = within_segment(scene, t, left, t + left)
    forget(s)
    control.at_begin = 1
    call_field(s.at.field, s.at.context, t, s.y, s.step.K[0])
    control.at_begin = 0
    if control.status != OK:
        return
    for i in range(size.n_rows):
        own.la_0[i] = own.la[i]
        own.s_begin[i] = own.s[i]
    for k in range(size.n_u):
        own.slope[k] = max(own.slope[k], abs(s.step.K[0, size.n_q + k]))
    if control.controlled:
        tolerances(s, own, size)
        if s.now.h_next == 0.0:
            s.now.h_next = initial_step(s)


@phase
def tolerances(s, own, size):
    """Each component of (q, u) is measured against the largest size it has had."""
    q_max, u_max = 0.0, 0.0
    for k in range(size.n_q):
        q_max = max(q_max, own.scale[k])
    for k in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + k])
    for k in range(size.n_q + size.n_u):
        s.atol[k] = s.rtol[k] * max(own.scale[k], 1e-4 * (q_max if k < size.n_q else u_max))


@phase
def integrate(own, left):
    """One step of the integrator: chosen by its error, or of length `left` (halved where its implicit equations are not solved)."""
    s, control = solver_at(own.at.solver), own.control
    if control.controlled:
        code = call_adapt(s.at.adapt, own.at.solver)
        control.h = s.now.h
        return verdict(s, own, code)
    control.h = left
    code = call_try(s.at.solid, own.at.solver, left)
    for _ in range(HALVINGS):
        if code != NEWTON_FAILED:
            break
        control.h *= 0.5
        code = call_try(s.at.solid, own.at.solver, control.h)
    return verdict(s, own, code)


@phase
def verdict(s, own, code):
    """The status of an integration in the codes of a step."""
    if code == NEWTON_FAILED:
        return IMPLICIT_UNSOLVED
    if code == STEP_TOO_SMALL:
        return STEP_UNDERFLOW
    check = 0.0
    for k in range(s.y.size):
        check += s.step.y_new[k] - s.step.y_new[k]
    if check == 0.0 and code == 0:
        return OK
    return own.control.status if own.control.status != OK else NON_FINITE


@phase
def reaching(scene, own):
    """Whether surfaces are being reached."""
    for i in range(scene.model.size.n_rows):
        if own.side[i] != 0.0:
            return True
    return False


@phase
def end_state(scene, own):
    """(q, u) at the end of the integration just made."""
    size, y = scene.model.size, solver_at(own.at.solver).step.y_new
    for i in range(size.n_q):
        own.q[i] = y[i]
    for k in range(size.n_u):
        own.u[k] = y[size.n_q + k]


@phase
def nearest(scene, own, t):
    """The least part of its way to zero that a surface still has before it at the end of the trial; negative: one has passed."""
    end_state(scene, own)
    if at_point(scene, own, min(t, own.control.latest)) != OK:
        return -1.0
    least = 1.0
    for i in range(scene.model.size.n_rows):
        if own.side[i] != 0.0:
            least = min(least, own.s[i] / own.s_begin[i])
    return least


@phase
def locate(scene, own, t):
    """The piece ends where the first surface arrives (Illinois' method on the integration)."""
    s, control = solver_at(own.at.solver), own.control
    lo, hi, f_lo, f_hi, side = 0.0, control.h, 1.0, nearest(scene, own, t + control.h), 0
    h = hi
    if f_hi <= 0.0:
        for _ in range(MOST_SEARCHED):
            if arrived(scene, own, f_hi if h == hi else f_lo) or hi - lo <= 4.0 * EPS * max(abs(t), hi):
                break
            h = lo + (hi - lo) * f_lo / (f_lo - f_hi)
            status = verdict(s, own, call_try(s.at.solid, own.at.solver, h))
            if status != OK:
                return status
            f = nearest(scene, own, t + h)
            if f <= 0.0:
                hi, f_hi = h, f
                f_lo = 0.5 * f_lo if side == 1 else f_lo
                side = 1
            else:
                lo, f_lo = h, f
                f_hi = 0.5 * f_hi if side == -1 else f_hi
                side = -1
        control.h = h
    for i in range(scene.model.size.n_rows):
        if own.side[i] != 0.0 and own.s[i] * own.side[i] <= rounding(own, i):
            own.side[i] = 0.0
            scene.work.t_best[i] = t + control.h
    return OK


@phase
def rounding(own, i):
    """What rounding can hide of surface i."""
    return 16.0 * EPS * (own.terms[i] + abs(own.s_begin[i]))


@phase
def arrived(scene, own, f):
    """Whether the first surface is at zero at the trial made last, within rounding."""
    for i in range(scene.model.size.n_rows):
        if own.side[i] != 0.0 and abs(own.s[i]) <= rounding(own, i) and own.s[i] / own.s_begin[i] <= abs(f):
            return True
    return False


@phase
def end_piece(scene, own, t):
    """Post-stabilisation, and the state at the end of the piece."""
    s, control, size = solver_at(own.at.solver), own.control, scene.model.size
    end_state(scene, own)
    normalise(scene.model, own.q)
    measure(scene, own)
    status = OK
    if control.stabilisation == POST and size.n_rows > 0:
        t_end = min(t + control.h, control.latest)
        status = post_stabilise(scene, own, t_end, control.h)
        if status == OK:
            weigh_adjustment(scene, own, t_end, control.h)
    for k in range(s.y.size):
        own.y[k] = s.step.y_new[k]
    for i in range(size.n_q):
        own.y[i] = own.q[i]
    for k in range(size.n_u):
        own.y[size.n_q + k] = own.u[k]
    control.first = 0 if not control.silent else control.first
    return status


@phase
def measure(scene, own):
    """Sizes of the motion so far, and its time scale: the largest rate |u'|/|u| of a component that matters."""
    size, control = scene.model.size, own.control
    largest = 0.0
    for i in range(size.n_q):
        own.scale[i] = max(own.scale[i], abs(own.q[i]))
    for k in range(size.n_u):
        own.scale[size.n_q + k] = max(own.scale[size.n_q + k], abs(own.u[k]))
        largest = max(largest, own.scale[size.n_q + k])
    control.fast = 0.0
    for k in range(size.n_u):
        scale = own.scale[size.n_q + k]
        if scale > 1e-4 * largest:
            control.fast = max(control.fast, own.slope[k] / scale)


@phase
def keep_books(scene, own, begin, t, dt):
    """Impulses, work and what the loop is told."""
    info, books, end, size = scene.info, scene.books, scene.end, scene.model.size
    first = size.n_q + size.n_u + size.n_rows
    books.work_forces += own.y[first]
    books.work_contacts += own.y[first + 1]
    for l in range(size.n_laws):
        scene.work.struck[l] = 0
    h = own.control.h if own.control.controlled else dt
    # a step that ends on the end of the segment ends there exactly
    info.t_new = scene.ask.t_stop if t + h >= scene.ask.t_stop - 4.0 * EPS * max(abs(t), h) else t + h
    info.dt = h
    info.changed = first_change(scene.model, begin, end)
    info.residual, info.iterations, info.error = own.control.adjustment, own.control.passes, 0.0
    info.base_steps += 1
