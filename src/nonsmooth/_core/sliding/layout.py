"""Where the compiled run of a Filippov system keeps things: the entries of its arrays and its records.

The functions of the system have the integrators' signature ``(t, y, p, out)``. `p` holds the user's parameters,
then a block of the run: a head (sizes, addresses of the system's functions, counters), the active set, weights,
indicators, fields and gradients, at the places listed in `lay`. The last entry of `p` is the place of the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonsmooth._core.jit import f8_1, f8_2, i8_1, types

# Entries of `lay`: sizes, then offsets into p.
(
    N, R_, M_, HEAD, STARTS, ACTIVE, LIST, WATCH, MASK, Z, H, FIELDS, GRADIENTS, SLOPE, SPARE, SIZE,
) = range(16)  # fmt: skip
# Head of the block in p: sizes; addresses of fields, indicators, gradients and `combine_in`; the number of active
# regions, of gradients needed, the two regions of sliding on one surface; counters and flags.
(
    P_N, P_R, P_M, A_FIELDS, A_INDICATORS, A_GRADIENTS, A_COMBINE, N_ACTIVE, N_MASK, PAIR_I, PAIR_B,
    N_F, N_H, N_G, WORST, SLIDES, REUSE, MIN_Z,
) = range(18)  # fmt: skip
N_HEAD = 18

# Rows of `C` (rows, R): what is known of the components of the switching function.
# From LOOKED on: the values at points inside a step.
G_START, G_PREVIOUS, ARMED, EPS, G_END, G_ROOT, H_SCALE, G_MIDDLE, LOOKED = range(9)
C_ROWS = LOOKED + 11
# Rows of `B` (rows, n): vectors.
POINT, OLD_SLOPE, NEW_SLOPE = range(3)
B_ROWS = 3
# Entries of `opt`; the last four belong to the location on the integration.
T, T_BOUND, BOUND, XTOL, EPSILON, H_PREVIOUS, H_PIECE, ZENO, T_ZENO, MIDDLE, T_GRAZED, ROOT = range(12)
N_OPT = 16
# Entries of `info`.
(
    COUNT_OUT, COUNT_EVENTS, COMPONENT, REASON, N_SETS, N_RING, STARTED, ROWS, MOVED, LOCATION, N_ON_DENSE, N_ON_STEP,
    GRAZED, LIMIT,
) = range(14)  # fmt: skip
N_INFO = 14
# info[LOCATION]: where switching points are located.
AUTOMATIC, ON_DENSE, ON_STEP = range(3)

# Why `drive` came back.
(
    DONE, FULL, CHOICE, DEGENERATE, NO_SET, TOO_LARGE, IMMEDIATE, ACCUMULATION, FAILED, BAD_INDICATOR, LOST_ROOT,
    START, AGAIN,
) = range(13)  # fmt: skip

#: z and w below this count as zero (condition C').
STRICT = 1e-9
#: Weights below this are not armed.
Z_EPS = 1e-9
#: Switching points remembered to recognise an accumulation.
RING = 19


class Run(NamedTuple):
    """The state of a run: y (n,), p, C (20, R), B (3, n), opt, lay, starts (m + 1,), info, and the addresses of the
    functions the kernels call (`calls`).
    """

    y: np.ndarray
    p: np.ndarray
    C: np.ndarray
    B: np.ndarray
    opt: np.ndarray
    lay: np.ndarray
    starts: np.ndarray
    info: np.ndarray
    calls: np.ndarray


class Out(NamedTuple):
    """Output of a slice: `steps` (k, 1 + n + R) t, y, active set; `Q` (k or 0, rows + 1, n) dense output and its
    length; `events` (k, 2 + 2 R) t, component, active set before and after.
    """

    steps: np.ndarray
    Q: np.ndarray
    events: np.ndarray


RUN_T = types.NamedTuple([f8_1, f8_1, f8_2, f8_2, f8_1, i8_1, i8_1, i8_1, i8_1], Run)
OUT_T = types.NamedTuple([f8_2, types.Array(types.float64, 3, "C"), f8_2], Out)

# Entries of `Run.calls`: first-class functions (integrator, field and switch for it), then parts of the run.
C_TRY, C_ADAPT, C_SOLID, C_DENSE, C_FIELD, C_SWITCH, C_JAC = range(7)
(
    A_SWITCH, A_MODEL, A_SETS, A_PROJECT, A_ENUMERATE, A_LOOK, A_LOCATE, A_ON_STEP, A_ADVANCE, A_COMMIT,
) = range(7, 17)  # fmt: skip


def layout(n_p, n, R, m):
    """`lay` for a system with `n` states, `R` regions in `m` groups and `n_p` numbers of parameters."""
    values = 2 * R + (R + 1) * n + R * (n + 1)
    sizes = [N_HEAD, m + 1, R, R, R, R, R, R, (R + 1) * n, R * (n + 1), n, values]
    offsets = n_p + np.concatenate([[0], np.cumsum(sizes)])
    offsets[-1] += 1
    return np.array([n, R, m, *offsets], dtype=np.int64)
