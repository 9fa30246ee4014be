"""Where the iterations for the stages start: from the slopes of the step before, continued as a polynomial."""

from nonsmooth._core.jit import phase

FARTHEST = 2.0  # steps of the one before whose slopes it can tell
SAME = 1e-12  # part of a step by which two of the same length may differ


@phase
def first_slopes(own, capture, size, dt):
    """Where the iterations start: the slopes of the step before, continued, or the one at the begin of the step."""
    control, s = capture.control, own.control.stages
    if control.dt_before == 0.0 or dt > FARTHEST * control.dt_before:
        for k in range(1, s):
            for i in range(size.n_q):
                capture.X_q[k, i] = own.K_q[0, i]
            for i in range(size.n_u):
                capture.X_u[k, i] = own.K_u[0, i]
        return
    ratio = dt / control.dt_before
    if abs(ratio - control.ratio) > SAME:
        control.ratio = ratio
        for k in range(1, s):
            lagrange(own.c, s, 1.0 + ratio * own.c[k], capture.continued[k])
    for k in range(1, s):
        for i in range(size.n_q):
            x = 0.0
            for j in range(s):
                x += capture.continued[k, j] * capture.before_q[j, i]
            capture.X_q[k, i] = x
        for i in range(size.n_u):
            x = 0.0
            for j in range(s):
                x += capture.continued[k, j] * capture.before_u[j, i]
            capture.X_u[k, i] = x


@phase
def lagrange(c, n, x, out):
    """Weights that take values at the first n nodes to that of their polynomial at x."""
    for j in range(n):
        out[j] = 1.0
        for m in range(n):
            if m != j:
                out[j] *= (x - c[m]) / (c[j] - c[m])


@phase
def remember_slopes(own, capture, size, dt):
    """The step is accepted: the next one starts its iterations from its slopes."""
    if not capture.control.implicit:
        return
    capture.control.dt_before = dt
    for k in range(own.control.stages):
        for i in range(size.n_q):
            capture.before_q[k, i] = own.K_q[k, i]
        for i in range(size.n_u):
            capture.before_u[k, i] = own.K_u[k, i]
