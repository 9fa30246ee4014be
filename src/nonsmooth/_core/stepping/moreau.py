"""Moreau's midpoint rule: one step, and a run of many steps, compiled.

Studer, Leine, Glocker 2008, sec. 3, with erratum 3 (no extra zeta in c) and kinematics q' = B(t, q) u:

    t_M = t_B + dt/2,  q_M = q_B + B(q_B) u_B dt/2                                        midpoint
    M_M (u_E - u_B) - h_M dt - sum_i W_i P_i = 0,  h_M = h(t_M, q_M, u_B)                 (15)
    contacts with g(t_M, q_M) <= 0 are active, friction and other elements always
    gamma = W_M^T u + zeta_M
    -(gamma_E + e gamma_B) in N(P)                                                        (17)
    gamma_E + e gamma_B = G P + c,  G = W^T M^-1 W                                        (18)
    c = W^T (u_B + M^-1 h dt) + zeta + e gamma_B
    P = prox(P - r (G P + c))                                                             (19)
    q_E = q_B + B(q_M) (u_B + u_E)/2 dt                                                   (21)
    unit quaternions in q_E are divided by their length (see `unit_quaternions`)

The implicit variant (a second base scheme for extrapolation) evaluates M, h, W at the end (t_E, q_E, u_E) by fixed-point
iteration, and q_E = q_B + B u_E dt.

Enduring laws (an option, used by extrapolation where W depends on q). A law that was a constraint has gamma_B = 0 at the
begin of the step, so that no restitution can act; but W_M^T u_B = kappa dt/2, kappa = d/dt(W^T) u. The force
-(kappa + W^T M^-1 h)/G that keeps it comes out right in every step for e = 1, W_M^T (u_E + u_B) = 0, the midpoint
rule for the constraint. (With evaluation at the end of the step for e = 0.) The same holds for a contact that approaches
or parts no faster than the forces move it within the step.

Energy bookkeeping. With constant M,  dT = 1/2 (u_E + u_B)^T h dt + 1/2 (u_E + u_B)^T W P.  What an impact law adds is
D = 1/2 (gamma_E + gamma_B)^T P, or, with the velocity the finite forces alone would lead to, D' = 1/2 (gamma_E + gamma_F)^T
P, gamma_F = W^T (u_B + M^-1 h dt) + zeta. They differ by what finite forces do during the step, which vanishes for an
impact, but makes D positive where an element sticks or reverses, and D' where a force pulls apart what bounces back.
D > 0 and D' > 0 means that the law created energy.
"""

from collections import namedtuple

import numpy as np

from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    addresses,
    by_reference,
    caller,
    f8_1,
    f8_2,
    float64,
    i8_1,
    int64,
    kernel,
    typeof,
    void,
)
from nonsmooth._core.laws.projections import A_SOLVE, PROX_TYPE, make_prox
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.codes import (
    ACTS,
    DIM,
    FREE_GAMMA,
    GAMMA_B,
    HALF_LINE,
    HI,
    INTERVAL,
    KIND,
    LAW,
    LINK,
    LO,
    MODE,
    MU,
    N_SIZES,
    PLACE,
    ROW,
    S_CONST_M,
    S_CONST_W,
    S_HAS_B,
    S_HAS_BOUNDS,
    S_HAS_ZETA,
    S_NL,
    S_NN,
    S_NQ,
    S_NR,
    S_NU,
    S_READY,
    S_UNIT,
    USER_SET,
    XI,
    C,
    E,
    Laws,
    P,
)
from nonsmooth._core.records.options import N_OPTIONS, O_ENDURING, O_IMPLICIT, O_STAY, O_TOL

MAX_SWEEPS = 30

# status codes of a step
OK, MASS_SINGULAR, NON_FINITE, UNCONVERGED, ZERO_DIRECTION, NON_FINITE_GAP = range(6)

# positions in the float64 array of running totals
(
    T_GAP, T_GAP_T, T_RES, T_RES_T, T_WORK_FORCES, T_WORK_CONTACTS, T_GAIN, T_GAIN_T, T_GAIN_BEFORE, T_GAIN_AFTER,
    T_GAIN_LAW, T_GAIN_COUNT, T_UNCONVERGED, T_ITER_MAX, T_ITER_SUM, T_UNCONVERGED_T,
) = range(16)  # fmt: skip
N_TOTALS = 16

# energy made by an impact law, relative to T_B + T_E, that is reported; rounding and solver tolerance stay below
ENERGY_GAIN = 4e-10

# positions in the float64 array describing the last step
I_RES, I_ITER, I_LAW, I_ACTIVE, I_ROWS, I_TAKEN, I_CHANGED, I_AHEAD = range(8)
N_INFO = 8

# Work space. `slack`: gap that counts as closed (what rounding of its terms can hide; zero for
# the plain rule). `coords` (2, n_q): rows Q_M, Q_NEW; `speeds` (5, n_u): rows H, DU, U_FREE, U_NEW, U_EVAL; `P_new`, `P_sum`,
# `modes_new` by row and law of the model.
Work = namedtuple("Work", "M L WT Y B G_all coords speeds g slack zeta bounds P_new P_sum modes_new")
Q_M, Q_NEW = range(2)
H, DU, U_FREE, U_NEW, U_EVAL = range(5)

# Output of a run: one row per stored instant; `q_B, u_B` the begin of the step that ends there;
# `scalars` columns t, dt, residual, iterations.
Output = namedtuple("Output", "scalars q u P modes q_B u_B")
State = namedtuple("State", "q u P modes")


def make_work(n_q, n_u, n_N, n_laws, n_rows, zeros=np.zeros):
    """Work space of a model with these sizes."""
    r, l = max(n_rows, 1), max(n_laws, 1)
    return Work(
        M=zeros((n_u, n_u)), L=zeros((n_u, n_u)), WT=zeros((r, n_u)), Y=zeros((r, n_u)),
        B=zeros((n_q, n_u)), G_all=zeros((r, r)), coords=zeros((2, n_q)), speeds=zeros((5, n_u)),
        g=zeros(max(n_N, 1)), slack=zeros(max(n_N, 1)), zeta=zeros(r), bounds=zeros(2 * r), P_new=zeros(r),
        P_sum=zeros(r), modes_new=zeros(l, dtype=np.int64),
    )  # fmt: skip


def make_output(n, n_q, n_u, n_rows, n_laws, with_begin):
    """Output buffers for `n` instants."""
    m = n if with_begin else 1
    return Output(
        scalars=np.full((n, 4), 0.0), q=np.full((n, n_q), 0.0), u=np.full((n, n_u), 0.0), P=np.full((n, n_rows), 0.0),
        modes=np.zeros((n, n_laws), dtype=np.int8), q_B=np.zeros((m, n_q)), u_B=np.zeros((m, n_u)),
    )  # fmt: skip


# Everything a step needs but the state: `f` addresses of the functions below, `prox` the contact problem of the active laws,
# `info` about the last step, `totals` of the run.
Scene = namedtuple("Scene", "f laws size options p w prox info totals")
(A_MASS, A_FORCE, A_GAP, A_DIR, A_ZETA, A_BOUNDS, A_B, A_STEPS, A_STORE, A_MAIN, A_HOLD, A_UNIT) = range(12)
N_FUNCTIONS = 12


def _example():
    functions = np.zeros(N_FUNCTIONS, dtype=np.int64)
    laws = Laws(np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1)))
    prox = make_prox(functions, 1, 1, np.zeros(N_OPTIONS))
    return Scene(
        functions, laws, np.zeros(N_SIZES, dtype=np.int64), np.zeros(N_OPTIONS), np.zeros(1), make_work(1, 1, 1, 1, 1), prox,
        np.zeros(N_INFO), np.zeros(N_TOTALS),
    )  # fmt: skip


SCENE_TYPE = typeof(_example())
LAWS_TYPE = typeof(_example().laws)
OUTPUT_TYPE = typeof(make_output(1, 1, 1, 1, 1, True))
STATE_TYPE = typeof(State(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64)))
_, scene_at = by_reference(SCENE_TYPE)
state_reference, state_at = by_reference(STATE_TYPE)
_, output_at = by_reference(OUTPUT_TYPE)
call_vector, call_matrix = caller(VECTOR), caller(MATRIX)


@kernel(int64(int64, int64), internal=True)
def structure(kind, mode):
    """What the integrator sees of a mode: an open contact and a closed one without impulse are the same (sec. 8.1)."""
    if kind == HALF_LINE and mode == -2:
        return 0
    return mode


@kernel(float64(f8_2, f8_1, int64), internal=True)
def kinetic_energy(M, u, n_u):
    """1/2 u^T M u."""
    T = 0.0
    for i in range(n_u):
        s = 0.0
        for j in range(n_u):
            s += M[i, j] * u[j]
        T += 0.5 * u[i] * s
    return T


@kernel(void(LAWS_TYPE, PROX_TYPE, f8_2, f8_1, f8_1, f8_1, int64, int64, float64, f8_1), internal=True)
def energy_of_laws(laws, prox, M, u, u_new, zeta, n_active, n_u, t_E, totals):
    """Work of the contacts in a step, and energy made by its impact laws, added to the totals."""
    ints, rows, reals = prox.ints, prox.rows, prox.reals
    work = 0.0
    made = 0.0
    made_free = 0.0
    worst = 0.0
    worst_law = -1
    for a in range(n_active):
        i0 = laws.ints[ROW, ints[LAW, a]]
        made_here = 0.0
        # a set without zero (pre-stressed), or one that may be so, works like an applied force
        kind = ints[KIND, a]
        k = ints[ROW, a]
        applied = (kind == USER_SET and reals[E, a] == 0.0) or (
            kind == INTERVAL and (rows[LO, k] > 0.0 or rows[HI, k] < 0.0)
        )
        for d in range(ints[DIM, a]):
            k = ints[ROW, a] + d
            gamma_B = rows[GAMMA_B, k]
            gamma_E = rows[XI, k] - reals[E, a] * gamma_B
            work += 0.5 * (gamma_E + gamma_B - 2.0 * zeta[i0 + d]) * rows[P, k]
            if not applied:
                made_here += 0.5 * (gamma_E + gamma_B) * rows[P, k]
                made_free += 0.5 * (gamma_E + rows[FREE_GAMMA, k]) * rows[P, k]
        made += made_here
        if made_here > worst:
            worst = made_here
            worst_law = ints[LAW, a]
    totals[T_WORK_CONTACTS] += work
    made = min(made, made_free)
    if made > 0.0:
        T_B = kinetic_energy(M, u, n_u)
        T_E = kinetic_energy(M, u_new, n_u)
        gain = made / T_B if T_B > 0.0 else 0.0
        if made > ENERGY_GAIN * (T_B + T_E):
            totals[T_GAIN_COUNT] += 1
            if gain > totals[T_GAIN]:
                totals[T_GAIN] = gain
                totals[T_GAIN_T] = t_E
                totals[T_GAIN_BEFORE] = T_B
                totals[T_GAIN_AFTER] = T_E
                totals[T_GAIN_LAW] = worst_law


STEPS = int64(int64, int64, int64, float64, float64, int64, int64, int64)
call_steps = caller(STEPS)
UNIT = void(i8_1, f8_1)
call_unit = caller(UNIT)

# what `moreau_steps` is asked for, as a sum
BOOK, STOP, ACCEPT, LENGTH = 1, 2, 4, 8


@kernel(STEPS, part=True)
def moreau_steps(scene_address, problem, state_address, t_0, dt, first, n_steps, wishes):
    """Up to `n_steps` steps of length `dt`; step k begins at t_0 + (first + k) dt. Returns the status of the last one.

    The state before the last step taken is left in the state (its impulses and modes were the guess), the one after it
    in ``w.coords[Q_NEW], w.speeds[U_NEW], w.P_new, w.modes_new``: a step can be tried, rejected and repeated. The impulses
    of all steps are added to ``w.P_sum``. ``info[I_TAKEN]`` counts the steps, ``info[I_CHANGED]`` is the first law whose structure
    changed in the last one, or -1.

    Wishes: BOOK keeps the books of energy, STOP ends with the first step that shows another structure, ACCEPT goes on where
    the solver did not converge, LENGTH divides unit quaternions by their length. (One call for many steps, because a call
    costs as much as a small step.)
    """
    scene = scene_at(scene_address)
    state = state_at(state_address)
    q, u, P_0, modes_0 = state.q, state.u, state.P, state.modes
    f, laws, size, options, p, w, prox, info, totals = (
        scene.f, scene.laws, scene.size, scene.options, scene.p, scene.w, scene.prox, scene.info, scene.totals
    )  # fmt: skip
    n_q, n_u, n_N, n_laws, n_rows = size[S_NQ], size[S_NU], size[S_NN], size[S_NL], size[S_NR]
    const_M = size[S_CONST_M] != 0
    const_W = size[S_CONST_W] != 0
    M, L, B, WT, Y, G = w.M, w.L, w.B, w.WT, w.Y, prox.G
    ints, rows, reals, coords, speeds, zeta = prox.ints, prox.rows, prox.reals, w.coords, w.speeds, w.zeta
    gaps, bounds, P_new, P_sum, modes_new = w.g, w.bounds, w.P_new, w.P_sum, w.modes_new
    law_ints, law_reals = laws.ints, laws.reals
    q_M, q_new = coords[Q_M], coords[Q_NEW]
    h, du, u_free, u_new, u_e = speeds[H], speeds[DU], speeds[U_FREE], speeds[U_NEW], speeds[U_EVAL]
    implicit = options[O_IMPLICIT] != 0.0
    share = 1.0 if implicit else 0.5
    enduring = options[O_ENDURING] != 0.0
    status = OK
    info[I_AHEAD] = 0.0

    for k_step in range(n_steps):
        t = t_0 + (first + k_step) * dt
        if k_step > 0:
            for i in range(n_q):
                q[i] = q_new[i]
            for i in range(n_u):
                u[i] = u_new[i]
            for i in range(n_rows):
                P_0[i] = P_new[i]
            for l in range(n_laws):
                modes_0[l] = modes_new[l]
            info[I_AHEAD] += 1.0
        info[I_TAKEN] = k_step + 1.0
        info[I_CHANGED] = -1.0
        # what does not change during the run is evaluated in its first step only
        fresh = size[S_READY] == 0

        # evaluation point: the midpoint (before eq. (15)), or the end of the step for the implicit variant
        t_M = t + share * dt
        for i in range(n_u):
            u_e[i] = u[i]
        n_active = 0
        n = 0
        changed = fresh
        status = OK
        for sweep in range(MAX_SWEEPS if implicit else 1):
            if size[S_HAS_B]:
                for stage in range(2):
                    if stage == 0:
                        call_matrix(f[A_B], t, q, u, p, B)
                        for i in range(n_q):
                            s = 0.0
                            for j in range(n_u):
                                s += B[i, j] * u_e[j]
                            q_M[i] = q[i] + share * dt * s
                    else:
                        call_matrix(f[A_B], t_M, q_M, u, p, B)
            else:
                for i in range(n_q):
                    q_M[i] = q[i] + share * dt * u_e[i]

            # mass, forces, free velocity
            if fresh or not const_M:
                call_matrix(f[A_MASS], t_M, q_M, u, p, M)
                if cholesky(M, L, n_u) != 0:
                    return MASS_SINGULAR
            call_vector(f[A_FORCE], t_M, q_M, u_e, p, h)
            solve_lower(L, h, du, n_u)
            solve_lower_transposed(L, du, du, n_u)
            for i in range(n_u):
                u_free[i] = u[i] + dt * du[i]
                u_new[i] = u_free[i]

            # which laws act: contacts closed at the midpoint, everything else always
            if sweep == 0:
                if n_N > 0:
                    call_vector(f[A_GAP], t_M, q_M, u, p, gaps)
                for l in range(n_laws):
                    modes_new[l] = 0
                    acts = 1
                    if law_ints[KIND, l] == HALF_LINE:
                        if not gaps[l] <= (options[O_STAY] if modes_0[l] == 1 else w.slack[l]):
                            if gaps[l] != gaps[l]:
                                size[S_READY] = 0
                                info[I_LAW] = l
                                return NON_FINITE_GAP
                            acts = 0
                    elif law_ints[LINK, l] >= 0:
                        acts = ints[ACTS, law_ints[LINK, l]]
                    if acts != ints[ACTS, l]:
                        ints[ACTS, l] = acts
                        changed = True
                if changed:  # the table of active laws is made anew
                    for l in range(n_laws):
                        if ints[ACTS, l] == 0:
                            ints[PLACE, l] = -1
                            continue
                        a = n_active
                        ints[PLACE, l] = a
                        ints[LAW, a] = l
                        ints[KIND, a] = law_ints[KIND, l]
                        ints[ROW, a] = n
                        ints[DIM, a] = law_ints[DIM, l]
                        ints[LINK, a] = ints[PLACE, law_ints[LINK, l]] if law_ints[LINK, l] >= 0 else -1
                        reals[MU, a] = law_reals[MU, l]
                        n += law_ints[DIM, l]
                        n_active += 1
                    info[I_ACTIVE] = n_active
                    info[I_ROWS] = n
                else:
                    n_active = int(info[I_ACTIVE])
                    n = int(info[I_ROWS])
                for i in range(n_rows):
                    P_new[i] = 0.0
                info[I_RES] = 0.0
                info[I_ITER] = 0.0

            # force directions
            if n_rows > 0 and ((fresh and const_W) or (n > 0 and not const_W)):
                call_matrix(f[A_DIR], t_M, q_M, u, p, WT)
            size[S_READY] = 1

            if n > 0:
                # the contact problem: G, c and bounds of the active rows
                if size[S_HAS_ZETA]:
                    call_vector(f[A_ZETA], t_M, q_M, u, p, zeta)
                if size[S_HAS_BOUNDS]:
                    call_vector(f[A_BOUNDS], t_M, q_M, u, p, bounds)
                for a in range(n_active):
                    l = ints[LAW, a]
                    i0 = law_ints[ROW, l]
                    k0 = ints[ROW, a]
                    ints[MODE, a] = modes_0[l]
                    reals[E, a] = law_reals[E, l]
                    for d in range(ints[DIM, a]):
                        i = i0 + d
                        k = k0 + d
                        gamma_B = zeta[i]
                        free = zeta[i]
                        for j in range(n_u):
                            gamma_B += WT[i, j] * u[j]
                            free += WT[i, j] * u_free[j]
                        if enduring and ints[KIND, a] != USER_SET:
                            # (not in a step that crosses an impact: its length is no measure of the approach)
                            slow = (
                                options[O_ENDURING] > 1.0
                                and ints[KIND, a] == HALF_LINE
                                and abs(gamma_B) <= abs(free - gamma_B)
                            )
                            if modes_0[l] == 1 or slow:
                                reals[E, a] = 0.0 if implicit else 1.0
                        rows[GAMMA_B, k] = gamma_B
                        rows[FREE_GAMMA, k] = free
                        rows[C, k] = free + reals[E, a] * gamma_B  # eq. (18), erratum 3
                        rows[P, k] = P_0[i]
                        rows[LO, k] = bounds[i] * dt
                        rows[HI, k] = bounds[n_rows + i] * dt
                        # NaN would pass through a projection unseen; so would a negative limit
                        if not (rows[C, k] - rows[C, k] == 0.0 and rows[LO, k] <= rows[HI, k]):
                            size[S_READY] = 0
                            return NON_FINITE
                        if const_M and const_W and not changed:
                            continue  # G of the same rows is the same
                        solve_lower(L, WT[i], Y[i], n_u)
                        for b in range(a + 1):
                            j0 = law_ints[ROW, ints[LAW, b]]
                            m0 = ints[ROW, b]
                            for c in range(ints[DIM, b] if b < a else d + 1):
                                s = 0.0
                                for v in range(n_u):
                                    s += Y[i, v] * Y[j0 + c, v]
                                G[k, m0 + c] = s
                                G[m0 + c, k] = s
                        if not G[k, k] > 0.0:
                            size[S_READY] = 0
                            info[I_LAW] = ints[LAW, a]
                            return ZERO_DIRECTION

                # impulses; a single frictionless contact needs no solver
                if n == 1 and ints[KIND, 0] == HALF_LINE:
                    rows[P, 0] = max(0.0, -rows[C, 0] / G[0, 0])
                    rows[XI, 0] = 0.0 if rows[C, 0] < 0.0 else rows[C, 0]
                    ints[MODE, 0] = 1 if rows[C, 0] < 0.0 else -2
                else:
                    res = call_solver(prox.f[A_SOLVE], problem, dt, n_active, n)
                    info[I_RES] = res
                    info[I_ITER] = prox.counts[0]
                    if not res <= options[O_TOL]:
                        status = UNCONVERGED

                # end velocity
                for j in range(n_u):
                    du[j] = 0.0
                for a in range(n_active):
                    l = ints[LAW, a]
                    modes_new[l] = ints[MODE, a]
                    for d in range(ints[DIM, a]):
                        i = law_ints[ROW, l] + d
                        s = rows[P, ints[ROW, a] + d]
                        P_new[i] = s
                        for j in range(n_u):
                            du[j] += Y[i, j] * s
                solve_lower_transposed(L, du, du, n_u)
                for j in range(n_u):
                    u_new[j] += du[j]

            # the implicit variant repeats with the new velocity until it stands still
            if not implicit:
                break
            change = 0.0
            size_u = 0.0
            for j in range(n_u):
                change = max(change, abs(u_new[j] - u_e[j]))
                size_u = max(size_u, abs(u_new[j]))
                u_e[j] = u_new[j]
            if sweep > 0 and change <= 1e-14 * size_u:
                break

        # end position, eq. (21)
        check = 0.0
        for i in range(n_q):
            s = 0.0
            if size[S_HAS_B]:
                for j in range(n_u):
                    s += B[i, j] * ((1.0 - share) * u[j] + share * u_new[j])
            else:
                s = (1.0 - share) * u[i] + share * u_new[i]
            q_new[i] = q[i] + dt * s
            check += q_new[i] - q_new[i]
        if wishes & LENGTH:
            call_unit(f[A_UNIT], size, q_new)
        for i in range(n_u):
            check += u_new[i] - u_new[i]
        if check != 0.0:  # inf - inf and nan - nan are nan
            return NON_FINITE

        if status != OK:
            if wishes & ACCEPT == 0:
                return status
            status = OK
            totals[T_UNCONVERGED] += 1
            totals[T_UNCONVERGED_T] = t + dt

        # books and structure
        if n > 0:
            if info[I_RES] > totals[T_RES]:
                totals[T_RES] = info[I_RES]
                totals[T_RES_T] = t + dt
            totals[T_ITER_MAX] = max(totals[T_ITER_MAX], info[I_ITER])
            totals[T_ITER_SUM] += info[I_ITER]
            for i in range(n_rows):
                P_sum[i] += P_new[i]
        if wishes & BOOK:
            for l in range(n_N):
                if gaps[l] < totals[T_GAP]:
                    totals[T_GAP] = gaps[l]
                    totals[T_GAP_T] = t + 0.5 * dt
            work = 0.0
            for i in range(n_u):
                work += (u[i] + u_new[i]) * h[i]
            totals[T_WORK_FORCES] += 0.5 * dt * work
            if n > 0:
                energy_of_laws(laws, prox, M, u, u_new, zeta, n_active, n_u, t + dt, totals)
        for l in range(n_laws):
            kind = law_ints[KIND, l]
            if structure(kind, modes_new[l]) != structure(kind, modes_0[l]):
                info[I_CHANGED] = l
                break
        if wishes & STOP and info[I_CHANGED] >= 0.0:
            break
    return OK


# positions in the int64 array of counters of a run
(C_STEP, C_STEPS, C_OUT, C_EVENTS, C_EVERY, C_EVAL, C_TOTAL, C_ACCEPT, C_FIRST, C_BEGIN, C_TAIL, C_NEXT) = (
    range(12)
)
N_COUNTERS = 12


STORE = void(int64, int64, int64, int64, float64, float64, float64, int64)
call_store = caller(STORE)


@kernel(STORE, part=True)
def store(scene_address, state_address, output_address, k, t_out, t, dt, with_begin):
    """Write the instant `t_out` of the step from `t` into row `k` of the output.

    Inside the step positions follow the mean velocity; velocities are linear, unless an impact acted: then the end
    velocity is the right limit.
    """
    scene, state, out = scene_at(scene_address), state_at(state_address), output_at(output_address)
    w, size, info = scene.w, scene.size, scene.info
    n_q, n_u = size[S_NQ], size[S_NU]
    out.scalars[k, 0] = t_out
    out.scalars[k, 1] = dt
    out.scalars[k, 2] = info[I_RES]
    out.scalars[k, 3] = info[I_ITER]
    for i in range(size[S_NR]):
        out.P[k, i] = w.P_new[i]
    for l in range(size[S_NL]):
        out.modes[k, l] = w.modes_new[l]
    s = (t_out - t) / dt
    if s > 1.0 - 1e-9:
        s = 1.0
    s_u = s
    for l in range(size[S_NN]):
        if w.modes_new[l] == 1 and state.modes[l] != 1:
            s_u = 1.0
    for i in range(n_q):
        end = w.coords[Q_NEW, i]
        out.q[k, i] = end if s == 1.0 else state.q[i] + s * (end - state.q[i])
    if size[S_UNIT]:
        call_unit(scene.f[A_UNIT], size, out.q[k])
    for i in range(n_u):
        end = w.speeds[U_NEW, i]
        out.u[k, i] = end if s_u == 1.0 else state.u[i] + s_u * (end - state.u[i])
    if with_begin:
        for i in range(n_q):
            out.q_B[k, i] = state.q[i]
        for i in range(n_u):
            out.u_B[k, i] = state.u[i]


def functions(model_functions, more=()):
    """The array `Scene.f`: the seven functions of a model (it keeps them alive), and the parts of the loops.

    `more` are the parts A_MAIN, A_HOLD, A_UNIT, as far as they are wanted: pairs (function, signature), or None.
    """
    mass, force, gap, directions, zeta, bounds, kinematics = model_functions
    parts = (
        (mass, MATRIX), (force, VECTOR), (gap, VECTOR), (directions, MATRIX), (zeta, VECTOR), (bounds, VECTOR),
        (kinematics, MATRIX), (moreau_steps, STEPS), (store, STORE),
        *(part or (store, STORE) for part in more),  # a place not wanted is never called
    )  # fmt: skip
    return addresses(*zip(*parts))
