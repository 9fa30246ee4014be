"""A run of Algorithm 2 (Stewart 1996) from Python: its state, and slices of the compiled run until the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from nonsmooth._core.integrators.rk import H_NEXT, NFEV, NJEV, NLU, NON_FINITE, NREJECTED, NSTEPS
from nonsmooth._core.integrators.single_step import (
    adapt_function,
    dense_function,
    solid_function,
    try_function,
)
from nonsmooth._core.sliding import layout as core
from nonsmooth._core.sliding.functions import first_class_functions
from nonsmooth._core.sliding.run import calls, commit, drive
from nonsmooth.errors import EventError, GrazingWarning, NonFiniteStateError, StepLimitError
from nonsmooth.integrators.driver import get_method, make_control, make_work, no_jacobian

from .decisions import Decisions

_SLICE = 512
_MAX_SETS = 32


@cache
def calls_for(kind):
    """Addresses of everything a run of a kind of integrator calls."""
    steppers = (try_function(kind), adapt_function(), solid_function(), dense_function())
    return calls((*steppers, *first_class_functions(), no_jacobian()))


@cache
def entry(dispatcher):
    """The compiled form of a kernel that exists for one signature only: calling it leaves out the look-up by types."""
    overloads = getattr(dispatcher, "overloads", None)
    return next(iter(overloads.values())).entry_point if overloads else dispatcher


class Caught:
    """Catches what user code raises inside the integrator (Python can only report it there), to raise it again."""

    def __init__(self):
        self.error = None

    def __enter__(self):
        self.hook, sys.unraisablehook = sys.unraisablehook, self.keep
        return self

    def keep(self, unraisable):
        """Hook: remember the first exception."""
        if self.error is None:
            self.error = unraisable.exc_value

    def __exit__(self, kind, value, trace):
        sys.unraisablehook = self.hook
        if self.error is not None:
            raise self.error


@dataclass
class Options:
    """Everything a run needs beyond system, span and start."""

    method: str = "RK45"
    rtol: float = 1e-6
    atol: np.ndarray | float = 1e-9
    max_step: float = np.inf
    first_step: float = 0.0
    fixed: bool = False
    epsilon: float | None = None
    location: float | str | None = None
    choose: object = None
    max_steps: int = 10**7
    max_events: int = 10**6
    dense: bool = False


@dataclass
class Trajectory:
    """What a run leaves behind, as lists of arrays per slice (see `_core.filippov_layout.Out`)."""

    steps: list = field(default_factory=list)
    Q: list = field(default_factory=list)
    events: list = field(default_factory=list)
    accumulations: list = field(default_factory=list)
    notes: list = field(default_factory=list)


class FilippovRun(Decisions):
    """One run, as `nonsmooth.control.driver` takes it.

    Parameters
    ----------
    compiled : CompiledSystem
    names : sequence of str
        Names of the groups.
    """

    def __init__(self, compiled, names, t_span, x0, options: Options):
        self.c, self.names, self.o = compiled, names, options
        self.t0, self.t1 = float(t_span[0]), float(t_span[1])
        self.span = abs(self.t1 - self.t0)
        n, R = compiled.n, int(compiled.lay[core.R_])
        self.n, self.R = n, R
        self.data = get_method(options.method)
        self.work = make_work(self.data, n)
        self.control = make_control(
            self.data, n, options.rtol, options.atol, options.max_step, fixed=options.fixed
        )
        self.y, self.p = np.array(x0, dtype=np.float64), compiled.new_p()
        self.C = np.zeros((core.C_ROWS, R))
        self.opt, self.info = np.zeros(core.N_OPT), np.zeros(core.N_INFO, dtype=np.int64)
        self.state = core.Run(
            self.y, self.p, self.C, np.zeros((core.B_ROWS, n)), self.opt, compiled.lay, compiled.starts, self.info,
            calls_for(self.data.kind),
        )  # fmt: skip
        self.sets, self.flags = np.zeros((_MAX_SETS, R)), np.zeros(_MAX_SETS, dtype=np.int64)
        self.ring = np.zeros(core.RING)
        self.active = self.part(core.ACTIVE, R)
        self.watch = self.part(core.WATCH, R)
        self.head = self.part(core.HEAD, core.N_HEAD)
        self.out = Trajectory()
        self.t_star = np.inf
        self.retries, self.retry_time = 0, np.nan
        self.warned: set = set()
        self.said: dict = {}
        self.done = self.t1 <= self.t0
        self.located = 0  # switching points that were put away
        self.small_steps, self.last_small_step = 0, -np.inf
        self.opt[core.T], self.opt[core.T_BOUND] = self.t0, self.t1
        self.opt[core.EPSILON] = (
            max(1e-13, 0.1 * options.rtol) if options.epsilon is None else options.epsilon
        )
        self.opt[core.ZENO] = 1.5e-8 * max(self.span, 1e-300)
        self.opt[core.T_ZENO] = np.inf
        self.set_location(options.location, options.rtol)
        size = min(_SLICE, options.max_steps + 2)
        self.work.reals[H_NEXT] = options.first_step
        rows = 3 + self.data.n_dense + 1
        self.slice = core.Out(
            np.empty((size, 1 + n + R)),
            np.empty((size if options.dense else 0, rows, n)),
            np.empty((size, 2 + 2 * R)),
        )
        self.arguments = (
            self.data, self.work, self.control, self.state, self.slice, self.sets, self.flags, self.ring,
        )  # fmt: skip

    def set_location(self, location, rtol):
        """Where switching points are located, and how closely."""
        modes = {None: core.AUTOMATIC, "dense": core.ON_DENSE}
        self.info[core.LOCATION] = modes.get(location, core.ON_STEP)
        on_step = self.info[core.LOCATION] == core.ON_STEP or self.o.fixed
        self.opt[core.BOUND] = location if isinstance(location, float) else max(3e-14, 1e-4 * rtol)
        # Brent's tolerance in theta: the first guess for the integration, or the place itself.
        self.opt[core.XTOL] = 1e-4 if on_step else max(1e-14, 1e-3 * rtol)

    # -- views into the state of the run

    @property
    def t(self):
        """Present time."""
        return float(self.opt[core.T])

    def part(self, offset, size):
        """A part of the block in p."""
        start = int(self.c.lay[offset])
        return self.p[start : start + size]

    @property
    def F(self):
        """Fields, the smooth part last, as they stand in p."""
        return self.part(core.FIELDS, (self.R + 1) * self.n).reshape(self.R + 1, self.n)

    @property
    def G(self):
        """Gradients and time derivatives of the indicators, as they stand in p."""
        return self.part(core.GRADIENTS, self.R * (self.n + 1)).reshape(self.R, self.n + 1)

    @property
    def counts(self):
        """Evaluations of f_k, h_k and grad h_k."""
        c = self.head.tolist()
        return {"f": int(c[core.N_F]), "h": int(c[core.N_H]), "grad_h": int(c[core.N_G])}

    def collect(self):
        """Put the output of the slice away."""
        c, e = int(self.info[core.COUNT_OUT]), int(self.info[core.COUNT_EVENTS])
        o = self.out
        o.steps.append(self.slice.steps[:c].copy())
        o.events.append(self.slice.events[:e].copy())
        self.located += e
        if self.o.dense:
            o.Q.append(self.slice.Q[:c].copy())
        self.info[core.COUNT_OUT] = self.info[core.COUNT_EVENTS] = 0

    # -- the run

    def commit(self, members):
        """Continue with the active set `members`."""
        self.opt[core.T_BOUND] = min(self.t1, self.t_star)
        with Caught():
            commit(self.data, self.work, self.control, self.state, self.slice, members)

    @property
    def steps(self):
        """Accepted steps."""
        return int(self.work.ints[NSTEPS])

    def advance(self, budget):
        """A slice of the compiled run, and the decision it came back for."""
        self.info[core.LIMIT] = min(budget, len(self.slice.steps) - 1)
        with Caught():
            reason = entry(drive)(*self.arguments)
        if reason == core.START:
            self.start()
            self.info[core.COUNT_EVENTS] = 0  # the first active set is no event
            self.info[core.STARTED] = 1
        elif reason == core.DONE and self.t == self.t1:
            self.done = True
            self.check_sliding()
        else:
            self.handle(reason)
        if self.located + self.info[core.COUNT_EVENTS] > self.o.max_events:
            raise StepLimitError(
                f"solve_filippov: more than max_events = {self.o.max_events} switching points at t = {self.t:.9g}"
            )

    def refuse(self, error):
        """A limit on steps or time is reached."""
        raise error

    def handle(self, reason):
        """Do what the compiled run came back for."""
        k = int(self.info[core.COMPONENT])
        if reason == core.FULL:
            return
        if reason == core.DONE:  # the restart time t* of Step 5
            self.t_star = np.inf
            self.trial_after()
            self.decide("t*")
        elif reason in (core.CHOICE, core.DEGENERATE, core.NO_SET, core.TOO_LARGE):
            self.count_retries()
            self.decide("switch", k if self.active[k] > 0 else -1)
        elif reason == core.IMMEDIATE:
            self.count_retries()
            self.immediate(k)
        elif reason == core.ACCUMULATION:
            self.accumulation()
        elif reason == core.BAD_INDICATOR:
            raise EventError(
                f"solve_filippov: indicator {self.region(k)} is not finite after t = {self.t:.9g}"
            )
        elif reason == core.LOST_ROOT:
            raise EventError(
                f"solve_filippov: the switching point of region {self.region(k)} after t = {self.t:.9g} could not be located"
            )
        elif self.info[core.REASON] == NON_FINITE:
            raise NonFiniteStateError(
                f"solve_filippov: the vector field is not finite after t = {self.t:.9g}, x = {self.y}"
            )
        else:
            raise StepLimitError(
                f"solve_filippov: the step size fell below the spacing of numbers at t = {self.t:.9g} "
                "(stiff field, or a discontinuity that is not declared as a group)"
            )

    def check_sliding(self):
        """Say so if the sliding equations had no solution somewhere, or a region was touched without being entered."""
        if self.info[core.GRAZED]:
            where, t = self.region(int(self.info[core.GRAZED]) - 1), self.opt[core.T_GRAZED]
            self.warn(
                GrazingWarning,
                f"solve_filippov: region {where} is touched at t = {t:.9g} and, to the accuracy of the run, not entered; "
                "a solution that enters it may exist close by, reduce rtol to tell them apart",
                "grazing",
            )
        if self.head[core.WORST] < -0.5:
            self.warn_degenerate("B'", "the sliding equations (11) were inconsistent in part of the run")

    @property
    def counters(self):
        """Counters of the integrator, as a result has them."""
        i = self.work.ints
        return {
            "nfev": i[NFEV],
            "njev": i[NJEV],
            "nlu": i[NLU],
            "nsteps": i[NSTEPS],
            "nrejected": i[NREJECTED],
        }
