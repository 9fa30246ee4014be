"""A run of Algorithm 2 (Stewart 1996) from Python: its state, and slices of the compiled run until the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nonsmooth._core.events.records import linked, make_roots
from nonsmooth._core.events.roots import PARTS as ROOT_PARTS
from nonsmooth._core.integrators.records import NON_FINITE
from nonsmooth._core.jit import Reference, address, address_record
from nonsmooth._core.sliding import records as core
from nonsmooth._core.sliding import run as compiled_run
from nonsmooth.errors import EventError, GrazingWarning, NonFiniteStateError, StepLimitError
from nonsmooth.integrators.driver import Integration, get_method
from nonsmooth.integrators.reuse import Pool, Pristine

from .decisions import Decisions

_SLICE = 512


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
    """What a run leaves behind, per slice (see `nonsmooth._core.sliding.records`)."""

    rows: list = field(default_factory=list)
    log: list = field(default_factory=list)
    accumulations: list = field(default_factory=list)
    notes: list = field(default_factory=list)


class CompiledRun:
    """The records of a run of a system with groups as `starts` says, and all that their addresses point to.

    Parameters
    ----------
    method : str
    n : int
    n_p : int
        Number of parameters of the user.
    starts : tuple of int
    size : int
        Rows of output.
    dense : bool
        Whether dense output is stored.
    """

    def __init__(self, method, n, n_p, starts, size=1, dense=False):
        data = get_method(method)
        self.integration = Integration(data, n, _Later, compiled_run.FIELD_PART)
        self.solver = self.integration.solver
        at = address_record(g=compiled_run.SWITCH_PART, context=0, roots=0, **ROOT_PARTS)
        self.roots = make_roots(self.solver, at, starts[-1])
        self._roots_reference = linked(self.roots, "roots")
        self.record = core.make_run(
            self.solver,
            self.roots,
            address_record(**dict.fromkeys(core.SYSTEM, 0), run=0, **compiled_run.PARTS),
            np.zeros(n_p),
            np.array(starts, dtype=np.int64),
            size,
            data.dense_rows if dense else 0,
        )
        self._reference = Reference(self.record)
        self.address = self._reference.address
        for place, name in ((self.record.at, "run"), (self.roots.at, "context"), (self.solver.at, "context")):
            setattr(place, name, self.address)
        self._pristine = Pristine(self.record, fixed=(self.record.rows, self.record.log))

    def renew(self):
        """As it was."""
        self._pristine.restore()

    def use(self, compiled):
        """Run with the functions and parameters of `compiled`."""
        self._keep = compiled
        self.record.p[:] = compiled.parameters.flat
        for name, (function, signature) in compiled.functions.items():
            setattr(self.record.at, name, address(function, signature))


class _Later:
    """An address that is known later."""

    address = 0
    record = None


_pool = Pool(CompiledRun)


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
        self.n, self.R = compiled.n, compiled.n_regions
        self.data = get_method(options.method)
        size = min(_SLICE, options.max_steps + 2)
        shape = (
            compiled.n,
            compiled.parameters.flat.size,
            tuple(compiled.starts.tolist()),
            size,
            options.dense,
        )
        self._key = (options.method, *shape)
        self.compiled = _pool.take(*self._key)
        self.compiled.use(compiled)
        self.compiled.integration.prepare(
            (self.t0, self.t1),
            x0,
            options.rtol,
            options.atol,
            max_step=options.max_step,
            fixed=options.fixed,
        )
        self.run, self.address = self.compiled.record, self.compiled.address
        self.solver, self.info, self.psi = self.run.solver, self.run.info, self.run.psi
        self.y, self.active, self.watch = self.solver.y, self.run.set.active, self.run.set.watch
        self.out = Trajectory()
        self.t_star = np.inf
        self.retries, self.retry_time = 0, np.nan
        self.warned: set = set()
        self.said: dict = {}
        self.done = self.t1 <= self.t0
        self.located = 0  # switching points that were put away
        self.small_steps, self.last_small_step = 0, -np.inf
        self.solver.now.h_next = options.first_step
        self._prepare(options)

    def _prepare(self, options):
        """Widths and tolerances; where switching points are located, and how closely."""
        info, rtol, location = self.info, options.rtol, options.location
        info.epsilon = max(1e-13, 0.1 * rtol) if options.epsilon is None else options.epsilon
        info.zeno_tol = 1.5e-8 * max(self.span, 1e-300)
        info.t_zeno = np.inf
        info.location = {None: core.AUTOMATIC, "dense": core.ON_DENSE}.get(location, core.ON_STEP)
        info.bound = location if isinstance(location, float) else max(3e-14, 1e-4 * rtol)
        # Brent's tolerance in theta: the first guess for the integration, or the place itself.
        on_step = info.location == core.ON_STEP or options.fixed
        info.xtol = 1e-4 if on_step else max(1e-14, 1e-3 * rtol)

    def release(self):
        """The run has ended and its result is made: its records may serve another run."""
        _pool.give_back(self.compiled, *self._key)

    # -- where the run is

    @property
    def t(self):
        """The instant reached."""
        return float(self.solver.now.t)

    @property
    def steps(self):
        """Accepted steps."""
        return int(self.solver.count.nsteps)

    @property
    def F(self):
        """Fields, the smooth part last, where they were evaluated last."""
        return self.run.values.F

    @property
    def G(self):
        """Gradients and time derivatives of the indicators, where they were evaluated last."""
        return self.run.values.G

    @property
    def counts(self):
        """Evaluations of f_k, h_k and grad h_k."""
        return {name: int(self.run.counts[name]) for name in ("f", "h", "grad_h")}

    # -- the run

    def advance(self, budget):
        """A slice of the compiled run, and the decision it came back for."""
        self.info.limit = min(budget, self.run.rows.t.size - 1)
        reason = compiled_run.drive(self.address)
        if reason == core.START:
            self.start()
            self.run.used.events = 0  # the first active set is no event
            self.info.started = 1
        elif reason == core.DONE and self.t == self.t1:
            self.done = True
            self.settle_at_end()
            self.check_sliding()
        else:
            self.handle(reason)
        if self.located + self.run.used.events > self.o.max_events:
            raise StepLimitError(
                f"solve_filippov: more than max_events = {self.o.max_events} switching points at t = {self.t:.9g}"
            )

    def collect(self):
        """Put the output of the slice away."""
        used = self.run.used
        rows, events = int(used.rows), int(used.events)
        self.out.rows.append(core.Rows(*(array[:rows].copy() for array in self.run.rows)))
        self.out.log.append(core.Log(*(array[:events].copy() for array in self.run.log)))
        self.located += events
        used.rows = used.events = 0

    def refuse(self, error):
        """A limit on steps or time is reached."""
        raise error

    def handle(self, reason):
        """Do what the compiled run came back for."""
        k = int(self.info.component)
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
        elif self.info.reason == NON_FINITE:
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
        if self.info.grazed:
            where, t = self.region(int(self.info.grazed) - 1), self.info.t_grazed
            self.warn(
                GrazingWarning,
                f"solve_filippov: region {where} is touched at t = {t:.9g} and, to the accuracy of the run, not entered; "
                "a solution that enters it may exist close by, reduce rtol to tell them apart",
                "grazing",
            )
        if self.run.watch.worst < -0.5:
            self.warn_degenerate("B'", "the sliding equations (11) were inconsistent in part of the run")

    @property
    def counters(self):
        """Counters of the integrator, as a result has them."""
        return self.compiled.integration.counters()
