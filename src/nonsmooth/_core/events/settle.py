"""What happens at an event instant: modes and resets until nothing changes, and whether a contact comes to rest."""

from __future__ import annotations

from nonsmooth._core.events.records import (
    BAD_G,
    BILATERAL,
    C_CHAIN,
    CYCLE,
    DIRECTION,
    EPS,
    EV_JUMP,
    EV_SWITCH,
    G_MARGIN,
    G_OUT,
    G_START,
    G_TMP,
    HAS_RESET,
    HITS,
    KIND,
    MUTED,
    NOT_REPEATABLE,
    O_MAX_CHAIN,
    PEAK,
    RATE_BEFORE,
    SCALE,
    TERMINAL,
    TOL,
    TRIGGERED,
    UNILATERAL,
    finite_values,
    put_event,
)
from nonsmooth._core.events.roots import JUMP, rate_along, side
from nonsmooth._core.integrators.rk import K_0, NFEV
from nonsmooth._core.jit import kernel


@kernel(internal=True, cache=False)
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


@kernel(internal=True, cache=False)
def settle(f, g, reset, t, y, p, mode_at, work, sw, out, i, status, iterations, scale):
    """Modes and resets at an instant until nothing changes. Order: the located switch, then by index.

    Returns 0, CYCLE (cap reached), BAD_G or NOT_REPEATABLE; ``info[6]`` is the switch concerned, ``info[7]``
    = 1 if a terminal switch has had its last event.
    """
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
                # A unilateral switch without a reset is left behind; it comes back into force when g is
                # positive again.
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
        sw.reals[j, PEAK] = (
            abs(G[G_TMP, j]) if sw.ints[j, TRIGGERED] else max(sw.reals[j, PEAK], abs(G[G_START, j]))
        )
        G[G_START, j] = G[G_TMP, j]
    sw.info[7] = stop
    return 0


@kernel(internal=True, cache=False)
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
