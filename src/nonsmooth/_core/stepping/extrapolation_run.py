"""Step-size adjustment around extrapolation: a whole run (Studer, Leine, Glocker 2008, secs 5, 9.3; Tables III-VI).

Two ways to find switching points:

*Bisection*, as in the paper. Three steps are kept: accepted (cannot be rejected any more), previous (waits for its
successor) and actual. A detected switching point throws away the actual and the previous step and halves the step; steps
below 3 dt_min become dt_min; no step grows before `t_noInc` is passed. Tables IV and VI with errata 1 (increase only when
the accepted step begins *after* t_noInc) and 2 (cap at dt_max).

*Location* (beyond the paper). The end of every main step is certified by a probe: one short base step that must show the
same structure. A certified step is accepted at once. Each law has a function that is positive in its mode and vanishes
where the mode ends: the gap of an open contact, the force of a closed one, the slip speed of a sliding element, the
distance of the force to the edge of its set for a sticking one. For gaps the cubic through gap and gap rate at the last two
instants gives the next trial, for the others a secant through their last two values; bisection is the safeguard.

How a switching point is crossed depends on what ends:
- An impact is crossed by one step of dt_min that begins theta dt_min before it. The midpoint rule is then wrong by
  (1 + e) (theta - 1/2) v dt_min in position and (1 - theta - e theta) a dt_min in velocity (v speed, a acceleration); with
  theta = (1 - e)/(2 (1 + e)) the two cancel in the instant at which a bouncing mass comes to rest, and a plastic impact
  (e = 0) ends exactly on the contact.
- A mode that ends because a *force* reaches the edge of its set does so without a jump: a step of length d makes an error of
  order d^2, so it is crossed with d = 0.3 sqrt(dt_min dt), dt the last smooth step. A shorter one would be worse: the
  force is read off as P/d, whose rounding grows as 1/d.
- A search that ends without finding anything doubles the next crossing step, so that nothing is ground through.

In both, a cubic through gap and gap rate at both ends of a step tells of contacts that closed and opened again inside it.
"""

from nonsmooth._core.jit import f8_1, f8_2, i8_1, i8_2, int64, kernel, void
from nonsmooth._core.records.codes import (
    DIM,
    GAMMA_B,
    HALF_LINE,
    KIND,
    PLACE,
    ROW,
    S_CONST_W,
    S_HAS_ZETA,
    S_NL,
    S_NN,
    S_NQ,
    S_NR,
    S_NU,
    E,
)
from nonsmooth._core.records.options import O_ENDURING, O_IMPLICIT
from nonsmooth._core.stepping.extrapolation import (
    ACCEPTED,
    ACTUAL,
    DETECTED,
    F_DT_CROSS,
    F_DT_GUESS,
    F_DT_MAX,
    F_DT_MIN,
    F_DT_NEXT,
    F_DT_SMOOTH,
    F_GAP_TOL,
    F_RIGHT,
    F_SHIFT,
    F_STAY,
    F_T_END,
    F_T_NOINC,
    F_T_OLD,
    F_T_PHI,
    F_T_PHI_OLD,
    F_T_ROOT,
    F_T_TRIED,
    FAILED,
    K_DT,
    K_ERROR,
    K_ORDER,
    K_T_B,
    K_T_E,
    N_DT_BEST,
    N_ERROR,
    N_LAW,
    N_ORDER,
    N_STATUS,
    N_T_FAIL,
    NOT_ACCURATE,
    OLD,
    PREVIOUS,
    RESOLVED,
    SMOOTH,
    STEPS_TYPE,
    X_ALARMS,
    X_FIXED,
    X_LAW,
    X_LOCATE,
    X_REJECTED,
    call_hold,
    call_main,
    steps_at,
    tableau_at,
)
from nonsmooth._core.stepping.moreau import (
    A_DIR,
    A_GAP,
    A_HOLD,
    A_MAIN,
    A_ZETA,
    C_EVAL,
    C_EVENTS,
    C_EVERY,
    C_FIRST,
    C_OUT,
    C_STEP,
    C_STEPS,
    C_TAIL,
    C_TOTAL,
    OK,
    T_GAP,
    T_GAP_T,
    call_matrix,
    call_vector,
    output_at,
    scene_at,
    structure,
)
from nonsmooth._core.stepping.switching_points import (
    INFINITY,
    gap_root,
    gap_rounding,
    instant_rounding,
    law_functions,
    secant_root,
)


@kernel(void(STEPS_TYPE, int64, int64), references=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def copy_step(s, source, target):
    """Step `target` becomes step `source`."""
    for k in range(s.q.shape[1]):
        s.q[target, k] = s.q[source, k]
    for k in range(s.u.shape[1]):
        s.u[target, k] = s.u[source, k]
    for k in range(s.P.shape[1]):
        s.P[target, k] = s.P[source, k]
    for k in range(s.modes.shape[1]):
        s.modes[target, k] = s.modes[source, k]
    for k in range(s.scalars.shape[1]):
        s.scalars[target, k] = s.scalars[source, k]
    for k in range(s.gap.shape[1]):
        s.gap[target, k] = s.gap[source, k]
        s.rate[target, k] = s.rate[source, k]


@kernel(
    int64(int64, int64, int64, int64, int64, i8_1, i8_2, f8_2, f8_1, int64),
    references=False,
    lean=True,
)
def run_extrapolated(
    at_scene, problem, tableau, steps, at_output, counters, events, event_times, t_eval, budget
):
    """Up to `budget` main steps towards the end of the segment; returns the status of the base scheme (0 if all is well)."""
    scene, x, s, out = scene_at(at_scene), tableau_at(tableau), steps_at(steps), output_at(at_output)
    f, laws, size, options, p, w, prox, totals = (
        scene.f, scene.laws, scene.size, scene.options, scene.p, scene.w, scene.prox, scene.totals
    )  # fmt: skip
    xi, xf = x.xi, x.xf
    n_q, n_u, n_N, n_rows, n_laws = size[S_NQ], size[S_NU], size[S_NN], size[S_NR], size[S_NL]
    dt_min, dt_max, t_end = xf[F_DT_MIN], xf[F_DT_MAX], xf[F_T_END]
    locate = xi[X_LOCATE] != 0
    note = x.note
    n_eval = t_eval.size
    capacity = out.q.shape[0]
    for _ in range(budget):
        if counters[C_STEP] >= counters[C_STEPS] or counters[C_EVENTS] + 2 * n_laws > events.shape[0]:
            break
        if n_eval == 0 and counters[C_OUT] + 3 > capacity:
            break
        t = s.scalars[PREVIOUS, K_T_E]
        left = t_end - t
        finished = left <= 0.0

        flag = SMOOTH
        accepted = 0  # how many steps become final now: 1 the previous or the actual one, 2 both
        resolved = False
        crossing = False  # the switching point lies in the next dt_min
        if not finished:
            # length of the actual step; a remainder shorter than a tenth of dt_min is swallowed
            dt = min(xf[F_DT_NEXT], dt_max)
            t_new = t + dt
            if dt >= left - 0.1 * dt_min:
                dt = left
                t_new = t_end
            minimal = dt <= xf[F_DT_CROSS] * (1.0 + 1e-9)
            xf[F_DT_GUESS] = s.scalars[PREVIOUS, K_DT]
            flag = call_main(
                f[A_MAIN],
                at_scene,
                problem,
                tableau,
                steps,
                PREVIOUS,
                PREVIOUS,
                t,
                dt,
                xi[X_FIXED],
                counters[C_FIRST],
                1,
            )
            if flag == FAILED:
                return int(note[N_STATUS])
            error, order, law, best = note[N_ERROR], note[N_ORDER], int(note[N_LAW]), note[N_DT_BEST]

            if flag == SMOOTH or flag == NOT_ACCURATE or flag == RESOLVED:
                for k in range(n_q):
                    s.q[ACTUAL, k] = x.q_E[k]
                for k in range(n_u):
                    s.u[ACTUAL, k] = x.u_E[k]
                for k in range(n_rows):
                    s.P[ACTUAL, k] = x.P_E[k]
                for l in range(n_laws):
                    s.modes[ACTUAL, l] = x.modes_E[l]
                s.scalars[ACTUAL, K_T_B] = t
                s.scalars[ACTUAL, K_T_E] = t_new
                s.scalars[ACTUAL, K_DT] = dt
                s.scalars[ACTUAL, K_ORDER] = order
                s.scalars[ACTUAL, K_ERROR] = error
                if options[O_ENDURING] != 0.0 and not minimal:
                    limit = INFINITY if xi[X_FIXED] else xf[F_STAY]
                    status = call_hold(f[A_HOLD], at_scene, steps, t_new, limit)
                    if status != OK:
                        return status
                if n_N > 0:
                    # gaps and their rates at the end
                    call_vector(f[A_GAP], t_new, s.q[ACTUAL], s.u[ACTUAL], p, s.gap[ACTUAL])
                    if size[S_CONST_W] == 0:
                        call_matrix(f[A_DIR], t_new, s.q[ACTUAL], s.u[ACTUAL], p, w.WT)
                    if size[S_HAS_ZETA]:
                        call_vector(f[A_ZETA], t_new, s.q[ACTUAL], s.u[ACTUAL], p, w.zeta)
                    for l in range(n_N):
                        rate = w.zeta[l]
                        for k in range(n_u):
                            rate += w.WT[l, k] * s.u[ACTUAL, k]
                        s.rate[ACTUAL, l] = rate
                        w.slack[l] = gap_rounding(scene, s, l)
                        # a closed contact that could not be held: its surface ends or has a step
                        if (
                            s.modes[PREVIOUS, l] == 1
                            and s.modes[ACTUAL, l] == 1
                            and flag == SMOOTH
                            and not minimal
                        ):
                            if abs(s.gap[ACTUAL, l] - s.gap[PREVIOUS, l]) > xf[F_STAY] and xi[X_FIXED] == 0:
                                flag = DETECTED
                                law = l
                                note[N_T_FAIL] = t_new
                        # a contact that closed and opened inside the step: an interior minimum of the cubic below zero
                        if not minimal and structure(HALF_LINE, s.modes[ACTUAL, l]) == 0:
                            g_0, g_1 = s.gap[PREVIOUS, l], s.gap[ACTUAL, l]
                            d_0, d_1 = s.rate[PREVIOUS, l] * dt, rate * dt
                            if d_0 < 0.0 and d_1 > 0.0:
                                # g = g_0 + d_0 z + b z^2 + a z^3; its derivative changes sign once in (0, 1)
                                a = 2.0 * (g_0 - g_1) + d_0 + d_1
                                b = 3.0 * (g_1 - g_0) - 2.0 * d_0 - d_1
                                lo, hi = 0.0, 1.0
                                for _k in range(40):
                                    z = 0.5 * (lo + hi)
                                    if d_0 + z * (2.0 * b + z * 3.0 * a) < 0.0:
                                        lo = z
                                    else:
                                        hi = z
                                if g_0 + z * (d_0 + z * (b + z * a)) < -xf[F_GAP_TOL]:
                                    flag = DETECTED
                                    law = l
                                    note[N_T_FAIL] = t + z * dt

            if flag == NOT_ACCURATE and not minimal:
                xi[X_REJECTED] += 1
                shorter = min(best, 0.7 * dt) if locate else 0.5 * dt
                xf[F_DT_NEXT] = shorter if shorter >= 3.0 * dt_min else dt_min
                xf[F_DT_CROSS] = dt_min
                continue

            if flag == RESOLVED:
                # Table VI
                resolved = True
                accepted = 2
            elif flag == DETECTED:
                # Table V; with location only the actual step is lost
                xi[X_REJECTED] += 1
                xf[F_T_NOINC] = t_new
                xf[F_RIGHT] = min(xf[F_RIGHT], note[N_T_FAIL])
                if not locate:
                    copy_step(s, ACCEPTED, PREVIOUS)
            elif locate:
                # certify the end of the step by a probe, the longer one if a force may reach its edge
                certified = True
                if not minimal and t_new < t_end:
                    xf[F_DT_GUESS] = dt
                    length = dt_min
                    for l in range(n_laws):
                        if s.modes[PREVIOUS, l] == 1:
                            length = max(dt_min, 0.3 * (dt_min * max(xf[F_DT_SMOOTH], dt)) ** 0.5)
                    for _probe in range(2):
                        probe_flag = call_main(
                            f[A_MAIN],
                            at_scene,
                            problem,
                            tableau,
                            steps,
                            ACTUAL,
                            ACTUAL,
                            t_new,
                            length,
                            1,
                            1,
                            0,
                        )
                        if probe_flag == FAILED:
                            return int(note[N_STATUS])
                        certified = True
                        ahead = False  # a gap or slip speed about to vanish
                        passed = False  # or gone through zero already
                        for l in range(n_laws):
                            kind = laws.ints[KIND, l]
                            before = structure(kind, s.modes[PREVIOUS, l])
                            if structure(kind, x.modes_E[l]) == before:
                                continue
                            if kind != HALF_LINE and (before == 0 or x.modes_E[l] == 0):
                                continue  # friction that comes or goes with its contact
                            if certified or (before != 1 and not ahead):
                                law = l
                            certified = False
                            if kind == HALF_LINE and before == 0:
                                ahead = True
                                passed = passed or s.gap[ACTUAL, l] < 0.0
                            elif before == 2 or before == -2:
                                ahead = True
                                if prox.ints[PLACE, l] >= 0 and laws.ints[DIM, l] == 1:
                                    gamma = prox.rows[GAMMA_B, prox.ints[ROW, prox.ints[PLACE, l]]]
                                    passed = passed or gamma * before > 0.0
                        if certified or length == dt_min or not ahead:
                            break
                        length = dt_min
                    if certified:
                        for l in range(n_laws):
                            s.phi[1, l] = s.phi[0, l]
                        xf[F_T_PHI_OLD] = xf[F_T_PHI]
                        xf[F_T_PHI] = t_new
                        xf[F_SHIFT] = length if options[O_IMPLICIT] != 0.0 else 0.5 * length
                        law_functions(scene, length, s.phi[0])
                    elif ahead and not passed:
                        crossing = True
                        certified = True
                if certified:
                    accepted = 1
                else:
                    xi[X_REJECTED] += 1
                    xf[F_RIGHT] = min(xf[F_RIGHT], t_new)
                    flag = DETECTED
            else:
                accepted = 1

        # ---- events of a resolved switching point
        if resolved and counters[C_FIRST] == 0:
            for l in range(n_laws):
                kind = laws.ints[KIND, l]
                if structure(kind, s.modes[ACTUAL, l]) != structure(kind, s.modes[PREVIOUS, l]):
                    i = counters[C_EVENTS]
                    events[i, 0] = counters[C_TOTAL] + (
                        1 if not locate and s.scalars[PREVIOUS, K_T_E] > s.scalars[ACCEPTED, K_T_E] else 0
                    )
                    events[i, 1] = l
                    events[i, 2] = s.modes[PREVIOUS, l]
                    events[i, 3] = s.modes[ACTUAL, l]
                    # best single estimate: root of the law's function
                    z = secant_root(s, xf, l)
                    z = min(max(z - t, -dt), dt) if z > -INFINITY else 0.0
                    if (
                        kind == HALF_LINE
                        and structure(kind, s.modes[PREVIOUS, l]) == 0
                        and s.rate[PREVIOUS, l] < 0.0
                    ):
                        z = min(max(-s.gap[PREVIOUS, l] / s.rate[PREVIOUS, l], -dt), dt)
                    event_times[i, 0] = t
                    event_times[i, 1] = t_new
                    event_times[i, 2] = t + z
                    counters[C_EVENTS] = i + 1

        # ---- output of the steps that became final
        first = counters[C_FIRST] != 0
        if flag != DETECTED or finished:
            for part in range(2):
                # part 0: the previous step, waiting in bisection; part 1: the actual step
                begin, end = ACCEPTED, PREVIOUS
                if part == 0:
                    if locate or s.scalars[PREVIOUS, K_T_E] <= s.scalars[ACCEPTED, K_T_E] or first:
                        continue
                else:
                    begin, end = PREVIOUS, ACTUAL
                    if finished or (not locate and accepted < 2 and not first):
                        continue
                counters[C_TOTAL] += 1
                t_B, t_E = s.scalars[begin, K_T_E], s.scalars[end, K_T_E]
                for l in range(n_N):
                    if s.gap[end, l] < totals[T_GAP]:
                        totals[T_GAP] = s.gap[end, l]
                        totals[T_GAP_T] = t_E
                for k in range(n_q):
                    x.scale[k] = max(x.scale[k], abs(s.q[end, k]))
                for k in range(n_u):
                    x.scale[n_q + k] = max(x.scale[n_q + k], abs(s.u[end, k]))
                while counters[C_OUT] < capacity:
                    t_out = t_E
                    if n_eval > 0:
                        if counters[C_EVAL] >= n_eval or t_eval[counters[C_EVAL]] > t_E:
                            break
                        t_out = t_eval[counters[C_EVAL]]
                        counters[C_EVAL] += 1
                    elif counters[C_TOTAL] % counters[C_EVERY] != 0 and not (
                        t_E >= t_end and counters[C_TAIL] != 0
                    ):
                        break
                    j = counters[C_OUT]
                    dense = t_out < t_E
                    if dense:
                        # the same extrapolation again, up to the instant asked for: it does not disturb the run
                        flag_out = call_main(
                            f[A_MAIN], at_scene, problem, tableau, steps, begin, end, t_B, t_out - t_B,
                            int(s.scalars[end, K_ORDER]), 1, 0,
                        )  # fmt: skip
                        if flag_out == FAILED:
                            return int(note[N_STATUS])
                    out.scalars[j, 0] = t_out
                    out.scalars[j, 1] = s.scalars[end, K_DT]
                    out.scalars[j, 2] = s.scalars[end, K_ERROR]
                    out.scalars[j, 3] = s.scalars[end, K_ORDER]
                    for k in range(n_q):
                        out.q[j, k] = x.q_E[k] if dense else s.q[end, k]
                    for k in range(n_u):
                        out.u[j, k] = x.u_E[k] if dense else s.u[end, k]
                    for k in range(n_rows):
                        out.P[j, k] = s.P[end, k]
                    for l in range(n_laws):
                        out.modes[j, l] = s.modes[end, l]
                    counters[C_OUT] = j + 1
                    if n_eval == 0:
                        break
        if finished:
            counters[C_STEP] = counters[C_STEPS]
            copy_step(s, PREVIOUS, ACCEPTED)
            break

        # ---- the three steps move on
        if flag != DETECTED:
            for l in range(n_N):
                s.gap[OLD, l] = s.gap[PREVIOUS, l]
                s.rate[OLD, l] = s.rate[PREVIOUS, l]
            xf[F_T_OLD] = t
            copy_step(s, PREVIOUS, ACCEPTED)
            copy_step(s, ACTUAL, PREVIOUS)
            if locate or resolved or first:
                copy_step(s, ACTUAL, ACCEPTED)
        if (
            first and counters[C_OUT] > 0 and out.scalars[0, 1] == 0.0
        ):  # the start column shows the first modes
            for l in range(n_laws):
                out.modes[0, l] = s.modes[ACCEPTED, l]
        counters[C_FIRST] = 0

        # ---- length of the next step
        xf[F_DT_CROSS] = dt_min
        if resolved or first:
            xf[F_T_NOINC] = t_new
            xf[F_RIGHT] = INFINITY
            xf[F_T_PHI] = -INFINITY
            xf[F_T_PHI_OLD] = -INFINITY
            xf[F_T_TRIED] = -INFINITY
            xf[F_T_ROOT] = -INFINITY
            xf[F_T_OLD] = -INFINITY
            xi[X_ALARMS] = 0
            xf[F_DT_NEXT] = min(max(2.0 * dt, 3.0 * dt_min), dt_max)
        elif not locate:
            if flag == DETECTED:
                xf[F_DT_NEXT] = 0.5 * dt if 0.5 * dt >= 3.0 * dt_min else dt_min
            elif s.scalars[ACCEPTED, K_T_B] > xf[F_T_NOINC]:
                xf[F_DT_NEXT] = min(max(2.0 * dt, 3.0 * dt_min), dt_max)
            else:
                xf[F_DT_NEXT] = dt
        elif crossing:
            cross = dt_min
            if law < n_N and s.modes[PREVIOUS, law] != 1:
                cross = min(max(dt_min, instant_rounding(s, law, w.slack[law])), 0.1 * dt_max)
            xf[F_DT_NEXT] = cross
            xf[F_DT_CROSS] = cross
        else:
            t_a = s.scalars[ACCEPTED, K_T_E]
            h_old = t_a - xf[F_T_OLD] if xf[F_T_OLD] > -INFINITY else 0.0
            if law >= 0:
                xi[X_LAW] = law
            search = xf[F_RIGHT] < INFINITY and t_a < xf[F_RIGHT] + 2.0 * dt_min
            if flag != DETECTED and minimal:
                xi[X_ALARMS] += 1
            width = INFINITY
            root = INFINITY
            k = xi[X_LAW]
            gap_type = True
            if search:
                width = max(xf[F_RIGHT] - t_a, dt_min)
                gap_type = laws.ints[KIND, k] == HALF_LINE and structure(HALF_LINE, s.modes[PREVIOUS, k]) == 0
                if xf[F_T_TRIED] != t_a:
                    root = gap_root(s, k, h_old, w.slack[k]) if gap_type else secant_root(s, xf, k) - t_a
                target = 0.5 * width
            else:
                xf[F_RIGHT] = INFINITY
                if not minimal:
                    xi[X_ALARMS] = 0
                    xf[F_DT_SMOOTH] = dt
                target = min(max(best, 3.0 * dt_min), dt_max)
                # a gap that will close within the next step is approached at once
                for l in range(n_N):
                    if h_old > 0.0 and structure(HALF_LINE, s.modes[PREVIOUS, l]) == 0:
                        z = gap_root(s, l, h_old, w.slack[l])
                        if z < 1.05 * target and z < root:
                            root = z
                            k = l
            aimed = 0.0 <= root < INFINITY
            if aimed:
                change = abs(t_a + root - xf[F_T_ROOT]) if xf[F_T_ROOT] > -INFINITY else 0.4 * root
                xf[F_T_ROOT] = t_a + root
                xf[F_T_TRIED] = t_a
                margin = 0.2 * dt_min
                if gap_type:
                    e = laws.reals[E, k]
                    margin = max(0.49 * (1.0 - e) / (1.0 + e), 0.05) * dt_min
                target = min(root - max(margin, 0.05 * change), 0.95 * width, dt_max)
            # the step that crosses
            cross = dt_min
            if search and s.modes[PREVIOUS, k] == 1:
                cross = max(dt_min, 0.3 * (dt_min * xf[F_DT_SMOOTH]) ** 0.5)
            if (search or aimed) and gap_type:
                cross = min(max(cross, instant_rounding(s, k, w.slack[k])), 0.1 * dt_max)
            for _k in range(min(max(xi[X_ALARMS] - 4, 0), 40)):
                cross = min(2.0 * cross, 0.1 * dt_max)
            if target < 3.0 * cross:
                if not (aimed and gap_type and cross <= target < 3.0 * cross and xi[X_ALARMS] < 4):
                    target = cross
                xf[F_DT_CROSS] = target
            xf[F_DT_NEXT] = target
    return OK
