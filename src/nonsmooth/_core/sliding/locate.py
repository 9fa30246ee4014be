"""Location of switching points (Step 4 of Algorithm 2, Stewart 1996).

The zero of the component is found on the dense output by Brent's method. Its state is taken over where the
interpolant proves accurate there: its defect x' - f(t, x), which costs nothing because the fields at the switching
point are needed for the LCP, times h/(q + 1), q the degree, is below the tolerance (it then bounds the error of the
interpolant in practice: 0.9 of it for RK45, 0.8 for DOP853 on average). Elsewhere the step is made anew up to that
instant, so that the state has the order of the integrator; the small rest delta = -psi/psi' that may be left is bridged
by one Euler step if its error delta^2 |x''|/2 is far below the tolerance, else by repeating. With fixed steps, with a
bound on psi given by the user, or where that does not lead to the end, bracketed Newton on the integration does it.
"""

from __future__ import annotations

from nonsmooth._core.calls.parts import part
from nonsmooth._core.events.records import FOUND, NO_CONVERGENCE, call_on_dense, call_on_step
from nonsmooth._core.integrators.dense_output import dense_eval, dense_slope
from nonsmooth._core.integrators.error_control import scaled_norm
from nonsmooth._core.integrators.records import OK, call_dense, call_field, call_try
from nonsmooth._core.integrators.single_step import accept
from nonsmooth._core.integrators.time_axis import end_of_step
from nonsmooth._core.jit import kernel, noinline, phase
from nonsmooth._core.sliding.functions import slope_in
from nonsmooth._core.sliding.records import (
    AGAIN,
    CHOICE,
    IMMEDIATE,
    LOST_ROOT,
    OF_STEP,
    ON_DENSE,
    ON_STEP,
    run_at,
)
from nonsmooth._core.sliding.sets import to_surface, watch_all, watch_group
from nonsmooth._core.sliding.step import crosses, put_row, remember

# Error of the last Euler step, and of a slope taken over from before it, in units of the tolerance.
NEGLIGIBLE = 0.01


@part(OF_STEP)
def locate(address, h):
    """Move (t, y) to the first switching point inside the step of length `h` just tried, whose components at its end (or
    at theta = ``info.middle``) stand in ``psi.end``.

    Returns CHOICE (located; `arrive` has been there), AGAIN (there is none, the step must be repeated with the size
    proposed), IMMEDIATE or LOST_ROOT.
    """
    run = run_at(address)
    s, info = run.solver, run.info
    if info.rows == 0:
        info.rows = call_dense(s.at.dense, s.at.solver, h)
    hit = first_zero(run, h)
    if hit < 0:
        info.component = -1 - hit
        return IMMEDIATE
    info.moved = 0
    where = ON_STEP if s.control.fixed == 1 else info.location
    if where != ON_STEP:
        hit = go_to_zero(run, h, hit)
        if where == ON_DENSE or interpolant_is_good(run, h):
            return take_interpolant(run, h, hit)
        theta, low, g_low = info.theta, info.low, info.g_low
        if step_again(run, h, hit):
            run.counts.on_step += 1
            return located(run, info.theta, info.theta, hit)
        info.theta, info.low, info.g_low = theta, low, g_low
    return locate_on_integration(run, h, hit)


@kernel(references=False, forceinline=False)
def arrive(address, t, x, hit):
    """All that is needed at a switching point (t, x) of component `hit`: the components in ``psi.end``; I_0 in `watch`, its
    fields and gradients in `values`; x' of the old active set in `slope` and its weights in `values`.
    """
    noinline()
    run = run_at(address)
    psi, I = run.psi, run.set
    watch_all(run)
    run.watch.reuse = 1
    call_field(run.at.switch, address, t, x, psi.end)
    run.watch.reuse = 0
    # I_0: members, the region that was hit, all regions within epsilon of their group's smallest indicator.
    for k in range(I.watch.size):
        I.watch[k] = 1.0 if I.active[k] > 0.0 or k == hit or psi.end[k] <= psi.eps[k] else 0.0
    call_field(run.at.model, address, t, x, psi.root)
    slope_in(run, run.slope)
    for k in range(I.watch.size):
        if I.slides[k] > 0.0:
            psi.end[k] = run.values.z[k]


@phase
def start_of_bracket(run, k, h):
    """A theta at which component k is positive: the begin of the step, or beyond it if it started at the surface.

    The value stands in ``psi.root[k]``; negative: there is none.
    """
    psi, s = run.psi, run.solver
    psi.root[k] = psi.start[k]
    if psi.armed[k] > 0.0 and psi.start[k] > 0.0:
        return 0.0
    for i in range(1, 16):
        theta = run.info.middle * 2.0 ** (-i)
        dense_eval(s.y, s.step.Q, run.info.rows, theta, run.point)
        call_field(run.at.switch, run.at.run, s.now.t + theta * h, run.point, psi.root)
        if psi.root[k] > 0.0:
            return theta
    return -1.0


@kernel(references=False, forceinline=False)
def first_zero_of(address, h):
    """`first_zero` of the run at `address`."""
    noinline()
    run = run_at(address)
    psi, info, r = run.psi, run.info, run.roots.at
    hit = -1
    info.theta = 2.0
    for k in range(psi.end.size):
        if not crosses(run, k):
            continue
        watch_group(run, k)
        a = start_of_bracket(run, k, h)
        if a < 0.0:
            watch_all(run)
            return -1 - k
        g_a = psi.root[k]
        theta = call_on_dense(
            r.on_dense, r.roots, k, h, info.rows, a, info.middle, g_a, psi.end[k], info.xtol
        )
        if theta < info.theta:
            info.theta = theta
            info.low = a
            info.g_low = g_a
            hit = k
    watch_all(run)
    return hit


@phase
def first_zero(run, h):
    """Brent's method on the dense output for each component that changed sign; the earliest one is returned, or -1 - k if
    component k is negative at once. Place, start of its bracket and value there in ``info``.
    """
    return first_zero_of(run.at.run, h)


@phase
def earlier(run, hit):
    """The last component other than `hit` that is negative at the point `arrive` has been to, or -1: it changed sign before."""
    psi = run.psi
    found = -1
    for k in range(psi.end.size):
        if k != hit and psi.armed[k] > 0.0 and psi.end[k] < -psi.eps[k] and psi.start[k] > 0.0:
            found = k
    return found


@phase
def go_to_zero(run, h, hit):
    """Arrive at the first zero on the dense output; components that are negative there come before it."""
    s, info = run.solver, run.info
    tries = 0
    while True:
        dense_eval(s.y, s.step.Q, info.rows, info.theta, run.point)
        arrive(run.at.run, s.now.t + info.theta * h, run.point, hit)
        tries += 1
        if tries > run.psi.end.size or earlier(run, hit) < 0:
            return hit
        # A component is negative there that is positive again where the signs were looked at.
        theta, low, g_low = info.theta, info.low, info.g_low
        info.middle = theta
        run.psi.end[hit] = 1.0
        other = first_zero(run, h)
        if other < 0 or not info.theta < theta:
            info.theta, info.low, info.g_low = theta, low, g_low
            tries = run.psi.end.size  # stay there
        else:
            hit = other


@phase
def interpolant_is_good(run, h):
    """Whether the defect of the dense output at the zero is below the tolerance."""
    s, change = run.solver, run.change
    dense_slope(s.step.Q, run.info.rows, run.info.theta, h, change)
    for k in range(s.y.size):
        change[k] = h * (change[k] - run.slope[k])
    return scaled_norm(s, change, run.point) <= run.info.rows + 1.0


@phase
def take_interpolant(run, h, hit):
    """The point on the dense output is the switching point."""
    s, x = run.solver, run.info.theta * h
    s.now.t = end_of_step(s.now, x)
    for k in range(s.y.size):
        s.y[k] = run.point[k]
    s.count.nsteps += 1
    run.counts.on_dense += 1
    return located(run, x, h, hit)


@phase
def rate_of(run, t, x, hit, h):
    """d psi_hit/dt along the old active set at (t, x), after `arrive`."""
    psi, values, starts, active = run.psi, run.values, run.starts, run.set.active
    n = x.size
    if active[hit] > 0.0:
        # A weight: one difference backwards along the flow; what `arrive` left in `values` is put back.
        before = psi.end[hit]
        d = 1e-6 * h
        for k in range(n):
            run.change[k] = x[k] - d * run.slope[k]
        call_field(run.at.switch, run.at.run, t - d, run.change, psi.root)
        rate = (before - psi.root[hit]) / d
        arrive(run.at.run, t, x, hit)
        return rate
    low = -1
    for j in range(starts.size - 1):
        if starts[j] <= hit < starts[j + 1]:
            for k in range(starts[j], starts[j + 1]):
                if active[k] > 0.0 and (low < 0 or values.h[k] < values.h[low]):
                    low = k
    rate = values.G[hit, n] - values.G[low, n]
    for k in range(n):
        rate += (values.G[hit, k] - values.G[low, k]) * run.slope[k]
    return rate


@phase
def dense_if_wanted(run, x):
    """Dense output of the step of length `x` just made, if it is to be stored."""
    if run.rows.length.size > 0:
        run.info.rows = call_dense(run.solver.at.dense, run.solver.at.solver, x)


@phase
def euler_step(run, delta):
    """One Euler step of length delta along the old active set; the indicators of the candidates move on as well."""
    y, values, n = run.solver.y, run.values, run.solver.y.size
    for k in range(n):
        y[k] += delta * run.slope[k]
    for k in range(values.h.size):
        if run.psi.root[k] > 0.0:
            change = values.G[k, n]
            for i in range(n):
                change += values.G[k, i] * run.slope[i]
            values.h[k] += delta * change


@phase
def step_again(run, h, hit):
    """The step anew up to the zero on the dense output, and an Euler step over what is left: True if that leads to the
    switching point. The point is then (t, y), and ``info.theta`` the length of time to it.
    """
    s, info, step = run.solver, run.info, run.solver.step
    t, n = s.now.t, s.y.size
    x = info.theta * h
    for _ in range(4):
        if call_try(s.at.solid, s.at.solver, x) != OK:
            return False
        dense_if_wanted(run, x)
        arrive(run.at.run, t + x, step.y_new, hit)
        if earlier(run, hit) >= 0:
            return False
        rate = rate_of(run, t + x, step.y_new, hit, x)
        if not rate < 0.0:
            return False
        delta = -run.psi.end[hit] / rate
        if not abs(delta) <= 0.1 * x or x + delta > s.now.t_bound - t:
            return False
        for k in range(n):
            run.change[k] = (step.K[s.method.stages, k] - step.K[0, k]) / x
        bend = scaled_norm(s, run.change, step.y_new)
        if 0.5 * bend * delta * delta <= NEGLIGIBLE:
            accept(s.at.solver, x)
            euler_step(run, delta)
            s.now.t = t + (x + delta)
            info.theta = x + delta
            info.moved = 1 if 0.1 * h * bend * abs(delta) > NEGLIGIBLE else 0
            return True
        x += delta
    return False


@kernel(references=False, forceinline=False)
def root_on_integration(address, h, hit):
    """Bracketed Newton on the integration: the component that changes sign first, -1 if there is none (a dip of the
    interpolant only), -2 if it is lost. The length of the step in ``search.behind``, the step in the solver.
    """
    run = run_at(address)
    s, psi, info, q = run.solver, run.psi, run.info, run.roots.search
    q.lo = info.low * h
    q.hi = info.middle * h
    q.verified = 1 if info.middle == 1.0 else 0
    q.guess = info.theta * h
    q.g_lo = info.g_low
    for _ in range(psi.end.size + 1):
        watch_group(run, hit)
        q.i = hit
        q.after = -1
        q.stay_before = 0
        q.tol = info.bound * (1.0 if run.set.active[hit] > 0.0 else psi.scale[hit])
        q.max_iter = 60
        q.iterations = 0
        status = call_on_step(run.roots.at.on_step, run.roots.at.roots)
        watch_all(run)
        if status == NO_CONVERGENCE and q.verified == 0:
            return -1
        if status != FOUND:
            info.component = hit
            info.reason = status
            return -2
        call_field(run.at.switch, address, s.now.t + q.behind, s.step.y_new, psi.end)
        other = earlier(run, hit)
        if other < 0:
            return hit
        hit = other  # another component was earlier
        q.lo = 0.0
        q.hi = q.behind
        q.verified = 1
        q.guess = 0.5 * q.hi / h * h
        q.g_lo = psi.start[hit]
    info.component = hit
    return -2


@phase
def locate_on_integration(run, h, hit):
    """The switching point by bracketed Newton on the integration."""
    s = run.solver
    hit = root_on_integration(run.at.run, h, hit)
    if hit == -1:
        # The dip was one of the interpolant only: look again with half the step.
        s.now.h_next = 0.5 * h
        return AGAIN
    if hit == -2:
        return LOST_ROOT
    x, t = run.roots.search.behind, s.now.t
    dense_if_wanted(run, x)
    arrive(run.at.run, t + x, s.step.y_new, hit)
    accept(s.at.solver, x)
    s.now.t = t + x
    run.counts.on_step += 1
    return located(run, x, x, hit)


@phase
def located(run, x, length, hit):
    """What follows a location on either way: (t, y) is the switching point after a step of length `x`."""
    s = run.solver
    if s.control.fixed == 0:
        s.now.h_next = s.now.h
    remember(run, x)
    if run.size.codimension > 0:
        to_surface(run)
    put_row(run, length)
    run.info.component = hit
    return CHOICE
