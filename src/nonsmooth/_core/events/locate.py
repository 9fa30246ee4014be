"""Detection and location of the first event of a step (Compere 2001, secs. 5.2.1 to 5.2.3)."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events.records import (
    BILATERAL,
    C_CASE_1,
    C_CASE_2,
    C_ITER,
    EPS,
    G_END,
    G_EST,
    G_MARGIN,
    G_NODES,
    G_OUT,
    G_RATE_0,
    G_RATE_1,
    G_START,
    G_TMP,
    KIND,
    MUTED,
    O_EPS_C,
    O_EPS_ROC,
    O_SOURCE,
    PEAK,
    RATE_BEFORE,
    SCALE,
    TOL,
    UNILATERAL,
    finite_values,
    touch_tolerance,
)
from nonsmooth._core.events.roots import (
    FOUND,
    JUMP,
    g_on_dense,
    rate_along,
    root_on_dense,
    root_on_step,
    side,
)
from nonsmooth._core.events.scan import (
    BRACKET,
    NODES,
    NOTHING,
    SOURCE_DENSE,
    N,
    first_suspicion,
    hermite_value,
)
from nonsmooth._core.integrators.rk import ERR_1, K_0, Q_0, Y_NEW, dense_eval
from nonsmooth._core.jit import kernel


@kernel(internal=True, cache=False)
def sample(method, g, t, y, h, rows, p, work, sw):
    """Values of all switching functions that detection needs for the step; index of a bad one, or -1."""
    G = sw.G
    m = G.shape[1]
    F = work.F
    Q = F[Q_0:]
    s = method.stages
    buffer = sw.state[0]
    if sw.options[O_SOURCE] == SOURCE_DENSE:
        for j in range(1, N):
            dense_eval(y, Q, rows, NODES[j], buffer)
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
            # Slopes of different sign and curvature towards zero: always looked at (Compere 2001, sec.
            # 5.2.1).
            G[G_MARGIN, i] = 1e300
    return -1


@kernel(internal=True, cache=False)
def earliest(g, t, y, h, rows, p, mode_at, work, sw):
    """The first suspicion of all switches. Returns 4 switch + kind, or 0 for nothing; its place stands in
    ``sw.info``.

    info: 0 left end of the bracket, 1 right end, 2 value there, 3 estimate of the zero (all in theta).
    """
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
            g,
            i,
            source,
            mode,
            t,
            y,
            h,
            Q,
            rows,
            p,
            ends,
            values,
            sw.reals[i, PEAK],
            touch,
            G[G_MARGIN, i],
            sw.space,
            buffer,
            G[G_TMP],
            found,
        )
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


@kernel(internal=True, cache=False)
def estimate(g, i, source, t, y, h, Q, rows, p, mode, ends, found, buffer, out):
    """Zero of the interpolant inside a bracket, in theta."""
    a, b = found[0], found[1]
    if source == SOURCE_DENSE:
        value_a = mode * 1e-300
        if a > 0.0:
            value_a = g_on_dense(g, i, t, y, h, Q, rows, a, p, buffer, out)
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


@kernel(internal=True, cache=False)
def choose_concurrent(first, h, p, mode_at, sw):
    """Region of concurrency (Compere 2001, sec. 5.2.3): the last bilateral event within eps_c of the first
    one.

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
        if (
            lag <= sw.options[O_EPS_C]
            and lag * rate <= sw.options[O_EPS_ROC]
            and G[G_EST, j] > G[G_EST, chosen]
        ):
            chosen = j
    return chosen


@kernel(internal=True, cache=False)
def find_event(
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
    guess,
):
    """Locate the first event: try, look whether another lies before it, catch (Compere 2001, Table 5.1).

    Returns FOUND or JUMP with the step to the event in ``work`` and its size in ``info[4]``; NO_CONVERGENCE
    where there is no zero (case III); BAD_VALUE, STEP_FAILED. The switch concerned stands in ``info[23]``.
    """
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
            method,
            try_step,
            solid,
            f,
            jac,
            g,
            i,
            t,
            y,
            0.0,
            x_hi,
            verified,
            guess,
            G[G_START, i],
            -mode,
            want_after,
            sw.reals[i, TOL],
            100,
            p,
            work,
            control,
            G[G_OUT],
            result,
        )
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
