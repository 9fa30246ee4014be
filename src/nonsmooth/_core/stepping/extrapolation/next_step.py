"""Length of the next step: Tables IV and VI with bisection; with location towards the switching point that is expected, or as long
as accuracy allows.

An impact is crossed by one step of dt_min that begins theta dt_min before it, theta = (1 - e)/(2 (1 + e)); the end of a mode by a force
with d = 0.3 sqrt(dt_min dt), dt the last smooth step (reasons in `step`). Searches that find nothing double the crossing step.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE
from nonsmooth._core.stepping.extrapolation.records import DETECTED
from nonsmooth._core.stepping.extrapolation.switching_points import (
    INFINITY,
    gap_root,
    instant_rounding,
    secant_root,
)
from nonsmooth._core.stepping.phases import structure


@phase
def choose_next(scene, own, flag, settled, minimal, crossing, law, best, dt, t_new):
    """Length of the next step (Tables IV, VI; or where the next switching point is expected)."""
    control, dt_min = own.control, own.control.dt_min
    control.dt_crossed = control.dt_cross
    control.dt_cross = dt_min
    if settled and flag != DETECTED:
        forget_search(control)
        control.t_no_increase = t_new
        control.dt_next = min(max(2.0 * dt, 3.0 * dt_min), control.dt_max)
    elif not control.locate:
        if flag == DETECTED:
            control.dt_next = 0.5 * dt if 0.5 * dt >= 3.0 * dt_min else dt_min
        elif own.accepted.span.t_B > control.t_no_increase:
            control.dt_next = min(max(2.0 * dt, 3.0 * dt_min), control.dt_max)
        else:
            control.dt_next = dt
    elif crossing:
        cross = dt_min
        if law < scene.model.size.n_N and own.previous.state.modes[law] != CONSTRAINT:
            cross = crossing_of_gap(own, law, scene.work.slack[law], dt_min)
        control.dt_next = control.dt_cross = cross
    else:
        aim(scene, own, flag, minimal, law, best, dt)


@phase
def forget_search(control):
    """Nothing is looked for any more."""
    control.t_right = INFINITY
    control.t_phi = control.t_phi_old = control.t_tried = control.t_root = control.t_old = -INFINITY
    control.alarms = 0


@phase
def crossing_of_gap(own, l, slack, shortest):
    """Length of a step that crosses the closing of gap `l`: not shorter than its instant is defined."""
    control, rate = own.control, own.previous.rate[l]
    h = own.previous.span.t_E - control.t_old if control.t_old > -INFINITY else 0.0
    slope = (rate - own.old_rate[l]) / h if h > 0.0 else 0.0
    return min(max(shortest, instant_rounding(rate, slope, slack)), 0.1 * control.dt_max)


@phase
def aim(scene, own, flag, minimal, law, best, dt):
    """The next step with location: towards the expected switching point, or as long as accuracy allows."""
    laws, slack, control, previous = scene.model.laws, scene.work.slack, own.control, own.previous
    dt_min, dt_max = control.dt_min, control.dt_max
    t_a = own.accepted.span.t_E
    h_old = t_a - control.t_old if control.t_old > -INFINITY else 0.0
    if law >= 0:
        control.law = law
    search = control.t_right < INFINITY and t_a < control.t_right + 2.0 * dt_min
    if flag != DETECTED and minimal:
        control.alarms += 1
    width, root, k, gap_type = INFINITY, INFINITY, control.law, True
    if search:
        width = max(control.t_right - t_a, dt_min)
        gap_type = laws.kind[k] == HALF_LINE and structure(HALF_LINE, previous.state.modes[k]) == INACTIVE
        if control.t_tried != t_a:
            root = gap_root(own, k, h_old, slack[k]) if gap_type else secant_root(own, k) - t_a
        target = 0.5 * width
    else:
        control.t_right = INFINITY
        if not minimal:
            control.alarms = 0
            control.dt_smooth = dt
        target = min(max(best, 3.0 * dt_min), dt_max)
        # a gap that will close within the next step is approached at once
        for l in range(scene.model.size.n_N):
            if h_old > 0.0 and structure(HALF_LINE, previous.state.modes[l]) == INACTIVE:
                z = gap_root(own, l, h_old, slack[l])
                if z < 1.05 * target and z < root:
                    root = z
                    k = l
    aimed = 0.0 <= root < INFINITY
    if aimed:
        target = min(short_of(control, laws.e[k], root, t_a, gap_type), 0.95 * width, dt_max)
    cross = dt_min  # the step that crosses
    if search and previous.state.modes[k] == CONSTRAINT:
        cross = max(dt_min, 0.3 * (dt_min * control.dt_smooth) ** 0.5)
    if (search or aimed) and gap_type:
        cross = crossing_of_gap(own, k, slack[k], cross)
    for _k in range(min(max(control.alarms - 4, 0), 40)):
        cross = min(2.0 * cross, 0.1 * dt_max)
    if target < 3.0 * cross:
        if not (aimed and gap_type and cross <= target < 3.0 * cross and control.alarms < 4):
            target = cross
        control.dt_cross = target
    control.dt_next = target


@phase
def short_of(control, e, root, t_a, gap_type):
    """A step that ends shortly before the expected root: by the part of the crossing step that belongs before it, or by what
    the root moved since it was last computed."""
    change = abs(t_a + root - control.t_root) if control.t_root > -INFINITY else 0.4 * root
    control.t_root = t_a + root
    control.t_tried = t_a
    margin = 0.2 * control.dt_min
    if gap_type:
        margin = max(0.49 * (1.0 - e) / (1.0 + e), 0.05) * control.dt_min
    return root - max(margin, 0.05 * change)
