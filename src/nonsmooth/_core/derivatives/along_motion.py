"""First and second derivatives of model functions along the motion, by extrapolated differences at a step found on the spot.

Along the curve  q(s) = q + s v + s^2/2 w  at the time t + s and with u held, a function f(t, q, u) has

    f'  = (f(h) - f(-h)) / 2h + O(h^2),     f'' = (f(h) - 2 f(0) + f(-h)) / h^2 + O(h^2),

extrapolated twice (h, h/2, h/4) to O(h^6). Beside a border of the time axis (`pieces`) the nodes lie on one side of it,

    f'  = (-3 f(0) + 4 f(h) - f(2h)) / 2h + O(h^2),     f'' = (2 f(0) - 5 f(h) + 4 f(2h) - f(3h)) / h^2 + O(h^2),

extrapolated to O(h^4); h < 0 behind t. The right h lies some orders of magnitude below the time T in which the motion
crosses a length of the model, but nobody knows these lengths: what a start state tells may be wrong by any factor (a model in
micrometres started at zero). So h is tried at a fixed fraction of T, then smaller, then larger, until the last two extrapolations
agree and rounding is out of sight, and of each entry the value with most digits is kept (where none has any, the derivative is zero
as far as can be told: the one with the smallest doubt). A larger step may only sharpen what smaller ones have shown: steps of whole
turns of an angle agree with each other perfectly, on a wrong value.

Rounding is that of the terms of a function, not of its value: the gap of a closed contact is a difference of large numbers. It is seen
where all arguments are changed by some units in their last place.

Lengths and times may be measured in any unit: at worst more steps are tried.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.derivatives.pieces import CENTRAL, NOWHERE, piece_around, side_of_stencil
from nonsmooth._core.jit import VECTOR, f8_1, f8_2, f8_ro, float64, i8_1, int64, kernel, void

#: Steps as fractions of T: from these, for first and second derivatives, down by powers of SHRINK, then up again. The numbers
#: have no common multiple with the periods one finds in models.
FIRST_STEP = 0.0171, 0.0513
SHRINK = 0.1013
N_SMALLER, N_LARGER = 12, 6
#: Agreement of two extrapolations of order 4 that ends the search (the value of order 6 is better by some digits), and the
#: one that noise does not reach by chance.
AGREEMENT, SIGNIFICANT = 1e-8, 1e-3
#: Differences on one side: weights of f(0), f(h), f(2h), f(3h), for first and second derivatives.
ONE_SIDED = (-1.5, 2.0, -0.5, 0.0), (2.0, -5.0, 4.0, -1.0)
#: Errors that the second extrapolation removes, as powers of two: h^4 in the middle, h^3 on one side.
SECOND_POWER = 16.0, 8.0
#: How many of its doubts a value may move when a larger step sharpens it.
WITHIN = 10.0
#: Part of its size that a coordinate must cross to move at all.
AT_REST = 1e-100
#: Rounding of a function's value, and of the differences and extrapolations made of it; changes of arguments that show it, in units
#: of their last place.
ROUNDING = 4.0 * 2.2e-16
ULPS = 8.0


@kernel(VECTOR)
def copy_velocity(t, q, u, p, out):
    """q' = u."""
    for j in range(u.size):
        out[j] = u[j]


@kernel(VECTOR)
def nothing(t, q, u, p, out):
    """Zero."""
    for i in range(out.size):
        out[i] = 0.0


@kernel(float64(float64, f8_ro, f8_ro, f8_ro, float64, int64), references=False)
def time_of_motion(t, q, v, scale_q, scale_t, rheonomic):
    """T: how long the motion takes to cross the size of its fastest coordinate; time itself counts if a function reads it."""
    whole = T = max(scale_t, abs(t))
    found = rheonomic != 0
    for j in range(q.size):
        speed = abs(v[j])
        size = max(abs(q[j]), scale_q[j])
        # (what comes to rest may go on losing its velocity until that is no number any more)
        if speed * whole > AT_REST * size and (not found or size < T * speed):
            T = size / speed
            found = True
    return T


@kernel(
    void(int64, int64, float64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, f8_1, f8_2, f8_1),
    references=False,
)
def difference(f, order, h, t, q, v, w, u, p, q_s, values, out):
    """Difference quotient of order 1 or 2 with step `h`; the rows of `values` become f(h), f(-h), the third is f(0)."""
    for side in range(2):
        s = h if side == 0 else -h
        for j in range(q.size):
            q_s[j] = q[j] + s * (v[j] + 0.5 * s * w[j])
        call_vector(f, t + s, q_s, u, p, values[side])
    for i in range(out.size):
        if order == 1:
            out[i] = (values[0, i] - values[1, i]) / (2.0 * h)
        else:
            out[i] = ((values[0, i] - values[2, i]) + (values[1, i] - values[2, i])) / (h * h)


@kernel(
    void(int64, int64, float64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, f8_1, f8_2, f8_1),
    references=False,
)
def one_sided_difference(f, order, h, t, q, v, w, u, p, q_s, values, out):
    """The same with nodes ahead (h > 0) or behind; the first two rows of `values` become f at the last two nodes."""
    for i in range(out.size):
        out[i] = ONE_SIDED[order - 1][0] * values[2, i]
    for k in range(1, order + 2):
        s, value = k * h, values[k % 2]
        for j in range(q.size):
            q_s[j] = q[j] + s * (v[j] + 0.5 * s * w[j])
        call_vector(f, t + s, q_s, u, p, value)
        for i in range(out.size):
            out[i] += ONE_SIDED[order - 1][k] * value[i]
    for i in range(out.size):
        out[i] /= h**order


@kernel(void(int64, float64, float64, float64, f8_ro, f8_ro, f8_ro, f8_1, f8_2, f8_1), references=False)
def rounding_along(f, a, b, t, q, u, p, q_s, work, out):
    """What rounding of arguments does to the values of `f`: into ``work[8]``; time stays between `a` and `b`."""
    values, noise, change = work[:3], work[8], ULPS * 2.2e-16
    call_vector(f, t, q, u, p, values[2])
    for i in range(out.size):
        noise[i] = 0.0
    for side in range(2):
        # (terms may cancel for changes of one sign)
        for j in range(q.size):
            q_s[j] = q[j] * (1.0 + change * (1.0 if side == 0 or j % 2 == 0 else -1.0))
        t_s = t * (1.0 + change * (1.0 if side == 0 else -1.0))
        call_vector(f, t_s if a <= t_s < b else t, q_s, u, p, values[side])
        for i in range(out.size):
            noise[i] = max(noise[i], abs(values[side, i] - values[2, i]) * (ROUNDING / change))


@kernel(
    void(int64, int64, float64, i8_1, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, f8_1, f8_2, f8_1),
    references=False,
)
def derivative_along(f, order, T, pieces, t, q, v, w, u, p, q_s, work, out):
    """Derivative of order 1 or 2 of the function at address `f` along the curve of `v` and `w`, for all entries of `out`.

    Parameters
    ----------
    T : float
        See `time_of_motion`.
    pieces : cell
        Borders of the pieces of time.
    q_s : ndarray, shape (n_q,)
        Scratch space.
    work : ndarray, shape (9, n)
        Scratch space; entries the function does not write must be zero in it, and come out as zero.
    """
    values, coarse, middle, fine = work[:3], work[3], work[4], work[5]
    doubt, ratio = work[6], work[7]  # of the values kept in `out`; ratio to their size
    noise = work[8]
    a, b = piece_around(pieces, t)
    rounding_along(f, a, b, t, q, u, p, q_s, work, out)
    for i in range(out.size):
        out[i] = float("nan")  # stays if there is no step at which the function is finite
        doubt[i] = ratio[i] = 1e300
    flat = False
    for attempt in range(1 + N_SMALLER + N_LARGER):
        if flat and attempt <= N_SMALLER:
            continue  # where nothing changes, only a larger step can tell more
        power = attempt if attempt <= N_SMALLER else N_SMALLER - attempt
        h = FIRST_STEP[order - 1] * T * SHRINK**power
        side = side_of_stencil(t, a, b, h, (1 + order) * h)
        if side == NOWHERE:
            continue
        if side == CENTRAL:
            power_2 = SECOND_POWER[0]
            difference(f, order, h, t, q, v, w, u, p, q_s, values, coarse)
            difference(f, order, 0.5 * h, t, q, v, w, u, p, q_s, values, middle)
            difference(f, order, 0.25 * h, t, q, v, w, u, p, q_s, values, fine)
        else:
            power_2 = SECOND_POWER[1]
            one_sided_difference(f, order, side * h, t, q, v, w, u, p, q_s, values, coarse)
            one_sided_difference(f, order, 0.5 * side * h, t, q, v, w, u, p, q_s, values, middle)
            one_sided_difference(f, order, 0.25 * side * h, t, q, v, w, u, p, q_s, values, fine)
        missing = 0
        flat = True
        for i in range(out.size):
            before = (4.0 * middle[i] - coarse[i]) / 3.0  # order 4
            fourth = (4.0 * fine[i] - middle[i]) / 3.0
            sixth = (power_2 * fourth - before) / (power_2 - 1.0)
            blur = max(ROUNDING * max(abs(values[0, i]), abs(values[1, i])), noise[i])
            d = 0.5 * abs(fourth - before) + blur / (0.25 * h) ** order
            r = d / abs(sixth) if sixth != 0.0 else (1.0 if d > 0.0 else 0.0)
            known = power < 0 and ratio[i] < SIGNIFICANT
            same = not known or abs(sixth - out[i]) <= WITHIN * doubt[i]
            if (r < ratio[i] and r < SIGNIFICANT and same) or (
                ratio[i] >= SIGNIFICANT and power >= 0 and d < doubt[i]
            ):
                out[i], doubt[i], ratio[i] = sixth, d, r
            if not ratio[i] <= AGREEMENT:
                missing += 1
                flat = flat and abs(coarse[i]) * h**order <= blur
        if missing == 0:
            return
