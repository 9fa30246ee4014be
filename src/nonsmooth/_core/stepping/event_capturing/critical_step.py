"""The critical step is located: the first end of a mode is bracketed by steps of other lengths until the bracket is as short as
Mannshardt's rule asks, hbar = C T (h/T)^((p+1)/(q+1)); then the instant inside it is interpolated with an error of O(hbar^(q+1)).
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE
from nonsmooth._core.records.status import WAITING
from nonsmooth._core.stepping.event_capturing.grid import end_of_trial
from nonsmooth._core.stepping.event_driven.search import MOST_SEARCHED, illinois, open_bracket
from nonsmooth._core.stepping.event_driven.sizes import EPS, INFINITY, armed
from nonsmooth._core.stepping.event_driven.trial_length import foreseen, in_bracket
from nonsmooth._core.stepping.event_driven.watch_laws import least_function

SHARE = 0.1  # of the tolerance that the critical step may take
FLOOR = 16.0 * EPS


@phase
def start_search(scene, own, capture, begin, f_end, dt):
    """The first end of a mode lies between 0 and dt."""
    control, wanted = own.control, capture.control
    open_bracket(control, dt, f_end)
    wanted.polishing, wanted.f_lo, wanted.f_hi = 0, 1.0, f_end
    T, C, h = wanted.time_scale, wanted.constant, wanted.dt
    wanted.error = SHARE * control.rtol * dt
    if wanted.dt > 0.0:
        wanted.error = C * T * (h / T) ** (wanted.order + 1)
    wanted.width = longest_bracket(scene, own, capture, dt)
    mark(scene, own, capture, begin)


@phase
def longest_bracket(scene, own, capture, length):
    """Mannshardt's rule, hbar^(q+1) = O(h^(p+1)); for motion that turns within less than T (low rebounds) by its own length."""
    wanted = capture.control
    T, C, h, q = wanted.time_scale, wanted.constant, wanted.dt, wanted.critical_order
    if q == 0:
        return wanted.error
    longest = length * (wanted.error / length) ** (1.0 / (q + 1))
    return min(longest, C * T * (h / T) ** ((wanted.order + 1.0) / (q + 1))) if h > 0.0 else longest


@phase
def mark(scene, own, capture, begin):
    """Laws whose modes have ended at the upper end of the bracket; whether a contact closes among them."""
    s, capture.control.closing = own.control.stages, 0
    for l in range(scene.model.size.n_laws):
        waits = armed(own, l) and own.phi_0[l] < INFINITY
        own.fired[l] = 1 if waits and own.phi[s, l] <= 0.0 else 0
        closes = scene.model.laws.kind[l] == HALF_LINE and begin.modes[l] != CONSTRAINT
        # (contacts that close together do so up to rounding)
        capture.predicted[l] = 1 if waits and closes and own.phi[s, l] <= own.size[l] else 0
        if capture.predicted[l]:
            capture.control.closing = 1


@phase
def resolution(scene, own, capture, t):
    """What rounding of time and of the gaps that close (with the rate of the last trial) leaves of an instant."""
    least = FLOOR * max(abs(t), own.control.hi)
    for l in range(scene.model.size.n_N):
        if capture.predicted[l] and own.rate[l] < 0.0:
            least = max(least, own.size[l] / -own.rate[l])
    return least


@phase
def length_in_bracket(own, capture, modes, n_N, t):
    """Where the first gap closes by cubics, or by Illinois' rule, aimed a little to the side that is far from the end of the mode, so that
    the bracket closes from both."""
    control = own.control
    if capture.control.polishing:
        return secant(control.lo, capture.control.f_lo, control.hi, capture.control.f_hi)
    x = foreseen(own, modes, n_N)
    if not control.lo < x < control.hi:
        x = in_bracket(control)
    aside = 0.3 * capture.control.width
    x += -aside if control.side == 1 else aside
    span = control.hi - control.lo
    edge = max(5.0 * EPS * max(abs(t), control.hi), min(0.25 * capture.control.width, 0.1 * span))
    return min(max(x, control.lo + edge), control.hi - edge)


@phase
def bracket(scene, own, capture, begin, t, dt):
    """One more trial inside the bracket; when it is narrow, the length of the smooth step up to it is known."""
    control, wanted = own.control, capture.control
    f = least_function(scene, own, begin)
    if wanted.polishing:
        return plan_crossing(scene, own, capture, t, polished(own, capture, dt, f))
    illinois(control, dt, f)
    if f <= 0.0:
        wanted.f_hi = f
        mark(scene, own, capture, begin)
    else:
        wanted.f_lo = f
    longest, least = longest_bracket(scene, own, capture, control.hi), resolution(scene, own, capture, t)
    wanted.width = max(longest, least)
    # (where rounding makes it longer than the rule, Moreau's step would leave an error of that length)
    wanted.strikes = 1 if wanted.closing and wanted.critical_order == 0 and least <= longest else 0
    if control.hi - control.lo > wanted.width and control.searching <= MOST_SEARCHED:
        return WAITING
    instant = secant(control.lo, wanted.f_lo, control.hi, wanted.f_hi)
    edge = 4.0 * EPS * max(abs(t), control.hi)
    if wanted.critical_order > 1 and control.lo + edge < instant < control.hi - edge:
        wanted.polishing = 1
        return WAITING
    return plan_crossing(scene, own, capture, t, instant)


@phase
def secant(x_0, f_0, x_1, f_1):
    """Where the line through two points vanishes."""
    return x_0 + (x_1 - x_0) * f_0 / (f_0 - f_1)


@phase
def polished(own, capture, x, f):
    """The instant from the bracket and a trial inside it, at the secant: with errors of O(hbar^3) or O(hbar^4)."""
    control, wanted = own.control, capture.control
    lo, hi, f_lo, f_hi = control.lo, control.hi, wanted.f_lo, wanted.f_hi
    if f == 0.0 or not f_hi < f < f_lo:
        return x
    if wanted.critical_order == 2:
        return secant(lo, f_lo, x, f) if f < 0.0 else secant(x, f, hi, f_hi)
    # inverse interpolation: x as a parabola of f, at f = 0
    at_lo = f * f_hi / ((f_lo - f) * (f_lo - f_hi))
    at_x = f_lo * f_hi / ((f - f_lo) * (f - f_hi))
    at_hi = f_lo * f / ((f_hi - f_lo) * (f_hi - f))
    instant = lo * at_lo + x * at_x + hi * at_hi
    return instant if lo <= instant <= hi else x


@phase
def plan_crossing(scene, own, capture, t, instant):
    """Where the smooth step ends: before, in or behind the critical step."""
    control, wanted = own.control, capture.control
    control.searching, wanted.polishing = 0, 0
    wanted.t_event = t + instant
    wanted.crossing = 0
    upper = control.hi
    if wanted.strikes:
        # a critical step of full length, whatever the bracket: its error follows from hbar, not from chance
        wanted.last_trial = instant - 0.5 * wanted.width
        upper = min(instant + 0.5 * wanted.width, scene.ask.t_stop - t)
    elif wanted.closing or wanted.critical_order > 0:
        wanted.last_trial = instant
    else:
        wanted.last_trial = control.hi
    wanted.t_critical = end_of_trial(scene, capture, t, upper)
    return approach(own, capture, t)


@phase
def approach(own, capture, t):
    """The smooth step up to the critical one comes next; or that one, if it begins where the run stands."""
    wanted = capture.control
    if wanted.last_trial <= 4.0 * EPS * abs(t):
        wanted.last_trial = 0.0
        if wanted.strikes and wanted.t_critical > t:
            wanted.crossing = 1
        else:
            own.control.jump = 1
    return WAITING
