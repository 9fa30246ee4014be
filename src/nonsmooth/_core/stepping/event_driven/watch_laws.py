"""Whether a law's function vanishes inside a trial or at its end.

The functions are looked at in the stages and at the end, gaps also on the cubic through both ends (Hermite's, with the gap rates): it may
be off by (w dt)^2/192 of the way in a vibration w. Where one may have vanished and come back, a shorter step looks more closely.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE
from nonsmooth._core.records.status import WAITING
from nonsmooth._core.stepping.event_driven.sizes import (
    EPS,
    GRAZING,
    INFINITY,
    armed,
    lowest,
    rounding_of_time,
    small,
)
from nonsmooth._core.stepping.event_driven.trial_length import shorter
from nonsmooth._core.stepping.gap_cubic import least_of_cubic

LEAST = 1e-10  # part of the longest step after which a mode that does not hold is looked at again
SHORT = 1e-3  # part of the longest step by which a run goes on then
SHORTEST = 64 * EPS  # the same as a part of the time, whose rounding such a step must not be
CUBIC = 2e-2  # part of the way in a step by which a cubic may miss a gap in its middle: steps of two radians of a vibration


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
def look_closer(scene, own, begin, t, dt, early):
    """A part of the step is taken instead, unless modes are settled anew."""
    if ends_at_once(scene, own, begin, t, early * dt):
        return WAITING
    return shorter(own, scene.info, WAITING, early * dt, t)


@phase
def ends_at_once(scene, own, begin, t, dt):
    """Whether a mode does not hold for the shortest time, below which `dt` lies: modes are settled anew."""
    shortest = max(LEAST * own.control.dt_max, SHORTEST * abs(t))
    if dt < shortest and unexpected(scene, own, begin):
        own.control.jump, own.control.rejected = 1, 0
        if (
            own.control.repeated < 2
        ):  # so short was the look, not the motion that follows; unless modes end here again
            own.control.dt_next = SHORT * own.control.dt_max
        return True
    return False


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
