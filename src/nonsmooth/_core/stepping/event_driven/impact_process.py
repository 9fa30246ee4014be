"""Impacts as a process in an instant: compression and expansion, with friction that slips, sticks and turns on the way.

Newton's law compares velocities before and after; with friction whose slip turns in between it may create energy (Kane and
Levinson 1985). The two other hypotheses of restitution speak of what happens in between (Routh 1860; Darboux 1880; Stronge 1990).
In the time tau of the impact the forces of all other kinds do nothing, G is constant, and

    gamma' = G la,    P' = la,    |la_T| <= mu la_N opposite to the slip, joints hold                                       (1)

A contact is an elastic element without length, compression  la_N' = -gamma_N / G_NN  while it is being closed, and in the expansion

    Poisson      la_N' = -la_N^2 / (2 R),  R' = -la_N,  where R' = e la_N in compression:
                 its impulse is e times the one of compression                                                              (2)
    energetic    la_N' = -gamma_N / (e^2 G_NN): its work is e^2 times the one of compression (Stronge)                      (3)

until la_N vanishes. For a single contact only (1) and the ends of (2), (3) matter, not the element: its forces as functions of the
normal impulse are those of Routh's and Keller's method. Of several contacts each would take the same time alone (stiffness 1/G_NN);
a contact may be compressed again by another one. With (3) energy is never created: what contacts release is at most what they took.

With the normal forces given the friction forces in (1) are those of a convex problem (bounds mu la_N): modes of friction that does
not slip come from the library's contact problem. In given modes (1)-(3) is integrated by a Runge-Kutta method of order 8; ends of
modes are located on it.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.small import lu_solve
from nonsmooth._core.records.laws import CONSTRAINT, COULOMB_1D, COULOMB_2D, DISK, FREE, HALF_LINE, INTERVAL
from nonsmooth._core.records.process import COMPRESSES, EXPANDS, IDLE, POISSON, STAGES
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.event_driven.listed_problem import solved
from nonsmooth._core.stepping.event_driven.motion import REGULARISED
from nonsmooth._core.stepping.event_driven.records import SETTLE, own_at
from nonsmooth._core.stepping.event_driven.sizes import INFINITY

ZERO = 1e-13  # part of the velocities that is none
AHEAD = 1e-6  # a short part of the process: what has no force yet has one then
STEP_ANGLE = 0.15  # part of a radian of the fastest oscillation that a step takes
TURN = 0.25  # part of a slip in two directions that a step may take away
ON_EDGE = 1e-10  # part of the friction limit
PLASTIC = 1e-8  # least restitution that is one
MOST_EVENTS, MOST_STEPS, MOST_TRIALS = 1000, 20000, 100


@kernel(SETTLE, part=True)
def impact_process(at_scene, n_laws, n):
    """Impulses of the problem that is listed, in ``rows.P``, velocities after it as ``rows.xi = gamma^+ + e gamma^-``. Returns a status."""
    scene = scene_at(at_scene)
    own, problem = own_at(scene.at.own), scene.problem
    x, poisson = own.process, own.control.restitution == POISSON
    begin(problem, x, n_laws, n)
    status, events, steps = NO_SOLUTION, 0, 0
    fresh = True
    while events < MOST_EVENTS and steps < MOST_STEPS:
        if fresh:
            if not new_phases(scene, x, poisson, n_laws, n):
                return NO_SOLUTION
            events += 1
        if ended(problem, x, n_laws):
            status = OK
            break
        fresh = advance(problem, x, poisson, n_laws, n)
        steps += 1
    for k in range(n):
        problem.rows.P[k] = x.y[n + k]
    for b in range(n_laws):
        for k in range(problem.laws.row[b], problem.laws.row[b] + problem.laws.dim[b]):
            problem.rows.xi[k] = x.y[k] + problem.laws.e[b] * problem.rows.gamma_B[k]
    return status


@phase
def begin(problem, x, n_laws, n):
    """Velocities before the impact, no impulses, no forces."""
    fastest = 0.0
    for k in range(n):
        if problem.G[k, k] > 0.0:
            fastest = max(fastest, abs(problem.rows.gamma_B[k]) / problem.G[k, k] ** 0.5)
    for k in range(n):
        x.y[k], x.y[n + k] = problem.rows.gamma_B[k], 0.0
        x.size[k] = ZERO * fastest * problem.G[k, k] ** 0.5
        x.slip[k] = 0.0
    for b in range(n_laws):
        x.y[2 * n + b], x.y[2 * n + n_laws + b] = 0.0, 0.0
        x.phase[b], x.stuck[b], x.leaves[b] = IDLE, 0, 0


@phase
def ended(problem, x, n_laws):
    """Whether no contact acts any more."""
    for b in range(n_laws):
        if problem.laws.kind[b] == HALF_LINE and x.phase[b] != IDLE:
            return False
    return True


@phase
def elastic(problem, b):
    """Whether contact `b` gives anything back."""
    return problem.laws.e[b] > PLASTIC


@phase
def rates(problem, x, poisson, y, dy, n_laws, n):
    """Right-hand side of (1)-(3), in the phases and modes as they are; the forces are left in ``x.la``."""
    laws, G, la = problem.laws, problem.G, x.la
    given_forces(problem, x, y, n_laws, n)
    hold_rows(problem, x, n)
    for k in range(n):
        s = 0.0
        for j in range(n):
            s += G[k, j] * la[j]
        dy[k] = 0.0 if x.held[k] else s
        dy[n + k] = la[k]
    for b in range(n_laws):
        k = laws.row[b]
        dla, dR = 0.0, 0.0
        if laws.kind[b] == HALF_LINE and x.phase[b] == COMPRESSES:
            dla, dR = -y[k] / G[k, k], laws.e[b] * la[k]
        elif laws.kind[b] == HALF_LINE and x.phase[b] == EXPANDS:
            dla = x.slope[b] if poisson else -y[k] / (laws.e[b] ** 2 * G[k, k])
            dR = -la[k]
        dy[2 * n + b], dy[2 * n + n_laws + b] = dla, dR


@phase
def given_forces(problem, x, y, n_laws, n):
    """Normal forces, and friction of what slips; which rows do not move."""
    laws, la = problem.laws, x.la
    for b in range(n_laws):
        k = laws.row[b]
        for i in range(k, k + laws.dim[b]):
            x.held[i], la[i] = 0, 0.0
            if laws.kind[b] == FREE or x.stuck[b]:
                x.held[i] = 1
        if laws.kind[b] == HALF_LINE:
            la[k] = y[2 * n + b] if x.phase[b] != IDLE else 0.0
    for b in range(n_laws):
        if is_friction(laws, b) and not x.stuck[b]:
            normal = la[laws.row[laws.link[b]]]
            if normal != 0.0:
                direction_of_slip(x, laws, y, b)
                for i in range(laws.row[b], laws.row[b] + laws.dim[b]):
                    la[i] = -laws.mu[b] * normal * x.slip[i]


@phase
def is_friction(laws, b):
    """Whether law `b` is Coulomb's."""
    return laws.kind[b] == COULOMB_1D or laws.kind[b] == COULOMB_2D


@phase
def speed_of_slip(laws, y, b):
    """|gamma_T|."""
    s = 0.0
    for i in range(laws.row[b], laws.row[b] + laws.dim[b]):
        s += y[i] ** 2
    return s**0.5


@phase
def direction_of_slip(x, laws, y, b):
    """Unit direction of slip of a disk of friction; where it does not slip yet the one it will take stands there already."""
    s = speed_of_slip(laws, y, b)
    if laws.dim[b] == 2 and s > x.size[laws.row[b]]:
        for i in range(laws.row[b], laws.row[b] + 2):
            x.slip[i] = y[i] / s


@phase
def hold_rows(problem, x, n):
    """Forces of the rows that do not move: sum_j G_ij la_j = 0 (of least size where rows depend on each other)."""
    G, A, b = problem.G, problem.A, problem.rows.b
    some = False
    for i in range(n):
        some = some or x.held[i] == 1
    if not some:
        return
    for attempt in range(2):
        for i in range(n):
            f = 1.0 / G[i, i] if x.held[i] and G[i, i] > 0.0 else 0.0
            b[i] = 0.0 if x.held[i] else x.la[i]
            for j in range(n):
                A[i, j] = f * G[i, j] if x.held[j] else 0.0
                if not x.held[j]:
                    b[i] -= f * G[i, j] * x.la[j]
            A[i, i] += REGULARISED * attempt if f > 0.0 else 1.0
        if lu_solve(A, b, n) == 0:
            break
    for i in range(n):
        if x.held[i]:
            x.la[i] = b[i]


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
