"""The nonsmooth generalized-alpha method: one step, compiled.

O. Bruls, V. Acary, A. Cardona, "On the constraints formulation in the nonsmooth generalized-alpha method", in: Advanced Topics in Nonsmooth
Dynamics, Springer 2018, eqs. (65) and (70)-(74), with errata 1 (h^2 (1/2 - beta)), 9 and 10. h is the step, W^T the paper's g_q:

    M v~' - W lambda~ = f(t_1, q_1, v_1)                         smooth motion                                              (65a)
    W^T v~' + kappa = 0 on S                                     see `smooth`                                               (65b, c)
    M U = W nu,       g(q_1) = 0 on A                            position correction                                        (65d-f)
    M J = W Lambda,   W^T v_1 + e W_0^T v_0 = 0 on B             velocity jump (the paper's W)                              (65g-i)
    delta = h v_0 + h^2 (1/2 - beta) a_0 + h^2 beta a_1 + U,     q_1 = retract(q_0, delta)                                  (65j)
    v_1 = v_0 + h (1 - gamma) a_0 + h gamma a_1 + J                                                                         (65k)
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) v~'_1 + alpha_f v~'_0                                                   (65l)
    Lambda* = Lambda + h (1 - gamma) eta_0 + h gamma eta_1,      nu* = nu + h^2 (1/2 - beta) eta_0 + h^2 beta eta_1         (65m, n)
    (1 - alpha_m) eta_1 + alpha_m eta_0 = (1 - alpha_f) lambda~_1 + alpha_f lambda~_0                                       (65o)

Laws hold for the totals: 0 <= g _|_ nu* >= 0 and 0 <= gamma_1 + e gamma_0 _|_ Lambda* >= 0 (erratum 10), with friction on
Lambda*. Written in totals the smooth multipliers drop out of positions and velocities: with y = M^-1 f,
beta' = h^2 beta (1 - alpha_f)/(1 - alpha_m), gamma' = h gamma (1 - alpha_f)/(1 - alpha_m),

    delta = delta^ + beta' y + M^-1 W (nu* - nu^)                v_1 = v^ + gamma' y + M^-1 W (Lambda* - Lambda^)

where delta^, v^, nu^, Lambda^ are known at the begin. So a step solves for y, nu*, Lambda* together (`motion`, `laws`; both
levels are one contact problem) and then for lambda~ and v~' at the state found (`smooth`): the same step as (65), equation by
equation, with its three multipliers per contact condensed once. Rows without a position level (friction,
nonholonomic) move delta by half a step of what they do to v_1.

Smooth forms: P (index 3) and V (index 2) have one multiplier, nu* = beta' lambda and Lambda* = gamma' lambda; A (index 1) the same
with the constraint on acceleration level, (71c); PV is (74), PV-GGL (73) with M(q_0) U = W(q_0) nu (as printed, without the mass, what
it does depends on units, and in millimetres it has no solution); PVA is (70).
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.scene import STEP, scene_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, OK, UNCONVERGED
from nonsmooth._core.stepping.alpha.begin import blur
from nonsmooth._core.stepping.alpha.motion import FIRST, FRESH, KEPT
from nonsmooth._core.stepping.alpha.records import MOVED, alpha_at, call_part

MAX_NEWTON = 40
ACCEPTED = 1e-9  # a change of this size that does not get smaller is rounding
STAGNANT = 1e-6  # ... and after many iterations with tangents of their own: stiff structures near rest, whose forces are rounding
LATE = 6  # from this iteration on every one has a tangent of its own
SLOW = 0.02  # an iteration that gains less asks for a new tangent


@kernel(STEP, part=True)
def alpha_step(at_scene, at_state, t, dt):
    """One step of the nonsmooth generalized-alpha method."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    at, weights = own.at, own.weights
    t_1 = end_of_step(weights, t, dt)
    weights.scale = weights.residual = weights.rounding = 0.0
    weights.modes_changed = 0
    status = call_part(at.begin, at_scene, at_state, t, 0)  # a_0, lambda~_0; delta^, v^, nu^, Lambda^
    if status != OK:
        return status
    last, which = 1e300, FIRST
    for iteration in range(MAX_NEWTON):
        status = call_part(at.evaluate, at_scene, at_state, t_1, MOVED)  # M, f, g, W
        if (
            own.options.exact
            and iteration > 0
            and status == OK
            and not closes(own, scene.work.g, scene.model.size.n_N)
        ):
            return call_part(at.finish, at_scene, at_state, t, iteration)
        if status == OK:
            status = call_part(at.change, at_scene, at_state, t_1, which)  # A, dy, d delta, dv
        if status != OK:
            return status
        unsettled = call_part(at.speak, at_scene, at_state, t_1, iteration)  # xi, A^-1 of every slot
        limit = weights.scale * own.options.tol
        which = FRESH if iteration + 1 >= LATE or weights.error > SLOW * last else KEPT
        limit_of_rounding = (ACCEPTED if iteration < 2 * LATE else STAGNANT) * weights.scale
        limit_of_rounding = max(limit_of_rounding, weights.rounding)
        rounded = weights.error <= limit_of_rounding and not weights.error < 0.5 * last
        if not unsettled and (weights.error <= limit or rounded):
            settle(own)
            return call_part(at.finish, at_scene, at_state, t, iteration)  # lambda~, v~', a_1, books
        last = 1e300 if unsettled else weights.error
        status = call_part(at.levels, at_scene, at_state, t_1, iteration)  # nu*, Lambda*
        if status != OK and not (status == UNCONVERGED and scene.ask.accept):
            return status
    scene.info.residual = weights.error / max(weights.scale, 1e-300)
    return IMPLICIT_UNSOLVED


@phase
def settle(own):
    """The change of y that belongs to an iterate that stays: positions and velocities may be there before y is."""
    if not own.options.apart and own.at.jointed == 0:
        for j in range(own.it.y.size):
            own.it.y[j] += own.it.dy[j]


@phase
def end_of_step(weights, t, dt):
    """Where functions are evaluated at the end of the step: before a breakpoint, not on it, since they may jump there."""
    weights.dt, weights.t_1 = dt, t + dt
    if weights.t_1 >= weights.breaks - blur(t, dt):
        weights.t_1 = weights.breaks - blur(t, dt)
    return weights.t_1


@phase
def closes(own, g, n_N):
    """Whether a contact is closed that no one thought of."""
    for l in range(n_N):
        if g[l] < 0.0 and own.candidate[l] == 0:
            return True
    return False
