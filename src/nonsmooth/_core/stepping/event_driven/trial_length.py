"""How long the next trial of a smooth step is: what is planned, what is left of the segment, the next trial of a search, or less
than one that failed.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.status import REJECTED, STEP_UNDERFLOW, WAITING
from nonsmooth._core.stepping.event_driven.sizes import EPS, INFINITY, armed
from nonsmooth._core.stepping.gap_cubic import root_of_cubic

FORESEEN = 5  # trials at the end of a mode that cubics foresee, before brackets are halved
PATIENCE = (
    24  # trials after which every other one halves the bracket: so many as a search may have find any instant
)


@phase
def length_of_trial(own, modes, n_N, t, t_stop):
    """Length of the step to try: what is planned, up to the end of the segment; or the next trial of the search."""
    control = own.control
    if control.searching:
        smallest = 2.0 * EPS * max(abs(t), control.hi)
        x = foreseen(own, modes, n_N)
        if control.lo + smallest < x < control.hi - smallest:
            return x
        edge = max(smallest, 1e-3 * (control.hi - control.lo))
        return min(max(in_bracket(control), control.lo + edge), control.hi - edge)
    left = t_stop - t
    if control.dt_next >= left * (1.0 - 1e-10):
        return left
    return min(control.dt_next, 0.5 * left) if control.dt_next > 0.5 * left else control.dt_next


@phase
def foreseen(own, modes, n_N):
    """Length of the step at which the first gap closes, by the cubics through gaps and rates at its begin and at the end of the last
    trial; 0 where something else than a gap ends a mode first, or where cubics have had their turn."""
    control, s, x = own.control, own.control.stages, 0.0
    if control.searching > FORESEEN:
        return 0.0
    dt = control.lo if control.side == -1 else control.hi
    for l in range(own.phi_0.size):
        if not armed(own, l) or own.phi_0[l] >= INFINITY:
            continue
        if l < n_N and modes[l] != CONSTRAINT:
            z = dt * root_of_cubic(own.phi_0[l], own.rate_0[l] * dt, own.phi[s, l], own.rate[l] * dt)
            if z > 0.0 and (x == 0.0 or z < x):
                x = z
        elif own.phi[s, l] <= 0.0:
            return 0.0
    return x


@phase
def in_bracket(control):
    """Length at which the line through both ends of the bracket vanishes (its values are Illinois'); the middle from time to time, for
    functions that are far from straight, such as the least of several, one of which has begun at next to nothing."""
    searched = control.searching
    if searched % 8 == 0 or (searched > PATIENCE and searched % 2 == 0):
        return 0.5 * (control.lo + control.hi)
    return control.lo + (control.hi - control.lo) * control.f_lo / (control.f_lo - control.f_hi)


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
