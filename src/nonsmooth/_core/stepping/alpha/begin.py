"""What a generalized-alpha step starts from: accelerations and multipliers, remembered or consistent, and the prediction (see `step`)."""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.alpha.laws import begin_laws, forecast
from nonsmooth._core.stepping.alpha.motion import call_solve, predict, row_times, weights_of
from nonsmooth._core.stepping.alpha.records import (
    BEGIN,
    BROKEN,
    GGL,
    MOVED,
    PART,
    PLAIN,
    STEADY,
    ZERO,
    alpha_at,
    call_part,
    memory,
)
from nonsmooth._core.stepping.alpha.smooth import (
    AS_BEFORE,
    WITH_CONTACTS,
    WITH_JOINTS,
    free_accelerations,
    modes_at_start,
)

BLUR = 1e-15  # of a time: on which side of a breakpoint it lies


@kernel(PART, part=True)
def begin_step(at_scene, at_state, t, _):
    """What the step starts from: accelerations and multipliers, remembered or (at a start, and where they are restarted, sec. 4.4)
    consistent; relative velocities; the prediction; which contacts may close. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    size, it, rows, x = scene.model.size, own.it, own.rows, own.options
    old = memory(begin.own, size.n_u, size.n_rows)
    weights_of(own, size, own.weights.dt)
    t = begin_of_step(old, t, own.weights.dt)
    status = call_part(own.at.evaluate, at_scene, at_state, t, BEGIN)
    if status != OK:
        return status
    for j in range(size.n_u):
        it.f_0[j] = scene.work.h[j]
    for i in range(size.n_rows):
        rows.gamma_0[i] = scene.work.zeta[i] + row_times(
            own.W_start, own.W_columns, scene.work.WT, i, begin.u
        )
        if x.form == GGL:
            for j in range(size.n_u):
                own.Z_0[i, j] = scene.work.WT[i, j]
            call_solve(own.at.solve, own.at.mass_factors, own.Z_0[i])
    for i in range(own.bounds_0.size):
        own.bounds_0[i] = scene.work.bounds[i]
    if starts_anew(old, x):
        status = consistent(at_scene, at_state, t, old.ready[0] == 0.0)
    else:
        recall(own, old)
    predict(own, begin, old, size, own.weights.dt)
    begin_laws(own, scene.model, begin, scene.end)
    if x.apart:
        forecast(own, scene.model, begin.modes)
    return status


@phase
def blur(t, dt):
    """A time that rounding hides."""
    return BLUR * (abs(t) + dt)


@phase
def begin_of_step(old, t, dt):
    """Where functions are evaluated at the begin of the step: behind a breakpoint."""
    return t + blur(t, dt) if old.jumped[0] == BROKEN else t


@phase
def starts_anew(old, x):
    """Whether accelerations and multipliers are made consistent: at a start, at breakpoints, and after jumps if asked for."""
    fresh = old.ready[0] == 0.0
    return (
        (fresh and (x.start != ZERO or x.restart))
        or (not fresh and old.jumped[0] == BROKEN)
        or (x.restart and old.jumped[0] != STEADY)
    )


@phase
def recall(own, old):
    """Accelerations and multipliers of the step before (zeros at a start); a_0, eta_0 belong to t + (alpha_m - alpha_f) dt."""
    it, rows = own.it, own.rows
    share = own.weights.dt / old.dt[0] if old.dt[0] > 0.0 else 1.0  # whatever dt was
    for j in range(it.w_0.size):
        it.w_0[j] = old.w[j]
        it.a_0[j] = old.a[j] if share == 1.0 else old.w[j] + share * (old.a[j] - old.w[j])
    for i in range(rows.lam_0.size):
        rows.lam_0[i] = old.lam[i]
        rows.eta_0[i] = old.eta[i] if share == 1.0 else old.lam[i] + share * (old.eta[i] - old.lam[i])


@phase
def consistent(at_scene, at_state, t, fresh):
    """v~'_0 and lambda~_0 by (38); a_0 and eta_0 the same at t + (alpha_m - alpha_f) h (erratum 11), or equal to them. Returns a status.

    The shift is mostly back in time, where functions need not exist: they are asked as far ahead, and what they say is mirrored.
    """
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    size, it, rows, x = scene.model.size, own.it, own.rows, own.options
    free_accelerations(own.at, scene.work.h, it.y)
    for l in range(size.n_laws):
        own.modes[l] = CONSTRAINT if fresh else begin.modes[l]
    status = OK
    if fresh:
        status = call_part(own.at.accelerate, at_scene, at_state, t, WITH_JOINTS)
        modes_at_start(own, scene.model, scene.work, begin.u)
    if status == OK:
        status = call_part(own.at.accelerate, at_scene, at_state, t, WITH_CONTACTS)
    for j in range(size.n_u):
        it.w_0[j] = it.a_0[j] = it.w[j]
    for i in range(size.n_rows):
        rows.lam_0[i] = rows.eta_0[i] = rows.lam[i]
    shift = abs(x.alpha_m - x.alpha_f) * own.weights.dt
    if x.start == PLAIN or shift == 0.0 or status != OK:
        return status
    look_ahead(it, begin.u, shift)
    status = call_part(own.at.evaluate, at_scene, at_state, t + shift, MOVED)
    if status == OK:
        free_accelerations(own.at, scene.work.h, it.y)
        status = call_part(own.at.accelerate, at_scene, at_state, t + shift, AS_BEFORE)
    mirror(it, rows, -1.0 if x.alpha_m < x.alpha_f else 1.0, it.w, rows.lam)
    return status


@phase
def look_ahead(it, u, shift):
    """Displacement and velocities a little later."""
    for j in range(u.size):
        it.delta[j] = shift * (u[j] + 0.5 * shift * it.w_0[j])
        it.v[j] = u[j] + shift * it.w_0[j]


@phase
def mirror(it, rows, side, w, lam):
    """a_0 and eta_0 from accelerations and multipliers a little later."""
    for j in range(w.size):
        it.a_0[j] = it.w_0[j] + side * (w[j] - it.w_0[j])
    for i in range(lam.size):
        rows.eta_0[i] = rows.lam_0[i] + side * (lam[i] - rows.lam_0[i])
