"""Zeros of functions of the user along a run: found by their signs at the ends of steps, located on the step itself.

The state inside a step is the scheme's own (``scene.at.between``: a part of the step taken again for schemes that control their
error), so that an instant is as accurate as the motion. Illinois' method, with a bisection now and then because velocities jump.

A zero at which the run must stop (a terminal event, a reset) breaks the step off: it is not taken, and the status is `EVENT`. Whoever runs
the loop takes the slice again up to that instant, which changes nothing but where the last step ends.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.run import LOOK, run_at
from nonsmooth._core.records.scene import call_between, scene_at, state_at
from nonsmooth._core.records.status import EVENT, OK

EPS = 2.220446049250313e-16
MOST_SEARCHED = 100
A_LITTLE = 1e-8  # part of a step after which a function that vanished at its begin shows its sign: a flight may be far shorter than a step


@kernel(LOOK, part=True)
def look(at_run, at_scene, at_state, t, dt, t_new):
    """Zeros in the step from t to t_new: logged in their order, up to the first that stops the run."""
    record, scene, state = run_at(at_run), scene_at(at_scene), state_at(at_state)
    watch, model, end = record.watch, scene.model, scene.end
    control = watch.control
    if not control.known:
        call_vector(watch.at.values, t, state.q, state.u, model.p, watch.g_0)
        control.known = 1
    status = signs_after_begin(watch, scene, at_scene, at_state, t, dt, t_new)
    if status != OK:
        return status
    call_vector(watch.at.values, t_new, end.q, end.u, model.p, watch.g_1)
    for i in range(control.count):
        watch.root[i] = t_new + 1.0 if crosses(watch, i) else -1.0
        if watch.root[i] > t_new and t_new > t:
            status = locate(watch, scene, at_scene, at_state, i, t, dt, t_new)
            if status != OK:
                return status
        elif watch.root[i] > t_new:
            watch.root[i] = t_new  # the state jumps across
    for _ in range(control.count):
        i = next_root(watch, control.count, t)
        if i < 0:
            break
        if watch.stops[i] == 1:
            control.stopped, control.t_stopped, control.t_step = i, watch.root[i], t_new
            return EVENT
        if watch.stops[i] > 1:
            watch.stops[i] -= 1
        status = log_event(watch, scene, at_scene, at_state, i, t, dt, t_new)
        if status != OK:
            return status
    for i in range(control.count):
        watch.g_0[i] = watch.g_1[i]
    return OK


@phase
def signs_after_begin(watch, scene, at_scene, at_state, t, dt, t_new):
    """Functions that vanish at the begin, or at which the run was stopped there, take the sign they have a little later."""
    some = False
    for i in range(watch.control.count):
        some = some or watch.fresh[i] or watch.g_0[i] == 0.0
    if not some or not t_new > t:
        return OK
    t_later = t + A_LITTLE * (t_new - t)
    if t_later <= t:
        return OK
    status = values_at(watch, scene, at_scene, at_state, t, dt, t_later)
    if status != OK:
        return status
    for i in range(watch.control.count):
        if watch.fresh[i] or watch.g_0[i] == 0.0:
            watch.g_0[i] = watch.g_m[i]
            watch.fresh[i] = 0
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
def next_root(watch, count, t):
    """The function with the earliest zero that was not dealt with yet, or -1."""
    first = -1
    for i in range(count):
        if watch.root[i] >= t and (first < 0 or watch.root[i] < watch.root[first]):
            first = i
    return first


@phase
def log_event(watch, scene, at_scene, at_state, i, t, dt, t_new):
    """The zero of function `i` with the state there."""
    root, k, size, point = watch.root[i], watch.control.logged, scene.model.size, scene.end
    if t <= root < t_new:
        status = call_between(scene.at.between, at_scene, at_state, t, dt, root)
        if status != OK:
            return status
        point = scene.between
    watch.event[k], watch.t[k] = i, root
    for j in range(size.n_q):
        watch.q[k, j] = point.q[j]
    for j in range(size.n_u):
        watch.u[k, j] = point.u[j]
    watch.control.logged = k + 1
    watch.root[i] = t - 1.0
    return OK
