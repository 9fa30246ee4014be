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

from nonsmooth._core.jit import caller, float64, int64, kernel, phase, types
from nonsmooth._core.laws.projections import near, radius, residual
from nonsmooth._core.linalg.elimination import SINGULAR, eliminate_near
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    FREE,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    LOWER,
    UPPER,
    USER_SET,
)
from nonsmooth._core.records.problem import problem_at

MAX_ENUMERATED = 6
ROUNDING = 1e-15
HUGE = 1e300


@phase
def is_coulomb(kind):
    """Whether the set of a law depends on a normal impulse."""
    return kind == COULOMB_1D or kind == COULOMB_2D


@phase
def tidy(x, n_laws):
    """Put impulses that left their set by rounding back onto it, so that cones hold exactly."""
    laws, P = x.laws, x.rows.P
    for l in range(n_laws):
        i = laws.row[l]
        kind = laws.kind[l]
        if kind == FREE or kind == USER_SET:
            continue
        if kind == HALF_LINE:
            P[i] = max(P[i], 0.0)
            continue
        r = radius(x, l)
        if kind == INTERVAL or kind == COULOMB_1D:
            P[i] = min(max(P[i], x.rows.lo[i] if kind == INTERVAL else -r), r)
        else:
            s = (P[i] ** 2 + P[i + 1] ** 2) ** 0.5
            if s > r:
                P[i] *= r / s
                P[i + 1] *= r / s


@phase
def slip_on_disk(x, l, N, n):
    """Rows of a disk law that slips, linearised: F = P - R x/|x|, x = P - rho xi, so that
    dF = dP - x/|x| dR - R/|x| (I - x x^T/|x|^2) (I - rho G) dP."""
    laws, rows, G, A = x.laws, x.rows, x.G, x.A
    i0 = laws.row[l]
    rho = laws.rho[l]
    x0 = rows.P[i0] - rho * rows.xi[i0]
    x1 = rows.P[i0 + 1] - rho * rows.xi[i0 + 1]
    s = (x0 * x0 + x1 * x1) ** 0.5
    if s == 0.0:
        return
    R = radius(x, l)
    x0 /= s
    x1 /= s
    f = min(R / s, 1.0)
    first, end = near(x, i0 + 1, n)[0], near(x, i0, n)[1]  # both rows see the same
    for j in range(first, end):
        a0 = (1.0 if j == i0 else 0.0) - rho * G[i0, j]
        a1 = (1.0 if j == i0 + 1 else 0.0) - rho * G[i0 + 1, j]
        along = x0 * a0 + x1 * a1
        A[i0, j] -= f * (a0 - x0 * along)
        A[i0 + 1, j] -= f * (a1 - x1 * along)
    if laws.kind[l] == COULOMB_2D:
        A[i0, N] -= laws.mu[l] * x0
        A[i0 + 1, N] -= laws.mu[l] * x1
    # right-hand side for the new impulses: A P_new = A P - F(P)
    for i in range(i0, i0 + 2):
        s = R * (x0 if i == i0 else x1) - rows.P[i]
        for j in range(first, end):
            s += A[i, j] * rows.P[j]
        rows.b[i] = s


@phase
def solve_for_modes(x, n_laws, n):
    """Impulses for the modes of the laws: build and solve the linear system. Returns 0, or 1 if it is singular."""
    laws, rows, G, A, reach = x.laws, x.rows, x.G, x.A, x.count.reach
    for l in range(n_laws):
        i0 = laws.row[l]
        kind = laws.kind[l]
        mode = laws.mode[l]
        N = laws.row[laws.link[l]] if is_coulomb(kind) else 0
        if is_coulomb(kind) and laws.mode[laws.link[l]] != CONSTRAINT:
            mode = INACTIVE  # friction of an open contact
        for i in range(i0, i0 + laws.dim[l]):
            # rows are scaled to size one, which is what the pivot test of `eliminate` expects
            f = 0.0
            if mode == CONSTRAINT:
                f = 1.0 / G[i, i] if G[i, i] > 0.0 else 1.0
            first, end = near(x, i, n)
            for j in range(first, min(n, i + 2 * reach + 1)):
                A[i, j] = f * G[i, j] if j < end else 0.0  # (elimination fills what is behind)
            rows.b[i] = -f * rows.c[i]
            if mode != CONSTRAINT:
                A[i, i] = 1.0
        if mode == CONSTRAINT or mode == INACTIVE or kind == HALF_LINE:
            continue
        if kind == INTERVAL:
            rows.b[i0] = rows.hi[i0] if mode == UPPER else rows.lo[i0]
        elif kind == COULOMB_1D:
            A[i0, N] = -laws.mu[l] if mode == UPPER else laws.mu[l]
        else:
            slip_on_disk(x, l, N, n)
    if eliminate_near(A, rows.b, n, reach, SINGULAR) != 0:
        return 1
    for i in range(n):
        rows.P[i] = rows.b[i]
    tidy(x, n_laws)
    return 0


@phase
def combinations(x, enumerate_all, n_laws, max_iter):
    """How often to solve: Newton's limit, or the number of combinations of modes; 0 where neither can work.

    User sets and (for the enumeration) disks, bilateral constraints and infinite coefficients are left to the relaxation. For
    Newton, inactive laws that could act get a mode to start from.
    """
    laws = x.laws
    total = max_iter
    if enumerate_all:
        total = 1
        if n_laws > MAX_ENUMERATED:
            return 0
    for l in range(n_laws):
        kind = laws.kind[l]
        if kind == USER_SET or (enumerate_all and (kind == FREE or laws.dim[l] > 1 or laws.mu[l] > HUGE)):
            return 0
        if enumerate_all:
            total *= 2 if kind == HALF_LINE else 3
        elif laws.mode[l] == INACTIVE and (kind < COULOMB_1D or laws.mu[l] > 0.0):
            laws.mode[l] = CONSTRAINT
        if kind == FREE:
            laws.mode[l] = CONSTRAINT
    return total


@phase
def set_modes(x, combination, n_laws):
    """Modes of that number; False for those that only differ in the friction of an open contact, which has one mode."""
    laws = x.laws
    rest = combination
    for l in range(n_laws - 1, -1, -1):
        if laws.kind[l] == HALF_LINE:
            laws.mode[l] = LOWER if rest % 2 == 0 else CONSTRAINT
            rest //= 2
        else:
            m = rest % 3
            laws.mode[l] = CONSTRAINT if m == 0 else (UPPER if m == 1 else LOWER)
            rest //= 3
    for l in range(n_laws):
        if (
            laws.kind[l] == COULOMB_1D
            and laws.mode[laws.link[l]] != CONSTRAINT
            and laws.mode[l] != CONSTRAINT
        ):
            return False
    return True


@phase
def wake_friction(x, n_laws):
    """An inactive friction law whose contact closes gets its chance to stick, and if that was tried, to slip."""
    laws = x.laws
    for l in range(n_laws):
        kind = laws.kind[l]
        if is_coulomb(kind) and laws.mode[l] == INACTIVE and laws.mu[l] > 0.0:
            if laws.mode[laws.link[l]] == CONSTRAINT:
                slip = laws.tried[l] == CONSTRAINT and laws.mu[l] < HUGE
                laws.mode[l] = UPPER if slip else CONSTRAINT
                if slip and kind == COULOMB_1D and x.rows.xi[laws.row[l]] > 0.0:
                    laws.mode[l] = LOWER


@phase
def keep_tried(x, n_laws):
    """Remember the modes about to be solved for; returns whether a disk slips, where Newton's system is not exact."""
    laws = x.laws
    curved = False
    for l in range(n_laws):
        laws.tried[l] = laws.mode[l]
        curved = curved or (laws.dim[l] == 2 and laws.mode[l] == UPPER)
    return curved


@phase
def same_modes(x, n_laws):
    """Whether the modes that came out are those solved for."""
    for l in range(n_laws):
        if x.laws.mode[l] != x.laws.tried[l] and x.laws.mode[l] != INACTIVE:
            return False
    return True


BY_MODES = types.UniTuple(float64, 2)(int64, int64, float64, int64, int64, float64, int64)
call_modes = caller(BY_MODES)


@kernel(BY_MODES, part=True)
def by_modes(problem, enumerate_all, dt, n_laws, n, tol, max_iter):
    """Newton on the modes from the guess, or all combinations of modes. Returns (solves, residual).

    Leaves the best impulses found. A law with an infinite coefficient never slips, so Newton never divides by it.
    """
    x = problem_at(problem)
    P, kept = x.rows.P, x.rows.best
    total = combinations(x, enumerate_all, n_laws, max_iter)
    if total == 0:
        return 0.0, HUGE
    best = HUGE
    solves = 0
    for combination in range(total):
        if enumerate_all and not set_modes(x, combination, n_laws):
            continue
        curved = keep_tried(x, n_laws)
        solves += 1
        if solve_for_modes(x, n_laws, n) != 0:
            if enumerate_all:
                continue
            break
        res = residual(x, dt, n_laws, n)
        if res <= ROUNDING:
            return float(solves), res
        improved = res < 0.5 * best
        if res < best:
            best = res
            for i in range(n):
                kept[i] = P[i]
        if res <= tol:  # the same modes again: exact up to rounding
            if enumerate_all or (same_modes(x, n_laws) and not (curved and improved)):
                return float(solves), res
        if not enumerate_all:
            if not res < 1e290:
                break
            wake_friction(x, n_laws)
    for i in range(n):
        P[i] = kept[i] if best < 1e290 else 0.0
    if best <= tol:
        best = residual(x, dt, n_laws, n)
    return float(solves), best
