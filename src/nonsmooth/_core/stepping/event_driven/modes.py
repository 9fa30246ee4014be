"""The modes after an instant: what moves is open or slips, what just ended is left behind, the rest is decided on accelerations
(`acceleration_laws`).
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE, INACTIVE, INTERVAL, LOWER, UPPER
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_driven.acceleration_laws import (
    idle_without_contact,
    new_modes,
    slip_along,
)
from nonsmooth._core.stepping.event_driven.motion import relative_accelerations
from nonsmooth._core.stepping.event_driven.records import SETTLE, own_at
from nonsmooth._core.stepping.event_driven.sizes import SLOW, small
from nonsmooth._core.stepping.event_driven.wedged import inside, rests_wedged

STOP = 10.0  # tolerances of the velocity with which a slip in two directions may pass by zero and count as stopped
ROUNDING = 1e-8  # accelerations this small beside former ones are left over from terms that cancel


@kernel(SETTLE, part=True)
def settle(at_scene, at_begin, hit):
    """The modes at this state: those that just ended are left behind, the rest follows from accelerations."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own = own_at(scene.at.own)
    status = OK
    own.control.ambiguous = 0
    classify(scene, own, begin, hit)
    if edge_reached(scene, own, begin, hit) and rests_wedged(scene, own):
        return OK
    for leaving in range(1, -1, -1):
        classify(scene, own, begin, hit)
        if leaving and (hit or not leave_modes(scene, own, begin)):
            continue
        status = by_accelerations(scene, own)
        if leaving and status == OK and leaves(scene, own):
            break
    return status


@phase
def by_accelerations(scene, own):
    """The modes that accelerations decide on, and the accelerations; returns a status."""
    status = new_modes(scene, own, scene.at.problem)
    own.control.wedged = 0
    relative_accelerations(scene, own)
    if status == OK and own.control.dependent and not inside(scene, own, 0.0):
        own.control.wedged = 1
        relative_accelerations(scene, own)
    return status


@phase
def edge_reached(scene, own, begin, hit):
    """Whether all that happened is that a force of what holds reached the edge of its set."""
    if hit or own.control.at_start or own.control.at_border:
        return False
    for l in range(scene.model.size.n_laws):
        if own.fired[l] and begin.modes[l] == CONSTRAINT:
            return True
    return False


@phase
def classify(scene, own, begin, after_impact):
    """Modes to start from: what moves is open or slips; what does not is left to the acceleration problem (CONSTRAINT)."""
    model = scene.model
    laws, size = model.laws, model.size
    for l in range(size.n_laws):
        kind, i = laws.kind[l], laws.row[l]
        own.mode[l] = INACTIVE
        if not own.touches[l]:
            continue
        limit = small(scene, own, l)
        if kind == HALF_LINE:
            stays = begin.modes[l] == CONSTRAINT and not after_impact and not own.control.at_border
            # (Newton's law lets a contact that parted close behind an impact at others: it is struck next)
            closes = after_impact and own.gamma[i] < -limit
            own.mode[l] = CONSTRAINT if stays or (own.gamma[i] <= limit and not closes) else INACTIVE
        elif laws.link[l] >= 0 and own.mode[laws.link[l]] != CONSTRAINT:
            continue
        elif kind == FREE:
            own.mode[l] = CONSTRAINT
        else:
            anew = own.control.at_start or own.control.at_border
            own.mode[l] = slip_or_stick(own, laws, l, limit, begin.modes[l], after_impact, anew)
            own.size[l] = limit


@phase
def slip_or_stick(own, laws, l, limit, mode, after_impact, anew):
    """Mode of friction: the sign of its slip, or CONSTRAINT where there is none; what stuck goes on unless velocities count anew."""
    i, s = laws.row[l], 0.0
    for d in range(laws.dim[l]):
        s += own.gamma[i + d] ** 2
    stuck = mode == CONSTRAINT or own.fired[l]
    if laws.dim[l] == 2 and mode != CONSTRAINT and s**0.5 > STOP * own.control.rtol / SLOW * limit:
        stuck = False  # the slip has turned around without stopping
    still = s**0.5 <= limit or (stuck and not after_impact and not anew)
    if still:
        return CONSTRAINT
    if laws.dim[l] == 2:
        for d in range(2):
            own.slip[i + d] = own.gamma[i + d] / s**0.5
        return UPPER
    return LOWER if own.gamma[i] > 0.0 else UPPER


@phase
def leave_modes(scene, own, begin):
    """A closed contact whose force vanished opens, a sticking law at the edge of its set slips along its force."""
    model, work, la = scene.model, scene.work, own.La[own.control.stages]
    laws, n, any_left = model.laws, model.size.n_rows, False
    for l in range(model.size.n_laws):
        if not own.fired[l] or begin.modes[l] != CONSTRAINT or own.control.at_start:
            continue
        any_left = True
        i = laws.row[l]
        if laws.kind[l] == HALF_LINE:
            own.mode[l] = INACTIVE
        elif laws.kind[l] == INTERVAL:
            own.mode[l] = UPPER if work.bounds[n + i] - la[i] < la[i] - work.bounds[i] else LOWER
        elif laws.dim[l] == 1:
            own.mode[l] = UPPER if la[i] > 0.0 else LOWER
        else:
            own.mode[l] = UPPER
            slip_along(own, i, la[i], la[i + 1])
    idle_without_contact(model, own)
    return any_left


@phase
def leaves(scene, own):
    """Whether what was let go moves away (at the edge itself not yet: up to the change of acceleration in a small time)."""
    laws, worst, largest = scene.model.laws, 0.0, 0.0
    for i in range(scene.model.size.n_rows):
        largest = max(
            largest, abs(own.acceleration[i]), abs(scene.problem.rows.c[i]), ROUNDING * own.push_scale[i]
        )
    for l in range(scene.model.size.n_laws):
        i = laws.row[l]
        if not own.fired[l] or own.mode[l] == CONSTRAINT:
            continue
        if laws.kind[l] == HALF_LINE:
            worst = min(worst, own.acceleration[i])
        elif laws.dim[l] == 1 and own.mode[l] != INACTIVE:
            worst = min(worst, -own.acceleration[i] if own.mode[l] == UPPER else own.acceleration[i])
    return worst >= -1e-4 * largest
