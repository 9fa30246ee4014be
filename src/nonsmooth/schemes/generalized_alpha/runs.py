"""Runs of `generalized-alpha`, with constant steps and with steps chosen by their error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nonsmooth._core.jit import Reference
from nonsmooth._core.records.scene import STEP
from nonsmooth._core.stepping.alpha import records as core
from nonsmooth._core.stepping.alpha.control import controlled_step, make_controlled
from nonsmooth._core.stepping.alpha.step import alpha_step
from nonsmooth.schemes.base import Plan
from nonsmooth.schemes.extrapolation import time_scale
from nonsmooth.schemes.generalized_alpha.coefficients import velocity_error
from nonsmooth.schemes.run import ConstantStepRun, SchemeRun

if TYPE_CHECKING:
    from nonsmooth.schemes.generalized_alpha.scheme import GeneralizedAlpha


class Restarting(SchemeRun):
    """A run whose accelerations start anew where functions of the model may jump: at breakpoints, samples of controllers, resets."""

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        last = t_end == self.plan.segments[-1][1] and not self.plan.jumps_at_end
        self._parts["own"].record.weights.breaks = math.inf if last else t_end
        if self.state.own[core.HEAD.index("ready")]:
            self.state.own[core.HEAD.index("jumped")] = core.BROKEN

    def restart(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        super().restart(t, q, u)
        self.state.own[core.HEAD.index("ready")] = 0.0


class AlphaRun(Restarting, ConstantStepRun):
    """A run with constant steps."""


class ControlledRun(Restarting):
    """A run with steps chosen by their error (`_core.stepping.alpha.control`)."""

    def __init__(self, scheme: GeneralizedAlpha, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        self.own = make_controlled(model.n_u)
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={"step": (controlled_step, STEP), "base": (alpha_step, STEP), "control": Reference(self.own)},
        )  # fmt: skip
        control = self.own.control
        control.span = plan.segments[-1][1] - plan.segments[0][0] if plan.segments else 1.0
        control.rtol, control.alpha, control.alpha_min, control.alpha_max = scheme.rtol, 0.9, 0.2, 4.0
        control.velocity = velocity_error(*scheme.weights())
        control.dt_min = 64 * np.finfo(float).eps * max(abs(t), abs(t + control.span))
        control.dt_max = scheme.dt_max if scheme.dt_max is not None else control.span / 50
        control.dt_next = min(1e-2 * time_scale(model, t, q, u, control.span), control.dt_max)

    def diverges(self) -> bool:
        return bool(self.own.control.bursts)

    def totals(self) -> dict[str, Any]:
        work = {name: float(getattr(self.books, name)) for name in ("work_forces", "work_contacts")}
        return super().totals() | work
