"""What the event loop reads and writes: switches, options, counters, output; and the codes it uses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonsmooth._core.jit import kernel

EPS = 2.220446049250313e-16

# Why the loop came back (0 to 3 are those of the integrators).
DONE, FULL, STOPPED, ZENO, CHATTER, CYCLE, BAD_G, NOT_REPEATABLE, LOST_STEP, RESTING = (
    0,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
)

# The start of a run needs a decision.
SPECIAL = -2

# A switch that was held and let go is looked at again when |g| has become larger than CLEAR (drift while it
# was held).
WAITING = 2
CLEAR = 1e-10

# Kinds of switches, kinds of recorded events.
BILATERAL, UNILATERAL = 0, 1
EV_SWITCH, EV_TOUCH, EV_JUMP, EV_START = 0, 1, 2, 3

# Columns of Switches.ints and Switches.reals (one row for each switch).
KIND, DIRECTION, HAS_RESET, TERMINAL, HITS, TRIGGERED, GROUP, MUTED = range(8)
TOL, T_LAST, GAP_1, GAP_2, GAP_3, RATE_BEFORE, SCALE, PEAK, H_MINUS, H_PLUS = range(10)
# Rows of Switches.G.
G_START, G_END, G_OUT, G_RATE_0, G_RATE_1, G_MARGIN, G_EST, G_TMP, G_NODES = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Options.
O_SOURCE, O_EPS_C, O_EPS_ROC, O_RESTART, O_ZENO_TOL, O_CHATTER, O_MAX_EVENTS, O_MAX_CHAIN = range(8)
# Entry of Switches.info: 1 from an event to the end of the first step after it.
FRESH = 24
# Counters.
C_EVENTS, C_ITER, C_CASE_1, C_CASE_2, C_CASE_3, C_EVENT_REJECTED, C_TOUCH, C_CHAIN, C_INFO = range(9)


class Switches(NamedTuple):
    """Switching functions: ``ints`` (m, 8), ``reals`` (m, 10), values ``G`` (8 + 9, m), work space, options,
    counters.
    """

    ints: np.ndarray
    reals: np.ndarray
    G: np.ndarray
    space: np.ndarray
    state: np.ndarray
    options: np.ndarray
    counts: np.ndarray
    info: np.ndarray


class Output(NamedTuple):
    """Filled by the loop: accepted rows ``rows`` (size, 2 + n + m): t, flag (1: right limit after a jump),
    y, modes; dense coefficients ``Q`` (size, rows, n); events ``ev`` (size, 6 + 2 n): t, switch, kind,
    direction, iterations, rate, states on both sides; ``used`` (2,) rows and events in use."""

    rows: np.ndarray
    Q: np.ndarray
    ev: np.ndarray
    used: np.ndarray


@kernel(references=False, forceinline=False)
def finite_values(values):
    for k in range(values.size):
        if not np.isfinite(values[k]):
            return k
    return -1


@kernel(references=False, forceinline=False)
def put_row(out, t, flag, y, p, mode_at, m, Q, rows):
    """Store an accepted state (and the dense output of the step that led to it)."""
    k = out.used[0]
    n = y.size
    out.rows[k, 0] = t
    out.rows[k, 1] = flag
    for j in range(n):
        out.rows[k, 2 + j] = y[j]
    for j in range(m):
        out.rows[k, 2 + n + j] = p[mode_at + j]
    if flag == 0.0:
        for r in range(rows):
            for j in range(n):
                out.Q[k, r, j] = Q[r, j]
    out.used[0] = k + 1


@kernel(references=False, forceinline=False)
def put_event(out, sw, t, i, kind, direction, iterations, rate, left, right):
    """Store an event."""
    k = out.used[1]
    n = left.size
    row = out.ev[k]
    row[0], row[1], row[2], row[3], row[4], row[5] = t, i, kind, direction, iterations, rate
    for j in range(n):
        row[6 + j] = left[j]
        row[6 + n + j] = right[j]
    out.used[1] = k + 1
    if kind == EV_TOUCH:
        sw.counts[C_TOUCH] += 1
    else:
        sw.counts[C_EVENTS] += 1


@kernel(references=False, forceinline=False)
def touch_tolerance(sw, i):
    """Below this |g_i| counts as zero where it does not cross."""
    return max(sw.reals[i, TOL], 64.0 * EPS * sw.reals[i, SCALE])
