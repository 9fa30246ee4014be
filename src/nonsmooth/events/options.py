"""Options of runs with switches, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, RangeError


@dataclass
class SwitchOptions:
    """How switches are looked for and what happens in special cases.

    Parameters
    ----------
    detection : {"dense", "hermite"}
        On the integrator's dense output, or on cubic Hermite polynomials only (Compere 2001, sec. 5.2.1).
    concurrency : (float, float), optional
        Region of concurrency (eps_c, eps_ROC): bilateral events within eps_c of the first, |g| <= eps_ROC,
        happen at once.
    on_zeno : {"sustain", "stop", "raise"} or callable
        Accumulation of unilateral events: go on in sustained contact, stop there with status 1, raise, or ask
        ``rule(t, y, i) -> y``.
    zeno_tol : float, optional
        Remaining time of an accumulation that is skipped; 1e-9 of the span by default.
    on_chatter : {"raise", "filippov"}
        Both fields point at the surface of a bilateral switch.
    max_events, max_steps : int
    time_limit : float, optional
        Seconds after which the run ends with ``status = -1`` and what it has computed.
    progress : bool, optional
        Show a progress bar; by default on a terminal only. False: nothing is said about compilation either.
    max_chain : int
        Most rounds of events at one instant.
    restart_step : float, optional
        Longest first step after an event (the step size of before is kept by default).
    controller : {"scipy", "compere"}
        Step-size control; "compere" is eqs. (5.7) and (5.8).
    """

    detection: str = "dense"
    concurrency: tuple[float, float] | None = None
    on_zeno: str | Callable = "sustain"
    zeno_tol: float | None = None
    on_chatter: str = "raise"
    max_events: int = 10**6
    max_steps: int = 10**8
    time_limit: float | None = None
    progress: bool | None = None
    max_chain: int = 100
    restart_step: float | None = None
    controller: str = "scipy"

    def __post_init__(self) -> None:
        self._one_of("detection", ("dense", "hermite"))
        self._one_of("on_chatter", ("raise", "filippov"))
        self._one_of("controller", ("scipy", "compere"))
        if not callable(self.on_zeno):
            self._one_of("on_zeno", ("sustain", "stop", "raise"))
        if self.concurrency is not None:
            pair = np.asarray(self.concurrency, dtype=float)
            if pair.shape != (2,) or not np.all(pair > 0):
                raise RangeError(
                    f"`concurrency` is {self.concurrency!r}; two positive numbers (eps_c, eps_ROC) are wanted."
                )
        for name in ("max_events", "max_steps", "max_chain"):
            if not getattr(self, name) >= 1:
                raise RangeError(f"`{name}` is {getattr(self, name)!r}; at least 1 is wanted.")
        for name in ("zeno_tol", "restart_step", "time_limit"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise RangeError(f"`{name}` is {value!r}; it must be positive.")

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> None:
        value: Any = getattr(self, name)
        if value not in allowed:
            raise InputError(f"`{name}` is {value!r}; use one of {', '.join(map(repr, allowed))}.")
