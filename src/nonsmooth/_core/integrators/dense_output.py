"""The solution inside a step: a polynomial in ``theta = (tau - t)/h`` in the nested basis of Hairer, Norsett & Wanner
(1993, II.6)

    y(theta) = y_0 + theta (Q_0 + (1-theta) (Q_1 + theta (Q_2 + (1-theta) (Q_3 + ...))))    (1)

with ``Q_0 = y_1 - y_0``, ``Q_1 = h f_0 - Q_0``, ``Q_2 = Q_0 - h f_1 - Q_1`` and ``Q_{3+j} = h sum_i D_ji K_i``: values
and slopes at both ends are exact by construction.
"""

from __future__ import annotations

from nonsmooth._core.jit import kernel, phase


@phase
def interpolant(s, h):
    """Coefficients Q of (1) from values and slopes at both ends and the rows D."""
    K, Q, D = s.step.K, s.step.Q, s.tableau.D
    end = s.method.stages
    for k in range(s.y.size):
        q0 = s.step.y_new[k] - s.y[k]
        q1 = h * K[0, k] - q0
        Q[0, k] = q0
        Q[1, k] = q1
        Q[2, k] = q0 - h * K[end, k] - q1
    for j in range(s.method.n_dense):
        for k in range(s.y.size):
            acc = 0.0
            for i in range(end + 1 + s.method.extra):
                acc += D[j, i] * K[i, k]
            Q[3 + j, k] = h * acc


@kernel(references=False, forceinline=False)
def dense_eval(y, Q, rows, theta, out):
    """Evaluate (1) with the first `rows` rows of `Q` at `theta` into `out`."""
    one = 1.0 - theta
    for k in range(y.size):
        acc = 0.0
        for j in range(rows - 1, -1, -1):
            acc = (acc + Q[j, k]) * (theta if j % 2 == 0 else one)
        out[k] = y[k] + acc


@kernel(references=False, forceinline=False)
def dense_slope(Q, rows, theta, h, out):
    """Derivative of (1) with respect to time at `theta` into `out`."""
    one = 1.0 - theta
    for k in range(out.size):
        acc = 0.0
        slope = 0.0
        for j in range(rows - 1, -1, -1):
            value = acc + Q[j, k]
            if j % 2 == 0:
                slope = slope * theta + value
                acc = value * theta
            else:
                slope = slope * one - value
                acc = value * one
        out[k] = slope / h
