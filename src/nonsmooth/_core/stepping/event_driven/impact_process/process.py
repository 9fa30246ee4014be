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
from nonsmooth._core.records.laws import HALF_LINE
from nonsmooth._core.records.process import IDLE, POISSON
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.event_driven.impact_process.phases import new_phases
from nonsmooth._core.stepping.event_driven.impact_process.steps import advance
from nonsmooth._core.stepping.event_driven.records import SETTLE, own_at

ZERO = 1e-13  # part of the velocities that is none
MOST_EVENTS, MOST_STEPS = 1000, 20000


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
