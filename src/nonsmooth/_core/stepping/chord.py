"""Directions along the chord of a step (a discrete gradient; O. Gonzalez, "Time integration and discrete Hamiltonian systems",
J. Nonlinear Sci. 6 (1996) 449-467):

    W- = W + M d (d_q g - W^T d) / (d^T M d),     zeta- = d_t g / dt,     d = dt u_th, W, M at q_th, q_1 = q_0 + B d
    d_q g = (g(t_0, q_1) - g(t_0, q_0) + g(t_1, q_1) - g(t_1, q_0)) / 2         what g changes with q,
    d_t g = (g(t_1, q_0) - g(t_0, q_0) + g(t_1, q_1) - g(t_0, q_1)) / 2         ... with t: d_q g + d_t g = g_1 - g_0

so that W-^T u_th + zeta- = (g_1 - g_0)/dt; where nothing moves, d = 0, what a surface does by itself turns no direction. A joint or
contact that lasts, W-^T u_th + zeta- = 0, then keeps its position, not up to O(dt^3) in a step as with the midpoint rule but to
rounding, and its impulse, along W-, does no work: with theta = 1/2 the energy changes by what impacts and friction take, and a
projection has nothing left to do but where a contact closes.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import phase

ROUNDING = 8.0 * 2.0**-52  # of a position, in terms of its coordinates


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
    """W-, zeta- instead of W, zeta for contacts and joints (friction and nonholonomic rows have no position); the end of the chord is
    in `q_move`."""
    work, size = scene.work, scene.model.size
    places(scene, begin, t + dt, own.q_move, own.place_1)
    for place in range(own.place_1.size):
        own.way_q[place], own.way_t[place] = own.place_1[place] - own.place_0[place], 0.0
    if size.has_zeta:
        ways(scene, begin, own, t, dt)
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
def ways(scene, begin, own, t, dt):
    """d_q g and d_t g of surfaces that move."""
    places(scene, begin, t, own.q_move, own.way_q)
    places(scene, begin, t + dt, begin.q, own.way_t)
    for k in range(own.place_1.size):
        whole, across = own.place_1[k] - own.place_0[k], 0.5 * (own.way_q[k] - own.way_t[k])
        own.way_q[k], own.way_t[k] = 0.5 * whole + across, 0.5 * whole - across


@phase
def bent_row(own, work, i, place, dt, square):
    """W- and zeta- of row i; `work.du` holds M d."""
    missed, ruler = own.way_q[place], 0.0
    for j in range(own.sizes.size):
        missed -= dt * work.WT[i, j] * own.u_th[j]
        ruler += abs(work.WT[i, j]) * own.sizes[j]
    if abs(missed) > ROUNDING * ruler and square > 0.0:
        for j in range(own.sizes.size):
            work.WT[i, j] += missed / square * work.du[j]
            own.WT_1[i, j] = work.WT[i, j]
    if abs(own.way_t[place] - dt * work.zeta[i]) > ROUNDING * ruler:
        work.zeta[i] = own.zeta_1[i] = own.way_t[place] / dt
