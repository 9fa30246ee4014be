"""Integration with switching functions: detect, locate, order, change modes, restart (Compere 2001, Fig. 5.6).

One pass of the loop in `event_run` is one accepted step or one event instant:

1. a step accepted by the error control, with the modes locked (they stand in ``p[mode_at:]`` and do not change);
2. detection: the earliest suspicion of all switching functions inside the step (`earliest`);
3. location on the integration itself (`root_on_step`), then post-analysis: was it the first (Table 5.1)?
   case I: yes; case II: another one lies before it, which is located next; case III: there is no zero, the shortened
   step is kept as a plain step;
4. at the event: modes and resets, repeated until nothing changes at this instant (`settle`), restart.

Nothing here knows what a switch means; everything the caller has to decide comes back as a status.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .callbacks import RESET
from .implicit_rk import JAC_FT
from .jit import (
    address_of,
    f8_1,
    f8_2,
    first_class,
    float64,
    function_at,
    function_type,
    i8_1,
    int64,
    kernel,
    noinline,
    types,
)
from .rk import CONTROL_T, ERR_1, H_NEXT, H_TAKEN, K_0, METHOD_T, NFEV, OK, Q_0, RHS_FT, WORK_T, Y_NEW
from .roots import BAD_VALUE, FOUND, JUMP, STEP_FAILED, rate_along, root_on_dense, root_on_step, side
from .runs import as_dense, as_jac, as_rhs, as_step, as_try
from .scan import BRACKET, NODES, NOTHING, SOURCE_DENSE, SUSPECT, N, first_suspicion, hermite_value
from .single_step import STEP, TRY_FT, accept, start

as_reset = function_at(RESET)

EPS = 2.220446049250313e-16

# Why the loop came back (0 to 3 are those of the integrators).
DONE, FULL, STOPPED, ZENO, CHATTER, CYCLE, BAD_G, NOT_REPEATABLE, LOST_STEP, RESTING = 0, 9, 10, 11, 12, 13, 14, 15, 16, 17

# A switch that was held and let go is looked at again when |g| has become larger than CLEAR (drift while it was held).
WAITING = 2
CLEAR = 1e-10

# Kinds of switches, kinds of recorded events.
BILATERAL, UNILATERAL = 0, 1
EV_SWITCH, EV_TOUCH, EV_JUMP, EV_START = 0, 1, 2, 3

# Columns of Switches.ints and Switches.reals (one row for each switch).
KIND, DIRECTION, HAS_RESET, TERMINAL, HITS, TRIGGERED, SAME_INSTANT, MUTED = range(8)
TOL, T_LAST, GAP_1, GAP_2, GAP_3, RATE_BEFORE, SCALE, PEAK, H_MINUS, H_PLUS = range(10)
# Rows of Switches.G.
G_START, G_END, G_OUT, G_RATE_0, G_RATE_1, G_MARGIN, G_EST, G_TMP, G_NODES = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Options.
O_SOURCE, O_EPS_C, O_EPS_ROC, O_RESTART, O_ZENO_TOL, O_CHATTER, O_MAX_EVENTS, O_MAX_CHAIN = range(8)
# Counters.
C_EVENTS, C_ITER, C_CASE_1, C_CASE_2, C_CASE_3, C_EVENT_REJECTED, C_TOUCH, C_CHAIN, C_INFO = range(9)


class Switches(NamedTuple):
    """Switching functions: ``ints`` (m, 8), ``reals`` (m, 10), values ``G`` (8 + 9, m), work space, options, counters."""

    ints: np.ndarray
    reals: np.ndarray
    G: np.ndarray
    space: np.ndarray
    state: np.ndarray
    options: np.ndarray
    counts: np.ndarray
    info: np.ndarray


class Output(NamedTuple):
    """Filled by the loop: accepted rows ``rows`` (size, 2 + n + m): t, flag (1: right limit after a jump), y, modes; dense
    coefficients ``Q`` (size, rows, n); events ``ev`` (size, 6 + 2 n): t, switch, kind, direction, iterations, rate, states
    on both sides; ``used`` (2,) rows and events in use."""

    rows: np.ndarray
    Q: np.ndarray
    ev: np.ndarray
    used: np.ndarray


@kernel
def finite_values(values):
    for k in range(values.size):
        if not np.isfinite(values[k]):
            return k
    return -1


@kernel
def put_row(out, t, flag, y, p, mode_at, m, Q, rows):
    """Store an accepted state (and the dense output of the step that led to it)."""
    k = out.used[0]
    n = y.size
    out.rows[k, 0] = t
    out.rows[k, 1] = flag
    for j in range(n):
        out.rows[k, 2 + j] = y[j]
    for j in range(m):
        out.rows[k, 2 + n + j] = p[mode_at + j]
    if flag == 0.0:
        for r in range(rows):
            for j in range(n):
                out.Q[k, r, j] = Q[r, j]
    out.used[0] = k + 1


@kernel
def put_event(out, sw, t, i, kind, direction, iterations, rate, left, right):
    """Store an event."""
    k = out.used[1]
    n = left.size
    row = out.ev[k]
    row[0], row[1], row[2], row[3], row[4], row[5] = t, i, kind, direction, iterations, rate
    for j in range(n):
        row[6 + j] = left[j]
        row[6 + n + j] = right[j]
    out.used[1] = k + 1
    if kind == EV_TOUCH:
        sw.counts[C_TOUCH] += 1
    else:
        sw.counts[C_EVENTS] += 1


@kernel
def touch_tolerance(sw, i):
    """Below this |g_i| counts as zero where it does not cross."""
    return max(sw.reals[i, TOL], 64.0 * EPS * sw.reals[i, SCALE])


@kernel
def sample(method, g, t, y, h, rows, p, work, sw):
    """Values of all switching functions that detection needs for the step; index of a bad one, or -1."""
    noinline()
    G = sw.G
    m = G.shape[1]
    F = work.F
    Q = F[Q_0:]
    s = method.stages
    buffer = sw.state[0]
    if sw.options[O_SOURCE] == SOURCE_DENSE:
        for j in range(1, N):
            for k in range(y.size):
                acc = 0.0
                for r in range(rows - 1, -1, -1):
                    acc = (acc + Q[r, k]) * (NODES[j] if r % 2 == 0 else 1.0 - NODES[j])
                buffer[k] = y[k] + acc
            g(t + NODES[j] * h, buffer, p, G[G_NODES + j])
            bad = finite_values(G[G_NODES + j])
            if bad >= 0:
                return bad
        for i in range(m):
            G[G_NODES, i] = G[G_START, i]
            G[G_NODES + N, i] = G[G_END, i]
            size = 0.0
            for j in range(N + 1):
                size = max(size, abs(G[G_NODES + j, i]))
            sw.reals[i, SCALE] = size
        # How much the local error of the step can move g: where an interpolant is error-prone.
        for k in range(y.size):
            buffer[k] = F[Y_NEW, k] + F[ERR_1, k]
        g(t + h, buffer, p, G[G_MARGIN])
        for i in range(m):
            move = abs(G[G_MARGIN, i] - G[G_END, i])
            G[G_MARGIN, i] = 4.0 * move if np.isfinite(move) else 0.0
    else:
        for i in range(m):
            G[G_RATE_0, i] = h * rate_along(g, i, t, y, F[K_0], p, h, buffer, G[G_TMP])
            G[G_RATE_1, i] = h * rate_along(g, i, t + h, F[Y_NEW], F[K_0 + s], p, h, buffer, G[G_TMP])
            sw.reals[i, SCALE] = max(abs(G[G_START, i]), abs(G[G_END, i]))
            # Slopes of different sign and curvature towards zero: always looked at (Compere 2001, sec. 5.2.1).
            G[G_MARGIN, i] = 1e300
    return -1


@kernel
def earliest(g, t, y, h, rows, p, mode_at, work, sw):
    """The first suspicion of all switches. Returns 4 switch + kind, or 0 for nothing; its place stands in ``sw.info``.

    info: 0 left end of the bracket, 1 right end, 2 value there, 3 estimate of the zero (all in theta).
    """
    noinline()
    G = sw.G
    Q = work.F[Q_0:]
    m = G.shape[1]
    source = int(sw.options[O_SOURCE])
    ends = sw.info[8:12]
    found = sw.info[12:16]
    buffer = sw.state[0]
    best = -1
    best_kind = NOTHING
    best_at = np.inf
    for i in range(m):
        G[G_EST, i] = np.inf
        if sw.ints[i, MUTED] != 0:
            continue
        mode = 1 if p[mode_at + i] >= 0.0 else -1
        ends[0] = G[G_START, i]
        ends[1] = G[G_END, i]
        ends[2] = G[G_RATE_0, i]
        ends[3] = G[G_RATE_1, i]
        values = sw.space[6]
        for j in range(N + 1):
            values[j] = G[G_NODES + j, i]
        touch = touch_tolerance(sw, i)
        kind = first_suspicion(
            g, i, source, mode, t, y, h, Q, rows, p, ends, values, sw.reals[i, PEAK], touch, G[G_MARGIN, i], sw.space,
            buffer, G[G_TMP], found,
        )  # fmt: skip
        if kind == NOTHING:
            continue
        at = found[0]
        if kind == BRACKET:
            at = estimate(g, i, source, t, y, h, Q, rows, p, mode, ends, found, buffer, G[G_TMP])
            G[G_EST, i] = at
        if at < best_at:
            best, best_kind, best_at = i, kind, at
            for k in range(3):
                sw.info[k] = found[k]
            sw.info[3] = at
    return 0 if best < 0 else 4 * best + best_kind


@kernel
def estimate(g, i, source, t, y, h, Q, rows, p, mode, ends, found, buffer, out):
    """Zero of the interpolant inside a bracket, in theta."""
    noinline()
    a, b = found[0], found[1]
    if source == SOURCE_DENSE:
        value_a = mode * 1e-300
        if a > 0.0:
            for k in range(y.size):
                acc = 0.0
                for r in range(rows - 1, -1, -1):
                    acc = (acc + Q[r, k]) * (a if r % 2 == 0 else 1.0 - a)
                buffer[k] = y[k] + acc
            g(t + a * h, buffer, p, out)
            value_a = out[i]
        elif side(ends[0]) == mode:
            value_a = ends[0]
        if side(value_a) != mode:
            value_a = mode * 1e-300
        return root_on_dense(g, i, t, y, h, Q, rows, p, a, b, value_a, found[2], 1e-12, buffer, out)
    for _ in range(60):
        mid = 0.5 * (a + b)
        if side(hermite_value(ends[0], ends[1], ends[2], ends[3], mid)) == mode:
            a = mid
        else:
            b = mid
        if b - a < 1e-10:
            break
    return b


@kernel
def choose_concurrent(first, h, p, mode_at, sw):
    """Region of concurrency (Compere 2001, sec. 5.2.3): the last bilateral event within eps_c of the first one.

    Linear estimates: G_RATE_* are not needed, the spacing of the estimates times the mean rate bounds |g|.
    """
    if sw.options[O_EPS_C] <= 0.0 or sw.ints[first, KIND] == UNILATERAL:
        return first
    G = sw.G
    chosen = first
    for j in range(G.shape[1]):
        if sw.ints[j, KIND] == UNILATERAL or not np.isfinite(G[G_EST, j]):
            continue
        lag = (G[G_EST, j] - G[G_EST, first]) * abs(h)
        rate = abs(G[G_END, first] - G[G_START, first]) / abs(h)
        if lag <= sw.options[O_EPS_C] and lag * rate <= sw.options[O_EPS_ROC] and G[G_EST, j] > G[G_EST, chosen]:
            chosen = j
    return chosen


@kernel
def find_event(
    method, try_step, solid, f, jac, g, t, y, h, p, mode_at, work, control, sw, first, hi, verified, guess,
):  # fmt: skip
    """Locate the first event: try, look whether another lies before it, catch (Compere 2001, Table 5.1).

    Returns FOUND or JUMP with the step to the event in ``work`` and its size in ``info[4]``; NO_CONVERGENCE where there is
    no zero (case III); BAD_VALUE, STEP_FAILED. The switch concerned stands in ``info[23]``.
    """
    noinline()
    G = sw.G
    m = G.shape[1]
    result = sw.info[16:20]
    i = first
    x_hi = hi
    iterations = 0.0
    status = FOUND
    for _ in range(2 * m + 2):
        mode = 1 if p[mode_at + i] >= 0.0 else -1
        want_after = 0 if sw.ints[i, KIND] == UNILATERAL and mode > 0 else 1
        result[3] = 0.0
        status = root_on_step(
            method, try_step, solid, f, jac, g, i, t, y, 0.0, x_hi, verified, guess, G[G_START, i], -mode, want_after,
            sw.reals[i, TOL], 100, p, work, control, G[G_OUT], result,
        )  # fmt: skip
        iterations += result[3]
        sw.counts[C_ITER] += int(result[3])
        sw.info[23] = i
        if status != FOUND and status != JUMP:
            return status
        x = result[1] if want_after == 1 else result[0]
        sw.reals[i, RATE_BEFORE] = result[2]
        # Post-analysis: has another one crossed before?
        earlier = -1
        earlier_by = 0.0
        t_x = t + x
        resolution = 8.0 * EPS * max(abs(t_x), 1.0)
        for j in range(m):
            if j == i or sw.ints[j, MUTED] != 0:
                continue
            mode_j = 1 if p[mode_at + j] >= 0.0 else -1
            if side(G[G_OUT, j]) == mode_j:
                continue
            rate_j = rate_along(
                g, j, t_x, work.F[Y_NEW], work.F[K_0 + method.stages], p, abs(h), sw.state[0], G[G_TMP]
            )
            ago = G[G_OUT, j] / rate_j if rate_j != 0.0 else 0.0
            ago = ago if x >= 0.0 else -ago
            allowed = resolution + (sw.reals[j, TOL] / abs(rate_j) if rate_j != 0.0 else 0.0)
            if sw.ints[j, KIND] == UNILATERAL and mode_j > 0:
                allowed = -1.0  # never to be passed, however little
            elif sw.options[O_EPS_C] > 0.0 and sw.ints[i, KIND] == BILATERAL:
                if abs(G[G_OUT, j]) <= sw.options[O_EPS_ROC]:
                    allowed = max(allowed, sw.options[O_EPS_C])
            if ago > allowed and (earlier < 0 or ago > earlier_by):
                earlier = j
                earlier_by = ago
        if earlier < 0 or abs(x) <= 2.0 * EPS * max(abs(t), 1.0):
            sw.counts[C_CASE_1] += 1
            sw.info[4] = x
            sw.info[5] = iterations
            return status
        sw.counts[C_CASE_2] += 1
        i = earlier
        x_hi = x
        verified = 1
        guess = x - earlier_by if x >= 0.0 else x + earlier_by
    sw.info[4] = x
    sw.info[5] = iterations
    return status


@kernel
def out_of_bounds(g, j, t, y, slope, p, value, turn, sw, scale):
    """Whether unilateral switch j must act at this instant: beyond its boundary, or on it and moving out."""
    limit = sw.reals[j, TOL] + 16.0 * EPS * sw.reals[j, SCALE]
    if value < -limit:
        return True
    if value > limit + 1e-6 * sw.reals[j, SCALE]:
        return False
    rate = rate_along(g, j, t, y, slope, p, scale, sw.state[0], sw.G[G_MARGIN])
    if value > sw.reals[j, TOL] + 8.0 * EPS * max(abs(t), 1.0) * abs(rate):
        return False
    small = 1e-9 * abs(sw.reals[j, RATE_BEFORE]) if sw.ints[j, TRIGGERED] > 0 else 0.0
    if rate >= -small:
        return False
    sw.reals[j, RATE_BEFORE] = rate
    return True


@kernel
def settle(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, scale):
    """Modes and resets at an instant until nothing changes. Order: the located switch, then by index.

    Returns 0, CYCLE (cap reached), BAD_G or NOT_REPEATABLE; ``info[6]`` is the switch concerned, ``info[7]`` = 1 if a
    terminal switch has had its last event.
    """
    noinline()
    G = sw.G
    m = G.shape[1]
    n = y.size
    slope = work.F[K_0]
    left, right = sw.state[1], sw.state[2]
    for j in range(m):
        sw.ints[j, TRIGGERED] = 0
    g(t, y, p, G[G_TMP])
    for j in range(m):
        if G[G_TMP, j] != G[G_OUT, j]:
            sw.info[6] = j
            return NOT_REPEATABLE
    stop = 0.0
    kind = EV_JUMP if status == JUMP else EV_SWITCH
    cap = int(sw.options[O_MAX_CHAIN])
    for turn in range(cap + 1):
        changed = False
        for q in range(-1, m):
            j = i if q < 0 else q
            if sw.ints[j, MUTED] != 0 or (q < 0 and turn > 0) or (q == i and turn == 0):
                continue
            mode = 1 if p[mode_at + j] >= 0.0 else -1
            value = G[G_TMP, j]
            bounded = sw.ints[j, KIND] == UNILATERAL and mode > 0
            if bounded:
                hit = q < 0 or out_of_bounds(g, j, t, y, slope, p, value, turn, sw, scale)
            else:
                hit = side(value) != mode and (sw.ints[j, KIND] == BILATERAL or sw.ints[j, TRIGGERED] == 0)
            if not hit:
                continue
            changed = True
            sw.info[6] = j
            sw.ints[j, TRIGGERED] += 1
            for k in range(n):
                left[k] = y[k]
                right[k] = y[k]
            direction = -mode
            if not bounded or sw.ints[j, HAS_RESET] == 0:
                # A unilateral switch without a reset is left behind; it comes back into force when g is positive again.
                p[mode_at + j] = -mode
            counts = sw.ints[j, DIRECTION] == 0 or sw.ints[j, DIRECTION] == direction
            if sw.ints[j, KIND] == UNILATERAL:
                counts = bounded
            if counts and sw.ints[j, HAS_RESET] == 1:
                reset(j, t, left, p, right)
                if finite_values(right) >= 0:
                    return BAD_G
                for k in range(n):
                    y[k] = right[k]
                g(t, y, p, G[G_TMP])
                bad = finite_values(G[G_TMP])
                if bad >= 0:
                    sw.info[6] = bad
                    return BAD_G
                f(t, y, p, slope)
                work.ints[NFEV] += 1
            if counts:
                if out.used[1] >= out.ev.shape[0]:
                    return CYCLE
                steps = iterations if q < 0 else 0.0
                put_event(out, sw, t, j, kind, direction, steps, sw.reals[j, RATE_BEFORE], left, right)
                sw.ints[j, HITS] += 1
                if sw.ints[j, TERMINAL] > 0 and sw.ints[j, HITS] >= sw.ints[j, TERMINAL]:
                    stop = 1.0
            kind = EV_SWITCH
        if not changed:
            break
        if turn == cap:
            return CYCLE
        if turn > 0:
            sw.counts[C_CHAIN] += 1
    # The same instant again and again without progress is a cycle too.
    if t == sw.info[21]:
        sw.info[22] += 1.0
        if sw.info[22] > cap:
            return CYCLE
    else:
        sw.info[21] = t
        sw.info[22] = 0.0
    for j in range(m):
        sw.reals[j, PEAK] = abs(G[G_TMP, j]) if sw.ints[j, TRIGGERED] else max(sw.reals[j, PEAK], abs(G[G_START, j]))
        G[G_START, j] = G[G_TMP, j]
    sw.info[7] = stop
    return 0


@kernel
def comes_to_rest(f, g, j, t, y, p, work, sw, scale):
    """Whether unilateral switch j stays closed after its reset: no rate left, and the flow presses it down."""
    slope = work.F[K_0]
    after = rate_along(g, j, t, y, slope, p, scale, sw.state[0], sw.G[G_TMP])
    before = abs(sw.reals[j, RATE_BEFORE])
    if abs(after) > 1e-9 * before:
        return 0
    d = 1e-4 * scale
    moved, moved_slope = sw.state[1], sw.state[2]
    for k in range(y.size):
        moved[k] = y[k] + d * slope[k]
    f(t + d, moved, p, moved_slope)
    work.ints[NFEV] += 1
    later = rate_along(g, j, t + d, moved, moved_slope, p, scale, sw.state[0], sw.G[G_TMP])
    return 1 if later - after < -1e-9 * before else 0


@kernel
def accumulating(sw, i, t):
    """Whether the events of switch i accumulate: geometric intervals whose remaining sum is below the tolerance.

    ``info[20]`` is the estimated instant. Three equal ratios in a row are wanted (to 5 %).
    """
    r = sw.reals[i]
    gap = abs(t - r[T_LAST])
    r[GAP_1], r[GAP_2], r[GAP_3] = r[GAP_2], r[GAP_3], gap
    r[T_LAST] = t
    if sw.ints[i, HITS] < 6 or r[GAP_1] <= 0.0 or r[GAP_2] <= 0.0:
        return False
    q1 = r[GAP_2] / r[GAP_1]
    q2 = r[GAP_3] / r[GAP_2]
    rest = gap * q2 / (1.0 - q2) if q2 < 1.0 else np.inf
    sw.info[20] = t + rest
    floor = 64.0 * EPS * max(abs(t), 1.0)
    if gap <= floor and q2 <= 1.0:
        return True
    if not (q1 < 0.999 and q2 < 0.999 and abs(q2 - q1) <= 0.05 * q1):
        return False
    return rest <= max(sw.options[O_ZENO_TOL], floor)


@kernel
def rate_now(entry, i, t, y, slope, p, scale, buffer, out):
    """`rate_along` for Python."""
    return rate_along(as_rhs(entry[6]), i, t, y, slope, p, scale, buffer, out)


@kernel
def event_start(entry, method, t, y, t_bound, p, mode_at, work, control, sw, first_step):
    """Slope, switching functions and step size at the start of a piece; index of a bad switching function or -1."""
    noinline()
    f, g = as_rhs(entry[4]), as_rhs(entry[6])
    start(method, f, t, y, t_bound, p, work, control, first_step)
    g(t, y, p, sw.G[G_START])
    return finite_values(sw.G[G_START])


# The large pieces as first-class values: compiled once, and not again inside `event_run`.
SWITCHES_T = types.NamedTuple([types.Array(int64, 2, "C")] + [f8_2] * 4 + [f8_1, i8_1, f8_1], Switches)
OUTPUT_T = types.NamedTuple([f8_2, types.Array(float64, 3, "C"), f8_2, i8_1], Output)
STEP_FT = function_type(STEP)
RESET_FT = function_type(RESET)
SAMPLE = int64(METHOD_T, RHS_FT, float64, f8_1, float64, int64, f8_1, WORK_T, SWITCHES_T)
EARLIEST = int64(RHS_FT, float64, f8_1, float64, int64, f8_1, int64, WORK_T, SWITCHES_T)
FIND = int64(
    METHOD_T, TRY_FT, STEP_FT, RHS_FT, JAC_FT, RHS_FT, float64, f8_1, float64, f8_1, int64, WORK_T, CONTROL_T, SWITCHES_T,
    int64, float64, int64, float64,
)  # fmt: skip
SETTLE = int64(
    RHS_FT, RHS_FT, RESET_FT, float64, f8_1, f8_1, int64, WORK_T, SWITCHES_T, OUTPUT_T, int64, int64, float64, float64
)
REST = int64(RHS_FT, RHS_FT, int64, float64, f8_1, f8_1, WORK_T, SWITCHES_T, float64)


def _sample(method, g, t, y, h, rows, p, work, sw):
    return sample(method, g, t, y, h, rows, p, work, sw)


def _earliest(g, t, y, h, rows, p, mode_at, work, sw):
    return earliest(g, t, y, h, rows, p, mode_at, work, sw)


def _find(
    method, try_step, solid, f, jac, g, t, y, h, p, mode_at, work, control, sw, first, hi, verified, guess
):  # fmt: skip
    return find_event(
        method, try_step, solid, f, jac, g, t, y, h, p, mode_at, work, control, sw, first, hi, verified, guess
    )  # fmt: skip


def _settle(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, scale):
    return settle(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, scale)


def _rest(f, g, j, t, y, p, work, sw, scale):
    return comes_to_rest(f, g, j, t, y, p, work, sw, scale)


@cache
def pieces():
    """Addresses of the large pieces, in the order `event_run` takes them at the end of `entry`."""
    made = ((_sample, SAMPLE), (_earliest, EARLIEST), (_find, FIND), (_settle, SETTLE), (_rest, REST))
    _kept.extend(first_class(function, signature, cache=True) for function, signature in made)
    return tuple(address_of(function) for function in _kept)


_kept: list = []
as_sample, as_earliest, as_find = function_at(SAMPLE), function_at(EARLIEST), function_at(FIND)
as_settle, as_rest = function_at(SETTLE), function_at(REST)


@kernel
def event_run(entry, method, t, y, t_bound, p, mode_at, work, control, sw, out, max_steps):
    """Steps and events from (t, y) until `t_bound`, a decision of the caller, a failure, or full output.

    `entry` holds the addresses of try_step, adapt, solid, dense, f, jac, g, reset and of `pieces`. Returns (t, status). `y`, the modes in `p` and the records are updated in place.
    """
    try_step, adapt, solid, dense = as_try(entry[0]), as_step(entry[1]), as_step(entry[2]), as_dense(entry[3])
    f, jac, g, reset = as_rhs(entry[4]), as_jac(entry[5]), as_rhs(entry[6]), as_reset(entry[7])
    take_samples, look, find, act = as_sample(entry[8]), as_earliest(entry[9]), as_find(entry[10]), as_settle(entry[11])
    rests = as_rest(entry[12])
    F = work.F
    G = sw.G
    m = G.shape[1]
    n = y.size
    Q = F[Q_0:]
    steps = 0
    while t != t_bound:
        if out.used[0] + 3 > out.rows.shape[0] or out.used[1] + 2 * m + 4 > out.ev.shape[0] or steps >= max_steps:
            return t, FULL
        steps += 1
        # 1. A step with locked modes.
        status = adapt(method, try_step, f, jac, t, y, t_bound, p, work, control)
        if status != OK:
            return t, status
        h = work.reals[H_TAKEN]
        h_next = work.reals[H_NEXT]
        h_smooth = abs(h)
        touched = -1
        suspected = -1
        committed = False
        for _ in range(200):
            # 2. Detection.
            rows = dense(method, f, t, y, h, p, work)
            t_end = t_bound if h == t_bound - t else t + h
            g(t_end, F[Y_NEW], p, G[G_END])
            bad = finite_values(G[G_END])
            if bad < 0 and m > 0:
                bad = take_samples(method, g, t, y, h, rows, p, work, sw)
            if bad >= 0:
                sw.info[6] = bad
                sw.info[7] = t_end
                return t, BAD_G
            seen = look(g, t, y, h, rows, p, mode_at, work, sw)
            i, kind = seen // 4, seen % 4
            if kind == NOTHING:
                break
            sw.counts[C_EVENT_REJECTED] += 1
            if kind == SUSPECT:
                # Integrate to the extremum and look again; the shortened step is kept if nothing crosses.
                x = sw.info[0] * h
                if t + x == t:
                    break
                if solid(method, try_step, f, jac, t, y, x, p, work, control) != OK:
                    return t, LOST_STEP
                sw.counts[C_ITER] += 1
                h = x
                suspected = i
                g(t + h, F[Y_NEW], p, G[G_OUT])
                if abs(G[G_OUT, i]) <= touch_tolerance(sw, i):
                    touched = i
                    mode = 1 if p[mode_at + i] >= 0.0 else -1
                    if side(G[G_OUT, i]) != mode:
                        # Rounding on the wrong side of a touch: keep the step as it is.
                        rows = dense(method, f, t, y, h, p, work)
                        for j in range(m):
                            G[G_END, j] = G[G_OUT, j]
                        break
                continue
            # 3. Location.
            first = choose_concurrent(i, h, p, mode_at, sw)
            if first != i:
                sw.info[1] = 1.0 if side(G[G_END, first]) != (1 if p[mode_at + first] >= 0.0 else -1) else sw.info[1]
                sw.info[3] = G[G_EST, first]
            verified = 1 if sw.info[1] == 1.0 else 0
            hi = sw.info[1] * h
            status = find(
                method, try_step, solid, f, jac, g, t, y, h, p, mode_at, work, control, sw, first, hi, verified,
                sw.info[3] * h,
            )  # fmt: skip
            i = int(sw.info[23])
            if status == BAD_VALUE:
                sw.info[6] = i
                sw.info[7] = t + hi
                return t, BAD_G
            if status == STEP_FAILED:
                return t, LOST_STEP
            if status != FOUND and status != JUMP:
                # Case III: no zero on the integration; keep the step up to where the interpolant saw one.
                sw.counts[C_CASE_3] += 1
                if solid(method, try_step, f, jac, t, y, hi, p, work, control) != OK:
                    return t, LOST_STEP
                h = hi
                continue
            # 4. The event.
            x = sw.info[4]
            iterations = sw.info[5]
            touched = -1
            if x != 0.0:
                rows = dense(method, f, t, y, x, p, work)
                accept(method, t, y, x, work)
                t = t_bound if x == t_bound - t else t + x
                put_row(out, t, 0.0, y, p, mode_at, m, Q, rows)
            else:
                for k in range(n):
                    y[k] = F[Y_NEW, k]
            for j in range(m):
                for k in range(N + 1):
                    if NODES[k] * abs(h) <= abs(x):
                        sw.reals[j, PEAK] = max(sw.reals[j, PEAK], abs(G[G_NODES + k, j]))
            g(t, y, p, G[G_OUT])
            code = act(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, abs(h))
            if code != 0:
                return t, code
            stop = sw.info[7]
            # Rates in the old modes, to be compared with those in the new ones.
            for j in range(m):
                if sw.ints[j, TRIGGERED] > 0 and sw.ints[j, KIND] == BILATERAL:
                    sw.reals[j, RATE_BEFORE] = rate_along(g, j, t, y, F[K_0], p, h, sw.state[0], G[G_TMP])
            # Restart with the step size of before, or with the one this mode needed last time: no new start-up phase.
            restart = h_smooth
            remembered = np.inf
            for j in range(m):
                if sw.ints[j, TRIGGERED] > 0 and sw.ints[j, KIND] == BILATERAL:
                    new, old = (H_PLUS, H_MINUS) if p[mode_at + j] >= 0.0 else (H_MINUS, H_PLUS)
                    sw.reals[j, old] = h_smooth
                    if sw.reals[j, new] > 0.0:
                        remembered = min(remembered, sw.reals[j, new])
            if remembered < np.inf and sw.options[O_EPS_C] <= 0.0:
                restart = remembered
            if sw.options[O_RESTART] > 0.0:
                restart = min(restart, sw.options[O_RESTART])
            start(method, f, t, y, t_bound, p, work, control, max(restart, 1e-300))
            put_row(out, t, 1.0, y, p, mode_at, m, Q, rows)
            committed = True
            if stop == 1.0:
                return t, STOPPED
            for j in range(m):
                if sw.ints[j, TRIGGERED] == 0:
                    continue
                sw.info[6] = j
                if sw.ints[j, KIND] == UNILATERAL:
                    if sw.ints[j, HAS_RESET] == 0:
                        continue
                    if accumulating(sw, j, t):
                        return t, ZENO
                    if rests(f, g, j, t, y, p, work, sw, abs(h)) == 1:
                        return t, RESTING
                elif sw.options[O_CHATTER] > 0.0:
                    after = rate_along(g, j, t, y, F[K_0], p, h, sw.state[0], G[G_TMP])
                    before = sw.reals[j, RATE_BEFORE]
                    if before * after < 0.0 and abs(after) > 1e-9 * abs(before):
                        return t, CHATTER
            if sw.counts[C_EVENTS] > sw.options[O_MAX_EVENTS]:
                return t, CYCLE
            break
        if committed:
            continue
        # Plain step: accept.
        left = sw.state[1]
        for k in range(n):
            left[k] = F[Y_NEW, k]
        accept(method, t, y, h, work)
        t = t_bound if h == t_bound - t else t + h
        put_row(out, t, 0.0, y, p, mode_at, m, Q, rows)
        work.reals[H_NEXT] = h_next if h_smooth == abs(h) else max(h_smooth, h_next)
        for j in range(m):
            for k in range(N + 1):
                sw.reals[j, PEAK] = max(sw.reals[j, PEAK], abs(G[G_NODES + k, j]))
            G[G_START, j] = G[G_END, j]
            if sw.ints[j, MUTED] == WAITING and abs(G[G_END, j]) > CLEAR:
                sw.ints[j, MUTED] = 0
        if suspected >= 0:
            sw.reals[suspected, PEAK] = abs(G[G_END, suspected])
        if touched >= 0:
            put_event(out, sw, t, touched, EV_TOUCH, 0.0, 1.0, 0.0, left, left)
    return t, DONE
