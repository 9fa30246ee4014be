"""Where functions of time jump, and where they have kinks: sampled over a span, then narrowed down to neighbouring numbers.

A jump between two samples shows in the change d_k = f_k+1 - f_k: where f is smooth, d_k is the mean of its neighbours but for terms of
third order in the step,

    e_k = |d_k - (d_k-1 + d_k+1)/2|  >  4 min(e_k-2, e_k+2)     (a pulse is smooth on one side only)

is suspicious, and so is a change that the samples cannot follow. Suspicion may err: halving the interval decides. What remains between
neighbouring numbers is a jump, what vanishes was steep. Kinks of f are looked for as jumps of  (f(t + reach) - f(t)) / reach, as wide as
`reach`, and lie where the straight lines of both sides meet.
"""

from typing import Any, NamedTuple

from nonsmooth._core.jit import MATRIX, VECTOR, caller, kernel, phase

EPS = 2.220446049250313e-16
TIMES = 4.0  # by how much a jump stands out
UNRESOLVED = 0.1  # part of the range of a function by which it may change between two samples
STAYS = 0.25  # part of a jump by which values may differ on either side of it
LOOKS = 4  # instants on either side at which that is seen, 4, 16, ... roundings of time away
FINER = 16.0  # a kink is one also at a reach so many times shorter

call_vector, call_matrix = caller(VECTOR), caller(MATRIX)


class Asked(NamedTuple):
    """A function of the model at one state, of which only time varies."""

    function: Any  # as loops take it (`calls.model_functions`)
    is_matrix: bool
    reach: float  # of differences; zero: its values are asked for
    t_0: float  # the span
    t_1: float
    q: Any
    u: Any
    p: Any
    matrix: Any  # scratch for its value, (1, 1) for vectors
    vector: Any  # the same memory, (m,)
    before: Any  # scratch, (m,)


@phase
def value(asked, t):
    """f(t) in ``asked.vector``."""
    if asked.is_matrix:
        call_matrix(asked.function, t, asked.q, asked.u, asked.p, asked.matrix)
    else:
        call_vector(asked.function, t, asked.q, asked.u, asked.p, asked.vector)


@phase
def look(asked, t):
    """f(t), or its mean rate from t on, in ``asked.vector``."""
    value(asked, t)
    if asked.reach > 0.0:
        for c in range(asked.vector.size):
            asked.before[c] = asked.vector[c]
        value(asked, t + asked.reach)
        for c in range(asked.vector.size):
            asked.vector[c] = (asked.vector[c] - asked.before[c]) / asked.reach


@kernel(references=False)
def sample(asked, instants, values):
    """Values at all instants, shape (n, m); those behind one at which the function raises stay as they are."""
    for k in range(instants.size):
        look(asked, instants[k])
        for c in range(asked.vector.size):
            values[k, c] = asked.vector[c]


@kernel(references=False)
def suspects(values, floor, extent, place, component, weight):
    """Intervals that may hold a jump: numbers, components, how far they stand out. Returns how many there are.

    `floor` and `extent` are the least jump that counts and the range of each component.
    """
    n, found = values.shape[0] - 1, 0
    for c in range(values.shape[1]):
        last, here, later = 0.0, 0.0, 0.0
        for k in range(n):
            here = stands_out(values, c, k)
            if here > 0.5 * floor[c]:
                last = stands_out(values, c, k - 2) if k > 1 else 0.0
                later = stands_out(values, c, k + 2) if k + 2 < n else 0.0
                step = abs(values[k + 1, c] - values[k, c])
                if (here > TIMES * min(last, later) or step > UNRESOLVED * extent[c]) and found < place.size:
                    place[found], component[found], weight[found] = k, c, here / extent[c]
                    found += 1
    return found


@phase
def stands_out(values, c, k):
    """e_k; at the ends of the span the only neighbour is taken twice."""
    n = values.shape[0] - 1
    d = values[k + 1, c] - values[k, c]
    before = (
        values[k, c] - values[k - 1, c] if k > 0 else values[k + 2, c] - values[k + 1, c] if n > 1 else 0.0
    )
    behind = values[k + 2, c] - values[k + 1, c] if k + 2 <= n else before
    return abs(d - 0.5 * (before + behind))


@kernel(references=False)
def narrow(asked, low, high, component, floor, width):
    """Narrow each interval [low, high] down to the jump in it, `width` (or one rounding of time) long; NaN where there is none."""
    for i in range(low.size):
        c = component[i]
        a, b = halved(asked, low[i], high[i], c, floor[i], width)
        if a < b and asked.reach > 0.0:
            a = kink(asked, a, b, c, floor[i])
            b = a
        elif a < b and not lasts(asked, a, b, c):
            a = b = float("nan")
        low[i], high[i] = a, b


@phase
def halved(asked, a, b, c, floor, width):
    """The half with the larger change, again and again; not a number as soon as no jump is left."""
    look(asked, a)
    f_a = asked.vector[c]
    look(asked, b)
    f_b = asked.vector[c]
    while b - a > width:
        m = a + 0.5 * (b - a)
        if not (a < m < b):
            break
        look(asked, m)
        f_m = asked.vector[c]
        if abs(f_m - f_a) >= abs(f_b - f_m):
            b, f_b = m, f_m
        else:
            a, f_a = m, f_m
        if not abs(f_b - f_a) > floor:
            break
    return (a, b) if abs(f_b - f_a) > floor else (float("nan"), float("nan"))


@phase
def lasts(asked, a, b, c):
    """Whether values stay on either side of a jump: rounding jumps everywhere."""
    look(asked, a)
    f_a = asked.vector[c]
    look(asked, b)
    f_b = asked.vector[c]
    away = max(b - a, EPS * max(abs(a), abs(b)))
    for _ in range(LOOKS):
        away *= 4.0
        if a - away >= asked.t_0:
            look(asked, a - away)
            if not abs(asked.vector[c] - f_a) < STAYS * abs(f_b - f_a):
                return False
        if b + away <= asked.t_1:
            look(asked, b + away)
            if not abs(asked.vector[c] - f_b) < STAYS * abs(f_b - f_a):
                return False
    return True


@phase
def kink(asked, a, b, c, floor):
    """Where the straight lines before `a` and behind `b` meet, if the slope jumps as much seen from nearer; else not a number."""
    reach, near = asked.reach, asked.reach / FINER
    t, change = meeting(asked, a - reach, b + 2.0 * reach, reach, c)
    t, closer = meeting(asked, t - 2.0 * near, t + 2.0 * near, near, c)
    return t if change > floor and closer > 0.5 * change else float("nan")


@phase
def meeting(asked, a, b, reach, c):
    """The instant between a and b at which the lines through f(a - reach), f(a) and through f(b), f(b + reach) meet, and by how much
    their slopes differ; not a number if there is none."""
    if not (a - reach >= asked.t_0 and b + reach <= asked.t_1):
        return float("nan"), 0.0
    value(asked, a - reach)
    f_a = asked.vector[c]
    value(asked, a)
    slope_a, f_a = (asked.vector[c] - f_a) / reach, asked.vector[c]
    value(asked, b)
    f_b = asked.vector[c]
    value(asked, b + reach)
    slope_b = (asked.vector[c] - f_b) / reach
    change = abs(slope_b - slope_a)
    t = a + (f_b - f_a - slope_b * (b - a)) / (slope_a - slope_b) if change > 0.0 else float("nan")
    return (t, change) if a <= t <= b else (float("nan"), 0.0)
