"""Functions of the user that come to zero where a mode begins or ends: a height where the body strikes, a velocity that sticks.

Such a function g does not pass through zero but arrives there, and rests or turns back; the sign of what rounding leaves of it says
nothing. The rule, by one-sided limits:

1. *Arrival.* g arrives at zero where its left limit vanishes and it was not zero before; the direction is that of the arrival. It counts
   once, whatever comes after.
2. *Strike.* At an impact the left limit is looked at where the gap vanishes: at ``x* = (t + s, q + s q'^-, u^-)`` with
   ``g_N(x*) = 0``, which a scheme that steps over the impact does not pass through. If ``g(x*)`` is rounding, the side it comes from is
   the sign of ``g`` a little before on the same line.
3. *Jump.* A g that jumps (with a velocity) is compared by its limits on both sides; what jumps to zero arrives there.
4. *Rest.* After an arrival no sign counts until g has left what it was there; it leaves to the side it moves to, and that is no event.

Rounding of g is what the last digits of its arguments make of it: ``sum_i |g(x + d_i) - g(x)|``, d_i = `DIGITS` eps of the largest
value of x_i so far.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT

EPS = 2.220446049250313e-16
# by which digits of positions (sums of some terms) and of velocities (which contact problems return) are uncertain
DIGITS, DIGITS_OF_VELOCITY = 64.0 * EPS, 1024.0 * EPS
BEFORE = 1e-6  # part of a step that steps over an impact by which it is stopped before
NEAR = 1e-6  # part of the longest step within which a contact strikes at the end of a step that says so
MOST_SECANTS = 8


@phase
def remember_sizes(watch, state):
    """The largest values so far."""
    for k in range(watch.q_max.size):
        watch.q_max[k] = max(watch.q_max[k], abs(state.q[k]))
    for k in range(watch.u_max.size):
        watch.u_max[k] = max(watch.u_max[k], abs(state.u[k]))


@phase
def measure_noise(watch, scene, t, q, u):
    """What rounding makes of all functions at a state, in ``watch.noise``. The state is changed and put back."""
    p, count = scene.model.p, watch.control.count
    call_vector(watch.at.values, t, q, u, p, watch.kept)
    for i in range(count):
        watch.noise[i] = 4.0 * EPS * abs(watch.kept[i])
    for k in range(q.size + u.size + 1):
        if k < q.size:
            x = q[k]
            q[k] = x + DIGITS * watch.q_max[k]
            call_vector(watch.at.values, t, q, u, p, watch.g_m)
            q[k] = x
        elif k < q.size + u.size:
            x = u[k - q.size]
            u[k - q.size] = x + DIGITS_OF_VELOCITY * watch.u_max[k - q.size]
            call_vector(watch.at.values, t, q, u, p, watch.g_m)
            u[k - q.size] = x
        else:
            call_vector(watch.at.values, t - DIGITS * abs(t), q, u, p, watch.g_m)
        for i in range(count):
            watch.noise[i] += abs(watch.g_m[i] - watch.kept[i])


@phase
def mode_changes(scene, state, t, t_new):
    """Whether a law begins to hold, or the state jumps, in this step or at its end."""
    if scene.info.jump_next or not t_new > t:
        return True
    for l in range(scene.model.size.n_laws):
        if begins(scene, state, l):
            return True
    return False


@phase
def begins(scene, state, l):
    """Whether law `l` begins to hold in this step, or has an impulse in it (which schemes that cross impacts say)."""
    holds = scene.end.modes[l] == CONSTRAINT or scene.work.struck[l] == 1
    return holds and state.modes[l] != CONSTRAINT


@phase
def zeros_at_end(watch):
    """Values at the end of a step that are rounding are zero there (1, 3)."""
    for i in range(watch.control.count):
        if abs(watch.g_1[i]) <= watch.noise[i]:
            watch.g_1[i] = 0.0


@phase
def strikes(watch, scene, state, t, dt, t_new):
    """Functions that vanish where a contact strikes in this step (2): `struck`, with the instant in `root` unless it was found before."""
    model, control = scene.model, watch.control
    if model.size.n_N == 0 or not t_new > t:
        return
    left = scene.info.jump_next == 1  # the end of the step is the left limit
    point, t_point, reach = state, t, 2.0 * dt
    if left:
        point, t_point, reach = scene.end, t_new, NEAR * control.longest
    known = False
    for l in range(model.size.n_N):
        if state.modes[l] == CONSTRAINT or not (left or begins(scene, state, l)):
            continue
        if not known:
            velocity(watch, model, point, t_point)
            known = True
        s = where_it_strikes(watch, scene, point, t_point, l, reach)
        if abs(s) <= reach:
            # (a little before, so that a run that is stopped there has not been through the impact)
            t_strike = t_new if left else min(max(t_point + s - BEFORE * dt, t), t_new)
            for i in range(control.count):
                arrives(watch, scene, point, t_point, s, i, t_strike)


@phase
def velocity(watch, model, point, t):
    """q' in ``watch.dq``."""
    if model.size.has_B:
        call_matrix(model.at.kinematics, t, point.q, point.u, model.p, watch.B)
    for i in range(watch.dq.size):
        s = 0.0
        if model.size.has_B:
            for j in range(watch.u_max.size):
                s += watch.B[i, j] * point.u[j]
        else:
            s = point.u[i]
        watch.dq[i] = s


@phase
def along(watch, scene, point, s):
    """q + s q', in ``scene.between.q``."""
    for k in range(watch.dq.size):
        scene.between.q[k] = point.q[k] + s * watch.dq[k]


@phase
def gap_at(watch, scene, point, t, s, l):
    """The gap of contact `l` a time s on."""
    model = scene.model
    along(watch, scene, point, s)
    call_vector(model.at.gap, t + s, scene.between.q, point.u, model.p, watch.gap)
    return watch.gap[l]


@phase
def where_it_strikes(watch, scene, point, t, l, reach):
    """Time s until the gap of contact `l` closes on a straight line, by secants; beyond the reach if it does not."""
    s_0, s_1 = 0.0, 0.5 * reach
    g_0, g_1 = gap_at(watch, scene, point, t, s_0, l), gap_at(watch, scene, point, t, s_1, l)
    if not g_1 < g_0:
        return 2.0 * reach
    for _ in range(MOST_SECANTS):
        if g_0 == g_1:
            break
        s = s_1 - g_1 * (s_1 - s_0) / (g_1 - g_0)
        if s == s_1 or not abs(s) <= 4.0 * reach:
            s_1 = s
            break
        s_0, g_0 = s_1, g_1
        s_1, g_1 = s, gap_at(watch, scene, point, t, s, l)
        if g_1 == 0.0:
            break
    return s_1


@phase
def arrives(watch, scene, point, t, s, i, t_strike):
    """Whether function `i` comes to zero where a contact strikes; where it does, it is marked."""
    along(watch, scene, point, s)
    measure_noise(watch, scene, t + s, scene.between.q, point.u)
    noise = watch.noise[i]
    if not abs(watch.kept[i]) <= noise:
        return
    side = side_of(watch, scene, point, t, s, -1.0, i, noise)
    if side == 0.0:
        return
    watch.struck[i] = 1
    if watch.fresh[i] or (not watch.resting[i] and not watch.g_0[i] * side > 0.0):
        watch.found[i] = 0  # it arrived in the step before; that it comes back is no event
    elif watch.direction[i] * side <= 0.0:
        watch.found[i], watch.root[i] = 1, t_strike


@phase
def side_of(watch, scene, point, t, s, onwards, i, noise):
    """Sign of function `i` a little before (`onwards` = -1) or after (1) the point a time s on, on a straight line; 0 if none is seen."""
    tau, longest = 1e-8 * watch.control.longest, 0.2 * watch.control.longest
    while tau < longest:
        x = s + onwards * tau
        along(watch, scene, point, x)
        call_vector(watch.at.values, t + x, scene.between.q, point.u, scene.model.p, watch.g_m)
        if abs(watch.g_m[i]) > 2.0 * noise:
            return 1.0 if watch.g_m[i] > 0.0 else -1.0
        tau *= 10.0
    return 0.0


@phase
def sides_after_stop(watch, scene, state, t):
    """Functions at which the run was stopped (a reset acted) leave to the side that velocities lead to, however short the flight."""
    known = False
    for i in range(watch.control.count):
        if not watch.fresh[i]:
            continue
        if not known:
            velocity(watch, scene.model, state, t)
            known = True
        side = side_of(watch, scene, state, t, 0.0, 1.0, i, watch.noise[i])
        if side != 0.0:
            if not watch.g_0[i] * side > 0.0:
                watch.g_0[i] = side * watch.noise[i]
            watch.fresh[i], watch.resting[i] = 0, 0


@phase
def rest(watch, i):
    """Function `i` has arrived at zero (4)."""
    watch.resting[i], watch.arrived[i] = 1, watch.g_1[i]


@phase
def leaves(watch, i, g):
    """Whether function `i`, which rested at zero, has left it at a later instant with the value `g`: to the side it moves to."""
    moved = g - watch.arrived[i]
    if abs(moved) > watch.noise[i] and abs(g) > watch.noise[i] and g * moved > 0.0:
        watch.resting[i], watch.fresh[i], watch.g_0[i] = 0, 0, g
