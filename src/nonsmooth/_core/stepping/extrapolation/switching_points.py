"""Where a mode ends: for each law a function that is positive in its mode and vanishes with it, and its root.

The gap of an open contact, the force of a closed one, the slip speed of a sliding element, the distance of the force to
the edge of its set for a sticking one. Read by the search of `next_step`.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.laws.projections import radius
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE, INTERVAL

INFINITY = 1e300
GAP_ULPS = 8 * 2.220446049250313e-16


@phase
def law_functions(scene, h, phi):
    """Functions that vanish where a mode ends, read off a probe of length `h` (see the module's text)."""
    laws, work, problem, end = scene.model.laws, scene.work, scene.problem, scene.end
    for l in range(scene.model.size.n_laws):
        a = problem.place[l]
        mode = end.modes[l]
        phi[l] = INFINITY
        if laws.kind[l] == HALF_LINE:
            closed = a >= 0 and mode == CONSTRAINT
            phi[l] = problem.rows.P[problem.laws.row[a]] / h if closed else work.g[l]
        elif a >= 0 and mode == CONSTRAINT:
            phi[l] = room_to_edge(problem, a) / h
        elif a >= 0 and mode != INACTIVE:
            phi[l] = size_of(problem.rows.gamma_B, problem, a)


@phase
def size_of(values, problem, a):
    """Euclidean length of the rows of law `a`."""
    s = 0.0
    for d in range(problem.laws.dim[a]):
        s += values[problem.laws.row[a] + d] ** 2
    return s**0.5


@phase
def room_to_edge(problem, a):
    """How far the impulse of a sticking law is from the edge of its set."""
    rows, i = problem.rows, problem.laws.row[a]
    if problem.laws.kind[a] == INTERVAL:
        return min(rows.hi[i] - rows.P[i], rows.P[i] - rows.lo[i])
    return radius(problem, a) - size_of(rows.P, problem, a)


@phase
def gap_rounding(scene, point, l):
    """What rounding can hide in gap `l`: a few units in the last place of its terms, the largest |dg/dq_j q_j|, not of itself.

    A body that falls slower than that per step does not move any more on a floor that is not at q = 0; without this
    the contact would never be seen to close.
    """
    q_size, w_size = 0.0, 0.0
    for k in range(scene.model.size.n_q):
        q_size = max(q_size, abs(point.state.q[k]))
    for k in range(scene.model.size.n_u):
        w_size = max(w_size, abs(scene.work.WT[l, k]))
    return GAP_ULPS * (abs(point.gap[l]) + w_size * q_size)


@phase
def instant_rounding(rate, slope, closed):
    """How well the instant at which a gap closes is defined: the time it takes to pass what rounding hides of it, with its rate and what
    that changes by (near the top of a last small rebound the rate alone would take milliseconds)."""
    if rate >= 0.0:
        return 0.0
    return 2.0 * closed / (-rate + (rate * rate + 2.0 * max(-slope, 0.0) * closed) ** 0.5)


@phase
def gap_root(own, l, h, closed):
    """Time from the end of the previous step until the open gap `l` closes; INFINITY if it does not seem to.

    From the cubic through gap and rate now and `h` earlier (`h` <= 0: from gap and rate alone); a gap of at most `closed`
    is closed already.
    """
    g, r = own.previous.gap[l], own.previous.rate[l]
    if r >= 0.0:
        return INFINITY
    if g <= closed:
        return 0.0
    z = -g / r
    if h <= 0.0 or z > 1e3 * h:
        return z
    c = (own.old_gap[l] - g + r * h) / (h * h)
    d = (r - own.old_rate[l]) / h
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


@phase
def secant_root(own, l):
    """Instant at which the function of law `l` vanishes, by a secant through its last two values; or -INFINITY.

    Forces are those at the point of evaluation of the probe, which lies `control.shift` after its begin.
    """
    control, old, new = own.control, own.phi[1, l], own.phi[0, l]
    if control.t_phi_old <= -INFINITY or not old > new or not new >= 0.0 or old >= INFINITY:
        return -INFINITY
    shift = control.shift if own.previous.state.modes[l] == CONSTRAINT else 0.0
    return control.t_phi + shift + new * (control.t_phi - control.t_phi_old) / (old - new)
