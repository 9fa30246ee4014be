"""Algorithm 2 of Stewart 1996 as a compiled run: tentative steps, location of switching points, LCP, restart.

`advance` makes steps of the smooth integrator with the sliding field of the current active set until a component of the
switching function changes sign (Steps 2-4), `active_sets` solves the LCP (13) (Step 5), `drive` strings both together
and only returns to Python when its output arrays are full or when a decision is needed: several active sets, a
degenerate point, an accumulation of switching points. The parts are compiled on their own and reached at the addresses
in `Run.calls`: see `filippov_layout` for the arrays, `filippov_step`, `filippov_locate` and `filippov_sets` for the parts.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from nonsmooth._core.integrators.rk import (
    CONTROL_T,
    ERR,
    ERR_OLD,
    EXPLICIT,
    H_NEXT,
    H_TAKEN,
    HAVE_JAC,
    HAVE_LU,
    HAVE_OLD,
    JAC_CONSTANT,
    JAC_CURRENT,
    JAC_MODE,
    K_0,
    METHOD_T,
    OK,
    RHS,
    WORK_T,
    Y_NEW,
)
from nonsmooth._core.integrators.runs import as_dense, as_jac, as_rhs, as_step, as_try
from nonsmooth._core.integrators.single_step import accept, start
from nonsmooth._core.jit import (
    address_of,
    addresses,
    caller,
    f8_1,
    f8_2,
    float64,
    i8_1,
    int64,
    kernel,
    types,
    void,
)
from nonsmooth._core.sliding.functions import call_part, components, model, slope_in, switch
from nonsmooth._core.sliding.layout import (
    A_ADVANCE,
    A_COMMIT,
    A_INDICATORS,
    A_LOCATE,
    A_LOOK,
    A_MODEL,
    A_SETS,
    A_SWITCH,
    ACCUMULATION,
    ACTIVE,
    AGAIN,
    ARMED,
    BAD_INDICATOR,
    C_ADAPT,
    C_DENSE,
    C_FIELD,
    C_JAC,
    C_TRY,
    CHOICE,
    COMPONENT,
    COUNT_EVENTS,
    COUNT_OUT,
    DEGENERATE,
    DONE,
    EPS,
    EPSILON,
    FAILED,
    FULL,
    G_END,
    G_PREVIOUS,
    G_ROOT,
    G_START,
    H_PIECE,
    H_SCALE,
    HEAD,
    LIMIT,
    MASK,
    MIDDLE,
    MIN_Z,
    MOVED,
    N_H,
    N_MASK,
    N_RING,
    N_SETS,
    NO_SET,
    OUT_T,
    P_M,
    R_,
    REASON,
    REUSE,
    ROWS,
    RUN_T,
    SLIDES,
    START,
    STARTED,
    T_BOUND,
    T_ZENO,
    TOO_LARGE,
    WATCH,
    ZENO,
    H,
    T,
)
from nonsmooth._core.sliding.locate import LOCATE, ON_INTEGRATION, locate, on_integration
from nonsmooth._core.sliding.sets import (
    ENUMERATE,
    ONTO,
    SETS,
    active_sets,
    enumerate_into,
    onto_surfaces,
    set_active,
    to_surface,
    watch_all,
)
from nonsmooth._core.sliding.step import (
    LOOK,
    call_rhs,
    crosses,
    extremes,
    keep_values,
    limit_by_weights,
    look_inside,
    record,
    remember,
    suspicious,
    thresholds,
)

ADVANCE = int64(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T)
COMMIT = void(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T, f8_1)

call_look, call_locate, call_sets = caller(LOOK), caller(LOCATE), caller(SETS)
call_advance, call_commit = caller(ADVANCE), caller(COMMIT)


@kernel(ADVANCE, part=True)
def advance(method, work, control, run, out):
    """Steps with a constant active set until a switching point, the end, or until the output is full.

    Returns
    -------
    reason : int
        DONE, FULL, FAILED (status of the integrator in info[REASON]), BAD_INDICATOR, IMMEDIATE, LOST_ROOT, or CHOICE:
        (t, y) is a switching point of component info[COMPONENT] and the active set must be determined anew; I_0 is in
        `watch`, its fields and gradients are in p.
    """
    C, p, lay, opt, info, y = run.C, run.p, run.lay, run.opt, run.info, run.y
    R = lay[R_]
    o = lay[HEAD]
    adapt, try_step, dense = (
        as_step(run.calls[C_ADAPT]),
        as_try(run.calls[C_TRY]),
        as_dense(run.calls[C_DENSE]),
    )
    f, jac = as_rhs(run.calls[C_FIELD]), as_jac(run.calls[C_JAC])
    while opt[T] != opt[T_BOUND]:
        if info[COUNT_OUT] >= info[LIMIT]:
            return FULL
        t = opt[T]
        p[o + MIN_Z] = 1.0
        status = adapt(method, try_step, f, jac, t, y, opt[T_BOUND], p, work, control)
        if status != OK:
            info[REASON] = status
            return FAILED
        h = work.reals[H_TAKEN]
        dipped = 1 if p[o + MIN_Z] < 0.0 else 0  # a weight was negative at a stage
        # An explicit method has evaluated the field at its end last: the weights there are known.
        p[o + REUSE] = 1.0 if method.kind == EXPLICIT else 0.0
        call_rhs(run.calls[A_SWITCH], t + h, work.F[Y_NEW], p, C[G_END])
        p[o + REUSE] = 0.0
        hit = -1
        for k in range(R):
            if not np.isfinite(C[G_END, k]):
                info[COMPONENT] = k
                return BAD_INDICATOR
            if crosses(run, k):
                hit = k
        info[ROWS] = 0
        opt[MIDDLE] = 1.0
        look = dipped == 1 or suspicious(method, work, run, h)
        if look or (hit < 0 and out.Q.shape[0] > 0):
            # Other points are looked at, with what belongs to the end of the step kept aside.
            keep_values(run, 0)
            if look:
                inside = call_look(run.calls[A_LOOK], method, work, run, h, dipped)
                hit = inside if inside >= 0 else hit
            else:
                info[ROWS] = dense(method, f, t, y, h, p, work)
            if hit < 0:
                keep_values(run, 1)
        if hit >= 0:
            reason = call_locate(run.calls[A_LOCATE], method, work, control, run, out, h)
            if reason == AGAIN:
                continue
            return reason
        # Step 3: accept the step.
        accept(method, t, y, h, work)
        opt[T] = opt[T_BOUND] if h == opt[T_BOUND] - t else t + h
        if p[o + SLIDES] > 0.0:
            to_surface(run)
            if control.fixed == 0 and work.reals[ERR] < 1e-3:
                limit_by_weights(work, run, h)
        record(work, run, out, h)
        thresholds(run, opt[EPSILON])
        remember(run, h)
        for k in range(R):
            C[G_START, k] = C[G_END, k]
            if C[G_END, k] > C[EPS, k]:
                C[ARMED, k] = 1.0
    return DONE


@kernel(void(METHOD_T, WORK_T, CONTROL_T, RUN_T), part=True)
def restart(method, work, control, run):
    """Start the integrator at (t, y). The slope follows from the fields and gradients in p, unless the point has moved
    noticeably since they were evaluated.
    """
    opt = run.opt
    if opt[H_PIECE] <= 0.0 or run.info[MOVED] == 1:
        start(
            method,
            as_rhs(run.calls[C_FIELD]),
            opt[T],
            run.y,
            opt[T_BOUND],
            run.p,
            work,
            control,
            opt[H_PIECE],
        )
        run.info[MOVED] = 0
        return
    slope_in(run.p, work.F[K_0])
    work.ints[HAVE_OLD] = 0
    work.ints[HAVE_LU] = 0
    work.ints[JAC_CURRENT] = 0
    work.ints[HAVE_JAC] = 1 if work.ints[JAC_MODE] == JAC_CONSTANT else 0
    work.reals[ERR_OLD] = -1.0
    work.reals[H_NEXT] = opt[H_PIECE]


@kernel(COMMIT, references=False, no_cfunc_wrapper=True)
def commit(method, work, control, run, out, chosen):
    """Continue with the active set `chosen` from (t, y): event record, projection onto the surfaces, restart of the
    integrator.

    Fields and gradients of the candidate set, and the indicators, must stand in p.
    """
    C, p, lay, opt, info, y, starts = run.C, run.p, run.lay, run.opt, run.info, run.y, run.starts
    R = lay[R_]
    o = lay[HEAD]
    e = info[COUNT_EVENTS]
    changed = False
    for k in range(R):
        out.events[e, 2 + k] = 1.0 if p[lay[ACTIVE] + k] > 0.0 else 0.0
        out.events[e, 2 + R + k] = 1.0 if chosen[k] > 0.0 else 0.0
        changed = changed or out.events[e, 2 + k] != out.events[e, 2 + R + k]
    for j in range(starts.size - 1):
        same = True
        for k in range(starts[j], starts[j + 1]):
            same = same and out.events[e, 2 + k] == out.events[e, 2 + R + k]
        if not same:
            for k in range(starts[j], starts[j + 1]):
                C[G_PREVIOUS, k] = np.nan
    if changed:
        out.events[e, 0] = opt[T]
        out.events[e, 1] = info[COMPONENT]
        info[COUNT_EVENTS] = e + 1
    if set_active(run, chosen) > 0:
        call_part(
            int(p[o + A_INDICATORS]), opt[T], y, p, p[lay[MASK] : lay[MASK] + R], p[lay[H] : lay[H] + R]
        )
        p[o + N_H] += p[o + N_MASK]
        to_surface(run)
    opt[H_PIECE] = work.reals[H_NEXT]
    restart(method, work, control, run)
    watch_all(run, 1.0)
    components(p, o, lay[ACTIVE], R, int(p[o + P_M]), C[G_START])
    thresholds(run, opt[EPSILON])
    for k in range(R):
        C[ARMED, k] = 1.0 if C[G_START, k] > C[EPS, k] else 0.0


@kernel(float64(f8_1, int64), internal=True)
def accumulates(ring, count):
    """Time at which the switching points accumulate if their distances shrink geometrically, else infinity."""
    t = ring[0]
    earliest = np.inf
    for i in range(4):
        lag = 1 if i == 0 else 2 * i
        if count <= 3 * lag:
            continue
        T1 = ring[0] - ring[lag]
        T2 = ring[lag] - ring[2 * lag]
        T3 = ring[2 * lag] - ring[3 * lag]
        if T1 <= 0.0 or T1 > 0.9 * T2 or T2 > 0.9 * T3:
            continue
        rho = T1 / T2
        if abs(rho - T2 / T3) > min(0.02, 0.06 * rho):
            continue
        earliest = min(earliest, t + T1 * rho / (1.0 - rho))
    return earliest


@kernel(
    types.boolean(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T, f8_2, i8_1),
    part=True,
)
def begin(method, work, control, run, out, sets, flags):
    """Step 1 in the usual case: one active set follows from I_eps(x_0). False: undecided, Python looks closer."""
    C, p, lay, opt, info, y, starts = run.C, run.p, run.lay, run.opt, run.info, run.y, run.starts
    R = lay[R_]
    for k in range(R):
        C[G_ROOT, k] = 0.0
    set_active(run, C[G_ROOT])
    watch_all(run, 1.0)
    call_rhs(run.calls[A_SWITCH], opt[T], y, p, C[G_ROOT])
    h, w = lay[H], lay[WATCH]
    for j in range(starts.size - 1):
        low, high = extremes(run, j)
        spread = high - low
        if not np.isfinite(spread) or spread <= 0.0:
            return False
        for k in range(starts[j], starts[j + 1]):
            C[H_SCALE, k] = spread
            p[w + k] = 1.0 if p[h + k] - low <= opt[EPSILON] * spread else 0.0
    call_rhs(run.calls[A_MODEL], opt[T], y, p, C[G_ROOT])
    if call_sets(run.calls[A_SETS], run, sets, flags) != 1 or flags[0] == 1:
        return False
    call_commit(run.calls[A_COMMIT], method, work, control, run, out, sets[0])
    info[COUNT_EVENTS] = 0
    return True


@kernel(
    int64(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T, f8_2, i8_1, f8_1),
    references=False,
    no_cfunc_wrapper=True,
)
def drive(method, work, control, run, out, sets, flags, ring):
    """Algorithm 2: `advance` and `active_sets` in turn; returns the reason for stopping."""
    p, lay, opt, info = run.p, run.lay, run.opt, run.info
    if info[STARTED] == 0:
        if not begin(method, work, control, run, out, sets, flags):
            return START
        info[STARTED] = 1
    while True:
        reason = call_advance(run.calls[A_ADVANCE], method, work, control, run, out)
        if reason != CHOICE:
            return reason
        # Accumulation of switching points (Filippov's spiral): extrapolated in Python.
        for i in range(ring.size - 1, 0, -1):
            ring[i] = ring[i - 1]
        ring[0] = opt[T]
        info[N_RING] += 1
        opt[T_ZENO] = accumulates(ring, info[N_RING])
        if opt[T_ZENO] - opt[T] <= opt[ZENO]:
            return ACCUMULATION
        count = call_sets(run.calls[A_SETS], run, sets, flags)
        info[N_SETS] = count
        if count == -1:
            return TOO_LARGE
        if count == 0:
            return NO_SET
        if count > 1:
            return CHOICE
        exit_of_sliding = p[lay[ACTIVE] + info[COMPONENT]] > 0.0
        if flags[0] == 1 and not exit_of_sliding:
            return DEGENERATE
        before = info[COUNT_EVENTS]
        call_commit(run.calls[A_COMMIT], method, work, control, run, out, sets[0])
        if info[COUNT_EVENTS] == before:
            # The set stayed the same: no switching point, and not one of those that may accumulate.
            for i in range(ring.size - 1):
                ring[i] = ring[i + 1]
            info[N_RING] -= 1
        if info[COUNT_EVENTS] >= out.events.shape[0]:
            return FULL


@cache
def parts():
    """Addresses of the parts of the run, in the order of `Run.calls` from A_SWITCH on."""
    return addresses(
        (
            switch,
            model,
            active_sets,
            onto_surfaces,
            enumerate_into,
            look_inside,
            locate,
            on_integration,
            advance,
            commit,
        ),
        (RHS, RHS, SETS, ONTO, ENUMERATE, LOOK, LOCATE, ON_INTEGRATION, ADVANCE, COMMIT),
    )


def calls(first_class_functions):
    """`Run.calls` from the first-class functions (in the order of C_TRY ... C_JAC)."""
    found = [address_of(function) for function in first_class_functions]
    own = parts()
    return np.array([*found, *own], dtype=np.int64) if isinstance(own, np.ndarray) else (*found, *own)
