"""Algorithm 2 of Stewart 1996 as a compiled run: tentative steps, location of switching points, LCP, restart.

`advance` makes steps of the smooth integrator with the sliding field of the current active set until a
component of the switching function changes sign (Steps 2-4), `active_sets` solves the LCP (13) (Step 5),
`drive` strings both together and only returns to Python when its output arrays are full or when a decision
is needed: several active sets, a degenerate point, an accumulation of switching points.

The functions of the system have the integrators' signature ``(t, y, p, out)``; `p` holds the user's
parameters followed by the state of the run (active set, weights, fields, gradients), at the places listed in
`lay`:
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .jit import f8_1, f8_2, first_class, float64, i8_1, kernel, noinline, void
from .lcp_enumeration import enumerate_lcp
from .rk import ERR, EXPLICIT, H_NEXT, H_TAKEN, NSTEPS, OK, Q_0, Y_NEW, dense_eval
from .roots import FOUND, NO_CONVERGENCE, root_on_dense, root_on_step
from .single_step import accept, start
from .sliding import build_lcp, project

# Entries of `lay`: sizes, then offsets into p.
N, R_, M_, ACTIVE, WATCH, Z, H, FIELDS, GRADIENTS, COUNT, SIZE = range(11)
# Entries of the counter part of p.
N_F, N_H, N_G, WORST, SLIDES, REUSE, MIN_Z = range(7)
N_COUNT = 8

# Rows of `C` (rows, R): what is known of the components of the switching function.
G_START, G_PREVIOUS, ARMED, EPS, G_END, G_ROOT, H_SCALE, G_MIDDLE = range(8)
C_ROWS = 8
# Entries of `opt`.
T, T_BOUND, LOCATE, EPSILON, H_PREVIOUS, H_PIECE, ZENO, T_ZENO = range(8)
N_OPT = 8
# Entries of `info`.
COUNT_OUT, COUNT_EVENTS, COMPONENT, REASON, N_SETS, N_RING, STARTED = range(7)
N_INFO = 8

# Why `drive` came back.
(
    DONE,
    FULL,
    CHOICE,
    DEGENERATE,
    NO_SET,
    TOO_LARGE,
    IMMEDIATE,
    ACCUMULATION,
    FAILED,
    BAD_INDICATOR,
    LOST_ROOT,
    START,
) = range(12)

_STRICT = 1e-9  # z and w below this count as zero (condition C')
_Z_EPS = 1e-9
_RING = 19


def _enumerate_into(N_a, q, tol, vertices, rays, masks, result):
    status, count, n_rays, nodes = enumerate_lcp(N_a, q, tol, vertices, rays, masks)
    result[0] = status
    result[1] = count
    result[2] = n_rays
    result[3] = nodes


@cache
def enumerate_function():
    """`enumerate_lcp` as a first-class value: a loop calls it without compiling it again."""
    return first_class(_enumerate_into, void(f8_2, f8_1, float64, f8_2, f8_2, i8_1, i8_1), cache=True)


@kernel
def active_sets(starts, trial, F, G, enumerate_all, sets, flags):
    """All active sets I that continue the solution from the candidate set I_0 = `trial` (Step 5 of Algorithm
    2, eq. (14)).

    Parameters
    ----------
    sets : ndarray, shape (k, R)
        One row per solution, 1.0 for members, written in place.
    flags : ndarray of int, shape (k,)
        1 if the solution is not strictly complementary (condition C' violated).

    Returns
    -------
    count : int
        Number of different sets; -1: the LCP is too large for enumeration.
    """
    noinline()
    R = trial.size
    card = 0
    groups = 0
    for j in range(starts.size - 1):
        members = 0
        for k in range(starts[j], starts[j + 1]):
            if trial[k] > 0.0:
                members += 1
        if members > 1:
            card += members
            groups += 1
    if card == 0:
        for k in range(R):
            sets[0, k] = trial[k]
        flags[0] = 0
        return 1
    c = card + groups
    if c > 16:
        return -1
    index = np.empty(R, dtype=np.int64)
    A = np.empty((c, c))
    q = np.empty(c)
    build_lcp(starts, trial, F, G, index, A, q)
    vertices = np.empty((64, c))
    rays = np.empty((4, c))
    masks = np.empty(4, dtype=np.int64)
    result = np.zeros(4, dtype=np.int64)
    enumerate_all(A, q, 1e-10, vertices, rays, masks, result)
    count = 0
    for s in range(result[1]):
        if count == sets.shape[0]:
            break
        for k in range(R):
            sets[count, k] = trial[k]
        degenerate = 0
        for a in range(card):
            w = q[a]
            for b in range(c):
                w += A[a, b] * vertices[s, b]
            inside = vertices[s, a] > _STRICT
            sets[count, index[a]] = 1.0 if inside else 0.0
            if not inside and w <= _STRICT:
                degenerate = 1
        same = False
        for e in range(count):
            equal = True
            for k in range(R):
                if sets[e, k] != sets[count, k]:
                    equal = False
            same = same or equal
        if not same:
            flags[count] = degenerate
            count += 1
    return count


@kernel
def set_active(lay, starts, p, chosen):
    """Write the active set `chosen` (R,) into p; returns the codimension of the sliding surface."""
    d = 0
    for j in range(starts.size - 1):
        members = 0
        for k in range(starts[j], starts[j + 1]):
            p[lay[ACTIVE] + k] = chosen[k]
            if chosen[k] > 0.0:
                members += 1
        d += members - 1
    p[lay[COUNT] + SLIDES] = d
    return d


@kernel
def watch_all(lay, p, value):
    for k in range(lay[R_]):
        p[lay[WATCH] + k] = value


@kernel
def watch_group(lay, starts, p, k):
    """Watch only the group of region k."""
    for j in range(starts.size - 1):
        on = 1.0 if starts[j] <= k < starts[j + 1] else 0.0
        for i in range(starts[j], starts[j + 1]):
            p[lay[WATCH] + i] = on


@kernel
def thresholds(lay, starts, p, C, epsilon):
    """Update the size of each group's indicators and epsilon of the epsilon-active sets from h at the
    present state.
    """
    h = lay[H]
    for j in range(starts.size - 1):
        low = np.inf
        high = -np.inf
        for k in range(starts[j], starts[j + 1]):
            low = min(low, p[h + k])
            high = max(high, p[h + k])
        spread = high - low
        for k in range(starts[j], starts[j + 1]):
            if spread > C[H_SCALE, k]:
                C[H_SCALE, k] = spread
            C[EPS, k] = epsilon * C[H_SCALE, k]
            if p[lay[ACTIVE] + k] > 0.0:
                C[EPS, k] = _Z_EPS


@kernel
def begin_piece(method, f, g, y, p, lay, starts, work, control, C, opt):
    """Start the integrator and the switching function at (t, y) with the active set in p."""
    noinline()
    watch_all(lay, p, 1.0)
    start(method, f, opt[T], y, opt[T_BOUND], p, work, control, opt[H_PIECE])
    p[lay[COUNT] + REUSE] = 1.0 if opt[H_PIECE] > 0.0 else 0.0
    g(opt[T], y, p, C[G_START])
    p[lay[COUNT] + REUSE] = 0.0
    thresholds(lay, starts, p, C, opt[EPSILON])
    for k in range(lay[R_]):
        C[ARMED, k] = 1.0 if C[G_START, k] > C[EPS, k] else 0.0


@kernel
def suspicious(C, opt, p, lay, h, R):
    """True if some positive component may have dipped below zero inside the step, judged by the parabola
    through three step ends.
    """
    ratio = opt[H_PREVIOUS] / h
    for k in range(R):
        g0 = C[G_START, k]
        g1 = C[G_END, k]
        if g1 < 0.0 or C[ARMED, k] == 0.0:
            continue
        if min(g0, g1) < 0.1 and p[lay[ACTIVE] + k] > 0.0:
            # A weight near zero, and its change over this or the last step could take it below: sliding may end and
            # begin again inside the step.
            change = abs(g1 - g0)
            if ratio > 0.0 and np.isfinite(C[G_PREVIOUS, k]):
                change = max(change, abs(g0 - C[G_PREVIOUS, k]) / ratio)
            else:
                change = 1.0
            if min(g0, g1) < 2.0 * change:
                return True
        if ratio <= 0.0:
            # First step of a piece: no history. A component that changed little cannot have turned.
            if min(g0, g1) < 2.0 * abs(g1 - g0) or min(g0, g1) < 0.05 * C[H_SCALE, k]:
                return True
            continue
        gp = C[G_PREVIOUS, k]
        if not np.isfinite(gp):  # the component means something else since the last switching point
            if min(g0, g1) < 2.0 * abs(g1 - g0):
                return True
            continue
        # Second divided difference on (-ratio, 0, 1), then the lowest value of the parabola in [0, 1].
        c2 = ((g1 - g0) - (g0 - gp) / ratio) / (1.0 + ratio)
        slope = (g1 - g0) - c2
        if c2 > 0.0 and slope < 0.0 and slope + 2.0 * c2 > 0.0:
            low = g0 - 0.25 * slope * slope / c2
            if low < 0.5 * min(g0, g1):
                return True
    return False


@kernel
def vertex(g, t, y, h, Q, rows, p, lay, C, buffer, at, width):
    """Place of the lowest weight near `at`, or of the first negative one, by repeated halving of (at - width, at + width)."""
    a = max(at - width, 0.0)
    b = min(at + width, 1.0)
    for _ in range(8):
        low = np.inf
        best = at
        for i in range(1, 4):
            theta = a + 0.25 * i * (b - a)
            dense_eval(y, Q, rows, theta, buffer)
            g(t + theta * h, buffer, p, C[G_ROOT])
            for k in range(lay[R_]):
                if p[lay[ACTIVE] + k] > 0.0 and C[G_ROOT, k] < low:
                    low = C[G_ROOT, k]
                    best = theta
        if low < 0.0 or low > 0.1:
            return best
        quarter = 0.25 * (b - a)
        a = best - quarter
        b = best + quarter
    return best


@kernel
def limit_by_weights(C, p, lay, h, work):
    """Where x hardly moves the integrator does not limit its steps: let the weights change by 0.2 in a step at most."""
    change = 0.1
    for k in range(lay[R_]):
        if p[lay[ACTIVE] + k] > 0.0:
            change = max(change, abs(C[G_END, k] - C[G_START, k]))
    work.reals[H_NEXT] = min(work.reals[H_NEXT], 0.2 / change * h)


@kernel
def remember(C, opt, h, R):
    """The start of the step of length `h` just made becomes the earlier of the three points `suspicious`
    looks at.
    """
    for k in range(R):
        C[G_PREVIOUS, k] = C[G_START, k]
    opt[H_PREVIOUS] = h


@kernel
def record(t, y, h, rows, p, lay, work, info, t_out, y_out, q_out, mode_out):
    """Store the end of a step, its dense output (over a length of time `h`) and the active set it was made
    with.
    """
    c = info[COUNT_OUT]
    t_out[c] = t
    for k in range(y.size):
        y_out[c, k] = y[k]
    if q_out.shape[0] > 0:
        last = q_out.shape[1] - 1
        for k in range(y.size):
            for j in range(last):
                q_out[c, j, k] = work.F[Q_0 + j, k] if j < rows else 0.0
            q_out[c, last, k] = h
    for k in range(lay[R_]):
        mode_out[c, k] = 1 if p[lay[ACTIVE] + k] > 0.0 else 0
    info[COUNT_OUT] = c + 1


@kernel
def to_surface(lay, starts, p, y, F_, G_):
    """Least-norm step onto the surfaces of the sliding set, with h and gradients as they stand in p."""
    a, h = lay[ACTIVE], lay[H]
    R = lay[R_]
    return project(starts, p[a : a + R], p[h : h + R], G_, y)


@kernel
def advance(
    method, try_step, adapt, solid, dense, f, g, jac, y, p, lay, starts, work, control, C, opt, info,
    t_out, y_out, q_out, mode_out,
):  # fmt: skip
    """Steps with a constant active set until a switching point, the end, or until the output is full.

    Returns
    -------
    reason : int
        DONE, FULL, FAILED (status of the integrator in info[REASON]), BAD_INDICATOR, IMMEDIATE, LOST_ROOT,
        or CHOICE: (t, y) is a switching point of component info[COMPONENT] and the active set must be
        determined anew.
    """
    noinline()
    R = lay[R_]
    n = y.size
    F = work.F
    buffer = np.empty(n)
    root = np.empty(4)
    G_ = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    F_ = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    fresh = method.kind == EXPLICIT
    while opt[T] != opt[T_BOUND]:
        if info[COUNT_OUT] >= t_out.size - 1:
            return FULL
        t = opt[T]
        p[lay[COUNT] + MIN_Z] = 1.0
        status = adapt(method, try_step, f, jac, t, y, opt[T_BOUND], p, work, control)
        if status != OK:
            info[REASON] = status
            return FAILED
        h = work.reals[H_TAKEN]
        dipped = p[lay[COUNT] + MIN_Z] < 0.0  # a weight was negative at a stage
        p[lay[COUNT] + REUSE] = 1.0 if fresh else 0.0
        g(t + h, F[Y_NEW], p, C[G_END])
        p[lay[COUNT] + REUSE] = 0.0
        hit = -1
        for k in range(R):
            value = C[G_END, k]
            if not np.isfinite(value):
                info[COMPONENT] = k
                return BAD_INDICATOR
            if value < 0.0 and (C[ARMED, k] > 0.0 or value < -C[EPS, k]):
                hit = k
        rows = 0
        middle = 1.0
        stale = False
        if hit < 0 and (dipped or suspicious(C, opt, p, lay, h, R)):
            # A component may have dipped and come back: look at interior points.
            rows = dense(method, f, t, y, h, p, work)
            stale = True
            points = 9 if dipped else 3
            lowest = np.inf
            at = 0.0
            for i in range(1, points + 2):
                # Evenly spaced points, then once more around the lowest weight.
                theta = i / (points + 1.0)
                if i == points + 1:
                    if not lowest < 0.1:
                        break
                    theta = vertex(g, t, y, h, F[Q_0:], rows, p, lay, C, buffer, at, 1.0 / (points + 1.0))
                dense_eval(y, F[Q_0:], rows, theta, buffer)
                g(t + theta * h, buffer, p, C[G_MIDDLE])
                for k in range(R):
                    if C[ARMED, k] > 0.0 and C[G_MIDDLE, k] < 0.0 and hit < 0:
                        hit = k
                    if p[lay[ACTIVE] + k] > 0.0 and C[G_MIDDLE, k] < lowest:
                        lowest = C[G_MIDDLE, k]
                        at = theta
                if hit >= 0:
                    middle = theta
                    for k in range(R):
                        C[G_END, k] = C[G_MIDDLE, k]
                    break
        if hit < 0:
            # Step 3: accept the step.
            if q_out.shape[0] > 0 and rows == 0:
                rows = dense(method, f, t, y, h, p, work)
                stale = method.extra > 0
            accept(method, t, y, h, work)
            opt[T] = opt[T_BOUND] if h == opt[T_BOUND] - t else t + h
            if p[lay[COUNT] + SLIDES] > 0.0:
                if stale:  # other points were looked at since: h and the gradients are not those of y
                    g(opt[T], y, p, C[G_END])
                to_surface(lay, starts, p, y, F_, G_)
            record(opt[T], y, h, rows, p, lay, work, info, t_out, y_out, q_out, mode_out)
            thresholds(lay, starts, p, C, opt[EPSILON])
            if control.fixed == 0 and p[lay[COUNT] + SLIDES] > 0.0 and work.reals[ERR] < 1e-3:
                limit_by_weights(C, p, lay, h, work)
            remember(C, opt, h, R)
            for k in range(R):
                C[G_START, k] = C[G_END, k]
                if C[G_END, k] > C[EPS, k]:
                    C[ARMED, k] = 1.0
            continue
        # Step 4: the earliest of the components that changed sign, by Brent's method on the dense output ...
        if rows == 0:
            rows = dense(method, f, t, y, h, p, work)
        first = 2.0
        low = 0.0
        g_low = 0.0
        xtol = 1e-4 if opt[LOCATE] >= 0.0 else -opt[LOCATE]
        for k in range(R):
            if not (C[G_END, k] < 0.0 and (C[ARMED, k] > 0.0 or C[G_END, k] < -C[EPS, k])):
                continue
            a = 0.0
            ga = C[G_START, k]
            watch_group(lay, starts, p, k)
            if C[ARMED, k] == 0.0 or ga <= 0.0:
                # It started at the surface: look for the place where it is above zero.
                a = -1.0
                for i in range(1, 16):
                    theta = middle * 2.0 ** (-i)
                    dense_eval(y, F[Q_0:], rows, theta, buffer)
                    g(t + theta * h, buffer, p, C[G_ROOT])
                    if C[G_ROOT, k] > 0.0:
                        a = theta
                        ga = C[G_ROOT, k]
                        break
                if a < 0.0:
                    info[COMPONENT] = k
                    watch_all(lay, p, 1.0)
                    return IMMEDIATE
            theta = root_on_dense(
                g, k, t, y, h, F[Q_0:], rows, p, a, middle, ga, C[G_END, k], xtol, buffer, C[G_ROOT]
            )
            if theta < first:
                first = theta
                hit = k
                low = a
                g_low = ga
        if opt[LOCATE] < 0.0:
            # On the dense output alone: the state of the interpolant is taken over.
            watch_all(lay, p, 1.0)
            dense_eval(y, F[Q_0:], rows, first, buffer)
            opt[T] = t + first * h
            for k in range(n):
                y[k] = buffer[k]
            work.ints[NSTEPS] += 1
            work.reals[H_NEXT] = h
            remember(C, opt, first * h, R)
            g(opt[T], y, p, C[G_END])
            if p[lay[COUNT] + SLIDES] > 0.0:
                to_surface(lay, starts, p, y, F_, G_)
            record(opt[T], y, h, rows, p, lay, work, info, t_out, y_out, q_out, mode_out)
            info[COMPONENT] = hit
            return CHOICE
        # ... then on the integration itself.
        high = middle * h
        verified = 1 if middle == 1.0 else 0
        found = False
        for _ in range(R + 1):
            watch_group(lay, starts, p, hit)
            tol = opt[LOCATE] * (1.0 if p[lay[ACTIVE] + hit] > 0.0 else C[H_SCALE, hit])
            root[3] = 0.0
            status = root_on_step(
                method, try_step, solid, f, jac, g, hit, t, y, low * h, high, verified, first * h, g_low, -1,
                1, tol, 60, p, work, control, C[G_ROOT], root,
            )  # fmt: skip
            if status == NO_CONVERGENCE and verified == 0:
                break
            if status != FOUND:
                info[COMPONENT] = hit
                info[REASON] = status
                watch_all(lay, p, 1.0)
                return LOST_ROOT
            watch_all(lay, p, 1.0)
            g(t + root[1], F[Y_NEW], p, C[G_END])
            other = -1
            for k in range(R):
                if k != hit and C[ARMED, k] > 0.0 and C[G_END, k] < -C[EPS, k] and C[G_START, k] > 0.0:
                    other = k
            if other < 0:
                found = True
                break
            hit = other  # another component was earlier
            high = root[1]
            verified = 1
            low = 0.0
            g_low = C[G_START, hit]
            first = 0.5 * high / h
        watch_all(lay, p, 1.0)
        if not found and verified == 0:
            # The dip was one of the interpolant only: look again with half the step.
            work.reals[H_NEXT] = 0.5 * h
            continue
        if not found:
            info[COMPONENT] = hit
            return LOST_ROOT
        h = root[1]
        if q_out.shape[0] > 0:
            rows = dense(method, f, t, y, h, p, work)
            g(t + h, F[Y_NEW], p, C[G_END])
        work.reals[H_NEXT] = work.reals[H_TAKEN] if control.fixed == 0 else work.reals[H_NEXT]
        remember(C, opt, h, R)
        accept(method, t, y, h, work)
        opt[T] = t + h
        if p[lay[COUNT] + SLIDES] > 0.0:
            to_surface(lay, starts, p, y, F_, G_)
        record(opt[T], y, h, rows, p, lay, work, info, t_out, y_out, q_out, mode_out)
        info[COMPONENT] = hit
        return CHOICE
    return DONE


@kernel
def accumulates(ring, count, remaining_limit):
    """Time at which the switching points accumulate if their distances shrink geometrically and little is
    left, else NaN.
    """
    t = ring[0]
    for lag in (1, 2, 4, 6):
        if count <= 3 * lag:
            continue
        T1 = ring[0] - ring[lag]
        T2 = ring[lag] - ring[2 * lag]
        T3 = ring[2 * lag] - ring[3 * lag]
        if T1 <= 0.0 or T1 > 0.9 * T2 or T2 > 0.9 * T3:
            continue
        rho = T1 / T2
        if abs(rho - T2 / T3) > 0.02:
            continue
        remaining = T1 * rho / (1.0 - rho)
        if remaining <= remaining_limit:
            return t + remaining
    return np.nan


@kernel
def drive(
    method, try_step, adapt, solid, dense, f, g, model, jac, enumerate_all, y, p, lay, starts, work, control,
    C, opt, info, sets, flags, ring, t_out, y_out, q_out, mode_out, ev_t, ev_k, ev_before, ev_after,
):  # fmt: skip
    """Algorithm 2: `advance` and `active_sets` in turn; returns the reason for stopping (see the list above)."""
    noinline()
    R = lay[R_]
    n = y.size
    F_ = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    G_ = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    if info[STARTED] == 0:
        if not begin_run(method, f, g, model, enumerate_all, y, p, lay, starts, work, control, C, opt, info, sets, flags,
                         ev_t, ev_k, ev_before, ev_after):  # fmt: skip
            return START
        info[STARTED] = 1
    while True:
        reason = advance(
            method, try_step, adapt, solid, dense, f, g, jac, y, p, lay, starts, work, control, C, opt, info,
            t_out, y_out, q_out, mode_out,
        )  # fmt: skip
        if reason != CHOICE:
            return reason
        hit = info[COMPONENT]
        # Accumulation of switching points (Filippov's spiral): extrapolated in Python.
        for i in range(ring.size - 1, 0, -1):
            ring[i] = ring[i - 1]
        ring[0] = opt[T]
        info[N_RING] += 1
        # I_0: members, the region that was hit, and all regions within epsilon of their group's smallest
        # indicator.
        w = lay[WATCH]
        for k in range(R):
            member = p[lay[ACTIVE] + k] > 0.0
            p[w + k] = 1.0 if member or k == hit or C[G_END, k] <= C[EPS, k] else 0.0
        accumulation = accumulates(ring, info[N_RING], opt[ZENO])
        if np.isfinite(accumulation):
            opt[T_ZENO] = accumulation
            return ACCUMULATION
        model(opt[T], y, p, C[G_ROOT])
        count = active_sets(starts, p[w : w + R], F_, G_, enumerate_all, sets, flags)
        info[N_SETS] = count
        if count == -1:
            return TOO_LARGE
        if count == 0:
            return NO_SET
        if count > 1:
            return CHOICE
        exit_of_sliding = p[lay[ACTIVE] + hit] > 0.0
        if flags[0] == 1 and not exit_of_sliding:
            return DEGENERATE
        commit(
            method,
            f,
            g,
            y,
            p,
            lay,
            starts,
            work,
            control,
            C,
            opt,
            info,
            sets[0],
            ev_t,
            ev_k,
            ev_before,
            ev_after,
        )
        if info[COUNT_EVENTS] >= ev_t.size:
            return FULL


@kernel
def begin_run(
    method, f, g, model, enumerate_all, y, p, lay, starts, work, control, C, opt, info, sets, flags,
    ev_t, ev_k, ev_before, ev_after,
):  # fmt: skip
    """Step 1 in the usual case: one active set follows from I_eps(x_0). False: undecided, Python looks
    closer.
    """
    noinline()
    R = lay[R_]
    n = y.size
    F_ = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    G_ = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    watch_all(lay, p, 1.0)
    for k in range(R):
        p[lay[ACTIVE] + k] = 0.0
    p[lay[COUNT] + SLIDES] = 0.0
    g(opt[T], y, p, C[G_ROOT])
    h, w = lay[H], lay[WATCH]
    for j in range(starts.size - 1):
        low = np.inf
        high = -np.inf
        for k in range(starts[j], starts[j + 1]):
            low = min(low, p[h + k])
            high = max(high, p[h + k])
        spread = high - low
        if not np.isfinite(spread) or spread <= 0.0:
            return False
        for k in range(starts[j], starts[j + 1]):
            C[H_SCALE, k] = spread
            p[w + k] = 1.0 if p[h + k] - low <= opt[EPSILON] * spread else 0.0
    model(opt[T], y, p, C[G_ROOT])
    if active_sets(starts, p[w : w + R], F_, G_, enumerate_all, sets, flags) != 1 or flags[0] == 1:
        return False
    chosen = sets[0]
    commit(
        method, f, g, y, p, lay, starts, work, control, C, opt, info, chosen, ev_t, ev_k, ev_before, ev_after
    )
    info[COUNT_EVENTS] = 0
    return True


@kernel
def commit(
    method, f, g, y, p, lay, starts, work, control, C, opt, info, chosen, ev_t, ev_k, ev_before, ev_after
):
    """Continue with the active set `chosen` from (t, y): event record, projection onto the surfaces, restart
    of the integrator.

    The gradients of the candidate set must stand in p.
    """
    noinline()
    R = lay[R_]
    n = y.size
    F_ = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    G_ = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    e = info[COUNT_EVENTS]
    changed = False
    for k in range(R):
        ev_before[e, k] = 1 if p[lay[ACTIVE] + k] > 0.0 else 0
        ev_after[e, k] = 1 if chosen[k] > 0.0 else 0
        changed = changed or ev_before[e, k] != ev_after[e, k]
    for j in range(starts.size - 1):
        same = True
        for k in range(starts[j], starts[j + 1]):
            same = same and ev_before[e, k] == ev_after[e, k]
        if not same:
            for k in range(starts[j], starts[j + 1]):
                C[G_PREVIOUS, k] = np.nan
    if set_active(lay, starts, p, chosen) > 0:
        to_surface(lay, starts, p, y, F_, G_)
    if changed:
        ev_t[e] = opt[T]
        ev_k[e] = info[COMPONENT]
        info[COUNT_EVENTS] = e + 1
    opt[H_PIECE] = work.reals[H_NEXT]
    begin_piece(method, f, g, y, p, lay, starts, work, control, C, opt)
