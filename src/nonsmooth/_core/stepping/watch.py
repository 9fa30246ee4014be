"""Zeros of functions of the user along a run: found by their signs at the ends of steps, located on the step itself.

The state inside a step is the scheme's own (``scene.at.between``: a part of the step taken again for schemes that control their
error), so that an instant is as accurate as the motion. Illinois' method, with a bisection now and then because velocities jump.

What comes to zero where a contact strikes or a law begins to hold, and does not pass through it, is the business of `arrivals`.

A zero at which the run must stop (a terminal event, a reset) breaks the step off: it is not taken, and the status is `EVENT`. Whoever runs
the loop takes the slice again up to that instant, which changes nothing but where the last step ends.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.run import LOOK, run_at
from nonsmooth._core.records.scene import call_between, scene_at, state_at
from nonsmooth._core.records.status import EVENT, OK
from nonsmooth._core.stepping.arrivals import (
    leaves,
    measure_noise,
    mode_changes,
    remember_sizes,
    rest,
    sides_after_stop,
    strikes,
    zeros_at_end,
)

EPS = 2.220446049250313e-16
MOST_SEARCHED = 100
# parts of a step after which a function that was zero at its begin may show its sign: a flight may be far shorter than a step
A_LITTLE, MORE, MUCH = 1e-8, 1e3, 1e-1


@kernel(LOOK, part=True)
def look(at_run, at_scene, at_state, t, dt, t_new):
    """Zeros in the step from t to t_new: logged in their order, up to the first that stops the run."""
    record, scene, state = run_at(at_run), scene_at(at_scene), state_at(at_state)
    watch, control = record.watch, record.watch.control
    if not control.known:
        first_values(watch, scene, state, t)
    control.longest = max(control.longest, t_new - t)
    remember_sizes(watch, scene.end)
    call_vector(watch.at.values, t_new, scene.end.q, scene.end.u, scene.model.p, watch.g_1)
    changes = mode_changes(scene, state, t, t_new)
    if changes or some_rest(watch):
        measure_noise(watch, scene, t_new, scene.end.q, scene.end.u)
    if t_new > t:
        sides_after_stop(watch, scene, state, t)
    status = signs_after_begin(watch, scene, at_scene, at_state, t, dt, t_new)
    if status != OK:
        return status
    if changes:
        zeros_at_end(watch)
    for i in range(control.count):
        watch.struck[i], watch.found[i], watch.root[i] = 0, 1 if crosses(watch, i) else 0, t_new
        if watch.found[i] and t_new > t:  # (else the state jumps across)
            status = locate(watch, scene, at_scene, at_state, i, t, dt, t_new)
            if status != OK:
                return status
    if changes:
        strikes(watch, scene, state, t, dt, t_new)
    return deal_with(record, scene, state, at_scene, at_state, changes, t, dt, t_new)


@phase
def deal_with(record, scene, state, at_scene, at_state, changes, t, dt, t_new):
    """What was found in a step, in the order of time; values and what rests are handed on to the next one."""
    watch, control = record.watch, record.watch.control
    for _ in range(control.count):
        i = next_root(watch, control.count)
        if i < 0:
            break
        if watch.stops[i] == 1:
            # (a short step that some schemes take across an impact cannot be taken in part)
            across = record.clock.controlled and watch.struck[i] and not scene.info.jump_next
            control.stopped, control.t_stopped, control.t_step = i, t if across else watch.root[i], t_new
            return EVENT
        if watch.stops[i] > 1:
            watch.stops[i] -= 1
        status = log_event(watch, scene, state, at_scene, at_state, i, t, dt, t_new)
        if status != OK:
            return status
    for i in range(control.count):
        if watch.struck[i] or (changes and watch.g_1[i] == 0.0):
            rest(watch, i)
        elif watch.resting[i]:
            leaves(watch, i, watch.g_1[i])
        watch.g_0[i] = watch.g_1[i]
    return OK


@phase
def first_values(watch, scene, state, t):
    """Values where the run begins or goes on after a stop."""
    remember_sizes(watch, state)
    measure_noise(watch, scene, t, state.q, state.u)
    call_vector(watch.at.values, t, state.q, state.u, scene.model.p, watch.g_0)
    for i in range(watch.control.count):
        watch.resting[i] = 1 if abs(watch.g_0[i]) <= watch.noise[i] else 0
        watch.arrived[i] = watch.g_0[i]
    watch.control.known = 1


@phase
def some_rest(watch):
    """Whether a function is at zero, or the run was stopped at one."""
    for i in range(watch.control.count):
        if watch.resting[i] or watch.fresh[i]:
            return True
    return False


@phase
def signs_after_begin(watch, scene, at_scene, at_state, t, dt, t_new):
    """Functions that are zero at the begin, or at which the run was stopped there, take the sign they have a little later."""
    part = A_LITTLE
    while part <= MUCH and t_new > t:
        some = False
        for i in range(watch.control.count):
            moved = abs(watch.g_1[i] - watch.arrived[i]) > watch.noise[i]
            some = some or watch.fresh[i] or (watch.resting[i] and moved)
        if not some:
            return OK
        status = values_at(watch, scene, at_scene, at_state, t, dt, t + part * (t_new - t))
        if status != OK:
            return status
        for i in range(watch.control.count):
            if watch.fresh[i] and abs(watch.g_m[i]) > watch.noise[i]:
                watch.g_0[i], watch.fresh[i], watch.resting[i] = watch.g_m[i], 0, 0
            elif watch.resting[i]:
                leaves(watch, i, watch.g_m[i])
        part *= MORE
    return OK


@phase
def values_at(watch, scene, at_scene, at_state, t, dt, t_out):
    """The functions at an instant inside the step, in `g_m`; the state is left in ``scene.between``."""
    status = call_between(scene.at.between, at_scene, at_state, t, dt, t_out)
    if status == OK:
        point = scene.between
        call_vector(watch.at.values, t_out, point.q, point.u, scene.model.p, watch.g_m)
    return status


@phase
def crosses(watch, i):
    """Whether function `i` changes its sign in a direction that counts."""
    if watch.resting[i]:
        return False
    up = watch.g_0[i] < 0.0 and watch.g_1[i] >= 0.0
    down = watch.g_0[i] > 0.0 and watch.g_1[i] <= 0.0
    return (up and watch.direction[i] >= 0) or (down and watch.direction[i] <= 0)


@phase
def locate(watch, scene, at_scene, at_state, i, t, dt, t_new):
    """The zero of function `i` in the step, in `root`: the end of the bracket behind it."""
    lo, hi, g_lo, g_hi, side = t, t_new, watch.g_0[i], watch.g_1[i], 0
    for k in range(MOST_SEARCHED):
        if g_hi == 0.0 or hi - lo <= 4.0 * EPS * max(abs(lo), abs(hi)):
            break
        x = lo + (hi - lo) * g_lo / (g_lo - g_hi)
        if k % 4 == 3 or not lo < x < hi:
            x = 0.5 * (lo + hi)
        if not lo < x < hi:
            break
        status = values_at(watch, scene, at_scene, at_state, t, dt, x)
        if status != OK:
            return status
        g = watch.g_m[i]
        if (g > 0.0) == (watch.g_0[i] > 0.0) and g != 0.0:
            lo, g_lo = x, g
            if side == -1:
                g_hi *= 0.5
            side = -1
        else:
            hi, g_hi = x, g
            if side == 1:
                g_lo *= 0.5
            side = 1
    watch.root[i] = hi
    return OK


@phase
def next_root(watch, count):
    """The function with the earliest zero that was not dealt with yet, or -1."""
    first = -1
    for i in range(count):
        if watch.found[i] and (first < 0 or watch.root[i] < watch.root[first]):
            first = i
    return first


@phase
def log_event(watch, scene, state, at_scene, at_state, i, t, dt, t_new):
    """The zero of function `i` with the state there: where a contact strikes, with the velocities before."""
    root, k, size, point = watch.root[i], watch.control.logged, scene.model.size, scene.end
    before = watch.struck[i] and not scene.info.jump_next
    if t <= root < t_new and not before:
        status = call_between(scene.at.between, at_scene, at_state, t, dt, root)
        if status != OK:
            return status
        point = scene.between
    watch.event[k], watch.t[k] = i, root
    for j in range(size.n_q):
        watch.q[k, j] = state.q[j] + (root - t) * watch.dq[j] if before else point.q[j]
    for j in range(size.n_u):
        watch.u[k, j] = state.u[j] if before else point.u[j]
    watch.control.logged = k + 1
    watch.found[i] = 0
    return OK
