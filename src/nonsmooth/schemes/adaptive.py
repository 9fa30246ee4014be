"""The scheme `adaptive-moreau`: adaptive steps around any scheme of constant step (equations in `nonsmooth._core.stepping.adaptive`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.records.scene import STEP, make_state
from nonsmooth.errors import InputError, RangeError
from nonsmooth.schemes.base import ConstantStep, Plan, Scheme
from nonsmooth.schemes.extrapolation import time_scale
from nonsmooth.schemes.moreau import Moreau
from nonsmooth.schemes.options import positive, relative_tolerance
from nonsmooth.schemes.projection import KeepingReference
from nonsmooth.schemes.run import SchemeRun
from nonsmooth.schemes.theta import Theta

# an impact has to be seen in the step it happens in: gamma = 1
BASES: dict[str, ConstantStep] = {"theta": Theta(dt=1.0, theta=0.5, gamma=1.0), "moreau": Moreau(dt=1.0)}
EPS = np.finfo(float).eps


@dataclass(frozen=True)
class AdaptiveMoreau(Scheme):
    """Time-stepping with steps chosen by the local error of the positions (Acary 2012, sec. 4).

    Parameters
    ----------
    tol : float
        Tolerance of the local error of a coordinate, relative to the largest size it has had.
    base : scheme or str
        Any scheme of constant step, for example ``Theta(theta=1.0, gamma=1.0, dt=1e-3)``, whose `dt` is the first step; or "theta"
        (theta = 1/2, gamma = 1), "moreau". Impacts are best seen in the step they happen in, gamma = 1.
    event_aware : bool
        Whether the order of the base scheme is used where no mode changes; else p = 0 everywhere, eq. (61).
    atol : float
        Absolute part of the tolerance, in units of the coordinates; added to the relative one.
    dt_min, dt_max : float, optional
        Shortest and longest step. Given, a step of `dt_min` is taken whatever its error; left out, the shortest step is the resolution of
        time, and the longest a tenth of the span.
    alpha, alpha_min, alpha_max : float
        Of the controller, eq. (60).
    """

    tol: float = 1e-3
    base: Any = "theta"
    event_aware: bool = False
    atol: float = 0.0
    dt_min: float | None = None
    dt_max: float | None = None
    alpha: float = 1.0
    alpha_min: float = 0.5
    alpha_max: float = 5.0

    name = "adaptive-moreau"
    tolerance = "tol"

    audits_steps = True

    def __post_init__(self):
        for name in ("tol", "alpha", "alpha_min", "alpha_max"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("dt_min", "dt_max"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(name, getattr(self, name)))
        if self.atol != 0.0:
            object.__setattr__(self, "atol", positive("atol", self.atol))
        relative_tolerance("tol", self.tol)
        if not self.alpha_min < 1.0 < self.alpha_max:
            raise RangeError(
                f"`alpha_min` = {self.alpha_min:g} and `alpha_max` = {self.alpha_max:g}: steps must be able to become "
                "shorter and longer, alpha_min < 1 < alpha_max."
            )
        if self.dt_min is not None and self.dt_max is not None and self.dt_min >= self.dt_max:
            raise RangeError(f"`dt_min` = {self.dt_min:g} must be smaller than `dt_max` = {self.dt_max:g}.")
        base = self.base
        if isinstance(base, str) and base not in BASES:
            raise InputError(f"`base` is {base!r}: one of {', '.join(BASES)} or a scheme is wanted.")
        if not isinstance(base, str) and not isinstance(base, ConstantStep):
            raise InputError(f"`base` is {base!r}: a name or a scheme of constant step is wanted.")
        if not isinstance(base, str) and base.dt is None:
            raise InputError(
                f"`base` is {base!r}, which chooses its own steps: give it `dt`, the first step."
            )

    @property
    def scheme(self) -> ConstantStep:
        """The base scheme."""
        return BASES[self.base] if isinstance(self.base, str) else self.base

    @property
    def order(self) -> int:
        return self.scheme.order

    @property
    def asks(self) -> tuple[str, ...]:
        return self.scheme.asks

    @property
    def solver(self) -> Any:
        return getattr(self.scheme, "solver", None)

    def remembers(self, model) -> int:
        return self.scheme.remembers(model)

    def options(self) -> dict[str, Any]:
        names = ("tol", "event_aware", "atol", "dt_min", "dt_max", "alpha", "alpha_min", "alpha_max")
        own = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        base = {f"base_{name}": value for name, value in self.scheme.options().items() if name != "dt"}
        return {**own, "base": self.scheme.name, **base}

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> AdaptiveRun:
        return AdaptiveRun(self, model, t, q, u, plan)

    def audit(self, model, result, totals, plan: Plan, samples):
        """A run is a chain of steps of the base scheme."""
        return self.scheme.audit(model, result, totals, plan, samples)

    def step_limits(self, model, t, q, u, span: float) -> tuple[float, float, float]:
        """Shortest, longest and first step."""
        resolution = 64 * EPS * max(abs(t), abs(t + span))
        dt_max = self.dt_max if self.dt_max is not None else 0.1 * span
        dt_min = self.dt_min if self.dt_min is not None else resolution
        if dt_min >= dt_max:
            raise RangeError(
                f"steps of at most {dt_max:g} are below the shortest one, {dt_min:g}: give a larger dt_max, a smaller dt_min, or "
                "shift the time axis."
            )
        if isinstance(self.base, str):
            first = 1e-3 * time_scale(model, t, q, u, span)
        else:
            first = self.scheme.dt
        return dt_min, dt_max, min(max(first, dt_min), dt_max)


class AdaptiveRun(SchemeRun):
    """A run of `AdaptiveMoreau` in progress."""

    def __init__(self, scheme: AdaptiveMoreau, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        from nonsmooth._core.stepping import adaptive as core

        base = scheme.scheme
        parts = base.parts(model)
        size, n_own = model.size(), scheme.remembers(model)
        at = address_record(middle=0)
        self.own = core.make_adaptive(at, lambda: make_state(size, n_own), size)
        self._middle = Reference(self.own.middle)
        at.middle = self._middle.address
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={
                **parts, "base": parts.get("step", (type(base).step, STEP)), "step": (core.adaptive_step, STEP),
                "control": KeepingReference(self.own, self._middle),
            },
        )  # fmt: skip
        span = plan.segments[-1][1] - plan.segments[0][0] if plan.segments else 1.0
        control = self.own.control
        control.dt_min, control.dt_max, control.dt_next = scheme.step_limits(model, t, q, u, span)
        control.accept_shortest = scheme.dt_min is not None
        control.rtol, control.atol = scheme.tol, scheme.atol
        control.alpha, control.alpha_min, control.alpha_max = scheme.alpha, scheme.alpha_min, scheme.alpha_max
        control.order = base.order if scheme.event_aware else 0
        # a start at the origin of its coordinates tells no length, but its velocities do
        if model.f_kinematics is None:
            self.own.size[:] = 1e-3 * span * np.abs(u)

    def totals(self) -> dict[str, Any]:
        work = {name: float(getattr(self.books, name)) for name in ("work_forces", "work_contacts")}
        return super().totals() | work
