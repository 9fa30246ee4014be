"""Location of a switching point (Step 4 of Algorithm 2, Stewart 1996): on the dense output, then on the integration.

The earliest zero on the dense output of the step is found by Brent's method. Its state is taken over where the
interpolant proves accurate there: its defect x' - f(t, x), which costs nothing because the fields at the switching
point are needed for the LCP, times h/(q + 1), q the degree, is below the tolerance (it then bounds the error of the
interpolant in practice: 0.9 of it for RK45, 0.8 for DOP853 on average). Elsewhere the step is made anew up to that
instant, so that the state has the order of the integrator; the small rest delta = -psi/psi' that may be left is bridged
by one Euler step if its error delta^2 |x''|/2 is far below the tolerance, else by repeating. With fixed steps, with a
bound on psi given by the user, or where that does not lead to the end, bracketed Newton on the integration does it.
"""

from __future__ import annotations

from nonsmooth._core.events.roots import FOUND, NO_CONVERGENCE, root_on_dense, root_on_step
from nonsmooth._core.integrators.rk import (
    CONTROL_T,
    H_NEXT,
    H_TAKEN,
    K_0,
    METHOD_T,
    NSTEPS,
    OK,
    Q_0,
    WORK_T,
    Y_NEW,
    dense_eval,
    dense_slope,
    scaled_norm,
)
from nonsmooth._core.integrators.runs import as_dense, as_jac, as_rhs, as_step, as_try
from nonsmooth._core.integrators.single_step import accept
from nonsmooth._core.jit import caller, f8_1, float64, int64, kernel, types, void
from nonsmooth._core.sliding.functions import slope_in
from nonsmooth._core.sliding.layout import (
    A_MODEL,
    A_ON_STEP,
    A_SWITCH,
    ACTIVE,
    AGAIN,
    ARMED,
    BOUND,
    C_DENSE,
    C_FIELD,
    C_JAC,
    C_SOLID,
    C_SWITCH,
    C_TRY,
    CHOICE,
    COMPONENT,
    EPS,
    G_END,
    G_ROOT,
    G_START,
    GRADIENTS,
    H_SCALE,
    HEAD,
    IMMEDIATE,
    LOCATION,
    LOST_ROOT,
    MASK,
    MIDDLE,
    MOVED,
    N_ON_DENSE,
    N_ON_STEP,
    NEW_SLOPE,
    OLD_SLOPE,
    ON_DENSE,
    ON_STEP,
    OUT_T,
    POINT,
    R_,
    REASON,
    REUSE,
    ROOT,
    ROWS,
    RUN_T,
    SLIDES,
    T_BOUND,
    WATCH,
    XTOL,
    H,
    N,
    T,
    Z,
)
from nonsmooth._core.sliding.sets import to_surface, watch_all, watch_group
from nonsmooth._core.sliding.step import call_rhs, crosses, record, remember

#: (method, work, control, run, h, low, high, first, g_low, hit, verified): bracketed Newton on the integration.
ON_INTEGRATION = int64(
    METHOD_T, WORK_T, CONTROL_T, RUN_T, float64, float64, float64, float64, float64, int64, int64
)
#: (method, work, control, run, out, h): reason to return with, or AGAIN.
LOCATE = int64(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T, float64)

call_on_step = caller(ON_INTEGRATION)

# Error of the last Euler step, and of a slope taken over from before it, in units of the tolerance.
_NEGLIGIBLE = 0.01


@kernel(void(RUN_T, float64, f8_1, int64), part=True)
def arrive(run, t, x, hit):
    """All that is needed at a switching point (t, x) of component `hit`: the components in C[G_END]; I_0 in `watch`, its
    fields and gradients in p; x' of the old active set in B[OLD_SLOPE] and its weights in p.
    """
    C, p, lay = run.C, run.p, run.lay
    watch_all(run, 1.0)
    p[lay[HEAD] + REUSE] = 1.0
    call_rhs(run.calls[A_SWITCH], t, x, p, C[G_END])
    p[lay[HEAD] + REUSE] = 0.0
    # I_0: members, the region that was hit, all regions within epsilon of their group's smallest indicator.
    for k in range(lay[R_]):
        member = p[lay[ACTIVE] + k] > 0.0
        p[lay[WATCH] + k] = 1.0 if member or k == hit or C[G_END, k] <= C[EPS, k] else 0.0
    call_rhs(run.calls[A_MODEL], t, x, p, C[G_ROOT])
    slope_in(p, run.B[OLD_SLOPE])
    for k in range(lay[R_]):
        if p[lay[MASK] + k] > 0.0:
            C[G_END, k] = p[lay[Z] + k]


@kernel(int64(METHOD_T, WORK_T, RUN_T, float64, int64), part=True)
def earliest(method, work, run, h, given):
    """Brent's method on the dense output for each component that changed sign; the earliest one is returned, or -1 - k if
    component k is negative at once. Place, start of its bracket and value there in opt[ROOT:].
    """
    C, p, opt = run.C, run.p, run.opt
    t, y = opt[T], run.y
    rows = run.info[ROWS]
    Q = work.F[Q_0:]
    g = as_rhs(run.calls[C_SWITCH])
    middle = opt[MIDDLE]
    hit = given
    opt[ROOT] = 2.0
    for k in range(run.lay[R_]):
        if not crosses(run, k):
            continue
        a = 0.0
        ga = C[G_START, k]
        watch_group(run, k)
        if C[ARMED, k] == 0.0 or ga <= 0.0:
            # It started at the surface: look for the place where it is above zero.
            a = -1.0
            for i in range(1, 16):
                theta = middle * 2.0 ** (-i)
                dense_eval(y, Q, rows, theta, run.B[POINT])
                call_rhs(run.calls[A_SWITCH], t + theta * h, run.B[POINT], p, C[G_ROOT])
                if C[G_ROOT, k] > 0.0:
                    a = theta
                    ga = C[G_ROOT, k]
                    break
            if a < 0.0:
                watch_all(run, 1.0)
                return -1 - k
        theta = root_on_dense(
            g, k, t, y, h, Q, rows, p, a, middle, ga, C[G_END, k], opt[XTOL], run.B[POINT], C[G_ROOT]
        )
        if theta < opt[ROOT]:
            opt[ROOT] = theta
            opt[ROOT + 1] = a
            opt[ROOT + 2] = ga
            hit = k
    watch_all(run, 1.0)
    return hit


@kernel(types.boolean(RUN_T, int64), internal=True)
def earlier(run, hit):
    """Whether, at the point `arrive` has been to, a component other than `hit` is negative: it changed sign before."""
    C = run.C
    for k in range(run.lay[R_]):
        if k != hit and C[ARMED, k] > 0.0 and C[G_END, k] < -C[EPS, k] and C[G_START, k] > 0.0:
            return True
    return False


@kernel(float64(RUN_T, float64, f8_1, int64, float64), part=True)
def rate_of(run, t, x, hit, h):
    """d psi_hit/dt along the old active set at (t, x), after `arrive`."""
    C, p, lay, starts = run.C, run.p, run.lay, run.starts
    slope = run.B[OLD_SLOPE]
    n = lay[N]
    if p[lay[ACTIVE] + hit] > 0.0:
        # A weight: one difference backwards along the flow; what `arrive` left in p is put back.
        before = C[G_END, hit]
        d = 1e-6 * h
        for k in range(n):
            run.B[NEW_SLOPE, k] = x[k] - d * slope[k]
        call_rhs(run.calls[A_SWITCH], t - d, run.B[NEW_SLOPE], p, C[G_ROOT])
        rate = (before - C[G_ROOT, hit]) / d
        arrive(run, t, x, hit)
        return rate
    low = -1
    for j in range(starts.size - 1):
        if starts[j] <= hit < starts[j + 1]:
            for k in range(starts[j], starts[j + 1]):
                if p[lay[ACTIVE] + k] > 0.0 and (low < 0 or p[lay[H] + k] < p[lay[H] + low]):
                    low = k
    a = lay[GRADIENTS] + hit * (n + 1)
    b = lay[GRADIENTS] + low * (n + 1)
    rate = p[a + n] - p[b + n]
    for k in range(n):
        rate += (p[a + k] - p[b + k]) * slope[k]
    return rate


@kernel(void(METHOD_T, WORK_T, RUN_T, OUT_T, float64), internal=True)
def dense_if_wanted(method, work, run, out, x):
    """Dense output of the step of length `x` just made, if it is to be stored."""
    if out.Q.shape[0] > 0:
        dense = as_dense(run.calls[C_DENSE])
        run.info[ROWS] = dense(method, as_rhs(run.calls[C_FIELD]), run.opt[T], run.y, x, run.p, work)


@kernel(
    int64(METHOD_T, WORK_T, CONTROL_T, RUN_T, OUT_T, float64, int64),
    part=True,
)
def step_again(method, work, control, run, out, h, hit):
    """The step anew up to the zero on the dense output, and an Euler step over what is left: 1 if that leads to the
    switching point. The point is then (opt[T], y).
    """
    C, p, lay, opt, info, B = run.C, run.p, run.lay, run.opt, run.info, run.B
    F = work.F
    t, y = opt[T], run.y
    s = method.stages
    solid = as_step(run.calls[C_SOLID])
    x = opt[ROOT] * h
    for _ in range(4):
        if solid(
            method, as_try(run.calls[C_TRY]), as_rhs(run.calls[C_FIELD]), as_jac(run.calls[C_JAC]), t, y, x, p, work,
            control,
        ) != OK:  # fmt: skip
            return 0
        dense_if_wanted(method, work, run, out, x)
        arrive(run, t + x, F[Y_NEW], hit)
        if earlier(run, hit):
            return 0
        rate = rate_of(run, t + x, F[Y_NEW], hit, x)
        if not rate < 0.0:
            return 0
        delta = -C[G_END, hit] / rate
        if not abs(delta) <= 0.1 * x or x + delta > opt[T_BOUND] - t:
            return 0
        for k in range(y.size):
            B[NEW_SLOPE, k] = (F[K_0 + s, k] - F[K_0, k]) / x
        bend = scaled_norm(B[NEW_SLOPE], y, F[Y_NEW], control)
        if 0.5 * bend * delta * delta <= _NEGLIGIBLE:
            accept(method, t, y, x, work)
            for k in range(y.size):
                y[k] += delta * B[OLD_SLOPE, k]
            for k in range(lay[R_]):
                if C[G_ROOT, k] > 0.0:  # candidates of groups with several: their indicators move on as well
                    g = lay[GRADIENTS] + k * (lay[N] + 1)
                    change = p[g + lay[N]]
                    for i in range(y.size):
                        change += p[g + i] * B[OLD_SLOPE, i]
                    p[lay[H] + k] += delta * change
            opt[T] = t + (x + delta)
            opt[ROOT] = x + delta
            info[MOVED] = 1 if 0.1 * h * bend * abs(delta) > _NEGLIGIBLE else 0
            return 1
        x += delta
    return 0


@kernel(ON_INTEGRATION, part=True)
def on_integration(method, work, control, run, h, low, high, first, g_low, hit, verified):
    """Bracketed Newton on the integration: the component that changes sign first, -1 if there is none (a dip of the
    interpolant only), -2 if it is lost (opt[REASON]). The length of the step in opt[ROOT + 1], the step in `work`.
    """
    C, p, lay, opt, info = run.C, run.p, run.lay, run.opt, run.info
    t, y = opt[T], run.y
    for _ in range(lay[R_] + 1):
        watch_group(run, hit)
        tol = opt[BOUND] * (1.0 if p[lay[ACTIVE] + hit] > 0.0 else C[H_SCALE, hit])
        root = opt[ROOT : ROOT + 4]
        root[3] = 0.0
        status = root_on_step(
            method, as_try(run.calls[C_TRY]), as_step(run.calls[C_SOLID]), as_rhs(run.calls[C_FIELD]),
            as_jac(run.calls[C_JAC]), as_rhs(run.calls[C_SWITCH]), hit, t, y, low * h, high, verified, first * h, g_low,
            -1, 1, tol, 60, p, work, control, C[G_ROOT], root,
        )  # fmt: skip
        watch_all(run, 1.0)
        if status == NO_CONVERGENCE and verified == 0:
            return -1
        if status != FOUND:
            info[COMPONENT] = hit
            info[REASON] = status
            return -2
        call_rhs(run.calls[A_SWITCH], t + root[1], work.F[Y_NEW], p, C[G_END])
        other = -1
        for k in range(lay[R_]):
            if k != hit and C[ARMED, k] > 0.0 and C[G_END, k] < -C[EPS, k] and C[G_START, k] > 0.0:
                other = k
        if other < 0:
            return hit
        hit = other  # another component was earlier
        high = root[1]
        verified = 1
        low = 0.0
        g_low = C[G_START, hit]
        first = 0.5 * high / h
    info[COMPONENT] = hit
    return -2


@kernel(int64(WORK_T, CONTROL_T, RUN_T, OUT_T, float64, float64, int64), internal=True)
def located(work, control, run, out, x, length, hit):
    """What follows a location on either way: (t, y) is the switching point after a step of length `x`."""
    if control.fixed == 0:
        work.reals[H_NEXT] = work.reals[H_TAKEN]
    remember(run, x)
    if run.p[run.lay[HEAD] + SLIDES] > 0.0:
        to_surface(run)
    record(work, run, out, length)
    run.info[COMPONENT] = hit
    return CHOICE


@kernel(LOCATE, part=True)
def locate(method, work, control, run, out, h):
    """Move (t, y) to the first switching point inside the step of length `h` just tried, whose components at its end (or
    at theta = opt[MIDDLE]) stand in C[G_END].

    Returns CHOICE (located; `arrive` has been there), AGAIN (there is none, the step must be repeated with the size
    proposed), IMMEDIATE or LOST_ROOT.
    """
    p, opt, info, B = run.p, run.opt, run.info, run.B
    F = work.F
    t, y = opt[T], run.y
    if info[ROWS] == 0:
        dense = as_dense(run.calls[C_DENSE])
        info[ROWS] = dense(method, as_rhs(run.calls[C_FIELD]), t, y, h, p, work)
    hit = earliest(method, work, run, h, -1)
    if hit < 0:
        info[COMPONENT] = -1 - hit
        return IMMEDIATE
    info[MOVED] = 0
    where = ON_STEP if control.fixed == 1 else info[LOCATION]
    first = opt[ROOT]
    if where != ON_STEP:
        tries = 0
        while True:
            dense_eval(y, F[Q_0:], info[ROWS], first, B[POINT])
            arrive(run, t + first * h, B[POINT], hit)
            tries += 1
            if tries > run.lay[R_] or not earlier(run, hit):
                break
            # A component is negative there that is positive again where the signs were looked at.
            low, g_low = opt[ROOT + 1], opt[ROOT + 2]
            opt[MIDDLE] = first
            run.C[G_END, hit] = 1.0
            other = earliest(method, work, run, h, -1)
            if other < 0 or not opt[ROOT] < first:
                opt[ROOT] = first
                opt[ROOT + 1] = low
                opt[ROOT + 2] = g_low
                tries = run.lay[R_]  # stay there
            else:
                hit = other
                first = opt[ROOT]
        good = where == ON_DENSE
        if not good:
            dense_slope(F[Q_0:], info[ROWS], first, h, B[NEW_SLOPE])
            for k in range(y.size):
                B[NEW_SLOPE, k] = h * (B[NEW_SLOPE, k] - B[OLD_SLOPE, k])
            good = scaled_norm(B[NEW_SLOPE], y, B[POINT], control) <= info[ROWS] + 1.0
        if good:
            opt[T] = opt[T_BOUND] if first * h == opt[T_BOUND] - t else t + first * h
            for k in range(y.size):
                y[k] = B[POINT, k]
            work.ints[NSTEPS] += 1
            info[N_ON_DENSE] += 1
            return located(work, control, run, out, first * h, h, hit)
        low, g_low = opt[ROOT + 1], opt[ROOT + 2]
        if step_again(method, work, control, run, out, h, hit) == 1:
            info[N_ON_STEP] += 1
            return located(work, control, run, out, opt[ROOT], opt[ROOT], hit)
        opt[ROOT] = first
        opt[ROOT + 1] = low
        opt[ROOT + 2] = g_low
    middle = opt[MIDDLE]
    verified = 1 if middle == 1.0 else 0
    hit = call_on_step(
        run.calls[A_ON_STEP],
        method,
        work,
        control,
        run,
        h,
        opt[ROOT + 1],
        middle * h,
        first,
        opt[ROOT + 2],
        hit,
        verified,
    )
    if hit == -1:
        # The dip was one of the interpolant only: look again with half the step.
        work.reals[H_NEXT] = 0.5 * h
        return AGAIN
    if hit == -2:
        return LOST_ROOT
    x = opt[ROOT + 1]
    dense_if_wanted(method, work, run, out, x)
    arrive(run, t + x, F[Y_NEW], hit)
    accept(method, t, y, x, work)
    opt[T] = t + x
    info[N_ON_STEP] += 1
    return located(work, control, run, out, x, x, hit)
