"""What a scheme owes, and what it is given.

A scheme is a frozen object of options. It owes

1. ``name``: its key in `METHODS`, and ``order``, what it promises in smooth phases;
2. ``step``: a compiled ``step(scene, state, t, dt) -> status`` (signature `STEP`; see `_core.records.scene`): it reads the begin from
   `state`, writes the end into ``scene.end`` and what happened into ``scene.info``, and changes nothing else that a later step depends
   on, so that it can be tried, thrown away and tried again;
3. ``between`` (optional): the state inside the step just taken, for output between steps; by default straight lines;
4. ``start(model, t, q, u, plan) -> SchemeRun``: its run before the first step. A scheme with constant step inherits it from
   `ConstantStep`, one that chooses its own step makes a subclass of `SchemeRun` with its own record;
5. ``audit(model, result, totals, ...)``: how its claims are checked by a second route;
6. ``explain(status)``, if its step answers with codes of its own besides those of `_core.records.status`;
7. a test of its order of convergence.

One compiled loop (`_core.stepping.run_loop`) takes the steps, and one driver (`control.driver`) strings its slices together; both know
no scheme.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nonsmooth._core.stepping.between import along_the_step
from nonsmooth._core.stepping.run_loop import run
from nonsmooth.errors import InputError, NonFiniteError, RangeError


@dataclass
class Plan:
    """What the driver asks of a run.

    Attributes
    ----------
    segments : list of (float, float)
        The span, cut at breakpoints.
    t_eval : ndarray
        Instants to store (empty: store steps).
    every : int
        Store every k-th step.
    capacity : int
        Rows of the output buffer.
    accept : bool
        Whether unconverged steps are accepted (and marked).
    keep_ends : bool
        Whether both ends of the step of each stored instant are kept for the audit (when output is thinned).
    watched : UserEvents, optional
        Functions of the user whose zeros are looked for.
    controllers : Controllers, optional
        What changes parameters between segments.
    nodes : sequence of float
        Instants inside each step, as parts of it, at which the state is kept for dense output.
    adaptive : bool
        Whether the scheme chooses its steps, so that their number is not known beforehand.
    jumps_at_end : bool
        Whether functions may jump where the span ends.
    """

    segments: list[tuple[float, float]]
    t_eval: np.ndarray = field(default_factory=lambda: np.zeros(0))
    every: int = 1
    capacity: int = 1
    accept: bool = False
    keep_ends: bool = False
    watched: Any = None
    nodes: Any = ()
    controllers: Any = None
    adaptive: bool = False
    jumps_at_end: bool = False


class Scheme:
    """Base of all schemes: see the module's text for what a scheme owes."""

    name: ClassVar[str]
    order: Any
    step: ClassVar[Any]
    between: ClassVar[Any] = along_the_step
    loop: ClassVar[Any] = run
    asks: Any = ()  # what it asks of a model besides the common questions: "kappa", "joints"
    dense: ClassVar[bool] = (
        True  # whether its step uses the dense M, L, B, Y, G_all of the work space (n_u^2 numbers; see `is_dense`)
    )
    orders_laws: ClassVar[bool] = (
        False  # whether its contact problem is W^T M^-1 W, listed by `phases.list_laws`: laws may stand in an order of their own
    )
    contacts: ClassVar[bool] = True  # whether it carries contacts and friction
    drives: ClassVar[bool] = False  # whether it finds inputs that act along directions of their own (`Servo`)
    asks_at_end: ClassVar[bool] = True  # whether its step asks functions of the model at its end
    shows_own: ClassVar[bool] = False  # whether results show what it remembers (see `fields`)
    compile_seconds: ClassVar[int | None] = None  # to a first result when no kernel is there, if known
    locates: ClassVar[bool] = (
        False  # whether its events are located, so that accumulation points can be told from them
    )
    serves_again: ClassVar[bool] = (
        False  # whether records of a finished run serve the next one (see `schemes.spare`)
    )

    counts_gains: ClassVar[bool] = False  # whether its loop counts every impact that makes energy

    audits_steps: ClassVar[bool] = False  # whether its audit recomputes single steps, also of thinned output

    tolerance: ClassVar[str] = "rtol"  # name of the option that says how accurate steps are to be

    def refuses(self, model) -> str:
        """Why it cannot run a model, as the end of a sentence; empty if it can."""
        return ""

    def keeps_tolerance(self) -> bool:
        """Whether it has a tolerance that can be changed."""
        return (
            is_dataclass(self)
            and self.tolerance in self.__dataclass_fields__
            and bool(getattr(self, self.tolerance))
        )

    def with_tolerance(self, factor: float, dt_max: float = math.inf) -> Any:
        """The same scheme with other tolerances and steps no longer than `dt_max`; None for schemes that keep none."""
        if not is_dataclass(self) or not self.keeps_tolerance():
            return None
        known = {entry.name for entry in fields(self)}
        names = {self.tolerance, "atol"} & known
        changes = {name: factor * getattr(self, name) for name in names if getattr(self, name)}
        if "dt_max" in known and dt_max > (getattr(self, "dt_min", None) or 0.0):
            changes["dt_max"] = dt_max
        return replace(self, **changes)

    def differentiated(self, by: tuple[str, ...]) -> Any:
        """The same scheme with derivatives by start and parameters carried along."""
        raise InputError(
            f'`sensitivities` are found by method="event-driven", not by {self.name!r}: leave `dt` out, or name it.'
        )

    @property
    def reaches(self) -> bool:
        """Whether it starts from states that violate constraints and reaches them by itself."""
        return False

    def options(self) -> dict[str, Any]:
        """Options by name, for the result."""
        raise NotImplementedError(f"the scheme {type(self).__name__} must tell its options")

    def cure(self) -> str:
        """What a user can do about implicit steps that are not solved."""
        return "use a smaller dt"

    def explain(self, status: int) -> str:
        """What a status of its own (from `status.OWN` on) means to a user, as the begin of a sentence."""
        return f"a step of {self.name} failed with its own status {status}"

    def estimate_steps(self, segments) -> int | None:
        """Number of steps, if it is known beforehand."""
        return None

    def parts(self, model) -> dict[str, Any]:
        """Compiled parts and records of its step besides `step` and `between` (see `SchemeRun`)."""
        return {}

    def fields(self, model, own: np.ndarray) -> dict[str, Any]:
        """Fields of the result made of what the scheme remembers, `own`, shape (numbers, columns)."""
        return {}

    def remembers(self, model) -> int:
        """How many numbers it keeps in ``state.own`` from step to step; what wraps a scheme keeps its own behind them."""
        return 0

    def is_dense(self, model) -> bool:
        """Whether its step of this model uses the dense matrices of the work space."""
        return type(self).dense

    def chosen_loop(self, model) -> Any:
        """The loop that takes its steps of this model: one that calls them at their address, unless the scheme has one of its own."""
        return type(self).loop

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        """A run that has taken no step yet."""
        raise NotImplementedError(f"the scheme {type(self).__name__} must start its runs")

    def audit(self, model, result, totals, plan: Plan, samples):
        """Check a run by a second route."""
        from nonsmooth.results.audit import audit_moreau

        return audit_moreau(model, result, totals, samples=samples, max_checked=0)


class ConstantStep(Scheme):
    """A scheme whose steps have one length `dt`; the last one before a breakpoint or the end is shortened to hit it."""

    audits_steps = True
    dt: float

    def steps_in(self, t_begin: float, t_end: float) -> int:
        """Number of steps in a segment; a remainder below 1e-9 dt is rounding, not a step."""
        return max(int(math.ceil((t_end - t_begin) / self.dt - 1e-9)), 1)

    def estimate_steps(self, segments) -> int | None:
        return sum(self.steps_in(a, b) for a, b in segments)

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        from nonsmooth.schemes.run import ConstantStepRun

        return ConstantStepRun(self, model, t, q, u, plan)

    def options(self) -> dict[str, Any]:
        return {"dt": self.dt}


def checked_step(dt) -> float:
    """A step size as a user gives it."""
    try:
        if isinstance(dt, bool | str):
            raise TypeError("not a number")
        value = float(dt)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`dt` is {dt!r}: a number is wanted.") from exc
    if not math.isfinite(value):
        raise NonFiniteError(f"`dt` is {value}: it must be finite.")
    if value <= 0:
        raise RangeError(f"`dt` is {value:g}: the step size must be positive.")
    return value
