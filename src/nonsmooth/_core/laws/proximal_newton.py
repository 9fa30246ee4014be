"""Proximal Newton for the laws of a step: Newton on the modes made safe for redundant and ill-conditioned contacts.

Redundant contacts (eight corners of a box on the floor) make G singular: impulses are not unique and Newton's systems have no
solution; heavy bodies on light ones make G so ill-conditioned that relaxation stalls. The proximal-point method (Rockafellar 1976)
solves a sequence of regular problems,

    xi = (G + eps D) P + c - eps D P_k,   P_{k+1} their solution,                                          (1)

whose fixed points are exactly the solutions of the given one. Each is solved by Newton on the modes (`modes_newton`) with a
non-monotone line search; eps shrinks while that converges, which makes (1) superlinear, and grows where it does not. The same as
`nonsmooth.contact.newton`, for every kind of law but user sets, and without leaving the compiled loop.

D is the diagonal of G, times the share of a contact's friction: contacts that carry little are pulled harder to where they are. Of all
ways to share the friction of a body at rest among its contacts, those in proportion to their normal impulses stay clear of
the cones, on whose surface Newton's method crawls. If it crawls all the same, it starts again without friction.
"""

from nonsmooth._core.jit import caller, float64, int64, kernel, phase, types
from nonsmooth._core.laws.modes_newton import (
    HUGE,
    ROUNDING,
    is_coulomb,
    keep_tried,
    solve_for_modes,
    wake_friction,
)
from nonsmooth._core.laws.projections import residual
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE, USER_SET
from nonsmooth._core.records.problem import problem_at

FIRST_EPS, LARGEST_EPS, SMALLEST_EPS = 1e-3, 1.0, 1e-10
EPS_FLOOR = 3e-6  # while it does well: rounding in redundant directions grows with its inverse
PATIENCE = 25  # steps (1) in a row without a clearly better residual
NEWTON_STEPS = 30  # within one step (1)
CRAWLING = 60  # Newton iterations after which it starts again without friction
SMALLEST_SHARE, LARGEST_SHARE = 1e-3, 1e3
HALVINGS = 7

PROXIMAL = types.UniTuple(float64, 2)(int64, float64, int64, int64, float64, int64)
call_proximal = caller(PROXIMAL)


@kernel(PROXIMAL, part=True)
def proximal_newton(problem, dt, n_laws, n, tol, max_iter):
    """Improve the impulses by steps (1). Returns (Newton iterations, residual); leaves the best impulses, with xi and modes.

    Below `tol` it goes on while steps gain ten times each: under heavy bodies the last digits of impulses are worth more than they cost.
    """
    x = problem_at(problem)
    if not all_sets_known(x, n_laws):
        return 0.0, HUGE
    keep_given(x, n)
    best = residual(x, dt, n_laws, n)
    keep_impulses(x, n)
    eps, floor = FIRST_EPS, EPS_FLOOR
    done, waiting = 0, 0
    again = False
    before = HUGE
    while best > ROUNDING and (best > tol or best < 0.1 * before) and done < max_iter and waiting < PATIENCE:
        if best > tol and done >= CRAWLING and not again:
            again = True
            eps, floor, waiting = FIRST_EPS, EPS_FLOOR, 0
            drop_friction(x, n_laws)
            best = residual(x, dt, n_laws, n)
            keep_impulses(x, n)
        before = best
        stop = max(1e-13, 1e-3 * best)
        pull(x, eps, n_laws, n)
        count, value = newton_round(x, dt, n_laws, n, stop, min(NEWTON_STEPS, max_iter - done))
        restore_given(x, n)
        done += max(count, 1)
        res = residual(x, dt, n_laws, n)
        waiting = 0 if res < 0.9 * best else waiting + 1
        if res < best:
            best = res
            keep_impulses(x, n)
        elif not value <= stop:
            take_kept(x, n)
        if value <= stop:
            if eps <= floor and best > 0.3 * before:
                floor = max(SMALLEST_EPS, 0.1 * floor)
            eps = max(floor, eps * (0.1 if count <= 4 else 0.3 if count < 10 else 0.6 if count < 20 else 1.0))
        else:
            eps = min(LARGEST_EPS, 4.0 * eps)
    take_kept(x, n)
    return float(done), residual(x, dt, n_laws, n)


@phase
def newton_round(x, dt, n_laws, n, stop, limit):
    """Newton on the modes of the problem as it stands; returns (iterations, residual)."""
    value = residual(x, dt, n_laws, n)
    # a step may be as bad as the worst of the last four points
    recent_1, recent_2, recent_3 = value, value, value
    done = 0
    while done < limit and value > stop and value < HUGE:
        wake_friction(x, n_laws)
        keep_tried(x, n_laws)
        for i in range(n):
            x.proximal.start[i] = x.rows.P[i]
        done += 1
        if solve_for_modes(x, n_laws, n) != 0:
            return done, HUGE
        allowed = max(value, recent_1, recent_2, recent_3)
        recent_1, recent_2, recent_3 = value, recent_1, recent_2
        value = line_search(x, dt, n_laws, n, allowed)
    return done, value


@phase
def line_search(x, dt, n_laws, n, allowed):
    """Halve the step from `start` to the impulses just solved for until the residual is below `allowed`; returns it."""
    P, target, start = x.rows.P, x.rows.b, x.proximal.start
    value = residual(x, dt, n_laws, n)
    part = 1.0
    for _ in range(HALVINGS):
        if value <= (1.0 - 1e-4 * part) * allowed:
            break
        part *= 0.5
        for i in range(n):
            P[i] = start[i] + part * (target[i] - start[i])
        value = residual(x, dt, n_laws, n)
    return value


@phase
def all_sets_known(x, n_laws):
    """Whether Newton's method knows the sets of all laws; bilateral constraints are always in constraint mode."""
    for l in range(n_laws):
        if x.laws.kind[l] == USER_SET:
            return False
        if x.laws.kind[l] == FREE:
            x.laws.mode[l] = CONSTRAINT
    return True


@phase
def keep_given(x, n):
    """Remember what steps (1) change."""
    for i in range(n):
        x.proximal.diagonal[i] = x.G[i, i]
        x.proximal.c[i] = x.rows.c[i]


@phase
def restore_given(x, n):
    """The given problem again, bit for bit."""
    for i in range(n):
        x.G[i, i] = x.proximal.diagonal[i]
        x.rows.c[i] = x.proximal.c[i]


@phase
def pull(x, eps, n_laws, n):
    """Problem (1) with the impulses as its centre P_k."""
    laws, P = x.laws, x.rows.P
    total, closed = 0.0, 0
    for l in range(n_laws):
        if laws.kind[l] == HALF_LINE and P[laws.row[l]] > 0.0:
            total += P[laws.row[l]]
            closed += 1
    for l in range(n_laws):
        share = 1.0
        if is_coulomb(laws.kind[l]) and closed > 0:
            alike = closed * P[laws.row[laws.link[l]]]
            share = LARGEST_SHARE
            if alike > total / LARGEST_SHARE:
                share = max(total / alike, SMALLEST_SHARE)
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            weight = eps * share * x.proximal.diagonal[i]
            x.G[i, i] = x.proximal.diagonal[i] + weight
            x.rows.c[i] = x.proximal.c[i] - weight * P[i]


@phase
def drop_friction(x, n_laws):
    """The impulses of contacts without those of their friction."""
    for l in range(n_laws):
        if is_coulomb(x.laws.kind[l]):
            for i in range(x.laws.row[l], x.laws.row[l] + x.laws.dim[l]):
                x.rows.P[i] = 0.0


@phase
def keep_impulses(x, n):
    """The impulses are the best so far."""
    for i in range(n):
        x.proximal.kept[i] = x.rows.P[i]


@phase
def take_kept(x, n):
    """Back to the best impulses."""
    for i in range(n):
        x.rows.P[i] = x.proximal.kept[i]
