"""The functions of a Filippov system that a run calls, in terms of its fields, indicators and gradients.

One compiled function for all systems: the parts of a system are reached at their addresses, so that a new system only
compiles its own code.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.records import FIELD
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.sliding.algebra import SINGULAR, combine
from nonsmooth._core.sliding.records import OF_SLOPE, call_of_slope, call_part, run_at


@part(OF_SLOPE, allocates=True)
def combine_in(address, out):
    """`combine` for the active set of the run."""
    run = run_at(address)
    return combine(run.starts, run.set.active, run.values.F, run.values.G, run.values.z, out)


@phase
def on_one_surface(run, out):
    """`combine` for sliding on a single surface (codimension one), the usual case, without a linear system."""
    F, G, z, members = run.values.F, run.values.G, run.values.z, run.set.members
    n, i, b = out.size, run.size.pair_row, run.size.pair_base
    r = G[i, n] - G[b, n]
    d = 0.0
    size = 0.0
    for k in range(n):
        s = F[run.set.active.size, k]
        for j in range(run.size.active):
            if members[j] != i:
                s += F[members[j], k]
        out[k] = s
        c = G[i, k] - G[b, k]
        r += c * s
        product = c * (F[i, k] - F[b, k])
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
    for j in range(run.size.active):
        z[members[j]] = 1.0
    z[i] = lam
    z[b] = 1.0 - lam
    for k in range(n):
        out[k] += lam * (F[i, k] - F[b, k])
    return ratio


@phase
def slope_in(run, out):
    """x' of the active set from the fields and gradients in `values`; weights go there."""
    F, members = run.values.F, run.set.members
    if run.size.codimension == 0:  # the sum of the active fields
        for i in range(out.size):
            s = F[run.set.active.size, i]
            for j in range(run.size.active):
                s += F[members[j], i]
            out[i] = s
        return
    if run.size.codimension == 1:
        ratio = on_one_surface(run, out)
    else:
        ratio = call_of_slope(run.at.combine, run.at.run, out)
    if ratio < run.watch.worst:
        run.watch.worst = ratio
    # Stages see weights inside the step for free: a dip below zero is looked into at its end.
    for j in range(run.size.active):
        run.watch.lowest = min(run.watch.lowest, run.values.z[members[j]])


@kernel(references=False, forceinline=False)
def evaluate_field(address, t, y, out):
    """x' of the active set: the sum of the active fields, or the sliding field, eqs. (9)-(11).

    Evaluations of f_k, h_k and grad h_k are counted one by one, as in Tables 1 and 2 of Stewart 1996.
    """
    run = run_at(address)
    if y.size == 0:
        return
    out[0] = np.nan
    call_part(run.at.fields, t, y, run.p, run.set.active, run.values.F_flat)
    run.counts.f += run.size.active
    if run.size.codimension > 0:  # the gradients of a group are needed only while it slides
        run.counts.grad_h += run.size.slides
        call_part(run.at.gradients, t, y, run.p, run.set.slides, run.values.G_flat)
    slope_in(run, out)


@part(FIELD)
def field(address, t, y, out):
    """The right-hand side of the integrator: `evaluate_field`."""
    evaluate_field(address, t, y, out)


@phase
def components(run, out):
    """The components of psi from the weights and indicators in `values`."""
    h, z, active, watch = run.values.h, run.values.z, run.set.active, run.set.watch
    for j in range(run.starts.size - 1):
        first, last = run.starts[j], run.starts[j + 1]
        members = 0
        low = np.inf
        for k in range(first, last):
            if active[k] > 0.0:
                members += 1
                low = min(low, h[k])
        for k in range(first, last):
            out[k] = 1.0
            if watch[k] > 0.0:
                if active[k] > 0.0:
                    if members > 1:
                        out[k] = z[k]
                else:
                    out[k] = h[k] - low
                    if not np.isfinite(h[k]) or not np.isfinite(low):
                        out[k] = np.nan


@part(FIELD)
def switch(address, t, y, out):
    """Components of the switching function psi: z_k for sliding members, ``h_k - min h`` for regions outside I.

    psi of Stewart 1996, sec. 4, is the smallest of them (and of t* - t); looked at one by one they are smooth.
    Regions that are not watched, and the only member of an I^j, get 1. The weights are those in `values` if ``watch.reuse``.
    """
    run = run_at(address)
    watch = run.set.watch
    for k in range(watch.size):
        out[k] = np.nan
    call_part(run.at.indicators, t, y, run.p, watch, run.values.h)
    slides = False
    for k in range(watch.size):
        if watch[k] > 0.0:
            run.counts.h += 1
            slides = slides or run.set.slides[k] > 0.0
    if slides and run.watch.reuse == 0:
        evaluate_field(address, t, y, run.scratch)
    components(run, out)


@part(FIELD)
def model(address, t, y, out):
    """Fields of the candidate set I_0 = watch, and the gradients of groups with several candidates.

    `out` (R,) is left with 1 for the regions whose gradients were evaluated.
    """
    run = run_at(address)
    watch, starts = run.set.watch, run.starts
    run.values.F[watch.size, 0] = np.nan
    call_part(run.at.fields, t, y, run.p, watch, run.values.F_flat)
    several = False
    for j in range(starts.size - 1):
        members = 0
        for k in range(starts[j], starts[j + 1]):
            if watch[k] > 0.0:
                members += 1
                run.counts.f += 1
        for k in range(starts[j], starts[j + 1]):
            wanted = watch[k] > 0.0 and members > 1
            out[k] = 1.0 if wanted else 0.0
            run.counts.grad_h += 1 if wanted else 0
            several = several or wanted
    if several:
        call_part(run.at.gradients, t, y, run.p, out, run.values.G_flat)
