"""Extrapolation of a time-stepping scheme: one main step (Studer, Leine, Glocker 2008, secs 7, 8, 9.2; Table II).

A main step of length dt is split into n_1, n_2, n_3, ... substeps (1, 3, 5, 7, ... by default: an odd number keeps the
sign of (-e)^n at an enduring contact, sec. 8.2). Each gives a first-order approximation T_{i,1}; the Aitken-Neville scheme

    T_{i,j+1} = T_{i,j} + (T_{i,j} - T_{i-1,j}) / (n_i / n_{i-j} - 1)                                      (42)

(exponent 1, erratum 7) raises the order until ||T_{i,i} - T_{i-1,i-1}|| <= atol + rtol ||T_{i,i}||. Every substep must
show the accepted structure of all laws; otherwise a switching point lies in the step. Four ways to end:

    SMOOTH           all substeps in the accepted structure, accuracy reached
    NOT_ACCURATE     the same, but the order or the smallest substep is exhausted
    DETECTED         another structure was seen in a step longer than dt_min
    RESOLVED         another structure was seen in the single substep of a step of length dt_min

The module knows nothing of the base scheme but that its step reports modes.

Restitution may be replaced by e_mod = e^(h/dt_min) (end of sec. 8.2, erratum 9), which vanishes in long steps.
"""

from collections import namedtuple

import numpy as np

from nonsmooth._core.jit import by_reference, caller, float64, int64, kernel, typeof
from nonsmooth._core.records.codes import S_NL, S_NQ, S_NR, S_NU, S_UNIT, E
from nonsmooth._core.records.options import O_ENDURING, O_STAY
from nonsmooth._core.stepping.moreau import (
    A_STEPS,
    A_UNIT,
    ACCEPT,
    BOOK,
    I_CHANGED,
    I_TAKEN,
    OK,
    Q_NEW,
    STOP,
    U_NEW,
    State,
    call_steps,
    call_unit,
    scene_at,
    state_reference,
)

SMOOTH, NOT_ACCURATE, DETECTED, RESOLVED, FAILED = range(5)

# configuration: integers X_*, floats F_*
X_MAX_ORDER, X_FIXED, X_LOCATE, X_EMOD, X_ACCEPT, X_BASE, X_REJECTED, X_LAW, X_ALARMS = range(9)
N_XINTS = 9
(
    F_DT_MIN, F_DT_MAX, F_RTOL, F_ATOL, F_T_NOINC, F_DT_NEXT, F_RIGHT, F_T_PHI, F_T_PHI_OLD, F_T_TRIED, F_T_END, F_GAP_TOL,
    F_DT_CROSS, F_DT_SMOOTH, F_T_ROOT, F_DT_GUESS, F_T_OLD, F_SHIFT, F_STAY, F_STAY_LONG,
) = range(20)  # fmt: skip
N_XFLOATS = 20
# what the last main step tells; N_DT_BEST is the step size of least work (see `main_step`)
N_STATUS, N_LAW, N_T_FAIL, N_ORDER, N_ERROR, N_LAST_H, N_DT_BEST = range(7)
N_NOTES = 7

# the next step is at most so much longer or shorter than the last, and aims at a somewhat smaller error than allowed
GROWTH, SHRINK, SAFETY = 32.0, 0.1, 0.8

Tableau = namedtuple("Tableau", "row q u P modes q_E u_E P_E modes_E scale e_0 substeps note xi xf")


def make_tableau(n_q, n_u, n_rows, n_laws, max_order, substeps):
    """Work space of a main step."""
    r, l = max(n_rows, 1), max(n_laws, 1)
    return Tableau(
        row=np.zeros((max(max_order, 1), n_q + n_u)), q=np.zeros(n_q), u=np.zeros(n_u), P=np.zeros(r),
        modes=np.zeros(l, dtype=np.int64), q_E=np.zeros(n_q), u_E=np.zeros(n_u), P_E=np.zeros(r),
        modes_E=np.zeros(l, dtype=np.int64), scale=np.zeros(n_q + n_u), e_0=np.zeros(l),
        substeps=np.array(substeps, dtype=np.int64), note=np.zeros(N_NOTES), xi=np.zeros(N_XINTS, dtype=np.int64),
        xf=np.zeros(N_XFLOATS),
    )  # fmt: skip


# the three steps of the adjustment (see `extrapolation_run`): end states, and scalars t_B, t_E, dt, order, error
ACCEPTED, PREVIOUS, ACTUAL, OLD = range(4)
K_T_B, K_T_E, K_DT, K_ORDER, K_ERROR = range(5)
Steps = namedtuple("Steps", "q u P modes scalars gap rate phi")


def make_steps(n_q, n_u, n_N, n_rows, n_laws):
    """Storage of the three steps; `phi` (2, n_laws) keeps the law functions at the last two certified instants, row `OLD` of
    `gap` and `rate` the gaps one step before the accepted one."""
    r, l = max(n_rows, 1), max(n_laws, 1)
    return Steps(
        q=np.zeros((3, n_q)), u=np.zeros((3, n_u)), P=np.zeros((3, r)), modes=np.zeros((3, l), dtype=np.int64),
        scalars=np.zeros((3, 5)), gap=np.zeros((4, max(n_N, 1))), rate=np.zeros((4, max(n_N, 1))),
        phi=np.zeros((2, l)),
    )  # fmt: skip


TABLEAU_TYPE = typeof(make_tableau(1, 1, 1, 1, 1, [1]))
STEPS_TYPE = typeof(make_steps(1, 1, 1, 1, 1))
_, tableau_at = by_reference(TABLEAU_TYPE)
_, steps_at = by_reference(STEPS_TYPE)

MAIN = int64(int64, int64, int64, int64, int64, int64, float64, float64, int64, int64, int64)
call_main = caller(MAIN)
HOLD = int64(int64, int64, float64, float64)
call_hold = caller(HOLD)  # see `hold_laws`


@kernel(MAIN, part=True)
def main_step(scene_address, problem, tableau, steps, begin, accepted, t, dt, order, any_modes, books):
    """One main step from `t` and the end of step number `begin`, on the structure of step `accepted`.

    `order` > 0 fixes the order.

    With `any_modes` every structure is taken (start of a run, probes, output between steps); with `books` a step of least
    length, which may be an impact, keeps the books of energy. The end is left in
    ``x.q_E, x.u_E, x.P_E, x.modes_E``, the rest in ``x.note``. Returns one of the five flags.

    Step size of least work (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, sec. II.9): level i would
    meet the tolerance with H_i = 0.8 dt err_i^(-1/i) at the price of A_i = n_1 + ... + n_i base steps; the level with the
    smallest A_i / H_i wins, or the next one where the work still falls from level to level.
    """
    scene, x, s = scene_at(scene_address), tableau_at(tableau), steps_at(steps)
    f, laws, size, w, info = scene.f, scene.laws, scene.size, scene.w, scene.info
    xi, xf = x.xi, x.xf
    q, u, P_0, modes_0 = s.q[begin], s.u[begin], s.P[begin], s.modes[accepted]
    substate = state_reference(State(x.q, x.u, x.P, x.modes))
    n_q, n_u, n_rows, n_laws = size[S_NQ], size[S_NU], size[S_NR], size[S_NL]
    row, q_s, u_s, P_s, m_s, note = x.row, x.q, x.u, x.P, x.modes, x.note
    dt_min = xf[F_DT_MIN]
    even = scene.options[O_ENDURING] != 0.0  # enduring laws make the base rule symmetric
    minimal = dt <= xf[F_DT_CROSS] * (1.0 + 1e-9)
    levels = order if order > 0 else xi[X_MAX_ORDER]
    if minimal:
        levels = 1
    # a closed contact whose gap is curved leaves it at the midpoints of long substeps, and comes back by extrapolation
    if even:
        scene.options[O_ENDURING] = 1.0 if minimal and dt > dt_min * (1.0 + 1e-9) else 2.0
    scene.options[O_STAY] = xf[F_STAY] if levels == 1 else xf[F_STAY_LONG]
    note[N_LAW] = -1.0
    note[N_ERROR] = 0.0
    note[N_DT_BEST] = 8.0 * dt
    flag = NOT_ACCURATE
    wishes = (STOP if any_modes == 0 else 0) + (ACCEPT if xi[X_ACCEPT] != 0 else 0)
    if minimal and books:
        wishes += BOOK
    effort = 0.0
    work_before = 1e300
    least = 1e300
    error_before = 1e300
    error_old = 1e300
    for i in range(levels):
        n_i = x.substeps[i]
        h = dt / n_i
        effort += n_i
        share = min(h / xf[F_DT_GUESS], 1.0) if xf[F_DT_GUESS] > 0.0 else 1.0
        # sec. 9.2: no substep below dt_min (the fixed-order mode of sec. 10.3 goes through with its order)
        if i > 0 and order == 0 and h < dt_min * (1.0 - 1e-9):
            break
        for k in range(n_q):
            q_s[k] = q[k]
        for k in range(n_u):
            u_s[k] = u[k]
        for k in range(n_rows):
            P_s[k] = P_0[k] * share
        for l in range(n_laws):
            m_s[l] = modes_0[l]
        if xi[X_EMOD]:
            for l in range(n_laws):
                exponent = 1.0 if minimal else h / dt_min
                laws.reals[E, l] = x.e_0[l] ** exponent if x.e_0[l] > 0.0 else 0.0
        for k in range(n_rows):
            w.P_sum[k] = 0.0
        status = call_steps(f[A_STEPS], scene_address, problem, substate, t, h, 0, n_i, wishes)
        taken = int(info[I_TAKEN])
        xi[X_BASE] += taken
        note[N_T_FAIL] = t + taken * h
        if status != OK:
            note[N_STATUS] = status
            note[N_T_FAIL] = t + (taken - 1) * h
            note[N_LAST_H] = h
            return FAILED
        for k in range(n_q):
            q_s[k] = w.coords[Q_NEW, k]
        for k in range(n_u):
            u_s[k] = w.speeds[U_NEW, k]
        for k in range(n_rows):
            P_s[k] = w.P_new[k]
            x.P_E[k] = w.P_sum[k]
        for l in range(n_laws):
            m_s[l] = w.modes_new[l]
        if any_modes == 0 and info[I_CHANGED] >= 0.0:
            note[N_LAW] = info[I_CHANGED]
            if not minimal:
                return DETECTED
            flag = RESOLVED
        # Aitken-Neville, eq. (42): `row` goes from T_{i-1,.} to T_{i,.}
        error = 0.0
        for k in range(n_q + n_u):
            new = q_s[k] if k < n_q else u_s[k - n_q]
            old_diagonal = row[i - 1, k] if i > 0 else 0.0
            for j in range(i):
                old = row[j, k]
                row[j, k] = new
                new = new + (new - old) / (n_i / x.substeps[i - 1 - j] - 1.0)
            row[i, k] = new
            if i > 0:
                scale = max(abs(new), x.scale[k])
                tolerance = xf[F_ATOL] + xf[F_RTOL] * (scale if xf[F_ATOL] == 0.0 else abs(new))
                error = max(error, abs(new - old_diagonal) / tolerance if tolerance > 0.0 else 0.0)
        for k in range(n_q):
            x.q_E[k] = row[i, k]
        for k in range(n_u):
            x.u_E[k] = row[i, n_q + k]
        for l in range(n_laws):
            x.modes_E[l] = m_s[l]
        note[N_ORDER] = i + 1
        note[N_ERROR] = error
        note[N_LAST_H] = h
        if flag == RESOLVED:
            break
        if order > 0:
            if i == levels - 1:
                flag = SMOOTH
            continue
        if i == 0:
            continue
        best = dt * min(max(SAFETY * max(error, 1e-30) ** (-1.0 / (i + 1)), SHRINK), GROWTH)
        work = effort / best
        if work < least:
            least = work
            note[N_DT_BEST] = best
            if i + 1 < levels and work < 0.9 * work_before and error <= 1.0:
                note[N_DT_BEST] = min(best * (effort + x.substeps[i + 1]) / effort, GROWTH * dt)
        if error <= 1.0:
            flag = SMOOTH
            # where the third level gains next to nothing the expansion is even: the level is far better than its estimate,
            # which the next one shows
            if even and i == 2 and i + 1 < levels and error > 0.15 * error_before:
                error_before = error
                continue
            break
        flag = NOT_ACCURATE
        # give up early where steady progress cannot reach the tolerance (seen over two levels: where the expansion of the
        # error is even, every second level gains nothing)
        if i > 2 and error * min(error / error_old, 1.0) ** (0.5 * (levels - 1 - i)) > 100.0:
            break
        work_before = work
        error_old = error_before
        error_before = error
    if size[S_UNIT]:
        call_unit(f[A_UNIT], size, x.q_E)
    if xi[X_EMOD]:
        for l in range(n_laws):
            laws.reals[E, l] = x.e_0[l]
    return flag
