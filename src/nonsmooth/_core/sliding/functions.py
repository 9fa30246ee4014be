"""The functions of a Filippov system that a run calls, in terms of its fields, indicators and gradients.

One compiled function for all systems: the parts of a system are reached at their addresses, which stand in `p`
(see `filippov_layout`), so that a new system only compiles its own code. An exception of user code leaves NaN
behind, which ends the run, and is raised again.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from nonsmooth._core.calls.pointers import library_function
from nonsmooth._core.integrators.rk import RHS
from nonsmooth._core.jit import JIT_ENABLED, caller, f8_1, float64, int64, kernel, void
from nonsmooth._core.sliding.algebra import SINGULAR, combine
from nonsmooth._core.sliding.layout import (
    A_COMBINE,
    A_FIELDS,
    A_GRADIENTS,
    A_INDICATORS,
    MIN_Z,
    N_ACTIVE,
    N_F,
    N_G,
    N_H,
    N_HEAD,
    N_MASK,
    P_M,
    P_R,
    PAIR_B,
    PAIR_I,
    REUSE,
    SLIDES,
    WORST,
)

#: (t, x, p, mask, out): the rows of n (or n + 1) numbers, or the entries, of `out` whose mask is set are written.
PART = void(float64, f8_1, f8_1, f8_1, f8_1)
#: (p, out): the sliding field from the fields and gradients in p.
COMBINE = float64(f8_1, f8_1)

if JIT_ENABLED:
    call_part, call_combine = caller(PART), caller(COMBINE)
else:  # numbers in `p` name functions: `register` keeps them

    def call_part(handle, *arguments):
        _registered[handle](*arguments)

    def call_combine(handle, *arguments):
        return _registered[handle](*arguments)


_registered: list = []


def register(function):
    """A number for `p` that names `function` where nothing is compiled."""
    _registered.append(function)
    return len(_registered) - 1


@kernel(COMBINE, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def combine_in(p, out):
    """`combine` with everything in p; weights go there as well."""
    o = int(p[p.size - 1])
    n = out.size
    R = int(p[o + P_R])
    m = int(p[o + P_M])
    starts = np.empty(m + 1, dtype=np.int64)
    for j in range(m + 1):
        starts[j] = int(p[o + N_HEAD + j])
    a = o + N_HEAD + m + 1
    f = a + 6 * R
    g = f + (R + 1) * n
    F = p[f:g].reshape((R + 1, n))
    G = p[g : g + R * (n + 1)].reshape((R, n + 1))
    return combine(starts, p[a : a + R], F, G, p[a + 4 * R : a + 5 * R], out)


@kernel(float64(f8_1, f8_1, int64, int64, int64, int64, int64, int64, int64), internal=True)
def on_one_surface(p, out, o, a, f, g, n, R, active):
    """`combine` for sliding on a single surface (codimension one), the usual case, without a linear system."""
    i = int(p[o + PAIR_I])
    b = int(p[o + PAIR_B])
    gi = g + i * (n + 1)
    gb = g + b * (n + 1)
    fi = f + i * n
    fb = f + b * n
    r = p[gi + n] - p[gb + n]
    d = 0.0
    size = 0.0
    for k in range(n):
        s = p[f + R * n + k]
        for j in range(active):
            region = int(p[a + R + j])
            if region != i:
                s += p[f + region * n + k]
        out[k] = s
        c = p[gi + k] - p[gb + k]
        r += c * s
        product = c * (p[fi + k] - p[fb + k])
        d += product
        size += abs(product)
    if not abs(d) > SINGULAR * size:
        # Condition B' is violated: both fields have the same normal speed. Equal weights are the least-norm
        # choice; gradients that are not finite must not pass for this.
        lam = 0.5 + 0.0 * (d + r)
        ratio = 0.0 if abs(r) <= 1e-8 * size else -1.0
    else:
        lam = -r / d
        ratio = abs(d) / size
    z = a + 4 * R
    for j in range(active):
        p[z + int(p[a + R + j])] = 1.0
    p[z + i] = lam
    p[z + b] = 1.0 - lam
    for k in range(n):
        out[k] += lam * (p[fi + k] - p[fb + k])
    return ratio


@kernel(void(f8_1, f8_1), internal=True)
def slope_in(p, out):
    """x' of the active set from the fields and gradients in p; weights into p."""
    o = int(p[p.size - 1])
    n = out.size
    R = int(p[o + P_R])
    a = o + N_HEAD + int(p[o + P_M]) + 1
    f = a + 6 * R
    active = int(p[o + N_ACTIVE])
    if p[o + SLIDES] == 0.0:
        # No sliding: the sum of the active fields.
        for i in range(n):
            s = p[f + R * n + i]
            for j in range(active):
                s += p[f + int(p[a + R + j]) * n + i]
            out[i] = s
        return
    if p[o + SLIDES] == 1.0:
        ratio = on_one_surface(p, out, o, a, f, f + (R + 1) * n, n, R, active)
    else:
        ratio = call_combine(int(p[o + A_COMBINE]), p, out)
    if ratio < p[o + WORST]:
        p[o + WORST] = ratio
    # Stages see weights inside the step for free: a dip below zero is looked into at its end.
    for j in range(active):
        p[o + MIN_Z] = min(p[o + MIN_Z], p[a + 4 * R + int(p[a + R + j])])


@kernel(RHS, references=False, no_cfunc_wrapper=True)
def field(t, y, p, out):
    """x' of the active set in p: the sum of the active fields, or the sliding field, eqs. (9)-(11).

    Evaluations of f_k, h_k and grad h_k are counted one by one, as in Tables 1 and 2 of Stewart 1996.
    """
    o = int(p[p.size - 1])
    n = y.size
    R = int(p[o + P_R])
    a = o + N_HEAD + int(p[o + P_M]) + 1
    f = a + 6 * R
    if n == 0:
        return
    out[0] = np.nan
    call_part(int(p[o + A_FIELDS]), t, y, p, p[a : a + R], p[f : f + (R + 1) * n])
    p[o + N_F] += p[o + N_ACTIVE]
    if p[o + SLIDES] > 0.0:
        # The gradients of a group are needed only while it slides.
        g = f + (R + 1) * n
        p[o + N_G] += p[o + N_MASK]
        call_part(int(p[o + A_GRADIENTS]), t, y, p, p[a + 3 * R : a + 4 * R], p[g : g + R * (n + 1)])
    slope_in(p, out)


@kernel(void(f8_1, int64, int64, int64, int64, f8_1), internal=True)
def components(p, o, a, R, m, out):
    """The components from the weights and indicators in p."""
    watch = a + 2 * R
    z = a + 4 * R
    h = a + 5 * R
    for j in range(m):
        first = int(p[o + N_HEAD + j])
        last = int(p[o + N_HEAD + j + 1])
        members = 0
        low = np.inf
        for k in range(first, last):
            if p[a + k] > 0.0:
                members += 1
                low = min(low, p[h + k])
        for k in range(first, last):
            out[k] = 1.0
            if p[watch + k] > 0.0:
                if p[a + k] > 0.0:
                    if members > 1:
                        out[k] = p[z + k]
                else:
                    out[k] = p[h + k] - low
                    if not np.isfinite(p[h + k]) or not np.isfinite(low):
                        out[k] = np.nan


@kernel(RHS, references=False, no_cfunc_wrapper=True)
def switch(t, y, p, out):
    """Components of the switching function psi: z_k for sliding members, ``h_k - min h`` for regions outside I.

    psi of Stewart 1996, sec. 4, is the smallest of them (and of t* - t); looked at one by one they are smooth.
    Regions that are not watched, and the only member of an I^j, get 1. The weights are those in p if REUSE is set.
    """
    o = int(p[p.size - 1])
    n = y.size
    R = int(p[o + P_R])
    m = int(p[o + P_M])
    a = o + N_HEAD + m + 1
    for k in range(R):
        out[k] = np.nan
    watch = p[a + 2 * R : a + 3 * R]
    call_part(int(p[o + A_INDICATORS]), t, y, p, watch, p[a + 5 * R : a + 6 * R])
    slides = False
    for k in range(R):
        if watch[k] > 0.0:
            p[o + N_H] += 1.0
            slides = slides or p[a + 3 * R + k] > 0.0
    if slides and p[o + REUSE] == 0.0:
        s = a + 6 * R + (R + 1) * n + R * (n + 1)
        field(t, y, p, p[s : s + n])
    components(p, o, a, R, m, out)


@kernel(RHS, references=False, no_cfunc_wrapper=True)
def model(t, y, p, out):
    """Fields of the candidate set I_0 = watch into p, and the gradients of groups with several candidates.

    `out` (R,) is left with 1 for the regions whose gradients were evaluated.
    """
    o = int(p[p.size - 1])
    n = y.size
    R = int(p[o + P_R])
    m = int(p[o + P_M])
    a = o + N_HEAD + m + 1
    f = a + 6 * R
    g = f + (R + 1) * n
    watch = p[a + 2 * R : a + 3 * R]
    p[f + R * n] = np.nan
    call_part(int(p[o + A_FIELDS]), t, y, p, watch, p[f:g])
    several = False
    for j in range(m):
        first = int(p[o + N_HEAD + j])
        last = int(p[o + N_HEAD + j + 1])
        members = 0
        for k in range(first, last):
            if watch[k] > 0.0:
                members += 1
                p[o + N_F] += 1.0
        for k in range(first, last):
            out[k] = 1.0 if (watch[k] > 0.0 and members > 1) else 0.0
            p[o + N_G] += out[k]
            several = several or out[k] > 0.0
    if several:
        call_part(int(p[o + A_GRADIENTS]), t, y, p, out, p[g : g + R * (n + 1)])


def _field(t, y, p, out):
    field(t, y, p, out)


def _switch(t, y, p, out):
    switch(t, y, p, out)


@cache
def first_class_functions():
    """`field` and `switch` as the integrators and root finders take them."""
    return library_function(_field, RHS), library_function(_switch, RHS)
