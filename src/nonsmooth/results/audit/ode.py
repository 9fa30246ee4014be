"""The audit of `solve_ivp`: steps repeated by another integrator, instants of switches against their functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import evenly
from nonsmooth.results.events import count_kinds

_STIFF = ("Radau", "BDF", "LSODA", "SDIRK4")


def audit_ode(
    rates: Callable[[int, float, np.ndarray], Any],
    t: np.ndarray,
    y: np.ndarray,
    rtol: float,
    atol: Any,
    method: str = "",
    events: Sequence[Any] = (),
    several: bool = False,
    only: np.ndarray | None = None,
    max_steps: int = 40,
) -> Audit:
    """Audit of a run of an ODE.

    Parameters
    ----------
    rates : callable
        ``rates(k, t, y)``: right-hand side in the modes of the step that ends in column k.
    t, y : ndarray, shapes (k,), (n, k)
        Stored instants and states; an instant stored twice is a jump.
    rtol, atol : float, array_like
        What was asked for.
    method : str
        Its name tells whether the problem is stiff.
    events : sequence of Event
    several : bool
        Whether there are several steps between two columns (``t_eval``), each of which may err.
    only : ndarray of int, optional
        Columns whose steps may be repeated; by default all.
    max_steps : int
        Steps to repeat, evenly spaced.

    Returns
    -------
    Audit
    """
    from scipy.integrate import solve_ivp

    audit = Audit(
        events=count_kinds(events), points_checked=int(t.size), steps_total=int(np.count_nonzero(np.diff(t)))
    )
    # a step may err by some tolerances; over an interval between outputs errors of several steps add up
    audit.limits = {"step_error": 1000.0 if several else 20.0}
    if t.size == 0:
        return audit
    size = np.max(np.abs(y), axis=1, initial=0.0)
    tolerance = np.maximum(np.asarray(atol) + rtol * size, 1e-13 * size + np.finfo(float).tiny)
    steps = 1 + np.flatnonzero(np.diff(t))
    if only is not None:
        steps = np.intersect1d(steps, only)
    for k in steps[evenly(steps.size, max_steps)]:
        found = solve_ivp(
            lambda t, y, k=int(k): np.asarray(rates(k, t, y)), (t[k - 1], t[k]), y[:, k - 1],
            method="Radau" if method in _STIFF else "DOP853", rtol=max(0.01 * rtol, 1e-12), atol=0.01 * tolerance,
        )  # fmt: skip
        if not found.success:
            continue
        error = float(np.max(np.abs(found.y[:, -1] - y[:, k]) / tolerance))
        audit.steps_checked += 1
        if audit.step_error is None or not error <= audit.step_error:
            audit.step_error, audit.step_error_t = error, float(t[k])
    return audit
