"""Where a mode ends: for each law a function that is positive in its mode and vanishes with it, and its root.

The gap of an open contact, the force of a closed one, the slip speed of a sliding element, the distance of the force to
the edge of its set for a sticking one. Read by the search of `extrapolation_run`.
"""

from nonsmooth._core.jit import f8_1, float64, int64, kernel, void
from nonsmooth._core.laws.projections import radius
from nonsmooth._core.records.codes import (
    DIM,
    GAMMA_B,
    HALF_LINE,
    HI,
    KIND,
    LO,
    PLACE,
    ROW,
    S_NL,
    S_NQ,
    S_NU,
    P,
)
from nonsmooth._core.stepping.extrapolation import (
    ACTUAL,
    F_SHIFT,
    F_T_PHI,
    F_T_PHI_OLD,
    OLD,
    PREVIOUS,
    STEPS_TYPE,
)
from nonsmooth._core.stepping.moreau import SCENE_TYPE

INFINITY = 1e300
GAP_ULPS = 8 * 2.220446049250313e-16


@kernel(
    void(SCENE_TYPE, float64, f8_1),
    references=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
def law_functions(scene, h, phi):
    """Functions that vanish where a mode ends, read off a probe of length `h` (see the module's text)."""
    laws, size, w, prox = scene.laws, scene.size, scene.w, scene.prox
    for l in range(size[S_NL]):
        a = prox.ints[PLACE, l]
        mode = w.modes_new[l]
        value = INFINITY
        if laws.ints[KIND, l] == HALF_LINE:
            value = prox.rows[P, prox.ints[ROW, a]] / h if a >= 0 and mode == 1 else w.g[l]
        elif a >= 0 and mode != 0:
            i0 = prox.ints[ROW, a]
            s = 0.0
            if mode == 1:
                for d in range(prox.ints[DIM, a]):
                    s += prox.rows[P, i0 + d] ** 2
                r = radius(prox.ints, prox.reals, prox.rows, a)
                value = (r - s**0.5) / h
                if laws.ints[KIND, l] == 1:
                    value = (
                        min(prox.rows[HI, i0] - prox.rows[P, i0], prox.rows[P, i0] - prox.rows[LO, i0]) / h
                    )
            else:
                for d in range(prox.ints[DIM, a]):
                    s += prox.rows[GAMMA_B, i0 + d] ** 2
                value = s**0.5
        phi[l] = value


@kernel(
    float64(SCENE_TYPE, STEPS_TYPE, int64), references=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
def gap_rounding(scene, s, l):
    """What rounding can hide in gap `l`: a few units in the last place of its terms, the largest |dg/dq_j q_j|, not of itself.

    A body that falls slower than that per step does not move any more on a floor that is not at q = 0; without this
    the contact would never be seen to close.
    """
    q_size, w_size = 0.0, 0.0
    for k in range(scene.size[S_NQ]):
        q_size = max(q_size, abs(s.q[ACTUAL, k]))
    for k in range(scene.size[S_NU]):
        w_size = max(w_size, abs(scene.w.WT[l, k]))
    return GAP_ULPS * (abs(s.gap[ACTUAL, l]) + w_size * q_size)


@kernel(
    float64(STEPS_TYPE, int64, float64, float64),
    references=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
def gap_root(s, l, h, closed):
    """Time from the end of the previous step until the open gap `l` closes; INFINITY if it does not seem to.

    From the cubic through gap and rate now and `h` earlier (`h` <= 0: from gap and rate alone); a gap of at most `closed`
    is closed already.
    """
    g, r = s.gap[PREVIOUS, l], s.rate[PREVIOUS, l]
    if r >= 0.0:
        return INFINITY
    if g <= closed:
        return 0.0
    z = -g / r
    if h <= 0.0 or z > 1e3 * h:
        return z
    c = (s.gap[OLD, l] - g + r * h) / (h * h)
    d = (r - s.rate[OLD, l]) / h
    a, b = (2.0 * c - d) / h, 3.0 * c - d  # g + r z + b z^2 + a z^3
    if z > 2.0 * h:
        a, b = 0.0, 0.5 * d  # far away: a parabola
    square = r * r - 4.0 * b * g
    if square < 0.0:
        return INFINITY
    z = 2.0 * g / (square**0.5 - r)
    for _ in range(3):
        slope = r + z * (2.0 * b + z * 3.0 * a)
        if slope < 0.0:
            z = min(max(z - (g + z * (r + z * (b + z * a))) / slope, 0.5 * z), 2.0 * z)
    return z


@kernel(float64(STEPS_TYPE, int64, float64), references=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def instant_rounding(s, l, closed):
    """How well the instant at which gap `l` closes is defined: the time it takes to pass what rounding hides of the gap."""
    rate = s.rate[PREVIOUS, l]
    return -closed / rate if rate < 0.0 else 0.0


@kernel(float64(STEPS_TYPE, f8_1, int64), references=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def secant_root(s, xf, l):
    """Instant at which the function of law `l` vanishes, by a secant through its last two values; or -INFINITY.

    Forces are those at the point of evaluation of the probe, which lies F_SHIFT after its begin.
    """
    old, new = s.phi[1, l], s.phi[0, l]
    if xf[F_T_PHI_OLD] <= -INFINITY or not old > new or not new >= 0.0 or old >= INFINITY:
        return -INFINITY
    shift = xf[F_SHIFT] if s.modes[PREVIOUS, l] == 1 else 0.0
    return xf[F_T_PHI] + shift + new * (xf[F_T_PHI] - xf[F_T_PHI_OLD]) / (old - new)
