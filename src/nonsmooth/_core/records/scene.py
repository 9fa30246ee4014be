"""Everything a step needs, by name: the model, the state, work space, the contact problem, what is asked and what is told.

A scheme is a compiled ``step(scene, state, t, dt) -> status`` (see `status`). `state` is the begin of the step and stays as
it is; the end is written into ``scene.end``, what happened into ``scene.info``: a step can be tried, thrown away and tried again.
Both arguments are addresses of the records below, so that one loop calls any scheme.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, scalars
from nonsmooth._core.records.laws import Laws, make_laws
from nonsmooth._core.records.problem import EXAMPLE as PROBLEM
from nonsmooth._core.records.problem import Problem

#: Signature of a step, and of the state at an instant inside the step that was just taken (left in ``scene.between``).
STEP = int64(int64, int64, float64, float64)
BETWEEN = int64(int64, int64, float64, float64, float64)
call_step, call_between = caller(STEP), caller(BETWEEN)

#: In ``work.struck``: a contact that was closed already has had an impulse.
STAYS_CLOSED = 2


class ModelRecord(NamedTuple):
    """The questions a model answers (see `nonsmooth.model.model`)."""

    at: Any  # addresses: mass, force, gap, directions, zeta, bounds, kinematics; kappa, joints for schemes that ask for them
    size: Any
    laws: Laws
    p: np.ndarray  # flat parameters
    unit: np.ndarray  # where unit quaternions begin in q


Size = scalars(
    "Size",
    n_q=int,
    n_u=int,
    n_N=int,  # unilateral contacts: the first laws, one row each
    n_laws=int,
    n_rows=int,
    n_J=int,  # rows of bilateral constraints: the last ones ...
    n_joints=int,  # ... of which so many, the first, hold on position level
    n_unit=int,  # unit quaternions
    has_B=int,  # q' = B u, else q' = u
    constant_M=int,
    constant_W=int,
    has_zeta=int,
    has_bounds=int,
    has_friction=int,  # friction of contacts depends on the state: `bounds` holds mu in their rows
)


class State(NamedTuple):
    """A state of the run; `own` is what the scheme remembers besides (accelerations, histories), as one flat array."""

    q: np.ndarray
    u: np.ndarray
    P: np.ndarray  # impulses of the step that ended here, by row of the model
    modes: np.ndarray  # by law of the model
    own: np.ndarray


class Work(NamedTuple):
    """Work space of a step."""

    M: np.ndarray
    L: np.ndarray  # Cholesky factor of M
    first: np.ndarray  # first column of each row of L that is not zero
    B: np.ndarray
    WT: np.ndarray  # W^T by row of the model
    Y: np.ndarray  # L^-1 W, by row
    G_all: np.ndarray
    q_m: np.ndarray  # where M, h, W are evaluated
    u_e: np.ndarray
    h: np.ndarray
    du: np.ndarray
    u_free: np.ndarray
    g: np.ndarray
    slack: (
        np.ndarray
    )  # gap that counts as closed: what rounding of its terms can hide (zero for the plain rule)
    zeta: np.ndarray
    bounds: np.ndarray  # lower, then upper force bounds by row
    struck: np.ndarray  # by law: the contact closed and opened again in the step; or had an impulse although it was closed before
    t_best: np.ndarray  # by law: best estimate of the instant of a change of its mode in the step, or NaN


Info = scalars(
    "Info",
    residual=float,  # of the contact problem
    iterations=int,
    law=int,  # the law to blame for a status
    changed=int,  # first law whose structure differs from the begin of the step, or -1
    t_new=float,  # where the step ended (schemes that choose their own step)
    dt=float,  # length of the step, or of the part that failed
    order=int,
    error=float,  # estimate, relative to the tolerance
    jump_next=int,  # the state jumps where this step ends: its end is a left limit
    base_steps=int,  # steps of the base scheme so far
    ready=int,  # whether what never changes in a run has been evaluated
)

Ask = scalars(
    "Ask",
    books=int,  # keep the books of energy
    accept=int,  # go on where the contact problem is not solved
    unit=int,  # divide unit quaternions by their length at the end of a step
    t_stop=float,  # end of the segment: no step goes beyond
    stay=float,  # contacts that were closed stay active up to this gap
    enduring=int,  # laws that were constraints are lasting (see `moreau`)
    slow=int,  # ... and contacts that approach no faster than the forces move them
)

Books = scalars(
    "Books",
    gap=float,  # worst
    gap_t=float,
    residual=float,
    residual_t=float,
    work_forces=float,
    work_contacts=float,
    gain=float,  # largest energy made by an impact law, relative to T before
    gain_t=float,
    gain_before=float,
    gain_after=float,
    gain_law=int,
    gain_count=int,
    unconverged=int,
    unconverged_t=float,
    solves=int,
    iterations_max=int,
    iterations=int,
    work_projection=float,  # against the forces, by moving positions onto their constraints
    projected=int,  # steps whose positions were moved
)


class Scene(NamedTuple):
    """Everything a step needs but the state it starts from."""

    # addresses: step, base, between, problem (the contact problem), own (the scheme's own record), projection and control (records of
    # what is wrapped around a scheme)
    at: Any
    model: ModelRecord
    work: Work
    problem: Problem
    end: State
    between: State
    info: Any
    ask: Any
    books: Any


def make_state(size, n_own=0):
    """A state of zeros."""
    rows, laws = max(size.n_rows, 1), max(size.n_laws, 1)
    return State(
        np.zeros(size.n_q),
        np.zeros(size.n_u),
        np.zeros(rows),
        np.zeros(laws, dtype=np.int64),
        np.zeros(n_own),
    )


def make_work(size, dense=True):
    """Work space for a model of that size; without `dense`, M and what is made of it (L, B, Y, G_all) are single numbers.

    Schemes whose matrices stand on the patterns of the model (`Scheme.dense` is False) have no use for them.
    """
    n_q, n_u, r, n_N = size.n_q, size.n_u, max(size.n_rows, 1), max(size.n_N, 1)
    square, by_row = (n_u, n_u), (r, n_u)
    M, L, B, Y, G_all = (
        np.zeros(shape if dense else (1, 1)) for shape in (square, square, (n_q, n_u), by_row, (r, r))
    )
    return Work(
        M=M, L=L, first=np.zeros(n_u, dtype=np.int64), B=B, WT=np.zeros(by_row), Y=Y, G_all=G_all,
        q_m=np.zeros(n_q), u_e=np.zeros(n_u), h=np.zeros(n_u), du=np.zeros(n_u), u_free=np.zeros(n_u),
        g=np.zeros(n_N), slack=np.zeros(n_N), zeta=np.zeros(r), bounds=np.zeros(2 * r),
        struck=np.zeros(max(size.n_laws, 1), dtype=np.int64),        t_best=np.full(max(size.n_laws, 1), np.nan),
    )  # fmt: skip


MODEL_FUNCTIONS = ("mass", "force", "gap", "directions", "zeta", "bounds", "kinematics")
ON_REQUEST = ("kappa", "joints")
PARTS = ("step", "base", "between", "problem", "own", "projection", "control")


def _example():
    size = Size()
    size.n_q = size.n_u = 1
    model = ModelRecord(
        address_record(**dict.fromkeys(MODEL_FUNCTIONS + ON_REQUEST, 0)),
        size,
        make_laws(1),
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
    )
    parts = address_record(**dict.fromkeys(PARTS, 0))
    state = make_state(size, 1)
    return Scene(parts, model, make_work(size), PROBLEM, state, state, Info(), Ask(), Books())


EXAMPLE = _example()
_, scene_at = by_reference(EXAMPLE)
state_reference, state_at = by_reference(EXAMPLE.end)
