"""Exact solution of small prox problems: Newton on the modes, then enumeration of the modes.

With the mode of every law given, the prox equations are linear (but for slipping on a disk). Newton's method on them
(the semismooth method of Alart and Curnier) therefore reads off the modes, solves one linear system, reads off the
modes again; started from the modes of the last step it usually ends after one solve, exact to rounding:

    constraint           sum_j G_ij P_j = -c_i
    half-line, open      P_i = 0
    interval, bound b    P_i = b
    Coulomb line, slip   P_i -+ mu P_N = 0
    disk, slip           P_i - R x/|x| = 0,  x = P_i - r xi_i,  R given or mu P_N  (linearised)

If that does not settle and there are at most `MAX_ENUMERATED` one-row laws, all combinations of modes are tried in a
fixed order (open before closed; stick, upper bound, lower bound; first law slowest), and the first one that satisfies
every law is taken: the documented choice where a problem has several solutions.
"""

from nonsmooth._core.jit import caller, f8_2, float64, i8_2, int64, kernel, types, void
from nonsmooth._core.laws.projections import A_PROJECT, prox_at, radius, residual
from nonsmooth._core.linalg.small import lu_solve
from nonsmooth._core.records.codes import (
    BEST,
    COULOMB_1D,
    COULOMB_2D,
    DIM,
    FREE,
    HALF_LINE,
    HI,
    INTERVAL,
    KIND,
    LINK,
    LO,
    MODE,
    MU,
    RHO,
    ROW,
    TRIED,
    USER_SET,
    XI,
    B,
    C,
    P,
)

MAX_ENUMERATED = 6
ROUNDING = 1e-15
HUGE = 1e300


@kernel(void(i8_2, f8_2, f8_2, int64), internal=True)
def tidy(ints, reals, rows, n_laws):
    """Put impulses that left their set by rounding back onto it."""
    for l in range(n_laws):
        i0 = ints[ROW, l]
        kind = ints[KIND, l]
        if kind == FREE or kind == USER_SET:
            continue
        if kind == HALF_LINE:
            rows[P, i0] = max(rows[P, i0], 0.0)
            continue
        r = radius(ints, reals, rows, l)
        if kind == INTERVAL or kind == COULOMB_1D:
            rows[P, i0] = min(max(rows[P, i0], rows[LO, i0] if kind == INTERVAL else -r), r)
        else:
            s = (rows[P, i0] ** 2 + rows[P, i0 + 1] ** 2) ** 0.5
            if s > r:
                rows[P, i0] *= r / s
                rows[P, i0 + 1] *= r / s


@kernel(int64(i8_2, f8_2, f8_2, f8_2, f8_2, int64, int64), internal=True)
def solve_for_modes(ints, reals, rows, G, A, n_laws, n):
    """Impulses for the modes in `ints`: build and solve the linear system. Returns 0, or 1 if it is singular.

    Impulses that leave their set by rounding are put back onto it, so that cones hold exactly.
    """
    for l in range(n_laws):
        i0 = ints[ROW, l]
        kind = ints[KIND, l]
        mode = ints[MODE, l]
        coulomb = kind == COULOMB_1D or kind == COULOMB_2D
        N = ints[ROW, ints[LINK, l]] if coulomb else 0
        if coulomb and ints[MODE, ints[LINK, l]] != 1:
            mode = 0  # friction of an open contact
        for i in range(i0, i0 + ints[DIM, l]):
            # rows are scaled to size one, which is what the pivot test of `lu_solve` expects
            f = 0.0
            if mode == 1:
                f = 1.0 / G[i, i] if G[i, i] > 0.0 else 1.0
            for j in range(n):
                A[i, j] = f * G[i, j]
            rows[B, i] = -f * rows[C, i]
            if mode != 1:
                A[i, i] = 1.0
        if mode == 1 or mode == 0 or kind == HALF_LINE:
            continue
        if kind == INTERVAL:
            rows[B, i0] = rows[HI, i0] if mode == 2 else rows[LO, i0]
        elif kind == COULOMB_1D:
            A[i0, N] = -reals[MU, l] if mode == 2 else reals[MU, l]
        else:
            # F = P - R x/|x|, x = P - rho xi:  dF = dP - x/|x| dR - R/|x| (I - x x^T/|x|^2) (I - rho G) dP
            rho = reals[RHO, l]
            x0 = rows[P, i0] - rho * rows[XI, i0]
            x1 = rows[P, i0 + 1] - rho * rows[XI, i0 + 1]
            s = (x0 * x0 + x1 * x1) ** 0.5
            if s == 0.0:
                continue
            R = radius(ints, reals, rows, l)
            x0 /= s
            x1 /= s
            f = min(R / s, 1.0)
            for j in range(n):
                a0 = (1.0 if j == i0 else 0.0) - rho * G[i0, j]
                a1 = (1.0 if j == i0 + 1 else 0.0) - rho * G[i0 + 1, j]
                along = x0 * a0 + x1 * a1
                A[i0, j] -= f * (a0 - x0 * along)
                A[i0 + 1, j] -= f * (a1 - x1 * along)
            if kind == COULOMB_2D:
                A[i0, N] -= reals[MU, l] * x0
                A[i0 + 1, N] -= reals[MU, l] * x1
            # right-hand side for the new impulses: A P_new = A P - F(P)
            for i in range(i0, i0 + 2):
                s = R * (x0 if i == i0 else x1) - rows[P, i]
                for j in range(n):
                    s += A[i, j] * rows[P, j]
                rows[B, i] = s
    if lu_solve(A, rows[B], n) != 0:
        return 1
    for i in range(n):
        rows[P, i] = rows[B, i]
    tidy(ints, reals, rows, n_laws)
    return 0


BY_MODES = types.UniTuple(float64, 2)(int64, int64, float64, int64, int64, float64, int64)
call_modes = caller(BY_MODES)


@kernel(BY_MODES, part=True)
def by_modes(problem, enumerate_all, dt, n_laws, n, tol, max_iter):
    """Newton on the modes from the guess in `ints`, or all combinations of modes. Returns (solves, residual).

    Leaves the best impulses found. User sets and (for the enumeration) disks, bilateral constraints and infinite
    coefficients are left to the relaxation: they return a huge residual at once. A law with an infinite coefficient never
    slips, so Newton never divides by it.
    """
    x = prox_at(problem)
    f_project, ints, reals, rows, G, A, xy = x.f[A_PROJECT], x.ints, x.reals, x.rows, x.G, x.A, x.xy
    total = max_iter
    if enumerate_all:
        total = 1
        if n_laws > MAX_ENUMERATED:
            return 0.0, HUGE
    for l in range(n_laws):
        kind = ints[KIND, l]
        if kind == USER_SET or (enumerate_all and (kind == FREE or ints[DIM, l] > 1 or reals[MU, l] > HUGE)):
            return 0.0, HUGE
        if enumerate_all:
            total *= 2 if kind == HALF_LINE else 3
        elif ints[MODE, l] == 0 and (kind < COULOMB_1D or reals[MU, l] > 0.0):
            ints[MODE, l] = 1
        if kind == FREE:
            ints[MODE, l] = 1

    best = HUGE
    solves = 0
    for combination in range(total):
        if enumerate_all:
            rest = combination
            consistent = True
            for l in range(n_laws - 1, -1, -1):
                if ints[KIND, l] == HALF_LINE:
                    ints[MODE, l] = -2 if rest % 2 == 0 else 1
                    rest //= 2
                else:
                    m = rest % 3
                    ints[MODE, l] = 1 if m == 0 else (2 if m == 1 else -2)
                    rest //= 3
            for l in range(n_laws):  # friction of an open contact has one mode, not three
                if ints[KIND, l] == COULOMB_1D and ints[MODE, ints[LINK, l]] != 1 and ints[MODE, l] != 1:
                    consistent = False
            if not consistent:
                continue
        curved = False
        for l in range(n_laws):
            ints[TRIED, l] = ints[MODE, l]
            curved = curved or (ints[DIM, l] == 2 and ints[MODE, l] == 2)
        solves += 1
        if solve_for_modes(ints, reals, rows, G, A, n_laws, n) != 0:
            if enumerate_all:
                continue
            break
        res = residual(f_project, ints, reals, rows, G, xy, dt, n_laws, n)
        if res <= ROUNDING:
            return float(solves), res
        improved = res < 0.5 * best
        if res < best:
            best = res
            for i in range(n):
                rows[BEST, i] = rows[P, i]
        if res <= tol:  # the same modes again: exact up to rounding
            same = not (curved and improved)
            for l in range(n_laws):
                same = same and (ints[MODE, l] == ints[TRIED, l] or ints[MODE, l] == 0)
            if same or enumerate_all:
                return float(solves), res
        if not enumerate_all:
            if not res < 1e290:
                break
            # an inactive friction law whose contact closes gets its chance to stick, and if that was tried, to slip
            for l in range(n_laws):
                kind = ints[KIND, l]
                if (kind == COULOMB_1D or kind == COULOMB_2D) and ints[MODE, l] == 0 and reals[MU, l] > 0.0:
                    if ints[MODE, ints[LINK, l]] == 1:
                        slip = ints[TRIED, l] == 1 and reals[MU, l] < HUGE
                        ints[MODE, l] = 2 if slip else 1
                        if slip and kind == COULOMB_1D and rows[XI, ints[ROW, l]] > 0.0:
                            ints[MODE, l] = -2
    for i in range(n):
        rows[P, i] = rows[BEST, i] if best < 1e290 else 0.0
    if best <= tol:
        best = residual(f_project, ints, reals, rows, G, xy, dt, n_laws, n)
    return float(solves), best
