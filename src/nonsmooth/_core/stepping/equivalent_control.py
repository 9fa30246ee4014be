"""Constrained motion as a control problem (Compere 2001, secs 2.2, 3.1-3.3 and 3.4.2).

With x = (q, u), e and k only say which half of x a formula speaks of and are never formed; the constraint forces are the input:

    q' = B u,    M u' = h + W la                                  x' = f + B la                    (3.14)
    s_n = Phi_n(t, q, u),    s_h = J_q u + zeta + sigma Phi_h      the switching surfaces S         (3.21), (3.22)
    S' = W^T u' + kappa + sigma (J_q u + zeta) = 0                 la = la_eq                       (3.24)-(3.26)

kappa = d/dt(W^T) u + d zeta/dt holds J_qn v and (J_qq v) v, and what rheonomic constraints add. GB is W^T M^-1 W, or W^T M^-1 E where
inputs act along directions E of their own (`Servo`). A surface that is being reached is pulled by -(GB)^-1 eta sgn(S): s' = -eta sgn(s).

The negative controls of chapters 2 and 3 are other inputs: eta sgn(S) kept on, a boundary layer, Baumgarte's terms, stiff springs.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.records import FIELD
from nonsmooth._core.jit import address_record, by_reference, caller, f8_1, float64, int64, phase, scalars
from nonsmooth._core.linalg.elimination import solve_by_rank
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.scene import EXAMPLE, scene_at
from nonsmooth._core.records.status import MASS_SINGULAR, NO_SOLUTION, NON_FINITE, OK

# how the input is found at a stage (sec. 3.4.2): equivalent control, one Newton correction of the frozen input, frozen input
EQUIVALENT, NEWTON, FROZEN = range(3)
# what keeps the constraints (chapters 2 and 3)
POST, NOTHING, SWITCHING, LAYER, BAUMGARTE, SPRINGS = range(6)

DEPENDENT = 1e-11  # pivot of a row that depends on others
CONFLICT = 1e-6  # part of the terms of a dependent row that it may miss

Control = scalars(
    "SlidingModeControl",
    # asked for
    form=int,
    stabilisation=int,
    passes=int,
    printed=int,  # positions moved by Phi_n as well, as (3.27) is printed
    mass_weighted=int,
    controlled=int,  # steps chosen by their error
    has_inputs=int,
    highest=int,  # relative order of outputs, if one is above two (`relative_order`)
    order=int,
    rtol=float,
    bound=float,  # constant C of the bound on the adjustment
    layer=float,
    alpha=float,
    beta=float,
    stiffness=float,
    damping=float,
    # where the run stands
    status=int,  # of the right-hand side
    at_begin=int,  # the input is being found that is frozen for the stages
    first=int,
    settling=int,  # positions are put onto a constraint for the first time
    probing=int,  # inputs of outputs of high order are held: their derivatives are being found
    silent=int,  # an instant inside a step: nothing is counted
    border=float,  # a breakpoint at which the run goes on
    earliest=float,  # functions are asked behind it, and before the next one, not on them, since they may jump there
    latest=float,
    h=float,  # length of the piece just taken
    fast=float,  # 1 / time scale of the motion
    adjustment=float,  # of this step, relative to the motion
    beyond=int,  # steps adjusted by more than the bound
    t_beyond=float,
    worst=float,  # largest adjustment in units of its bound
    t_worst=float,
    largest=float,  # largest adjustment, relative to the motion
)


class SlidingMode(NamedTuple):
    """The scheme's own record. `y` is (q, u, impulses of the constraints, work of the forces, work of the constraints)."""

    at: Any  # addresses: solver, inputs; of outputs of high order what finds them and its record
    control: Any
    y: np.ndarray
    q: np.ndarray
    u: np.ndarray
    sigma: np.ndarray
    eta: np.ndarray
    side: np.ndarray  # sgn(s) of a surface being reached, 0 once it is
    settled: np.ndarray  # whether positions are put onto the constraint
    Phi: np.ndarray
    kappa: np.ndarray
    gamma: np.ndarray  # J_q u + zeta, or Phi_n
    s: np.ndarray
    s_begin: np.ndarray
    terms: np.ndarray  # size of the terms of s, or of S'
    E: np.ndarray  # directions of the inputs, by row
    YE: np.ndarray  # L^-1 E
    F: np.ndarray  # W^T of (3.27)-(3.30), kept while positions move
    length: np.ndarray  # of rows
    length_E: np.ndarray
    A: np.ndarray
    b: np.ndarray
    x: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    tau: np.ndarray  # inputs of outputs of high order, by row
    order: np.ndarray  # relative order of each row
    la_0: np.ndarray
    la: np.ndarray
    q_before: np.ndarray  # before the adjustment
    u_before: np.ndarray
    scale: np.ndarray  # largest size of each component of (q, u) so far
    slope: np.ndarray  # and of u'


def make_own(size, at):
    """The record for a model of that size."""
    n_q, n_u, n = size.n_q, size.n_u, max(size.n_rows, 1)
    by_row = {name: np.zeros(n) for name in (
        "sigma", "eta", "side", "Phi", "kappa", "gamma", "s", "s_begin", "terms", "length", "length_E", "b", "x", "la_0", "la", "tau",
    )}  # fmt: skip
    ints = {name: np.zeros(n, dtype=np.int64) for name in ("settled", "rows", "columns", "order")}
    wide = {name: np.zeros((n, n_u)) for name in ("E", "YE", "F")}
    control = Control()
    control.border, control.earliest, control.latest = -np.inf, -np.inf, np.inf
    return SlidingMode(
        at=at, control=control, y=np.zeros(unknowns(size)), q=np.zeros(n_q), u=np.zeros(n_u), A=np.zeros((n, n)),
        q_before=np.zeros(n_q), u_before=np.zeros(n_u), scale=np.zeros(n_q + n_u), slope=np.zeros(n_u), **by_row, **ints, **wide,
    )  # fmt: skip


def unknowns(size):
    """Number of unknowns of the integration."""
    return int(size.n_q + size.n_u + size.n_rows + 2)


_, own_at = by_reference(make_own(EXAMPLE.model.size, address_record(solver=0, inputs=0, find=0, outputs=0)))

# Finds inputs of outputs of high order: (scene, t, y) -> status
FIND = int64(int64, float64, f8_1)
call_find = caller(FIND)


@part(FIELD)
def constrained_field(at_scene, t, y, out):
    """x' = f + B la of (3.14), the rates of impulses and work beside it. Trouble is kept in ``control.status``."""
    scene = scene_at(at_scene)
    own, size, status = own_at(scene.at.own), scene.model.size, OK
    if not own.control.probing:  # (derivatives of outputs are differences over an instant and its neighbours)
        t = min(max(t, own.control.earliest), own.control.latest)
    if own.control.highest > 2 and not own.control.probing:
        status = call_find(own.at.find, at_scene, t, y)
    for i in range(size.n_q):
        own.q[i] = y[i]
    for i in range(size.n_u):
        own.u[i] = y[size.n_q + i]
    if status == OK:
        status = at_point(scene, own, t)
    if status == OK:
        status = acceleration_terms(scene, own, t)
    if status == OK:
        status = control_input(scene, own)
    if status == OK:
        status = slopes(scene, own, out)
    if status != OK:
        if own.control.status == OK:
            own.control.status = status
        for i in range(out.size):
            out[i] = np.nan


@phase
def at_point(scene, own, t):
    """M, B, W, zeta, Phi_h at (q, u), and the surfaces S there (3.21)."""
    model, work = scene.model, scene.work
    at, size, p = model.at, model.size, model.p
    if not scene.info.ready or not size.constant_M:
        call_matrix(at.mass, t, own.q, own.u, p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            for i in range(size.n_q):
                work.q_m[i] = own.q[i]
            return MASS_SINGULAR
        scene.info.ready = 1
    if size.has_B:
        call_matrix(at.kinematics, t, own.q, own.u, p, work.B)
    if size.n_rows > 0:
        call_matrix(at.directions, t, own.q, own.u, p, work.WT)
        if size.has_zeta:
            call_vector(at.zeta, t, own.q, own.u, p, work.zeta)
        if size.n_joints > 0:
            call_vector(at.joints, t, own.q, own.u, p, own.Phi)
    return surfaces(scene, own)


@phase
def surfaces(scene, own):
    """S of (3.21), and the size of its terms."""
    work, size = scene.work, scene.model.size
    check = 0.0
    for i in range(size.n_rows):
        s, terms = work.zeta[i], abs(work.zeta[i])
        for k in range(size.n_u):
            s += work.WT[i, k] * own.u[k]
            terms += abs(work.WT[i, k] * own.u[k])
        own.gamma[i] = s
        if i < size.n_joints:
            s += own.sigma[i] * own.Phi[i]
            terms += own.sigma[i] * abs(own.Phi[i])
        own.s[i] = s
        own.terms[i] = terms
        check += s - s
    return OK if check == 0.0 else NON_FINITE


@phase
def acceleration_terms(scene, own, t):
    """h, kappa and the directions of the inputs."""
    model, work = scene.model, scene.work
    at, size, p = model.at, model.size, model.p
    call_vector(at.force, t, own.q, own.u, p, work.h)
    solve_lower(work.L, work.h, work.du, size.n_u)
    if size.n_rows == 0:
        return OK
    call_vector(at.kappa, t, own.q, own.u, p, own.kappa)
    for i in range(size.n_rows):
        solve_lower(work.L, work.WT[i], work.Y[i], size.n_u)
        own.length[i] = norm(work.Y[i], size.n_u)
        for k in range(size.n_u):
            own.E[i, k] = work.WT[i, k]
            own.YE[i, k] = work.Y[i, k]
        own.length_E[i] = own.length[i]
    if own.control.has_inputs:
        call_matrix(own.at.inputs, t, own.q, own.u, p, own.E)
        for i in range(size.n_rows):
            solve_lower(work.L, own.E[i], own.YE[i], size.n_u)
            own.length_E[i] = norm(own.YE[i], size.n_u)
    return OK


@phase
def norm(x, n):
    """Length of a vector."""
    s = 0.0
    for k in range(n):
        s += x[k] * x[k]
    return s**0.5


@phase
def dot(x, y, n):
    """Scalar product."""
    s = 0.0
    for k in range(n):
        s += x[k] * y[k]
    return s


@phase
def control_input(scene, own):
    """The input of this stage into `la`: (3.24), with what is added to it."""
    control, size = own.control, scene.model.size
    n = size.n_rows
    if control.stabilisation == SPRINGS:
        springs(own, size)
        return OK
    if control.form == FROZEN and not control.at_begin:
        for i in range(n):
            own.la[i] = own.la_0[i]
        return OK
    correct = control.form == NEWTON and not control.at_begin
    for i in range(n):
        own.b[i] = -surface_rate(scene, own, i, correct)
    status = solve_input(scene, own)
    for i in range(n):
        own.la[i] = own.x[i] + (own.la_0[i] if correct else 0.0)
    return status


@phase
def surface_rate(scene, own, i, frozen):
    """S' of surface i without input, or with the input frozen at the begin of the step, plus the rate that is wanted of it."""
    work, size, control = scene.work, scene.model.size, own.control
    G_f = dot(work.Y[i], work.du, size.n_u)
    own.terms[i] = abs(own.kappa[i])
    for k in range(size.n_u):
        own.terms[i] += abs(work.Y[i, k] * work.du[k])
    rate = own.kappa[i] + G_f
    if frozen:
        for j in range(size.n_rows):
            term = dot(work.Y[i], own.YE[j], size.n_u) * own.la_0[j]
            rate += term
            own.terms[i] += abs(term)
    added = own.side[i] * own.eta[i]
    if control.stabilisation == BAUMGARTE:
        added = 2.0 * control.alpha * own.gamma[i]
        if i < size.n_joints:
            added += control.beta**2 * own.Phi[i]
    else:
        if i < size.n_joints:
            added += own.sigma[i] * own.gamma[i]
        if control.stabilisation == SWITCHING and own.s[i] != 0.0:
            added += own.eta[i] if own.s[i] > 0.0 else -own.eta[i]
        if control.stabilisation == LAYER:
            added += own.eta[i] * min(max(own.s[i] / control.layer, -1.0), 1.0)
    own.terms[i] += abs(added)
    return rate + added


@phase
def springs(own, size):
    """Stiff springs and dampers in the place of constraints (sec. 2.1)."""
    for i in range(size.n_rows):
        own.la[i] = -own.control.damping * own.gamma[i]
        if i < size.n_joints:
            own.la[i] -= own.control.stiffness * own.Phi[i]


@phase
def solve_input(scene, own):
    """x = (GB)^-1 b with GB = W^T M^-1 E; rows that depend on others are left out, and may not contradict them."""
    work, size = scene.work, scene.model.size
    n = size.n_rows
    largest = 0.0
    for i in range(n):
        if not own.length[i] > 0.0 or not own.length_E[i] > 0.0:
            scene.info.law = i
            return NO_SOLUTION
        largest = max(largest, own.terms[i] / own.length[i])
        own.b[i] /= own.length[i]
        for j in range(n):
            own.A[i, j] = dot(work.Y[i], own.YE[j], size.n_u) / (own.length[i] * own.length_E[j])
        if own.order[i] > 2:  # its input is known
            own.b[i] = own.tau[i] * own.length_E[i]
            for j in range(n):
                own.A[i, j] = 1.0 if i == j else 0.0
    rank = solve_by_rank(own.A, own.b, own.x, own.rows, own.columns, n, DEPENDENT)
    for k in range(rank, n):
        if not abs(own.b[k]) <= CONFLICT * largest:
            scene.info.law, scene.info.residual = own.rows[k], abs(own.b[k])
            return NO_SOLUTION
    for j in range(n):
        own.x[j] /= own.length_E[j]
    return OK


@phase
def slopes(scene, own, out):
    """Rates of q, u, impulses and work."""
    work, size = scene.work, scene.model.size
    n_q, n_u, n = size.n_q, size.n_u, size.n_rows
    for i in range(n_q):
        out[i] = dot(work.B[i], own.u, n_u) if size.has_B else own.u[i]
    for k in range(n_u):
        for i in range(n):
            work.du[k] += own.YE[i, k] * own.la[i]
    solve_lower_transposed(work.L, work.du, work.du, n_u)
    check = 0.0
    for k in range(n_u):
        out[n_q + k] = work.du[k]
        check += work.du[k] - work.du[k]
    power = 0.0
    for i in range(n):
        out[n_q + n_u + i] = own.la[i]
        power += own.la[i] * dot(own.E[i], own.u, n_u)
    out[n_q + n_u + n] = dot(work.h, own.u, n_u)
    out[n_q + n_u + n + 1] = power
    return OK if check == 0.0 else NON_FINITE
