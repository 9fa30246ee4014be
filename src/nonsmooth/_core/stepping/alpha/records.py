"""What the generalized-alpha step works on, by name, and what it remembers from step to step.

Every multiplier of the step stands in a *slot*: first one for each contact and joint on position level, then one for each row of the laws
on velocity level. All of them are impulses and all constraints velocities, so that one contact problem holds both levels:

    slot        moves                              speaks of
    position    delta by h M^-1 W mu               xi = g(q_1)/h
    velocity    v by M^-1 W mu                     xi = gamma_1 + e gamma_0

(`reach_delta`, `reach_v`: the two factors; `scale`: 1/h.) The forms with one
multiplier move both: delta by (beta'/gamma') M^-1 W mu, v by M^-1 W mu.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, phase, scalars
from nonsmooth._core.records.problem import EXAMPLE as PROBLEM
from nonsmooth._core.records.problem import Problem
from nonsmooth._core.records.status import OWN

# forms of the constraints
P, V, A, PV, GGL, PVV, PVA = range(7)
#: The scheme's own status: a contact strikes, and the form has no impacts.
STRIKES = OWN
# levels of a slot
POSITION, VELOCITY, ACCELERATION = range(3)
# where contacts act
AUGMENTED, BY_GAP, BY_SMOOTH_GAP = range(3)
# where functions are evaluated: at the begin of the step, or moved by the iterate
BEGIN, MOVED = range(2)
# which contacts share in the smooth motion
NONE, BILATERAL, RESTING, LITERAL = range(4)
# accelerations at the start
SHIFTED, PLAIN, ZERO = range(3)

Options = scalars(
    "Options",
    form=int,
    alpha_m=float,
    alpha_f=float,
    beta=float,
    gamma=float,
    activation=int,
    smooth=int,
    start=int,
    restart=int,  # accelerations are made consistent again after steps with jumps
    tol=float,  # of Newton's method, relative
    baumgarte_1=float,  # 2 alpha and
    baumgarte_0=float,  # beta^2 of (71c)
    linear=int,  # the tangent is the same everywhere: found once
    exact=int,  # ... and the model says so itself: one iteration solves the step, nothing is left to be measured
    damped=int,  # D is not zero
    apart=int,  # the three sub-problems of Algorithm 1 one after the other, instead of both levels at once
)

Weights = scalars(
    "Weights",
    dt=float,  # the step they belong to,
    t_1=float,  # and where it ends, functions seen from inside the segment
    breaks=float,  # where the segment ends, if functions may jump there
    beta=float,  # beta' = h^2 beta (1 - alpha_f)/(1 - alpha_m)
    gamma=float,  # gamma' = h gamma (1 - alpha_f)/(1 - alpha_m)
    cached=float,  # dt of the tangent that is kept (linear models)
    directions=int,  # W, where it is constant, has been evaluated
    error=float,  # of the iterate, and the
    scale=float,  # velocities it is measured by,
    rounding=float,  # and what rounding of gaps and joints makes of it
    residual=float,  # of (65a-c) as a velocity, where sub-problems are solved apart,
    forces=float,  # and the largest of its terms
    modes_changed=int,  # since the last sub-problem on acceleration level, whose laws follow from them
)

#: `jumped` of a step: no, yes, and set between two steps: functions of the model may jump at its end.
STEADY, JUMPED, BROKEN = 0.0, 1.0, 2.0
#: What is remembered, in this order: numbers, arrays by velocity, arrays by row.
HEAD = ("ready", "newton", "jumped", "work_forces", "work_normal", "work_friction", "work_joints", "dt")
BY_VELOCITY = ("w", "a", "y", "U", "W")
BY_ROW = ("lam", "eta", "La", "nu", "sets")


class Slots(NamedTuple):
    """One entry per slot."""

    row: np.ndarray  # of the model
    level: np.ndarray
    reach_delta: np.ndarray
    reach_v: np.ndarray
    scale: np.ndarray
    acts: np.ndarray  # in the problem
    place: np.ndarray  # its row in the problem, or -1
    mu: np.ndarray
    xi: np.ndarray  # at the iterate
    xi_0: np.ndarray  # e gamma_0, which is part of it
    xi_lin: np.ndarray  # as the last problem had it
    size: np.ndarray  # sqrt of W^T M^-1 W: what turns xi into a velocity of the norm of M
    dy: np.ndarray  # answer of y to the multiplier, (slots, n_u)
    known: np.ndarray  # whether `dy` is kept


class Iterate(NamedTuple):
    """One entry per velocity."""

    y: np.ndarray  # M y = f
    delta: np.ndarray  # q_1 = retract(q_0, delta)
    v: np.ndarray
    dy: np.ndarray  # changes without multipliers
    ddelta: np.ndarray
    dv: np.ndarray
    delta_hat: np.ndarray  # what the step starts from, (65j, k)
    v_hat: np.ndarray
    tmp: np.ndarray
    ahead: np.ndarray  # displacement of a forecast
    w: np.ndarray
    w_0: np.ndarray
    a_0: np.ndarray
    f_0: np.ndarray


class History(NamedTuple):
    """One entry per row of the model."""

    lam_0: np.ndarray
    eta_0: np.ndarray
    nu_hat: np.ndarray
    La_hat: np.ndarray
    lam: np.ndarray
    gamma_0: np.ndarray
    gamma_1: np.ndarray
    kappa: np.ndarray
    acts: np.ndarray  # on acceleration level
    tau: np.ndarray  # slip: tangential force per normal force
    fixed: np.ndarray  # slip of elements: given force
    xi_lin: np.ndarray  # relative acceleration as the last problem had it


class Alpha(NamedTuple):
    """The scheme's own record."""

    at: Any  # addresses: PARTS, LIBRARY; tangent, factors, mass, mass_factors, space, problem, jointed (0: dense)
    options: Any
    weights: Any
    slots: Slots
    it: Iterate
    rows: History
    problem: Problem
    row_start: np.ndarray  # pattern of the tangent
    columns: np.ndarray
    W_start: np.ndarray  # pattern of W^T
    W_columns: np.ndarray
    M: np.ndarray
    K: np.ndarray
    D: np.ndarray
    values: np.ndarray
    la: np.ndarray  # multipliers of the tangent: none
    Z: np.ndarray  # M^-1 W, one row each
    Z_known: np.ndarray
    Z_0: np.ndarray  # M^-1 W at the begin, directions of (73a)
    Y: np.ndarray  # A^-1 W, of the sub-problems of Algorithm 1
    Y_known: np.ndarray
    g_J: np.ndarray
    q: np.ndarray  # where functions are evaluated, with `it.v`
    q_mid: np.ndarray
    B: np.ndarray  # kinematics half way
    modes: np.ndarray  # by law: contact and slip on acceleration level
    candidate: np.ndarray  # by contact: it may close in this step
    closed: np.ndarray  # by law of the model: its velocity law acts
    place_V: np.ndarray  # by law: place among the laws of the problem
    law_of: np.ndarray  # by row: the law it belongs to
    bounds_0: np.ndarray  # force bounds at the begin of the step


def make_alpha(at, size, pattern, pattern_W, problem, laws_of_rows):
    """The record for a model of that size; patterns of the tangent and of W^T."""
    n_u, rows = size.n_u, max(size.n_rows, 1)
    n_P, laws = size.n_N + size.n_joints, max(size.n_laws, 1)
    n = max(n_P + size.n_rows, 1)
    ints = lambda k: np.zeros(k, dtype=np.int64)  # noqa: E731
    slots = Slots(
        ints(n), ints(n), np.zeros(n), np.zeros(n), np.zeros(n), ints(n), ints(n), *(np.zeros(n) for _ in range(5)),
        np.zeros((n, n_u)), ints(n),
    )  # fmt: skip
    first_joint = size.n_rows - size.n_J
    slots.row[: size.n_N] = np.arange(size.n_N)
    slots.row[size.n_N : n_P] = first_joint + np.arange(size.n_joints)
    slots.row[n_P : n_P + size.n_rows] = np.arange(size.n_rows)
    slots.level[n_P:] = VELOCITY
    values = [np.zeros(pattern.size) for _ in range(4)]
    by_row = lambda: np.zeros((rows, n_u))  # noqa: E731
    return Alpha(
        at, Options(), Weights(), slots, Iterate(*(np.zeros(n_u) for _ in Iterate._fields)),
        History(*(np.zeros(rows) for _ in History._fields)), problem, pattern.row_start, pattern.columns,
        pattern_W.row_start, pattern_W.columns, *values, la=np.zeros(rows),
        Z=by_row(), Z_known=ints(rows), Z_0=by_row(), Y=by_row(), Y_known=ints(rows) + 1,
        g_J=np.zeros(max(size.n_joints, 1)), q=np.zeros(size.n_q),
        q_mid=np.zeros(size.n_q), B=np.zeros((size.n_q, n_u) if size.has_B else (1, 1)), modes=ints(laws),
        candidate=ints(max(size.n_N, 1)), closed=ints(laws), place_V=ints(laws), law_of=laws_of_rows, bounds_0=np.zeros(2 * rows),
    )  # fmt: skip


#: Parts of the step, called at their addresses so that each is compiled once: (address of the scene, address of the state, t, number).
PART = int64(int64, int64, float64, int64)
call_part = caller(PART)
PARTS = ("begin", "evaluate", "change", "speak", "levels", "accelerate", "finish")
LIBRARY = ("solve", "factorise", "factorise_mass", "retract", "weigh", "line")
ADDRESSES = (*PARTS, *LIBRARY, "tangent", "factors", "mass", "mass_factors", "space", "problem", "jointed")


def _example():
    one, ints, square = np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    slots = Slots(ints, ints, one, one, one, ints, ints, *[one] * 5, square, ints)
    return Alpha(
        address_record(**dict.fromkeys(ADDRESSES, 0)), Options(), Weights(), slots, Iterate(*[one] * len(Iterate._fields)),
        History(*[one] * len(History._fields)), PROBLEM, *[ints] * 4, one, one, one, one, one, square, ints, square, square, ints, one, one,
        one, square, ints, ints, ints, ints, ints, one,
    )  # fmt: skip


_, alpha_at = by_reference(_example())


def n_own(size) -> int:
    """How many numbers are remembered."""
    return len(HEAD) + len(BY_VELOCITY) * size.n_u + len(BY_ROW) * max(size.n_rows, 1)


class Memory(NamedTuple):
    """Views of what is remembered; numbers are arrays of one entry, in the order of `HEAD`."""

    ready: np.ndarray  # 0 at a start
    newton: np.ndarray  # iterations
    jumped: np.ndarray  # STEADY, JUMPED or BROKEN
    work_forces: np.ndarray
    work_normal: np.ndarray
    work_friction: np.ndarray
    work_joints: np.ndarray
    dt: np.ndarray
    w: np.ndarray  # smooth accelerations v~'
    a: np.ndarray  # shifted ones
    y: np.ndarray  # M^-1 f
    U: np.ndarray
    W: np.ndarray
    lam: np.ndarray  # smooth multipliers
    eta: np.ndarray  # shifted ones
    La: np.ndarray  # relative impulses
    nu: np.ndarray
    sets: np.ndarray  # 1: A, 2: B, 4: C


@phase
def memory(own, n_u, n_rows):
    """Views of ``state.own``."""
    r = max(n_rows, 1)
    i = 8
    j = i + 5 * n_u
    return Memory(
        own[0:1], own[1:2], own[2:3], own[3:4], own[4:5], own[5:6], own[6:7], own[7:8],
        own[i : i + n_u], own[i + n_u : i + 2 * n_u], own[i + 2 * n_u : i + 3 * n_u], own[i + 3 * n_u : i + 4 * n_u],
        own[i + 4 * n_u : j], own[j : j + r], own[j + r : j + 2 * r], own[j + 2 * r : j + 3 * r], own[j + 3 * r : j + 4 * r],
        own[j + 4 * r : j + 5 * r],
    )  # fmt: skip


@phase
def first_velocity_slot(size):
    """Slots of position level come first."""
    return size.n_N + size.n_joints
