"""Sliding contacts that jam (Painleve 1895): no forces satisfy the laws, an impulse does: an *impact without collision*.

Friction of a contact that slides is la_T = -mu la_N gamma_T/|gamma_T|, its normal acceleration a = A la_N + c_N with
A = G_NN - mu G_NT gamma_T/|gamma_T|. Where A < 0 and c_N < 0 no la_N >= 0 keeps the contact from closing. What a step of
Moreau's rule makes of it whose length vanishes, dt -> 0 in

    -(gamma^+ + e gamma^-) in N(P),   gamma^+ = gamma^- + c dt + G P,

is an impulse that does not vanish: it ends the slip, or turns it to where A > 0 (Genot and Brogliato 1999; Stewart 2000).
The modes are found with a short dt, the impulses with dt = 0. Where A < 0 and c_N > 0 the contact may open or not: see
`acceleration_laws.accelerations`.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.small import solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, DISK, FREE, HALF_LINE, INACTIVE, INTERVAL, UPPER
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.books import kinetic_energy
from nonsmooth._core.stepping.event_driven.impact import list_impulses
from nonsmooth._core.stepping.event_driven.listed_problem import solved
from nonsmooth._core.stepping.event_driven.motion import delassus, forces
from nonsmooth._core.stepping.event_driven.records import AT_STATE, call_at_end, call_settle, own_at

SHORT = 1e-6  # part of the relative velocities by which forces change them in the short dt


@kernel(AT_STATE, part=True)
def jam(at_scene, at_begin, t):
    """An impact without collision, and the modes after it. Returns a status."""
    scene = scene_at(at_scene)
    own = own_at(scene.at.own)
    delassus(scene, own)
    a, n = list_impulses(scene, own)
    short_step(scene, own, a)
    if not solved(scene, scene.at.problem, a, n):
        return NO_SOLUTION
    take_modes(scene, own, a)
    first = apply_impulses(scene, own)
    if first < 0:
        return NO_SOLUTION
    own.control.jams += 1
    own.control.t_jam, own.control.law_jam = t, first
    status = call_at_end(own.at.look, at_scene, t)
    return status if status != OK else call_settle(own.at.settle, at_scene, at_begin, 1)


@phase
def short_step(scene, own, n_laws):
    """Add c dt to the relative velocities of the problem that is listed."""
    model, work, problem = scene.model, scene.work, scene.problem
    laws, active, rows = model.laws, problem.laws, problem.rows
    fast, strong = 0.0, 0.0
    for i in range(model.size.n_rows):
        s = own.kappa[i]
        for k in range(model.size.n_u):
            s += work.Y[i, k] * work.du[k]
        own.acceleration[i] = s
        strong, fast = max(strong, abs(s)), max(fast, abs(own.gamma[i]))
    dt = SHORT * fast / strong if strong > 0.0 else 0.0
    for b in range(n_laws):
        for d in range(active.dim[b]):
            rows.c[active.row[b] + d] += dt * own.acceleration[laws.row[active.law[b]] + d]


@phase
def take_modes(scene, own, n_laws):
    """The modes of the impulses."""
    model, active, P = scene.model, scene.problem.laws, scene.problem.rows.P
    laws = model.laws
    for l in range(model.size.n_laws):
        bounded = laws.kind[l] == INTERVAL or laws.kind[l] == DISK
        own.mode[l] = UPPER if bounded else CONSTRAINT if laws.kind[l] == FREE else INACTIVE
    for b in range(n_laws):
        l, k = active.law[b], active.row[b]
        closed = active.mode[b] == CONSTRAINT or laws.kind[l] != HALF_LINE
        own.mode[l] = active.mode[b] if closed else INACTIVE
        if active.dim[b] == 2 and active.mode[b] == UPPER:
            s = (P[k] ** 2 + P[k + 1] ** 2) ** 0.5
            for d in range(2):
                own.slip[laws.row[l] + d] = -P[k + d] / s if s > 0.0 else 0.0
    for l in range(model.size.n_laws):
        if laws.link[l] >= 0 and own.mode[laws.link[l]] != CONSTRAINT:
            own.mode[l] = INACTIVE


@phase
def apply_impulses(scene, own):
    """Impulses in these modes, velocities after them, books. Returns the first contact with an impulse, -1 if there is none."""
    model, work, end, c, P = scene.model, scene.work, scene.end, scene.problem.rows.c, own.La[0]
    laws, size = model.laws, model.size
    for l in range(size.n_laws):
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            c[i] = (1.0 + laws.e[l]) * own.gamma[i]
    forces(scene, own, own.mode, P, True)
    before, first = kinetic_energy(work.M, end.u, size.n_u), -1
    for k in range(size.n_u):
        work.du[k] = 0.0
        for i in range(size.n_rows):
            work.du[k] += work.Y[i, k] * P[i]
    solve_lower_transposed(work.L, work.du, work.du, size.n_u)
    for i in range(size.n_rows):
        end.P[i] += P[i]
    for k in range(size.n_u):
        end.u[k] += work.du[k]
    scene.books.work_contacts += kinetic_energy(work.M, end.u, size.n_u) - before
    for l in range(size.n_N - 1, -1, -1):
        if P[laws.row[l]] > 0.0:
            own.jammed[l], first = 1, l
    return first
