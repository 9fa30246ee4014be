"""Extrapolation of a time-stepping scheme: one main step (Studer, Leine, Glocker 2008, secs 7, 8, 9.2; Table II).

A main step of length dt is split into n_1, n_2, n_3, ... substeps (1, 3, 5, 7, ... by default: an odd number keeps the
sign of (-e)^n at an enduring contact, sec. 8.2). Each gives a first-order approximation T_{i,1}; the Aitken-Neville scheme

    T_{i,j+1} = T_{i,j} + (T_{i,j} - T_{i-1,j}) / (n_i / n_{i-j} - 1)                                      (42)

(exponent 1, erratum 7) raises the order until ||T_{i,i} - T_{i-1,i-1}|| <= atol + rtol ||T_{i,i}||. Every substep must
show the accepted structure of all laws; otherwise a switching point lies in the step. Five ways to end:

    SMOOTH           all substeps in the accepted structure, accuracy reached
    NOT_ACCURATE     the same, but the order or the smallest substep is exhausted
    DETECTED         another structure was seen in a step longer than dt_min
    RESOLVED         another structure was seen in the single substep of a step of length dt_min
    FAILED           a base step failed; `note.status` tells why

The module knows nothing of the base scheme but that it is a step that reports modes.

What a level is wrong by through rounding alone (`add_rounding`) is no error of the scheme: where a body rests, forces and impulses
of many contacts cancel to velocities of 1e-20, which no tolerance relative to zero would let pass.

Restitution may be replaced by e_mod = e^(h/dt_min) (end of sec. 8.2, erratum 9), which vanishes in long steps.

Step size of least work (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, sec. II.9): level i would
meet the tolerance with H_i = 0.8 dt err_i^(-1/i) at the price of A_i = n_1 + ... + n_i base steps; the level with the
smallest A_i / H_i wins, or the next one where the work still falls from level to level.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.scene import call_step, scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.extrapolation.records import (
    DETECTED,
    FAILED,
    MAIN,
    NOT_ACCURATE,
    RESOLVED,
    SMOOTH,
    own_at,
)
from nonsmooth._core.stepping.phases import copy_state, normalise

HUGE = 1e300

# the next step is at most so much longer or shorter than the last, and aims at a somewhat smaller error than allowed
GROWTH, SHRINK, SAFETY = 32.0, 0.1, 0.8

# of a substep, relative to what cancels in it
ROUNDING = 1e-13


@kernel(MAIN, part=True)
def main_step(at_scene, at_begin, at_accepted, t, dt, order, any_modes, books):
    """One main step from `t` and the state `begin`, on the structure of the state `accepted`.

    `order` > 0 fixes the order. With `any_modes` every structure is taken (start of a run, probes, output between steps); with
    `books` a step of least length, which may be an impact, keeps the books of energy. The end is left in
    ``tableau.end``, the rest in ``note``. Returns one of the five flags.
    """
    scene, begin, accepted = scene_at(at_scene), state_at(at_begin), state_at(at_accepted)
    own = own_at(scene.at.own)
    x, control, note = own.tableau, own.control, own.note
    minimal = dt <= control.dt_cross * (1.0 + 1e-9)
    levels = order if order > 0 else control.max_order
    levels = 1 if minimal else levels
    set_rule(scene, control, minimal, levels, dt, books)
    note.law = -1
    note.error = 0.0
    note.dt_best = 8.0 * dt
    flag = NOT_ACCURATE
    effort, least, work_before, error_before, error_old = 0.0, HUGE, HUGE, HUGE, HUGE
    for i in range(levels):
        h = dt / x.substeps[i]
        effort += x.substeps[i]
        # sec. 9.2: no substep below dt_min (the fixed-order mode of sec. 10.3 goes through with its order)
        if i > 0 and order == 0 and h < control.dt_min * (1.0 - 1e-9):
            break
        start_level(scene.model, x, begin, accepted, control, minimal, h)
        if take_substeps(scene, own, at_scene, x.substeps[i], t, h, any_modes) != OK:
            return FAILED
        if note.law >= 0:
            if not minimal:
                return DETECTED
            flag = RESOLVED
        error = aitken_neville(scene.model.size, x, control, i)
        note.order = i + 1
        note.error = error
        note.last_h = h
        if flag == RESOLVED:
            break
        if order > 0:
            flag = SMOOTH if i == levels - 1 else flag
            continue
        if i == 0:
            continue
        work = level_of_least_work(note, x, control, i, levels, dt, effort, error, least, work_before)
        least = min(least, work)
        if error <= 1.0:
            flag = SMOOTH
            # where the third level gains next to nothing the expansion is even (enduring laws make the base rule symmetric):
            # the level is far better than its estimate, which the next one shows
            if scene.ask.enduring and i == 2 and i + 1 < levels and error > 0.15 * error_before:
                error_before = error
                continue
            break
        flag = NOT_ACCURATE
        # give up early where steady progress cannot reach the tolerance (seen over two levels: where the expansion of the
        # error is even, every second level gains nothing)
        if i > 2 and error * min(error / error_old, 1.0) ** (0.5 * (levels - 1 - i)) > 100.0:
            break
        work_before = work
        error_old = error_before
        error_before = error
    normalise(scene.model, x.end.q)
    if control.modified_e:
        for l in range(scene.model.size.n_laws):
            scene.model.laws.e[l] = x.e_0[l]
    return flag


@phase
def set_rule(scene, control, minimal, levels, dt, books):
    """How the base scheme treats contacts in this main step."""
    ask = scene.ask
    # a step that crosses an impact and is longer than it need be says nothing about how slow an approach is
    ask.slow = 0 if minimal and dt > control.dt_min * (1.0 + 1e-9) else 1
    # a closed contact whose gap is curved leaves it at the midpoints of long substeps, and comes back by extrapolation
    ask.stay = control.stay if levels == 1 else control.stay_long
    ask.books = 1 if minimal and books else 0


@phase
def start_level(model, x, begin, accepted, control, minimal, h):
    """The begin of a level: the state, impulses in proportion to the substep, the accepted modes."""
    copy_state(begin, x.sub)
    for k in range(x.noise.size):
        x.noise[k] = 0.0
    share = min(h / control.dt_guess, 1.0) if control.dt_guess > 0.0 else 1.0
    for k in range(model.size.n_rows):
        x.sub.P[k] *= share
        x.end.P[k] = 0.0
    for l in range(model.size.n_laws):
        x.sub.modes[l] = accepted.modes[l]
        if control.modified_e:
            exponent = 1.0 if minimal else h / control.dt_min
            model.laws.e[l] = x.e_0[l] ** exponent if x.e_0[l] > 0.0 else 0.0


@phase
def take_substeps(scene, own, at_scene, n, t, h, any_modes):
    """`n` steps of the base scheme; ends with the first one that shows another structure, unless any is taken."""
    x, note, info, end = own.tableau, own.note, scene.info, scene.end
    for k in range(n):
        info.base_steps += 1
        status = call_step(scene.at.base, at_scene, own.at.sub, t + k * h, h)
        if status != OK:
            note.status = status
            note.t_fail = t + k * h
            note.last_h = h
            info.dt = h
            return status
        copy_state(end, x.sub)
        for i in range(scene.model.size.n_rows):
            x.end.P[i] += end.P[i]
        add_rounding(scene, x, h)
        note.t_fail = t + (k + 1) * h
        if any_modes == 0 and info.changed >= 0:
            note.law = info.changed
            break
    return OK


@phase
def add_rounding(scene, x, h):
    """Rounding of a substep: a part of the velocities that forces and impulses make one by one, before they cancel each other, as
    large as the residual of the contact problem (or rounding, amplified by eq. (42)) tells.

    Velocities are measured by their energy, which couples all components: |f|/sqrt(M_jj) for a force, sqrt(G_ii) |P_i| for a law.
    """
    size, M, problem, noise = scene.model.size, scene.work.M, scene.problem, x.noise
    n_q, n_u = size.n_q, size.n_u
    made = 0.0
    for j in range(n_u):
        made += h * abs(scene.work.h[j]) / M[j, j] ** 0.5
    for k in range(problem.count.rows):
        made += abs(problem.rows.P[k]) * problem.G[k, k] ** 0.5
    part = (ROUNDING + 2.0 * scene.info.residual) * made
    for j in range(n_u):
        noise[n_q + j] += part / M[j, j] ** 0.5
    for i in range(n_q):
        if size.has_B:
            for j in range(n_u):
                noise[i] += h * abs(scene.work.B[i, j]) * noise[n_q + j]
        else:
            noise[i] += h * noise[n_q + i]


@phase
def aitken_neville(size, x, control, i):
    """Eq. (42): `row` goes from T_{i-1,.} to T_{i,.}, its last entry is the end; returns the error relative to the tolerance."""
    n_q, n_i = size.n_q, x.substeps[i]
    error = 0.0
    for k in range(n_q + size.n_u):
        new = x.sub.q[k] if k < n_q else x.sub.u[k - n_q]
        old_diagonal = x.row[i - 1, k] if i > 0 else 0.0
        for j in range(i):
            old = x.row[j, k]
            x.row[j, k] = new
            new = new + (new - old) / (n_i / x.substeps[i - 1 - j] - 1.0)
        x.row[i, k] = new
        if i > 0:
            scale = max(abs(new), x.scale[k])
            tolerance = control.atol + control.rtol * (scale if control.atol == 0.0 else abs(new))
            tolerance = max(tolerance, x.noise[k])
            error = max(error, abs(new - old_diagonal) / tolerance if tolerance > 0.0 else 0.0)
    for k in range(n_q):
        x.end.q[k] = x.row[i, k]
    for k in range(size.n_u):
        x.end.u[k] = x.row[i, n_q + k]
    for l in range(size.n_laws):
        x.end.modes[l] = x.sub.modes[l]
    return error


@phase
def level_of_least_work(note, x, control, i, levels, dt, effort, error, least, work_before):
    """Work per time of level i; the step size of the best level so far is noted."""
    best = dt * min(max(SAFETY * max(error, 1e-30) ** (-1.0 / (i + 1)), SHRINK), GROWTH)
    work = effort / best
    if work < least:
        note.dt_best = best
        if i + 1 < levels and work < 0.9 * work_before and error <= 1.0:
            note.dt_best = min(best * (effort + x.substeps[i + 1]) / effort, GROWTH * dt)
    return work
