"""The three functions of a Filippov system that a run calls, in terms of its fields, indicators and
gradients.

One compiled function for all systems: the parts of a system come in as first-class functions, so that a new
system only compiles its own code.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .filippov_run import (
    ACTIVE,
    COUNT,
    FIELDS,
    GRADIENTS,
    MIN_Z,
    N_COUNT,
    N_F,
    N_G,
    N_H,
    R_,
    REUSE,
    SLIDES,
    WATCH,
    WORST,
    H,
    N,
    Z,
)
from .jit import f8_1, f8_2, first_class, float64, function_type, int64, types, void
from .sliding import combine, components

# (t, x, p, mask, out): the rows or entries of `out` whose mask is set are written.
ROWS = void(float64, f8_1, f8_1, f8_1, f8_2)
ENTRIES = void(float64, f8_1, f8_1, f8_1, f8_1)
_ROWS_FT, _ENTRIES_FT = function_type(ROWS), function_type(ENTRIES)
_CONSTANTS = types.Array(types.int64, 1, "C", readonly=True)
EVALUATE = void(_ROWS_FT, _ENTRIES_FT, _ROWS_FT, _CONSTANTS, _CONSTANTS, float64, f8_1, f8_1, f8_1, int64)

FIELD, SWITCH, MODEL = 0, 1, 2


@cache
def evaluate_function():
    """`_evaluate` as a first-class value."""
    return first_class(_evaluate, EVALUATE, cache=True)


def _evaluate(fields, indicators, gradients, starts, lay, t, y, p, out, op):
    """FIELD: x' of the active set; SWITCH: components of the switching function; MODEL: fields and gradients
    of I_0.

    Evaluations of f_k, h_k and grad h_k are counted one by one, as in Tables 1 and 2 of Stewart 1996.
    """
    n, R = lay[N], lay[R_]
    active = p[lay[ACTIVE] : lay[ACTIVE] + R]
    c = lay[COUNT]
    if op == FIELD and p[c + SLIDES] == 0.0:
        # No sliding: the sum of the active fields. Most evaluations end here; views of p cost more than the
        # sum itself.
        F = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
        fields(t, y, p, active, F)
        for i in range(n):
            out[i] = F[R, i]
        for k in range(R):
            if active[k] > 0.0:
                p[c + N_F] += 1.0
                for i in range(n):
                    out[i] += F[k, i]
        return
    watch = p[lay[WATCH] : lay[WATCH] + R]
    z = p[lay[Z] : lay[Z] + R]
    h = p[lay[H] : lay[H] + R]
    F = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    G = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    count = p[lay[COUNT] : lay[COUNT] + N_COUNT]
    if op == MODEL:
        # Candidate set I_0 = watch: its fields, and the gradients of groups with several candidates.
        fields(t, y, p, watch, F)
        for j in range(starts.size - 1):
            members = 0
            for k in range(starts[j], starts[j + 1]):
                if watch[k] > 0.0:
                    members += 1
                    count[N_F] += 1.0
            for k in range(starts[j], starts[j + 1]):
                z[k] = 1.0 if (watch[k] > 0.0 and members > 1) else 0.0
                count[N_G] += z[k]
        gradients(t, y, p, z, G)
        return
    slides = count[SLIDES] > 0.0
    sliding_watched = False
    if op == SWITCH:
        indicators(t, y, p, watch, h)
        for j in range(starts.size - 1):
            members = 0
            for k in range(starts[j], starts[j + 1]):
                if watch[k] > 0.0:
                    count[N_H] += 1.0
                    if active[k] > 0.0:
                        members += 1
            if members > 1:
                sliding_watched = True
    if op == FIELD or (sliding_watched and slides and count[REUSE] == 0.0):
        fields(t, y, p, active, F)
        for j in range(starts.size - 1):
            members = 0
            for k in range(starts[j], starts[j + 1]):
                if active[k] > 0.0:
                    members += 1
                    count[N_F] += 1.0
            # The gradients of a group are needed only while it slides.
            for k in range(starts[j], starts[j + 1]):
                z[k] = 1.0 if (active[k] > 0.0 and members > 1) else 0.0
                count[N_G] += z[k]
        if slides:
            gradients(t, y, p, z, G)
        slope = out if op == FIELD else np.empty(n)
        ratio = combine(starts, active, F, G, z, slope)
        if op == FIELD:
            if ratio < count[WORST]:
                count[WORST] = ratio
            # Stages see weights inside the step for free: a dip below zero is looked into at its end.
            for k in range(R):
                if active[k] > 0.0 and z[k] < count[MIN_Z]:
                    count[MIN_Z] = z[k]
    if op == SWITCH:
        components(starts, active, watch, z, h, out)
