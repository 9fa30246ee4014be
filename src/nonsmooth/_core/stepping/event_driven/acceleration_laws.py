"""Accelerations decide what opens, sticks and begins to slip.

Contacts that stay closed, elements that do not slip and joints are subject to the same laws one level higher, on forces and
accelerations: -(G la + c) in N(la), c = W^T M^-1 h + kappa. What slips has a force that follows from the others and is eliminated,
la_T = s mu la_N, which adds its columns to those of the normal forces.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, DISK, HALF_LINE, INACTIVE, INTERVAL, LOWER, UPPER
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.event_driven.listed_problem import fill_matrix, list_law, solved

IDLE = 1e-11  # part of its terms that the acceleration of a contact may have and be none
SAME = 1e-6  # part of the largest acceleration by which two solutions may differ and still be one


@phase
def new_modes(scene, own, at_problem):
    """Accelerations decide what opens, sticks and begins to slip. `rows.c` holds c of all rows of the model.

    Leaves the modes in ``own.mode``; returns a status.
    """
    held, n = list_held(scene, own)
    if held == 0:
        return OK
    fill_matrix(scene)
    add_friction(scene, own)  # G of what holds, with what slips eliminated
    accelerations_alone(scene, own, held)  # c
    if not accelerations(scene, own, at_problem, held, n):  # -(G la + c) in N(la)
        return NO_SOLUTION
    for b in range(held):
        if is_idle(scene, own, b):
            keep_closed(scene, b)
    take_modes(scene, own, held)
    return OK


@phase
def list_held(scene, own):
    """The laws that may hold, as a problem for forces; c of all rows is put aside, into `rows.best`. Returns how many laws and rows."""
    model, problem, rows = scene.model, scene.problem, scene.problem.rows
    for i in range(model.size.n_rows):
        rows.best[i] = rows.c[i]  # free until the solver is called
    a, n = 0, 0
    problem.count.laws, problem.count.rows = 0, 0
    for l in range(model.size.n_laws):
        problem.place[l] = -1
        if own.mode[l] == CONSTRAINT:
            list_law(model, problem, l, a, n)
            problem.laws.mode[a], problem.laws.e[a] = CONSTRAINT, 0.0
            n += model.laws.dim[l]
            a += 1
    return a, n


@phase
def accelerations_alone(scene, own, held):
    """c of the rows listed, with the forces of elements that slip under a given bound, into ``own.allowed``; and their bounds."""
    model, work, active, rows = scene.model, scene.work, scene.problem.laws, scene.problem.rows
    laws, n_all = model.laws, model.size.n_rows
    for b in range(held):
        for d in range(active.dim[b]):
            i, k = laws.row[active.law[b]] + d, active.row[b] + d
            s = rows.best[i]
            for m in range(model.size.n_laws):
                bounded = laws.kind[m] == INTERVAL or laws.kind[m] == DISK
                if bounded and own.mode[m] != CONSTRAINT:
                    for e in range(laws.dim[m]):
                        s += work.G_all[i, laws.row[m] + e] * fixed_force(own, work, laws, m, e, n_all)
            own.allowed[k] = s
            rows.lo[k], rows.hi[k] = work.bounds[i], work.bounds[n_all + i]


@phase
def take_modes(scene, own, held):
    """Modes and directions of slip of the solution, and the forces that the laws allow."""
    model, active, rows = scene.model, scene.problem.laws, scene.problem.rows
    laws = model.laws
    for i in range(model.size.n_rows):
        own.allowed[i] = 0.0
    for b in range(held):
        l = active.law[b]
        own.mode[l] = active.mode[b]
        for d in range(active.dim[b]):
            own.allowed[laws.row[l] + d] = rows.P[active.row[b] + d]
        if active.dim[b] == 2 and active.mode[b] == UPPER:
            slip_along(own, laws.row[l], rows.P[active.row[b]], rows.P[active.row[b] + 1])
    for l in range(model.size.n_laws):
        if laws.kind[l] == HALF_LINE and own.mode[l] != CONSTRAINT:
            own.mode[l] = INACTIVE
    idle_without_contact(model, own)


@phase
def slip_along(own, i, f_0, f_1):
    """A slip in two directions begins against its force."""
    s = (f_0**2 + f_1**2) ** 0.5
    own.slip[i] = -f_0 / s if s > 0.0 else 0.0
    own.slip[i + 1] = -f_1 / s if s > 0.0 else 0.0


@phase
def idle_without_contact(model, own):
    """Friction of contacts that are open does nothing."""
    for l in range(model.size.n_laws):
        link = model.laws.link[l]
        if link >= 0 and own.mode[link] != CONSTRAINT:
            own.mode[l] = INACTIVE


@phase
def add_friction(scene, own):
    """What slips is eliminated from G: columns of normal forces carry their friction along."""
    model, problem, G_all = scene.model, scene.problem, scene.work.G_all
    laws, active = model.laws, problem.laws
    for l in range(model.size.n_laws):
        if problem.place[l] >= 0 or laws.link[l] < 0 or own.mode[l] == INACTIVE:
            continue
        b = problem.place[laws.link[l]]
        if b < 0:
            continue
        for a in range(problem.count.laws):
            for d in range(active.dim[a]):
                i, k = laws.row[active.law[a]] + d, active.row[a] + d
                for c in range(laws.dim[l]):
                    problem.G[k, active.row[b]] += G_all[i, laws.row[l] + c] * friction_share(own, laws, l, c)


@phase
def friction_share(own, laws, l, d):
    """la_T / la_N of a law that slips."""
    if laws.dim[l] == 1:
        return laws.mu[l] if own.mode[l] == UPPER else -laws.mu[l]
    return -laws.mu[l] * own.slip[laws.row[l] + d]


@phase
def fixed_force(own, work, laws, l, d, n):
    """Force of an element that slips under a given bound."""
    i = laws.row[l]
    if laws.kind[l] == INTERVAL:
        return work.bounds[n + i] if own.mode[l] == UPPER else work.bounds[i]
    return -work.bounds[n + i] * own.slip[i + d]


@phase
def accelerations(scene, own, at_problem, a, n):
    """Solve the problem that is listed, with c in ``own.allowed``; whether that went well.

    With friction there may be several solutions (Painleve): it is solved from closed and from open contacts. If both differ, the one with
    open contacts is taken, and said.
    """
    rows, kept, differs, rough = scene.problem.rows, own.acceleration, False, False
    for l in range(scene.model.size.n_laws):
        rough = rough or (scene.model.laws.link[l] >= 0 and own.mode[l] != INACTIVE)
    opens = rough and solved_from(scene, own.allowed, LOWER, at_problem, a, n)
    for k in range(n):
        kept[k] = rows.xi[k]
    closes = solved_from(scene, own.allowed, CONSTRAINT, at_problem, a, n)
    if opens and closes:
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(own.allowed[k]))
        for k in range(n):
            differs = differs or abs(rows.xi[k] - kept[k]) > SAME * largest
    own.control.ambiguous = differs
    if opens and (differs or not closes):
        return solved_from(scene, own.allowed, LOWER, at_problem, a, n)
    return closes


@phase
def solved_from(scene, c, mode, at_problem, a, n):
    """Solve the problem that is listed with that c, starting from that mode of its contacts; whether that went well."""
    rows, active = scene.problem.rows, scene.problem.laws
    for k in range(n):
        rows.c[k], rows.P[k] = c[k], 0.0
    for b in range(a):
        active.mode[b] = mode if active.kind[b] == HALF_LINE else CONSTRAINT
    return solved(scene, at_problem, a, n)


@phase
def is_idle(scene, own, b):
    """Whether the solver opened a contact that neither presses nor parts, but for rounding (bodies that fall side by side)."""
    laws, active, rows, apart = scene.model.laws, scene.problem.laws, scene.problem.rows, 0.0
    if active.kind[b] != HALF_LINE or active.mode[b] == CONSTRAINT:
        return False
    for k in range(scene.model.size.n_u):
        apart = max(apart, abs(scene.work.WT[laws.row[active.law[b]], k]) * own.pull[k])
    return rows.xi[active.row[b]] <= IDLE * apart


@phase
def keep_closed(scene, b):
    """An idle contact stays closed: opened by rounding it would strike by itself where it should do so with others. Its friction is none:
    what begins to slip does."""
    active, rows = scene.problem.laws, scene.problem.rows
    active.mode[b] = CONSTRAINT
    for f in range(scene.problem.count.laws):
        if active.link[f] != b or active.mode[f] != CONSTRAINT:
            continue
        k = active.row[f]
        if active.dim[f] == 1:
            active.mode[f] = LOWER if rows.xi[k] > 0.0 else UPPER
        else:
            active.mode[f] = UPPER
            for d in range(2):
                rows.P[k + d] = -rows.xi[k + d]
