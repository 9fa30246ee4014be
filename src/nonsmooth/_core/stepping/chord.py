"""Directions along the chord of a step (a discrete gradient; O. Gonzalez, "Time integration and discrete Hamiltonian systems",
J. Nonlinear Sci. 6 (1996) 449-467):

    W- = W + M d (g_1 - g_0 - W^T d - zeta dt) / (d^T M d),     d = dt u_th, W, M, zeta at q_th, g_1 = g(t_1, q_0 + B d)

so that W-^T u_th + zeta = (g_1 - g_0)/dt. A joint or contact that lasts, W-^T u_th + zeta = 0, then keeps its position, not up to
O(dt^3) in a step as with the midpoint rule but to rounding, and its impulse, along W-, does no work: with theta = 1/2 the energy
changes by what impacts and friction take, and a projection has nothing left to do but where a contact closes.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import phase

ROUNDING = 8.0 * 2.0**-52  # of a position, in terms of its coordinates
REACH = 1e-7  # steps of differences, in terms of coordinates


@phase
def places(scene, begin, t, q, out):
    """Gaps and joints at (t, q)."""
    model, size = scene.model, scene.model.size
    if size.n_N > 0:
        call_vector(model.at.gap, t, q, begin.u, model.p, out)
    if size.n_joints > 0:
        call_vector(model.at.joints, t, q, begin.u, model.p, out[out.size - size.n_joints :])


@phase
def along_chord(scene, begin, own, t, dt):
    """W- instead of W for contacts and joints (friction and nonholonomic rows have no position); the end of the chord is in `q_move`."""
    work, size = scene.work, scene.model.size
    places(scene, begin, t + dt, own.q_move, own.place_1)
    square = 0.0
    for j in range(size.n_u):
        work.du[j] = 0.0
        for k in range(size.n_u):
            work.du[j] += dt * work.M[j, k] * own.u_th[k]
        square += dt * own.u_th[j] * work.du[j]
    first_joint, first_place = size.n_rows - size.n_J, own.place_1.size - size.n_joints
    for l in range(size.n_N):
        bent_row(own, work, l, l, dt, square)
    for j in range(size.n_joints):
        bent_row(own, work, first_joint + j, first_place + j, dt, square)


@phase
def bent_row(own, work, i, place, dt, square):
    """W- of row i; `work.du` holds M d."""
    missed, ruler = own.place_1[place] - own.place_0[place] - dt * work.zeta[i], 0.0
    for j in range(own.reach.size):
        missed -= dt * work.WT[i, j] * own.u_th[j]
        ruler += abs(work.WT[i, j]) * own.reach[j] / REACH
    if abs(missed) > ROUNDING * ruler and square > 0.0:
        for j in range(own.reach.size):
            work.WT[i, j] += missed / square * work.du[j]
            own.WT_1[i, j] = work.WT[i, j]
