"""How far an iterate of a generalized-alpha step is from a solution, in the norm of the mass matrix."""

from nonsmooth._core.jit import phase
from nonsmooth._core.stepping.alpha.motion import in_norm_of_mass
from nonsmooth._core.stepping.alpha.records import POSITION

ROUNDING = 1e-13  # part of the velocities that a residual of forces may move
ULPS = 2e-15  # rounding of a gap, of its terms


@phase
def measure(own, begin, WT, dt):
    """How far the iterate is from a solution, and the velocities this is measured by, in the norm of M."""
    it, weights, slots = own.it, own.weights, own.slots
    row_start, columns, M = own.row_start, own.columns, own.M
    for j in range(it.v.size):
        it.tmp[j] = it.ddelta[j] / dt
    error = max(in_norm_of_mass(row_start, columns, M, it.dv), in_norm_of_mass(row_start, columns, M, it.tmp))
    if weights.scale == 0.0:  # of the first iterate
        weights.scale = reached(row_start, columns, M, begin.u, it, dt)
    weights.scale = max(weights.scale, in_norm_of_mass(row_start, columns, M, it.v))
    for s in range(slots.row.size):
        asked = slots.place[s] >= 0 or slots.level[s] == POSITION
        if slots.acts[s] and slots.level[s] == POSITION and slots.size[s] > 0.0:
            blur = rounding_of_row(own.W_start, own.W_columns, WT, slots.row[s], own.q)
            weights.rounding = max(weights.rounding, blur * slots.scale[s] / slots.size[s])
        if slots.acts[s] and asked and slots.size[s] > 0.0:
            error = max(error, abs(slots.xi[s] + slots.xi_0[s] - slots.xi_lin[s]) / slots.size[s])
    if weights.residual > ROUNDING * weights.scale:
        error = max(error, weights.residual / weights.forces * weights.scale)
    weights.error = error


@phase
def rounding_of_row(start, columns, WT, i, q):
    """What rounding can hide of a gap or joint: some units in the last place of its terms."""
    q_size, w_size = 0.0, 0.0
    for k in range(q.size):
        q_size = max(q_size, abs(q[k]))
    for k in range(start[i], start[i + 1]):
        w_size = max(w_size, abs(WT[i, columns[k]]))
    return ULPS * w_size * q_size


@phase
def reached(row_start, columns, M, u, it, dt):
    """Velocities at the begin, or what forces alone make of them in the step, at its begin (0 at a start) or end, if this is more."""
    for j in range(u.size):
        it.tmp[j] = dt * it.y[j]
    scale = max(in_norm_of_mass(row_start, columns, M, u), in_norm_of_mass(row_start, columns, M, it.tmp))
    for j in range(u.size):
        it.tmp[j] = dt * (it.y[j] + it.dy[j])
    return max(scale, in_norm_of_mass(row_start, columns, M, it.tmp))
