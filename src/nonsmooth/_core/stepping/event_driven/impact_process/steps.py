"""One step of an impact by a Runge-Kutta method of order 8, up to where a phase or mode ends in it: Illinois' method on the least of the
laws' functions.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import HALF_LINE
from nonsmooth._core.records.process import COMPRESSES, EXPANDS, IDLE, STAGES
from nonsmooth._core.stepping.event_driven.impact_process.phases import let_go
from nonsmooth._core.stepping.event_driven.impact_process.rates import (
    given_forces,
    hold_rows,
    is_friction,
    rates,
    speed_of_slip,
)
from nonsmooth._core.stepping.event_driven.sizes import INFINITY

STEP_ANGLE = 0.15  # part of a radian of the fastest oscillation that a step takes
TURN = 0.25  # part of a slip in two directions that a step may take away
ON_EDGE = 1e-10  # part of the friction limit
MOST_TRIALS = 100


@phase
def advance(problem, x, poisson, n_laws, n):
    """One step, or up to where a phase or mode ends in it; returns whether one does."""
    y, y_new = x.y, x.y_new
    rates(problem, x, poisson, y, x.K[0], n_laws, n)
    h = length_of_step(problem, x, poisson, n_laws, n)
    functions(problem, x, y, x.phi_0, n_laws, n)
    lo, hi, f_lo, f_hi, side = 0.0, h, 1.0, 1.0, 0
    for trial in range(MOST_TRIALS):
        runge_kutta(problem, x, poisson, h, n_laws, n)
        functions(problem, x, y_new, x.phi, n_laws, n)
        f = least(problem, x, n_laws)
        if trial == 0 and f > 0.0:
            break
        # Illinois' method on the least of the functions
        if f <= 0.0:
            hi, f_hi = h, f
            f_lo = 0.5 * f_lo if side == 1 else f_lo
            side = 1
            if nearly(problem, x, n_laws):
                break
        else:
            lo, f_lo = h, f
            f_hi = 0.5 * f_hi if side == -1 else f_hi
            side = -1
        if hi - lo <= 1e-15 * hi:
            h = hi
            runge_kutta(problem, x, poisson, h, n_laws, n)
            functions(problem, x, y_new, x.phi, n_laws, n)
            break
        h = lo + (hi - lo) * f_lo / (f_lo - f_hi)
        if trial % 8 == 7 or not lo < h < hi:
            h = 0.5 * (lo + hi)
    for i in range(2 * (n + n_laws)):
        y[i] = y_new[i]
    return leave_phases(problem, x, n_laws, n)


@phase
def length_of_step(problem, x, poisson, n_laws, n):
    """Length of a step: a small part of the fastest oscillation that contacts make; a small part of a slip in two directions."""
    laws, G = problem.laws, problem.G
    fastest = 1.0
    for b in range(n_laws):
        if laws.kind[b] == HALF_LINE and x.phase[b] != IDLE:
            k, s = laws.row[b], 0.0
            for j in range(n):
                if G[j, j] > 0.0:
                    s += abs(G[k, j]) / (G[k, k] * G[j, j]) ** 0.5
            stiff = 1.0 / laws.e[b] ** 2 if x.phase[b] == EXPANDS and not poisson else 1.0
            fastest = max(fastest, s * stiff)
    h = STEP_ANGLE / fastest**0.5
    for b in range(n_laws):
        if laws.dim[b] == 2 and is_friction(laws, b) and not x.stuck[b]:
            k = laws.row[b]
            speed, rate = speed_of_slip(laws, x.y, b), speed_of_slip(laws, x.K[0], b)
            if speed > x.size[k] and rate * h > TURN * speed:
                h = TURN * speed / rate
    return h


@phase
def runge_kutta(problem, x, poisson, h, n_laws, n):
    """y_new after a step h; the first slope is known."""
    count = 2 * (n + n_laws)
    for s in range(1, STAGES + 1):
        for i in range(count):
            total = 0.0
            for j in range(s):
                total += x.A[s, j] * x.K[j, i]
            x.y_new[i] = x.y[i] + h * total
        if s < STAGES:
            rates(problem, x, poisson, x.y_new, x.K[s], n_laws, n)


@phase
def functions(problem, x, y, phi, n_laws, n):
    """Two functions of each law that are positive in its phase."""
    laws = problem.laws
    given_forces(problem, x, y, n_laws, n)
    hold_rows(problem, x, n)
    for b in range(n_laws):
        k = laws.row[b]
        phi[b], phi[n_laws + b] = INFINITY, INFINITY
        if laws.kind[b] == HALF_LINE:
            phi[b] = -y[k] if x.phase[b] == COMPRESSES else y[k]
            if x.phase[b] == EXPANDS:
                phi[n_laws + b] = y[2 * n + b]
        elif is_friction(laws, b) and x.phase[laws.link[b]] != IDLE:
            if x.stuck[b]:
                normal = x.la[laws.row[laws.link[b]]]
                if normal > 0.0:
                    phi[b] = laws.mu[b] - speed_of_slip(laws, x.la, b) / normal
            elif laws.dim[b] == 1:
                phi[b] = y[k] * x.slip[k]
            else:
                phi[b] = speed_of_slip(laws, y, b)


@phase
def zero(problem, x, n_laws, j):
    """What counts as zero in function j."""
    laws, b = problem.laws, j % n_laws
    k = laws.row[b]
    if j >= n_laws:
        return x.size[k] / problem.G[k, k]
    return ON_EDGE * max(laws.mu[b], ON_EDGE) if x.stuck[b] else x.size[k]


@phase
def least(problem, x, n_laws):
    """The least of the functions at the end of a trial, relative to its begin (or to what counts as zero, where it begins there)."""
    f = INFINITY
    for j in range(2 * n_laws):
        if x.phi_0[j] < INFINITY and x.phi[j] < INFINITY:
            limit = zero(problem, x, n_laws, j)
            if x.phi_0[j] > limit:
                f = min(f, x.phi[j] / x.phi_0[j])
            elif x.phi[j] < -limit:
                f = min(f, x.phi[j] / limit)
    return f


@phase
def nearly(problem, x, n_laws):
    """Whether no function is negative by more than what counts as zero."""
    for j in range(2 * n_laws):
        if x.phi_0[j] < INFINITY and x.phi[j] < -zero(problem, x, n_laws, j):
            return False
    return True


@phase
def leave_phases(problem, x, n_laws, n):
    """What ends here, put to zero exactly; returns whether something does."""
    laws, y, some = problem.laws, x.y, False
    for j in range(2 * n_laws):
        limit = zero(problem, x, n_laws, j)
        armed = x.phi_0[j] < INFINITY and x.phi_0[j] > limit
        if not (x.phi[j] < -limit or (armed and x.phi[j] <= limit)):
            continue
        some, b = True, j % n_laws
        k = laws.row[b]
        if j >= n_laws:
            x.phase[b] = IDLE
            let_go(y, b, n_laws, n)
        elif x.stuck[b]:
            s = speed_of_slip(laws, x.la, b)
            for i in range(k, k + laws.dim[b]):
                x.slip[i] = -x.la[i] / s
            x.leaves[b] = 1
        else:
            for i in range(k, k + laws.dim[b]):
                y[i] = 0.0
    return some
