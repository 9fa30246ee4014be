"""Set-valued laws: convex sets with a projection, and what the projection tells about the mode.

A law l holds an impulse P_l (1 to 3 rows) in a convex set A_l and relates it to xi_l = gamma_E + e gamma_B by
-xi_l in N_{A_l}(P_l), that is (Studer, Leine, Glocker 2008, eqs (17)-(20))

    P_l = prox_{A_l}(P_l - r_l xi_l),     xi = G P + c.

Sets: half-line, interval, disk, Coulomb section [-mu P_N, mu P_N] or disk of radius mu P_N, free line (bilateral
constraint), or a user-defined set with its own projection.

Modes (sec. 4, with the bound added): 0 inactive, 1 constraint (the argument lies inside the set, xi = 0 is enforced),
+2 / -2 impressed at the upper / lower bound (2 on the rim of a disk or of a user set).

The problem itself, with the work space and options of its solver, is one record (`records.problem`), handed on by reference.
"""

from nonsmooth._core.jit import PROJECT, caller, phase
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    DISK,
    FREE,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    LOWER,
    UPPER,
)

# An argument that misses its set by rounding lies on its edge: constraint mode. Redundant contacts at rest sit there.
EDGE = 1e-12
# Part of the velocity an impulse makes alone that the residual is measured against; times a tolerance of 1e-10 it is rounding.
ROUNDED = 1e-4

call_project = caller(PROJECT)


@phase
def radius(x, l):
    """Radius of the set of law `l` at the current impulses: mu P_N for Coulomb laws, else the given bound."""
    laws, rows = x.laws, x.rows
    kind = laws.kind[l]
    if kind == COULOMB_1D or kind == COULOMB_2D:
        P_N = rows.P[laws.row[laws.link[l]]]
        # an infinite coefficient means "always stick", also where 0 * inf would be NaN
        if P_N <= 0.0 or laws.mu[l] == 0.0:
            return 0.0
        return laws.mu[l] * P_N
    return rows.hi[laws.row[l]]


@phase
def project(x, l, r, dt):
    """prox of law `l`: the argument x.xy[0] is projected into x.xy[1]; returns the mode (Studer et al., eq. (20))."""
    laws, rows, xy = x.laws, x.rows, x.xy
    kind = laws.kind[l]
    dim = laws.dim[l]
    y = xy[0, 0]
    if kind == HALF_LINE:
        xy[1, 0] = y if y > 0.0 else 0.0
        return CONSTRAINT if y > 0.0 else LOWER
    if kind == INTERVAL or kind == COULOMB_1D:
        lower = rows.lo[laws.row[l]] if kind == INTERVAL else -r
        if y >= r:
            xy[1, 0] = r
            return UPPER if y - r > EDGE * abs(y) else CONSTRAINT
        if y <= lower:
            xy[1, 0] = lower
            return LOWER if lower - y > EDGE * abs(y) else CONSTRAINT
        xy[1, 0] = y
        return CONSTRAINT
    if kind == DISK or kind == COULOMB_2D:
        s = (y * y + xy[0, 1] * xy[0, 1]) ** 0.5
        f = 1.0
        if s >= r:
            f = r / s if s > 0.0 else 0.0
        xy[1, 0] = y * f
        xy[1, 1] = xy[0, 1] * f
        return UPPER if s - r > EDGE * s else CONSTRAINT
    if kind == FREE:
        xy[1, 0] = y
        return CONSTRAINT
    # user set: given for forces, so scale by the step size
    moved = 0.0
    size = 0.0
    for i in range(dim):
        xy[0, i] /= dt
    call_project(x.at.project, laws.law[l], xy[0, :dim], xy[1, :dim])
    for i in range(dim):
        moved = max(moved, abs(xy[1, i] - xy[0, i]))
        size = max(size, abs(xy[0, i]), abs(xy[1, i]))
        xy[0, i] *= dt
        xy[1, i] *= dt
    return UPPER if moved > 4e-16 * size else CONSTRAINT


@phase
def near(x, i, n):
    """The first row that row i sees, and the one behind the last."""
    return max(0, i - x.count.reach), min(n, i + x.count.reach + 1)


@phase
def row_of_xi(x, i, n):
    """xi_i = sum_j G_ij P_j + c_i."""
    s = x.rows.c[i]
    first, end = near(x, i, n)
    for j in range(first, end):
        s += x.G[i, j] * x.rows.P[j]
    return s


@phase
def residual(x, dt, n_laws, n):
    """The one residual, of steps and of `solve_contact` (`nonsmooth.contact.residual`): |e| / |c| with
    e_l = (P_l - prox(P_l - rho_l xi_l)) / rho_l over all laws, |c| over those that are closed: whose projection is not zero.

    Being a velocity over a velocity it does not change with the units, and a contact that parts in a hurry does not make the errors of
    those at rest look small. Where impulses balance each other it is the velocity each makes alone, G_ii |P_i|, that is rounded:
    a small part of it counts too (all of it would call impulses that grow without bound a solution). Sets the modes from the
    projection and leaves xi = G P + c.
    """
    laws, rows, G, xy = x.laws, x.rows, x.G, x.xy
    for i in range(n):
        s = row_of_xi(x, i, n)
        rows.xi[i] = s
        if not abs(s) < 1e300:  # a projection would hide NaN
            return 1e300
    error, closed, all_of_c = 0.0, 0.0, 0.0
    for l in range(n_laws):
        i0 = laws.row[l]
        d = laws.dim[l]
        rho = laws.rho[l]
        for i in range(d):
            xy[0, i] = rows.P[i0 + i] - rho * rows.xi[i0 + i]
        r = radius(x, l)
        mode = project(x, l, r, dt)
        # friction of a contact without normal impulse can do nothing: it is inactive
        if r == 0.0 and (laws.kind[l] == COULOMB_1D or laws.kind[l] == COULOMB_2D):
            mode = INACTIVE
        laws.mode[l] = mode
        own, s = 0.0, 0.0
        carries = False
        for i in range(d):
            s += (rows.P[i0 + i] - xy[1, i]) ** 2
            own += max(abs(rows.c[i0 + i]), ROUNDED * G[i0 + i, i0 + i] * abs(rows.P[i0 + i])) ** 2
            carries = carries or xy[1, i] != 0.0
        error += s / (rho * rho)
        all_of_c += own
        if carries:
            closed += own
    scale = closed if closed > 0.0 else all_of_c
    return (error / scale if scale > 0.0 else error) ** 0.5


@phase
def r_factors(x, n_laws, n):
    """The factors r_i = omega / G_ii (Studer et al., after eq. (28)), in one of three ways.

    0: local, omega over the largest diagonal entry of the law's block;
    1: row sum, omega over max_i sum_j |G_ij| of the block (a Jacobi sweep is then a contraction for symmetric G);
    2: one common factor, omega over the largest row sum of all of G.
    """
    laws, G, strategy, omega = x.laws, x.G, x.options.strategy, x.options.omega
    common = 0.0
    for l in range(n_laws):
        size = 0.0
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            s = G[i, i]
            if strategy != 0:
                s = 0.0
                first, end = near(x, i, n)
                for j in range(first, end):
                    s += abs(G[i, j])
            size = max(size, s)
        common = max(common, size)
        laws.rho[l] = omega / size if size > 0.0 else 1.0
    if strategy == 2 and common > 0.0:
        for l in range(n_laws):
            laws.rho[l] = omega / common
