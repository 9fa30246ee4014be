"""What counts as zero, and beside what: rounding of times, gaps, velocities and forces, in the units of the motion so far.

A gap is known to some units in the last place of its terms; a velocity is none beside the velocities of the system, or those that its
forces give it in a short time; a force or an acceleration is none beside the largest so far, because terms that cancel leave rounding.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.small import solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE

INFINITY = 1e300
EPS = 2.220446049250313e-16
KIND = 1e-4  # least size of a component beside others of its kind
SLOW = 1e-10  # part of the running size of velocities that is none
GAP_ULPS = 8 * EPS
GRAZING = 100.0
NOISE = 100.0  # by which a force must exceed what counts as zero before its zero ends a mode


@phase
def rounding_of_time(t, t_stop):
    """Time left of a segment that is none."""
    return 4.0 * EPS * max(abs(t), abs(t_stop))


@phase
def rounding_of_gap(scene, own, state, l, t):
    """What rounding can hide of a gap: some units in the last place of its terms, and of what it moves between two instants.

    Coordinates keep the rounding of the largest values they have had: what fell by a metre onto the origin is there to 1e-16 m.
    """
    q_size, w_size = 0.0, 0.0
    for k in range(scene.model.size.n_q):
        q_size = max(q_size, own.scale[k], abs(state.q[k]))
    for k in range(scene.model.size.n_u):
        w_size = max(w_size, abs(scene.work.WT[l, k]))
    return GAP_ULPS * (abs(scene.work.g[l]) + w_size * q_size + abs(own.gamma[l] * t))


@phase
def small(scene, own, l):
    """Relative velocity of law `l` that is none beside the velocities of the system."""
    model, i = scene.model, scene.model.laws.row[l]
    fastest, largest, short = 0.0, 0.0, 1e-3 * own.control.dt_max
    for j in range(model.size.n_u):
        fastest = max(fastest, own.scale[model.size.n_q + j])
    for j in range(model.size.n_u):
        # (what starts from rest has the velocity that its forces give it in a short time)
        u_j = max(own.scale[model.size.n_q + j], KIND * fastest, own.pull[j] * short)
        largest = max(largest, abs(scene.work.WT[i, j]) * u_j)
    return SLOW * largest


@phase
def pulls(largest, L, y, a, force):
    """Accelerations L^-T y times a force: each of them, although their sum may vanish."""
    solve_lower_transposed(L, y, a, largest.size)
    for k in range(largest.size):
        largest[k] = max(largest[k], abs(a[k] * force))


@phase
def force_scales(scene, own):
    """The largest forces and accelerations so far: where all of them vanish at once, what is left is rounding.

    The acceleration c of a row is a sum of terms that may cancel (two bodies that fall side by side): each of them counts.
    """
    pulls(own.pull, scene.work.L, scene.work.du, scene.work.u_free, 1.0)
    for i in range(scene.model.size.n_rows):
        c, G = abs(scene.problem.rows.c[i]), scene.work.G_all[i, i]
        for k in range(scene.model.size.n_u):
            c = max(c, abs(scene.work.WT[i, k]) * own.pull[k])
        own.push_scale[i] = max(own.push_scale[i], c)
        own.force_scale[i] = max(own.force_scale[i], abs(own.La[0, i]), c / G if G > 0.0 else 0.0)
    for i in range(scene.model.size.n_rows):
        if own.La[0, i] != 0.0:
            pulls(own.pull, scene.work.L, scene.work.Y[i], scene.work.u_free, own.La[0, i])


@phase
def zero_of(scene, own, begin, l):
    """What counts as zero in the function of law `l`: rounding of gaps, of forces, of relative velocities."""
    laws, i = scene.model.laws, scene.model.laws.row[l]
    if laws.kind[l] == HALF_LINE and begin.modes[l] != CONSTRAINT:
        return scene.work.slack[l]
    if begin.modes[l] == CONSTRAINT:
        largest = 0.0
        for j in range(scene.model.size.n_rows):
            largest = max(largest, abs(own.La[0, j]))
        return 1e-12 * (largest + own.force_scale[i])
    return 1e-3 * small(scene, own, l)


@phase
def armed(own, l):
    """Whether the function of law `l` was clearly positive at the begin of the step."""
    return own.phi_0[l] > own.size[l] * own.blur[l]


@phase
def lowest(scene, own, begin, l):
    """What the function of a law may come down to where it begins at zero: a contact may open out of the overlap it started with, but
    not creep into one, step by step."""
    if l < scene.model.size.n_N and begin.modes[l] != CONSTRAINT and own.rate_0[l] >= 0.0:
        return min(own.gap_0[l], 0.0) - own.size[l]
    return -own.size[l] * own.blur[l]


@phase
def relative(x, ruler):
    """|x| in units of the ruler; a change beside nothing counts as one."""
    if x == 0.0:
        return 0.0
    return abs(x) / ruler if ruler > 0.0 else 1.0
