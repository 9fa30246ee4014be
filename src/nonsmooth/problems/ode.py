"""What every benchmark problem for `solve_ivp` is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..events.switch import Switch


@dataclass(frozen=True)
class OdeProblem:
    """A discontinuous ordinary differential equation with its switches.

    Attributes
    ----------
    name, source, summary : str
    fun : callable
        ``fun(t, y, mode)``, compilable.
    y0 : ndarray, shape (n,)
    t_span : (float, float)
    switches : tuple of Switch
    reference : mapping
        What is known: closed forms, event times, numbers of events.
    options : mapping
        Options of `solve_ivp` that belong to the problem (tolerances of the paper, max_step).
    energy : callable or None
        ``energy(y)``, for problems that conserve one.
    """

    name: str
    source: str
    summary: str
    fun: Callable
    y0: np.ndarray
    t_span: tuple[float, float]
    switches: tuple[Switch, ...]
    reference: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    energy: Callable | None = None
