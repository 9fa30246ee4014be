"""The phases of contacts in an impact, idle, compression or expansion, and the modes of friction that does not slip:
from the rates a little further on.

With the normal forces given the friction forces in (1) of `process` are those of a convex problem (bounds mu la_N).
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, DISK, FREE, HALF_LINE, INTERVAL
from nonsmooth._core.records.process import COMPRESSES, EXPANDS, IDLE
from nonsmooth._core.stepping.event_driven.impact_process.rates import (
    given_forces,
    is_friction,
    rates,
    speed_of_slip,
)
from nonsmooth._core.stepping.event_driven.listed_problem import solved

AHEAD = 1e-6  # a short part of the process: what has no force yet has one then
PLASTIC = 1e-8  # least restitution that is one


@phase
def new_phases(scene, x, poisson, n_laws, n):
    """Phases of contacts that neither close nor open, modes of friction that does not slip, from the rates a little further on."""
    problem = scene.problem
    laws, y, ahead, dy = problem.laws, x.y, x.y_new, x.K[0]
    for b in range(n_laws):  # what moves
        k = laws.row[b]
        if laws.kind[b] != HALF_LINE:
            continue
        if y[k] < -x.size[k]:
            x.phase[b] = COMPRESSES
        elif y[k] > x.size[k]:
            x.phase[b] = EXPANDS if y[2 * n + b] > 0.0 and elastic(problem, b) else IDLE
        if x.phase[b] == IDLE:
            let_go(y, b, n_laws, n)
    for _attempt in range(2 * n_laws + 2):
        for i in range(2 * (n + n_laws)):
            ahead[i] = y[i]
        for b in range(n_laws):
            if laws.kind[b] == HALF_LINE and x.phase[b] == COMPRESSES:
                k = laws.row[b]
                ahead[2 * n + b] += AHEAD * max(-y[k], 0.0) / problem.G[k, k]
        if not friction_modes(scene, x, ahead, n_laws, n):
            return False
        rates(problem, x, poisson, ahead, dy, n_laws, n)
        if not turned(problem, x, dy, n_laws, n):
            break
    for b in range(n_laws):
        x.leaves[b] = 0
        if laws.kind[b] != HALF_LINE:
            continue
        la, R = y[2 * n + b], y[2 * n + n_laws + b]
        if x.phase[b] == EXPANDS:
            x.slope[b] = -la * la / (2.0 * R) if R > 0.0 else 0.0
    return True


@phase
def elastic(problem, b):
    """Whether contact `b` gives anything back."""
    return problem.laws.e[b] > PLASTIC


@phase
def let_go(y, b, n_laws, n):
    """A contact that does not act has neither force nor reserve."""
    y[2 * n + b], y[2 * n + n_laws + b] = 0.0, 0.0


@phase
def turned(problem, x, dy, n_laws, n):
    """Contacts at rest that are in another phase than their accelerations say: put right; returns whether there are any."""
    laws, y, some, largest = problem.laws, x.y, False, 0.0
    for k in range(n):
        if problem.G[k, k] > 0.0:
            largest = max(largest, abs(x.la[k]) * problem.G[k, k] ** 0.5)
    for b in range(n_laws):
        k = laws.row[b]
        if laws.kind[b] != HALF_LINE or abs(y[k]) > x.size[k]:
            continue
        closes = dy[k] < -1e-12 * largest * problem.G[k, k] ** 0.5
        wanted = IDLE
        if closes:
            wanted = COMPRESSES
        elif y[2 * n + b] > 0.0 and elastic(problem, b):
            wanted = EXPANDS
        if wanted != x.phase[b]:
            x.phase[b], some = wanted, True
            if wanted == IDLE:
                let_go(y, b, n_laws, n)
    return some


@phase
def friction_modes(scene, x, y, n_laws, n):
    """Friction that does not slip: which of it sticks, where to the rest slips, with the normal forces as they are; whether that was found.

    Sets of the problem: nothing for what is given already (its forces are in c), bounds mu la_N for what does not slip.
    """
    problem = scene.problem
    laws, rows, wait = problem.laws, problem.rows, False
    for b in range(n_laws):
        x.stuck[b] = 0
        if not is_friction(laws, b):
            continue
        k, s = laws.row[b], speed_of_slip(laws, y, b)
        if s > x.size[k]:
            for i in range(k, k + laws.dim[b]):
                x.slip[i] = y[i] / s
        elif not x.leaves[b]:
            for i in range(k, k + laws.dim[b]):
                x.slip[i] = 0.0
            wait = wait or x.phase[laws.link[b]] != IDLE
    if not wait:
        return True
    given_forces(problem, x, y, n_laws, n)
    for b in range(n_laws):
        x.kind[b] = laws.kind[b]
        k = laws.row[b]
        waits = is_friction(laws, b) and x.slip[k] == 0.0 and (laws.dim[b] == 1 or x.slip[k + 1] == 0.0)
        limit = 0.0
        if waits and x.la[laws.row[laws.link[b]]] > 0.0:
            limit = laws.mu[b] * x.la[laws.row[laws.link[b]]]
        if laws.kind[b] != FREE:
            laws.kind[b] = INTERVAL if laws.dim[b] == 1 else DISK
        for i in range(k, k + laws.dim[b]):
            rows.lo[i], rows.hi[i], rows.P[i] = -limit, limit, 0.0
            rows.c[i] = 0.0
            for j in range(n):
                rows.c[i] += problem.G[i, j] * x.la[j]
        laws.mode[b] = CONSTRAINT
    found = solved(scene, scene.at.problem, n_laws, n)
    for b in range(n_laws):
        laws.kind[b] = x.kind[b]
        k, s = laws.row[b], 0.0
        for i in range(k, k + laws.dim[b]):
            s += rows.P[i] ** 2
        if not is_friction(laws, b) or rows.hi[k] == 0.0:
            continue
        if laws.mode[b] == CONSTRAINT:
            x.stuck[b] = 1
        else:
            for i in range(k, k + laws.dim[b]):
                x.slip[i] = -rows.P[i] / s**0.5
    return found
