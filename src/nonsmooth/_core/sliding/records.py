"""A run of Algorithm 2 (Stewart 1996) by name: the system, the active set, the switching function, location, output.

Groups j = 1..m, regions k of all groups numbered consecutively; group j owns the regions ``starts[j] .. starts[j+1]-1``.
Masks over the regions are arrays of 0.0 and 1.0. A run is one record, whose address is the context of `functions.field`
and `functions.switch`, the right-hand side and the switching function that the integrator and the root finders see.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.events import records as ev
from nonsmooth._core.events.records import Roots
from nonsmooth._core.integrators import records as integration
from nonsmooth._core.integrators.records import Solver
from nonsmooth._core.jit import (
    address_record,
    by_reference,
    caller,
    f8_1,
    f8_2,
    float64,
    i8_1,
    int64,
    scalars,
    void,
)

# Why `drive` came back.
(
    DONE, FULL, CHOICE, DEGENERATE, NO_SET, TOO_LARGE, IMMEDIATE, ACCUMULATION, FAILED, BAD_INDICATOR, LOST_ROOT, START,
    AGAIN,
) = range(13)  # fmt: skip

# Where switching points are located.
AUTOMATIC, ON_DENSE, ON_STEP = range(3)

#: z and w below this count as zero (condition C').
STRICT = 1e-9
#: Weights below this are not armed.
Z_EPS = 1e-9
#: Switching points remembered to recognise an accumulation.
RING = 19
#: Most active sets looked for, and points looked at inside a step.
MAX_SETS = 32
LOOKED = 11

#: Functions of the system (t, x, p, mask, out): the rows of n (or n + 1) numbers, or the entries, of `out` whose mask is
#: set are written.
PART = void(float64, f8_1, f8_1, f8_1, f8_1)
#: Parts of the run: of its address; with a step size; with a slope to be written.
OF_RUN = int64(int64)
OF_STEP = int64(int64, float64)
OF_SLOPE = float64(int64, f8_1)
#: (N, q, tol, vertices, rays, masks, result): all solutions of an LCP.
ENUMERATE = void(f8_2, f8_1, float64, f8_2, f8_2, i8_1, i8_1)

call_part, call_of_run, call_of_step = caller(PART), caller(OF_RUN), caller(OF_STEP)
call_of_slope, call_enumerate = caller(OF_SLOPE), caller(ENUMERATE)


class Values(NamedTuple):
    """What the functions of the system gave at the point looked at last."""

    z: np.ndarray  # (R,) weights of the regions
    h: np.ndarray  # (R,) indicators
    F: np.ndarray  # (R + 1, n) fields, the smooth part last
    G: np.ndarray  # (R, n + 1) gradients of the indicators, dh/dt last
    F_flat: np.ndarray  # the same arrays in one dimension, as the functions take them
    G_flat: np.ndarray


class Set(NamedTuple):
    """The active set I and what follows from it."""

    active: np.ndarray  # (R,) mask of the members
    members: np.ndarray  # (R,) their numbers
    slides: np.ndarray  # (R,) mask of the members of groups with several: their gradients are needed
    watch: np.ndarray  # (R,) mask of the regions looked at: all, a group, or the candidates I_0
    chosen: np.ndarray  # (R,) the set to continue with
    found: np.ndarray  # (MAX_SETS, R) active sets that continue the solution ...
    degenerate: np.ndarray  # ... and whether each violates strict complementarity (condition C')


Size = scalars(
    "Size",
    active=int,  # number of members
    slides=int,  # number of gradients needed
    codimension=int,  # of the surface that is slid along
    pair_row=int,  # regions of the only surface (codimension one): h_row = h_base
    pair_base=int,
)

Watch = scalars(
    "Watch",
    reuse=int,  # the weights are those of the field just evaluated
    lowest=float,  # smallest weight seen at the stages of a step
    worst=float,  # smallest pivot ratio of the sliding equations (11) in the run
)

Counts = scalars("Counts", f=int, h=int, grad_h=int, on_dense=int, on_step=int)


class Components(NamedTuple):
    """The components of the switching function psi (R,), where they are known."""

    start: np.ndarray  # begin of the step
    previous: np.ndarray  # begin of the step before; NaN: it meant something else
    end: np.ndarray  # end of the step, or the point looked at
    armed: np.ndarray  # 1.0 once above eps: a change of sign counts
    eps: np.ndarray  # width of the epsilon-active sets
    scale: np.ndarray  # size of the indicators of the group
    root: np.ndarray  # work space: at a trial point; marks
    middle: np.ndarray  # at a point inside the step
    looked: np.ndarray  # (LOOKED, R) at points inside the step


Info = scalars(
    "Info",
    started=int,
    limit=int,  # rows of output before the run comes back
    component=int,  # region concerned
    reason=int,  # status of the integrator
    rows=int,  # of the dense output of the step in progress, 0: not made
    moved=int,  # (t, y) has moved noticeably since the fields in `values` were evaluated
    location=int,  # AUTOMATIC, ON_DENSE, ON_STEP
    points=int,  # switching points in the ring
    sets=int,  # active sets found
    bound=float,  # relative bound of psi at a located point
    xtol=float,  # of Brent's method, in theta
    epsilon=float,  # relative width of the epsilon-active sets
    h_previous=float,  # length of the step before
    h_piece=float,  # first step of a piece
    zeno_tol=float,  # time to an accumulation that is skipped
    t_zeno=float,  # where switching points accumulate, if they do
    middle=float,  # theta at which signs were compared: 1, or a point inside the step
    theta=float,  # the zero on the dense output, the begin of its bracket and the value there
    low=float,
    g_low=float,
    grazed=int,  # region that was touched and not entered, + 1
    t_grazed=float,
)


class Rows(NamedTuple):
    """Ends of steps; Q is the dense output of the step, `length` the length of time it was made for."""

    t: np.ndarray
    y: np.ndarray
    active: np.ndarray
    Q: np.ndarray
    length: np.ndarray


class Log(NamedTuple):
    """Switching points: the component that vanished, the active set before and after."""

    t: np.ndarray
    component: np.ndarray
    before: np.ndarray
    after: np.ndarray


Used = scalars("Used", rows=int, events=int)


class Run(NamedTuple):
    """A run in progress."""

    solver: Solver
    roots: Roots
    at: Any  # addresses: fields, indicators, gradients of the system; run (this record); parts of the run
    p: np.ndarray  # parameters of the user
    starts: np.ndarray
    set: Set
    size: Any
    watch: Any
    values: Values
    spare: Values
    psi: Components
    point: np.ndarray  # (n,) inside a step
    slope: np.ndarray  # (n,) x' of the active set at a switching point
    change: np.ndarray  # (n,) work space
    scratch: np.ndarray  # (n,) work space of `functions.switch`
    ring: np.ndarray  # instants of the last switching points
    counts: Any
    info: Any
    rows: Rows
    log: Log
    used: Any


SYSTEM = ("fields", "indicators", "gradients")
PARTS = ("combine", "switch", "model", "sets", "project", "enumerate", "look", "locate", "advance", "commit")


def make_values(n, R):
    """Values at a point."""
    F, G = np.zeros((R + 1) * n), np.zeros(R * (n + 1))
    return Values(np.zeros(R), np.zeros(R), F.reshape(R + 1, n), G.reshape(R, n + 1), F, G)


def make_run(solver, roots, at, p, starts, size, dense_rows) -> Run:
    """A run of a system with groups as `starts` says, and room for `size` rows of output."""
    n, R = solver.y.size, int(starts[-1])
    masks = [np.zeros(R) for _ in range(9)]
    active = Set(
        masks[0],
        np.zeros(R, dtype=np.int64),
        *masks[1:4],
        np.zeros((MAX_SETS, R)),
        np.zeros(MAX_SETS, dtype=np.int64),
    )
    psi = Components(*(np.zeros((LOOKED, R) if name == "looked" else R) for name in Components._fields))
    watch = Watch()
    watch.worst = 1.0
    stored = size if dense_rows else 0
    rows = Rows(
        np.zeros(size), np.zeros((size, n)), np.zeros((size, R), dtype=np.int8), np.zeros((stored, dense_rows, n)),
        np.zeros(stored),
    )  # fmt: skip
    log = Log(
        np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros((size, R), dtype=np.int8),
        np.zeros((size, R), dtype=np.int8),
    )  # fmt: skip
    vectors = [np.zeros(n) for _ in range(4)]
    return Run(
        solver, roots, at, p, starts, active, Size(), watch, make_values(n, R), make_values(n, R), psi, *vectors,
        np.zeros(RING), Counts(), Info(), rows, log, Used(),
    )  # fmt: skip


EXAMPLE = make_run(
    integration.EXAMPLE, ev.ROOTS_EXAMPLE, address_record(**dict.fromkeys((*SYSTEM, "run", *PARTS), 0)), np.zeros(1),
    np.array([0, 1]), 1, 1,
)  # fmt: skip
_, run_at = by_reference(EXAMPLE)
