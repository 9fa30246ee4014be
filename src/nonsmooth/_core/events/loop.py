"""Integration with switching functions: detect, locate, order, change modes, restart (Compere 2001, Fig.
5.6).

One pass of the loop in `event_run` is one accepted step or one event instant:

1. a step accepted by the error control, with the modes locked (they stand in ``p[mode_at:]`` and do not
change);
2. detection: the earliest suspicion of all switching functions inside the step (`earliest`);
3. location on the integration itself (`root_on_step`), then post-analysis: was it the first (Table 5.1)?
   case I: yes; case II: another one lies before it, which is located next; case III: there is no zero, the
   shortened step is kept as a plain step;
4. at the event: modes and resets, repeated until nothing changes at this instant (`settle`), restart.

Nothing here knows what a switch means; everything the caller has to decide comes back as a status.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.callbacks import RESET
from nonsmooth._core.calls.pointers import pointer_at
from nonsmooth._core.events.locate import choose_concurrent, earliest, find_event, sample
from nonsmooth._core.events.records import (
    BAD_G,
    BILATERAL,
    C_CASE_3,
    C_EVENT_REJECTED,
    C_EVENTS,
    C_ITER,
    CHATTER,
    CLEAR,
    CYCLE,
    DONE,
    EPS,
    EV_TOUCH,
    FRESH,
    FULL,
    G_END,
    G_EST,
    G_NODES,
    G_OUT,
    G_START,
    G_TMP,
    GAP_1,
    GAP_2,
    GAP_3,
    GROUP,
    H_MINUS,
    H_PLUS,
    HAS_RESET,
    HITS,
    KIND,
    LOST_STEP,
    MUTED,
    O_CHATTER,
    O_EPS_C,
    O_MAX_EVENTS,
    O_RESTART,
    O_ZENO_TOL,
    PEAK,
    RATE_BEFORE,
    RESTING,
    SCALE,
    SPECIAL,
    STOPPED,
    T_LAST,
    TRIGGERED,
    UNILATERAL,
    WAITING,
    ZENO,
    finite_values,
    put_event,
    put_row,
    touch_tolerance,
)
from nonsmooth._core.events.roots import BAD_VALUE, FOUND, JUMP, STEP_FAILED, rate_along, side
from nonsmooth._core.events.scan import NODES, NOTHING, SUSPECT, N
from nonsmooth._core.events.settle import comes_to_rest, settle
from nonsmooth._core.integrators.rk import H_NEXT, H_TAKEN, K_0, OK, Q_0, Y_NEW
from nonsmooth._core.integrators.runs import as_dense, as_jac, as_rhs, as_step, as_try
from nonsmooth._core.integrators.single_step import accept, start
from nonsmooth._core.jit import kernel, noinline

as_reset = pointer_at(RESET)


@kernel(internal=True, cache=False)
def accumulating(sw, i, t):
    """Whether the events of switch i accumulate: geometric intervals whose remaining sum is below the
    tolerance.

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


@kernel(references=False, forceinline=False)
def rate_now(entry, i, t, y, slope, p, scale, buffer, out):
    """`rate_along` for Python."""
    return rate_along(as_rhs(entry[6]), i, t, y, slope, p, scale, buffer, out)


@kernel(references=False, forceinline=False)
def event_start(entry, method, t, y, t_bound, p, mode_at, work, control, sw, first_step, modes):
    """Slope, switching functions and step size at the start of a piece.

    With ``modes=1`` the modes are those of the signs of g. Returns -1; the index of a switching function that is
    not finite; or SPECIAL if one is zero or a unilateral one negative, which the caller has to look at.
    """
    noinline()
    f, g = as_rhs(entry[4]), as_rhs(entry[6])
    G = sw.G
    special = False
    if modes == 1:
        g(t, y, p, G[G_START])
        for i in range(G.shape[1]):
            value = G[G_START, i]
            if not np.isfinite(value):
                return i
            scale = max(abs(value), 1.0)
            sw.reals[i, SCALE] = scale
            unilateral = sw.ints[i, KIND] == UNILATERAL
            if abs(value) <= 8.0 * EPS * scale or (unilateral and value < 0.0):
                special = True
            p[mode_at + i] = 1.0 if unilateral or value >= 0.0 else -1.0
    start(method, f, t, y, t_bound, p, work, control, first_step)
    g(t, y, p, G[G_START])
    bad = finite_values(G[G_START])
    if bad >= 0:
        return bad
    return SPECIAL if special else -1


@kernel(references=False, forceinline=False)
def event_run(entry, method, t, y, t_bound, p, mode_at, work, control, sw, out, max_steps):
    """Steps and events from (t, y) until `t_bound`, a decision of the caller, a failure, or full output.

    `entry` holds the addresses of try_step, adapt, solid, dense, f, jac, g, reset. Returns
    (t, status). `y`, the modes in `p` and the records are updated in place.
    """
    try_step, adapt, solid, dense = as_try(entry[0]), as_step(entry[1]), as_step(entry[2]), as_dense(entry[3])
    f, jac, g, reset = as_rhs(entry[4]), as_jac(entry[5]), as_rhs(entry[6]), as_reset(entry[7])
    F = work.F
    G = sw.G
    m = G.shape[1]
    n = y.size
    Q = F[Q_0:]
    steps = 0
    while t != t_bound:
        if (
            out.used[0] + 3 > out.rows.shape[0]
            or out.used[1] + 2 * m + 4 > out.ev.shape[0]
            or steps >= max_steps
        ):
            return t, FULL
        steps += 1
        # 1. A step with locked modes.
        status = adapt(method, try_step, f, jac, t, y, t_bound, p, work, control)
        if status != OK:
            return t, status
        h = work.reals[H_TAKEN]
        h_next = work.reals[H_NEXT]
        h_smooth = abs(h)
        if sw.info[FRESH] == 1.0:
            # The first step in new modes: what it should have been is where they are entered with next time.
            sw.info[FRESH] = 0.0
            for j in range(m):
                if sw.ints[j, TRIGGERED] > 0 and sw.ints[j, KIND] == BILATERAL:
                    mine = H_PLUS if p[mode_at + j] >= 0.0 else H_MINUS
                    sw.reals[j, mine] = min(h_next, 4.0 * h_smooth)
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
                bad = sample(method, g, t, y, h, rows, p, work, sw)
            if bad >= 0:
                sw.info[6] = bad
                sw.info[7] = t_end
                return t, BAD_G
            seen = earliest(g, t, y, h, rows, p, mode_at, work, sw)
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
                sw.info[1] = (
                    1.0 if side(G[G_END, first]) != (1 if p[mode_at + first] >= 0.0 else -1) else sw.info[1]
                )
                sw.info[3] = G[G_EST, first]
            verified = 1 if sw.info[1] == 1.0 else 0
            hi = sw.info[1] * h
            status = find_event(
                method,
                try_step,
                solid,
                f,
                jac,
                g,
                t,
                y,
                h,
                p,
                mode_at,
                work,
                control,
                sw,
                first,
                hi,
                verified,
                sw.info[3] * h,
            )
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
            code = settle(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, abs(h))
            if code != 0:
                return t, code
            stop = sw.info[7]
            # Rates in the old modes, to be compared with those in the new ones.
            for j in range(m):
                if sw.ints[j, TRIGGERED] > 0 and sw.ints[j, KIND] == BILATERAL:
                    sw.reals[j, RATE_BEFORE] = rate_along(g, j, t, y, F[K_0], p, h, sw.state[0], G[G_TMP])
            # Restart with the step size of before, or with the one the new mode was entered with last time: no new
            # start-up phase.
            restart = h_smooth
            remembered = np.inf
            for j in range(m):
                if sw.ints[j, TRIGGERED] > 0 and sw.ints[j, KIND] == BILATERAL:
                    new, old = (H_PLUS, H_MINUS) if p[mode_at + j] >= 0.0 else (H_MINUS, H_PLUS)
                    if sw.reals[j, old] == 0.0:
                        sw.reals[j, old] = h_smooth
                    if sw.reals[j, new] > 0.0:
                        remembered = min(remembered, sw.reals[j, new])
                        continue
                    # The first time: as the other functions of the same switch.
                    for k in range(m):
                        if sw.ints[k, GROUP] == sw.ints[j, GROUP] and sw.reals[k, new] > 0.0:
                            remembered = min(remembered, sw.reals[k, new])
            sw.info[FRESH] = 1.0
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
                    if comes_to_rest(f, g, j, t, y, p, work, sw, abs(h)) == 1:
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
