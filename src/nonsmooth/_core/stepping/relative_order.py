"""Inputs of outputs whose relative order r is above two (Compere 2001, eq. (3.18)).

With e = y - y_d the derivatives e^(k), k < r, along the motion do not depend on the inputs tau, and e^(r) = a + b tau. The inputs make

    (d/dt + sigma)^r e = 0,     tau = b^-1 (-a - sum_{k < r} C(r, k) sigma^(r-k) e^(k)).

e, e' and e'' = W^T u' + kappa are known at a state. Higher derivatives are differences of e'' along the motion itself with tau held: states
at the instants j H, j = -K ... K, by steps of a Runge-Kutta method of high order,

    e^(2+k) = sum_j D_kj e''(t + j H) / H^k.

With tau = 0 they give a, with each input in turn the columns of b. Other constraints, and servos of lower order, act in these motions.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.integrators.records import call_field, solver_at
from nonsmooth._core.jit import by_reference, caller, f8_1, float64, int64, kernel, phase, scalars
from nonsmooth._core.linalg.elimination import solve_by_rank
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.equivalent_control import FIND, at_point, own_at

NODES = 4  # K: instants on each side
HIGHEST = 6  # relative order
DEPENDENT = 1e-11

OutputsControl = scalars("OutputsControl", spacing=float, stages=int)  # H; stages of the Runge-Kutta method


class Outputs(NamedTuple):
    """What the derivatives of outputs are made of."""

    control: Any
    A: np.ndarray  # Butcher's tableau; its last row is b
    c: np.ndarray
    D: np.ndarray  # differences, by order
    y: np.ndarray  # state at a node, and inside a step to it
    y_stage: np.ndarray
    K: np.ndarray  # slopes of the stages
    slope: np.ndarray  # at the state itself
    second: np.ndarray  # e'' by node and row
    derivative: np.ndarray  # e^(k) by column of the inputs (0: none), row, k
    unit: np.ndarray  # by row: size of an input
    choose: np.ndarray  # C(r, k)
    b: np.ndarray
    rhs: np.ndarray
    x: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def make_outputs(n_rows, n_y, A, c, D, choose):
    """The record for so many rows and unknowns."""
    n, s, nodes = max(n_rows, 1), c.size, 2 * NODES + 1
    ints = {name: np.zeros(n, dtype=np.int64) for name in ("rows", "columns")}
    return Outputs(
        control=OutputsControl(), A=A, c=c, D=D, y=np.zeros(n_y), y_stage=np.zeros(n_y), K=np.zeros((s, n_y)), slope=np.zeros(n_y),
        second=np.zeros((nodes, n)), derivative=np.zeros((n + 1, n, HIGHEST + 1)), unit=np.ones(n), choose=choose,
        b=np.zeros((n, n)), rhs=np.zeros(n), x=np.zeros(n), **ints,
    )  # fmt: skip


_, outputs_at = by_reference(make_outputs(1, 1, *(np.zeros(shape) for shape in ((1, 1), 1, (1, 1), (1, 1)))))
call_find = caller(FIND)


@kernel(FIND, part=True)
def find_inputs(at_scene, t, y):
    """Inputs of all outputs of high order at a state, into ``own.tau``."""
    scene = scene_at(at_scene)
    own = own_at(scene.at.own)
    outputs, n = outputs_at(own.at.outputs), scene.model.size.n_rows
    own.control.probing = 1
    for column in range(n + 1):
        if column > 0 and own.order[column - 1] <= 2:
            continue
        for i in range(n):
            own.tau[i] = outputs.unit[i] if column == i + 1 else 0.0
        along_the_motion(scene, own, outputs, t, y)
        differences(own, outputs, column, n)
    own.control.probing = 0
    status = own.control.status
    if status == OK:
        status = at_point(scene, own, t)  # (the last state looked at is the one asked for)
    if status != OK:
        return status
    return solve_for_inputs(scene, own, outputs, n)


@kernel(int64(int64, int64, float64, f8_1))
def derivatives_at(find, at_scene, t, y):
    """The same from Python: derivatives at a state are left in the record."""
    return call_find(find, at_scene, t, y)


@phase
def along_the_motion(scene, own, outputs, t, y):
    """e'' at the nodes, with the inputs held."""
    s, n, H = solver_at(own.at.solver), scene.model.size.n_rows, outputs.control.spacing
    for side in range(2):
        h = H if side == 0 else -H
        for k in range(y.size):
            outputs.y[k] = y[k]
        for j in range(1, NODES + 1):
            runge_kutta(s, outputs, t + (j - 1) * h, h)
            call_field(s.at.field, s.at.context, t + j * h, outputs.y, outputs.slope)
            second_derivatives(scene, own, outputs, NODES + (j if side == 0 else -j), n)
    call_field(s.at.field, s.at.context, t, y, outputs.slope)
    second_derivatives(scene, own, outputs, NODES, n)


@phase
def runge_kutta(s, outputs, t, h):
    """One step from ``outputs.y`` to there."""
    stages = outputs.control.stages
    for k in range(stages + 1):
        for i in range(outputs.y.size):
            x = 0.0
            for j in range(k):
                x += outputs.A[k, j] * outputs.K[j, i]
            outputs.y_stage[i] = outputs.y[i] + h * x
        if k < stages:
            call_field(s.at.field, s.at.context, t + outputs.c[k] * h, outputs.y_stage, outputs.K[k])
    for i in range(outputs.y.size):
        outputs.y[i] = outputs.y_stage[i]


@phase
def second_derivatives(scene, own, outputs, node, n):
    """e'' = W^T u' + kappa of all rows, at the state evaluated last."""
    size = scene.model.size
    for i in range(n):
        s = own.kappa[i]
        for k in range(size.n_u):
            s += scene.work.WT[i, k] * outputs.slope[size.n_q + k]
        outputs.second[node, i] = s


@phase
def differences(own, outputs, column, n):
    """e^(2), e^(3), ... of one column."""
    for i in range(n):
        for k in range(outputs.D.shape[0]):
            s = 0.0
            for j in range(2 * NODES + 1):
                s += outputs.D[k, j] * outputs.second[j, i]
            outputs.derivative[column, i, 2 + k] = s / outputs.control.spacing**k


@phase
def solve_for_inputs(scene, own, outputs, n):
    """b tau = -a - sum C(r, k) sigma^(r-k) e^(k); rows of lower order find theirs later."""
    for i in range(n):
        r = own.order[i]
        outputs.rhs[i] = 0.0
        for j in range(n):
            outputs.b[i, j] = 1.0 if i == j else 0.0
        if r <= 2:
            continue
        outputs.derivative[0, i, 0], outputs.derivative[0, i, 1] = own.Phi[i], own.gamma[i]
        a, largest = outputs.derivative[0, i, r], 0.0
        for j in range(n):
            high = own.order[j] > 2
            outputs.b[i, j] = outputs.derivative[j + 1, i, r] - a if high else 0.0
            largest = max(largest, abs(outputs.b[i, j]))
        if not largest > 0.0:
            scene.info.law = i
            return NO_SOLUTION
        s = -a
        for k in range(r):
            s -= outputs.choose[r, k] * own.sigma[i] ** (r - k) * outputs.derivative[0, i, k]
        outputs.rhs[i] = s / largest
        for j in range(n):
            outputs.b[i, j] /= largest
    rank = solve_by_rank(outputs.b, outputs.rhs, outputs.x, outputs.rows, outputs.columns, n, DEPENDENT)
    for i in range(n):
        own.tau[i] = outputs.x[i] * outputs.unit[i] if own.order[i] > 2 else 0.0
    if rank < n:
        scene.info.law = outputs.rows[rank]
        return NO_SOLUTION
    return OK
