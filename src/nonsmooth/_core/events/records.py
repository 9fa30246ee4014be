"""What the event loop reads and writes, by name: switches, their values along a step, options, what was found, output."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.integrators import records as integration
from nonsmooth._core.integrators.records import FULL, Solver
from nonsmooth._core.jit import Reference, address_record, by_reference, caller, f8_1, float64, int64, scalars

EPS = 2.220446049250313e-16

# Why the loop came back (0 to 3 are those of the integrators).
DONE = 0
__all__ = ["FULL"]
STOPPED, ZENO, CHATTER, CYCLE, BAD_G, NOT_REPEATABLE, LOST_STEP, RESTING = range(10, 18)
# What a pass of the loop has led to.
PLAIN_STEP, EVENT = 20, 21
# The start of a run needs a decision.
SPECIAL = -2

# Kinds of switches; of recorded events.
BILATERAL, UNILATERAL = range(2)
EV_SWITCH, EV_TOUCH, EV_JUMP = range(3)

# Whether a switch is looked at: yes, no, or again once |g| has become larger than CLEAR (drift while it was held).
WATCHED, MUTED, WAITING = range(3)
CLEAR = 1e-10

# What detection finds: nothing, a bracket of a side change, an extremum near zero.
NOTHING, BRACKET, SUSPECT = range(3)

# How a location can end.
FOUND, JUMP, NO_CONVERGENCE, BAD_VALUE, STEP_FAILED = range(5)

#: Degree of the polynomials of detection: nine nodes.
N = 8

#: One row of the table of switches.
SWITCH = np.dtype(
    [
        ("kind", np.int64),
        ("direction", np.int64),  # of the crossings that count
        ("has_reset", np.int64),
        ("terminal", np.int64),  # stop at this number of events, 0: never
        ("group", np.int64),  # functions of one `Switch`
        ("hits", np.int64),  # events so far
        ("triggered", np.int64),  # changes at the present instant ...
        ("counted", np.int64),  # ... that are events (by `direction`)
        ("muted", np.int64),
        ("tol", np.float64),  # |g| wanted at a located event
        ("scale", np.float64),  # largest |g| over the step
        ("peak", np.float64),  # largest |g| since the last event or touch
        ("rate_before", np.float64),  # dg/dt when it fired
        ("t_last", np.float64),  # instant of the last event, and the three intervals before it
        ("gap_1", np.float64),
        ("gap_2", np.float64),
        ("gap_3", np.float64),
        ("h_minus", np.float64),  # step sizes with which the modes -1 and +1 were entered last
        ("h_plus", np.float64),
    ]
)

#: What is known of an event, besides the states on both sides.
LOGGED = np.dtype(
    [
        ("t", np.float64),
        ("switch", np.int64),
        ("kind", np.int64),
        ("direction", np.int64),
        ("iterations", np.int64),  # calls of the integrator to locate it
        ("rate", np.float64),
    ]
)

Options = scalars(
    "Options",
    hermite=int,  # detection on cubic Hermite polynomials instead of the dense output
    eps_c=float,  # region of concurrency (Compere 2001, sec. 5.2.3): length of time ...
    eps_roc=float,  # ... and |g|
    restart_step=float,  # longest first step after an event, 0: no limit
    zeno_tol=float,  # remaining time of an accumulation that is skipped
    max_events=int,
    max_chain=int,  # most rounds of events at one instant
)

Counts = scalars(
    "Counts",
    events=int,
    iterations=int,
    case_1=int,
    case_2=int,
    case_3=int,
    rejected=int,
    touches=int,
    chained=int,
)

#: The first suspicion inside a step: places are fractions theta of it.
Suspicion = scalars("Suspicion", kind=int, switch=int, left=float, right=float, value=float, estimate=float)

Info = scalars(
    "Info",
    h=float,  # the step in progress, as detection may have shortened it
    h_smooth=float,  # as the error control accepted it
    h_next=float,
    rows=int,  # of its dense output
    x=float,  # step to the located event
    status=int,  # FOUND or JUMP
    iterations=int,
    switch=int,  # the one concerned by an event or by a failure
    t_bad=float,  # where a switching function was not finite
    touched=int,  # switch that touches zero at the end of the step, or -1
    suspected=int,  # switch whose extremum the step was shortened to, or -1
    stop=int,  # a terminal switch has had its last event
    fresh=int,  # 1 from an event to the end of the first step after it
    t_settled=float,  # instant of the last event ...
    repeats=int,  # ... and how often it was the same one
    t_zeno=float,  # estimated limit of an accumulation
)

#: A location: what is looked for, and what was found.
Search = scalars(
    "Search",
    i=int,  # switching function
    lo=float,  # bracket, as step sizes: side `after` is reached at `hi`
    hi=float,
    verified=int,  # 1 if that is known; with 0 a bracket that shrinks to `hi` means that there is no zero
    guess=float,
    g_lo=float,
    after=int,  # the side behind the zero
    stay_before=int,  # 1: end before the zero (CEL-), 0: behind it (CEL+)
    tol=float,  # bound for |g| at the located point; 0: the resolution of time
    max_iter=int,
    before=float,  # found: step sizes before and behind the zero,
    behind=float,
    rate=float,  # dg/dt there,
    iterations=int,  # calls of the integrator
)


class Roots(NamedTuple):
    """Switching functions along the step of a solver, and the search for their zeros."""

    solver: Solver
    at: Any  # addresses: g, context; roots (this record); on_dense, on_step, rate (parts)
    search: Any
    values: np.ndarray  # (m,) all functions at the point looked at last
    point: np.ndarray  # (n,) that point
    rate_point: np.ndarray
    rate_values: np.ndarray


ROOT_ADDRESSES = ("g", "context", "roots", "on_dense", "on_step", "rate")

#: ``on_step(roots)``: status; see `roots.root_on_step`.
ON_STEP = int64(int64)
#: ``on_dense(roots, i, h, rows, a, b, g_a, g_b, xtol)``: theta.
ON_DENSE = float64(int64, int64, float64, int64, float64, float64, float64, float64, float64)
#: ``rate(roots, i, t, y, slope, scale)``: dg_i/dt.
RATE = float64(int64, int64, float64, f8_1, f8_1, float64)

call_on_step, call_on_dense, call_rate = caller(ON_STEP), caller(ON_DENSE), caller(RATE)


class Values(NamedTuple):
    """Switching functions (m,) where they are needed."""

    start: np.ndarray  # begin of the step
    end: np.ndarray  # its end
    nodes: np.ndarray  # (9, m): at the nodes of detection
    rate_0: np.ndarray  # h dg/dt at both ends (Hermite detection)
    rate_1: np.ndarray
    margin: np.ndarray  # how much the local error of the step can move g
    estimate: np.ndarray  # first zero of the interpolant in the step, as theta; infinite: none
    located: np.ndarray  # at the located event
    now: np.ndarray  # at an instant, while modes and resets settle


class Scan(NamedTuple):
    """Work space of the scan of one switching function (see `scan`)."""

    nodes: np.ndarray  # values at the nodes of the interval looked at
    c: np.ndarray  # Chebyshev coefficients of g, g', g''
    d: np.ndarray
    e: np.ndarray
    left: np.ndarray  # stack of intervals
    right: np.ndarray
    refined: np.ndarray  # values and coefficients around an extremum
    c_refined: np.ndarray
    d_refined: np.ndarray


#: Interval on top of the stack of a scan, and what its polynomial says.
Interval = scalars(
    "Interval",
    a=float,
    b=float,
    largest=float,  # |g| at its nodes
    noise=float,
    tau=float,  # error of the polynomial
    slope_error=float,
    d_lo=float,  # derivative at both ends
    d_hi=float,
    side=int,  # of g at its left end
    seen=float,  # largest |g| left of it
)


class Rows(NamedTuple):
    """Accepted states: ``jump`` is 1 for a right limit after a jump, else Q is the dense output that led there."""

    t: np.ndarray
    jump: np.ndarray
    y: np.ndarray
    modes: np.ndarray
    Q: np.ndarray


class Log(NamedTuple):
    """Events, and the states on both sides."""

    event: np.ndarray  # of dtype LOGGED
    before: np.ndarray
    after: np.ndarray


Used = scalars("Used", rows=int, events=int)


class Events(NamedTuple):
    """A run with switches."""

    solver: Solver
    roots: Roots
    at: Any  # addresses: user functions (f, g, reset behind them), events (this record), parts of the loop
    switches: np.ndarray  # table of dtype SWITCH
    modes: np.ndarray  # +1, -1, or 0 while held: the first entries of the user's parameters
    values: Values
    scan: Scan
    interval: Any
    found: Any  # Suspicion of the switch just scanned
    first: Any  # the earliest one of all
    options: Any
    counts: Any
    info: Any
    left: np.ndarray  # states on both sides of an event
    right: np.ndarray
    rows: Rows
    log: Log
    used: Any


ADDRESSES = ("user", "events", "suspicion", "detect", "locate", "settle")


def make_roots(solver, at, m):
    """Roots of m functions."""
    n = solver.y.size
    return Roots(solver, at, Search(), np.zeros(m), np.zeros(n), np.zeros(n), np.zeros(m))


def make_events(solver, roots, at, table, modes, options, size, dense_rows) -> Events:
    """A run with the switches of `table` and room for `size` rows of output."""
    n, m = solver.y.size, len(table)
    info = Info()
    info.t_settled = np.nan
    info.touched = info.suspected = -1
    values = Values(*(np.zeros((N + 1, m) if name == "nodes" else m) for name in Values._fields))
    scan = Scan(*(np.zeros(64 if name in ("left", "right") else N + 1) for name in Scan._fields))
    rows = Rows(
        np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros((size, n)), np.zeros((size, m), dtype=np.int8),
        np.zeros((size, dense_rows, n)),
    )  # fmt: skip
    room = size + 4 * m + 8
    log = Log(np.zeros(room, LOGGED).view(np.recarray), np.zeros((room, n)), np.zeros((room, n)))
    return Events(
        solver, roots, at, table, modes, values, scan, Interval(), Suspicion(), Suspicion(), options, Counts(), info,
        np.zeros(n), np.zeros(n), rows, log, Used(),
    )  # fmt: skip


def linked(record, name) -> Reference:
    """A reference to `record`, of which ``record.at`` knows the address as `name`."""
    reference = Reference(record)
    setattr(record.at, name, reference.address)
    return reference


ROOTS_EXAMPLE = make_roots(integration.EXAMPLE, address_record(**dict.fromkeys(ROOT_ADDRESSES, 0)), 1)
EXAMPLE = make_events(
    integration.EXAMPLE, ROOTS_EXAMPLE, address_record(**dict.fromkeys(ADDRESSES, 0)), np.zeros(1, SWITCH), np.zeros(1),
    Options(), 1, 1,
)  # fmt: skip
_, roots_at = by_reference(ROOTS_EXAMPLE)
_, events_at = by_reference(EXAMPLE)
