"""Set-valued laws: convex sets with a projection, and what the projection tells about the mode.

A law l holds an impulse P_l (1 to 3 rows) in a convex set A_l and relates it to xi_l = gamma_E + e gamma_B by
-xi_l in N_{A_l}(P_l), that is (Studer, Leine, Glocker 2008, eqs (17)-(20))

    P_l = prox_{A_l}(P_l - r_l xi_l),     xi = G P + c.

Sets: half-line, interval, disk, Coulomb section [-mu P_N, mu P_N] or disk of radius mu P_N, free line (bilateral
constraint), or a user-defined set with its own projection.

Modes (sec. 4, with the bound added): 0 inactive, 1 constraint (the argument lies inside the set, xi = 0 is enforced),
+2 / -2 impressed at the upper / lower bound (2 on the rim of a disk or of a user set).

The prox problem is held in few arrays (a long list of arguments makes kernels slow to compile and to call):

    ints  (N_INTS, n_laws)    rows KIND, ROW (first row), DIM, LINK (normal law of a Coulomb law), LAW (number in the
                              model), MODE, TRIED; PLACE (position among the active laws) and ACTS by law of the model
    reals (N_REALS, n_laws)   rows MU, E (restitution), RHO (the factor r)
    rows  (N_ROWS, n)         rows C, P, XI, LO, HI (bounds of the impulse; HI the radius of a disk), and scratch
    G     (n, n)              the Delassus matrix

and these, with work space and options of the solver, in one record `Prox`, handed on by reference.
"""

from collections import namedtuple

import numpy as np

from nonsmooth._core.jit import (
    PROJECT,
    by_reference,
    caller,
    f8_2,
    float64,
    i8_2,
    int64,
    kernel,
    typeof,
    void,
)
from nonsmooth._core.records.codes import (
    COULOMB_1D,
    COULOMB_2D,
    DIM,
    DISK,
    FREE,
    HALF_LINE,
    HI,
    INTERVAL,
    KIND,
    LAW,
    LINK,
    LO,
    MODE,
    MU,
    N_INTS,
    N_REALS,
    N_ROWS,
    RHO,
    ROW,
    XI,
    C,
    P,
)
from nonsmooth._core.records.options import N_OPTIONS

# An argument that misses its set by rounding lies on its edge: constraint mode. Redundant contacts at rest sit there.
EDGE = 1e-12

call_project = caller(PROJECT)

# the problem: `f` addresses of the projection of user sets and of the parts of the solver, `A` matrix of Newton's method
# with a spare row, `xy` argument and value of a projection, `counts` (iterations,)
Prox = namedtuple("Prox", "f ints reals rows G A xy options counts")
A_PROJECT, A_MODES, A_RELAX, A_SOLVE = range(4)


def make_prox(f, n_laws, n_rows, options, zeros=np.zeros):
    """Arrays of a problem with up to so many laws and rows; `f` the four functions (see `solve_laws.functions`)."""
    r, l = max(n_rows, 1), max(n_laws, 1)
    return Prox(
        f=f, ints=zeros((N_INTS, l), dtype=np.int64), reals=zeros((N_REALS, l)), rows=zeros((N_ROWS, r)),
        G=zeros((r, r)), A=zeros((r + 1, r)), xy=zeros((2, 4)), options=options, counts=zeros(1),
    )  # fmt: skip


PROX_TYPE = typeof(make_prox(np.zeros(4, dtype=np.int64), 1, 1, np.zeros(N_OPTIONS)))
_, prox_at = by_reference(PROX_TYPE)


@kernel(float64(i8_2, f8_2, f8_2, int64), internal=True)
def radius(ints, reals, rows, l):
    """Radius of the set of law `l` at the current impulses: mu P_N for Coulomb laws, else the given bound."""
    kind = ints[KIND, l]
    if kind == COULOMB_1D or kind == COULOMB_2D:
        P_N = rows[P, ints[ROW, ints[LINK, l]]]
        # an infinite coefficient means "always stick", also where 0 * inf would be NaN
        if P_N <= 0.0 or reals[MU, l] == 0.0:
            return 0.0
        return reals[MU, l] * P_N
    return rows[HI, ints[ROW, l]]


@kernel(int64(int64, i8_2, f8_2, int64, float64, float64, f8_2), internal=True)
def project(f_project, ints, rows, l, r, dt, xy):
    """prox of law `l`: the argument xy[0] is projected into xy[1]; returns the mode (Studer et al., eq. (20))."""
    kind = ints[KIND, l]
    dim = ints[DIM, l]
    x = xy[0, 0]
    if kind == HALF_LINE:
        xy[1, 0] = x if x > 0.0 else 0.0
        return 1 if x > 0.0 else -2
    if kind == INTERVAL or kind == COULOMB_1D:
        lower = rows[LO, ints[ROW, l]] if kind == INTERVAL else -r
        if x >= r:
            xy[1, 0] = r
            return 2 if x - r > EDGE * abs(x) else 1
        if x <= lower:
            xy[1, 0] = lower
            return -2 if lower - x > EDGE * abs(x) else 1
        xy[1, 0] = x
        return 1
    if kind == DISK or kind == COULOMB_2D:
        s = (x * x + xy[0, 1] * xy[0, 1]) ** 0.5
        f = 1.0
        if s >= r:
            f = r / s if s > 0.0 else 0.0
        xy[1, 0] = x * f
        xy[1, 1] = xy[0, 1] * f
        return 2 if s - r > EDGE * s else 1
    if kind == FREE:
        xy[1, 0] = x
        return 1
    # user set: given for forces, so scale by the step size
    moved = 0.0
    size = 0.0
    for i in range(dim):
        xy[0, i] /= dt
    call_project(f_project, ints[LAW, l], xy[0, :dim], xy[1, :dim])
    for i in range(dim):
        moved = max(moved, abs(xy[1, i] - xy[0, i]))
        size = max(size, abs(xy[0, i]), abs(xy[1, i]))
        xy[0, i] *= dt
        xy[1, i] *= dt
    return 2 if moved > 4e-16 * size else 1


@kernel(float64(int64, i8_2, f8_2, f8_2, f8_2, f8_2, float64, int64, int64), internal=True)
def residual(f_project, ints, reals, rows, G, xy, dt, n_laws, n):
    """The one residual: max_l |P_l - prox(P_l - rho_l xi_l)| / rho_l, relative to the velocities max (|c_i|, G_ii |P_i|).

    Being a velocity over a velocity it does not change with the units. The second term is the velocity an impulse makes
    alone: where impulses balance each other it is that which is rounded. Sets the modes from the projection and leaves
    xi = G P + c.
    """
    scale = 0.0
    for i in range(n):
        s = rows[C, i]
        scale = max(scale, abs(s), G[i, i] * abs(rows[P, i]))
        for j in range(n):
            s += G[i, j] * rows[P, j]
        rows[XI, i] = s
        if not abs(s) < 1e300:  # a projection would hide NaN
            return 1e300
    worst = 0.0
    for l in range(n_laws):
        i0 = ints[ROW, l]
        d = ints[DIM, l]
        rho = reals[RHO, l]
        for i in range(d):
            xy[0, i] = rows[P, i0 + i] - rho * rows[XI, i0 + i]
        r = radius(ints, reals, rows, l)
        mode = project(f_project, ints, rows, l, r, dt, xy)
        # friction of a contact without normal impulse can do nothing: it is inactive
        if r == 0.0 and (ints[KIND, l] == COULOMB_1D or ints[KIND, l] == COULOMB_2D):
            mode = 0
        ints[MODE, l] = mode
        s = 0.0
        for i in range(d):
            s += (rows[P, i0 + i] - xy[1, i]) ** 2
        s = s**0.5 / rho
        if not s <= worst:  # also takes NaN
            worst = s
    return worst / scale if scale > 0.0 else worst


@kernel(void(int64, float64, i8_2, f8_2, f8_2, int64, int64), internal=True)
def r_factors(strategy, omega, ints, reals, G, n_laws, n):
    """The factors r_i = omega / G_ii (Studer et al., after eq. (28)), in one of three ways.

    0: local, omega over the largest diagonal entry of the law's block;
    1: row sum, omega over max_i sum_j |G_ij| of the block (a Jacobi sweep is then a contraction for symmetric G);
    2: one common factor, omega over the largest row sum of all of G.
    """
    common = 0.0
    for l in range(n_laws):
        size = 0.0
        for i in range(ints[ROW, l], ints[ROW, l] + ints[DIM, l]):
            s = G[i, i]
            if strategy != 0:
                s = 0.0
                for j in range(n):
                    s += abs(G[i, j])
            size = max(size, s)
        common = max(common, size)
        reals[RHO, l] = omega / size if size > 0.0 else 1.0
    if strategy == 2 and common > 0.0:
        for l in range(n_laws):
            reals[RHO, l] = omega / common
