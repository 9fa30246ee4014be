"""A run with switches: its state, and slices of the compiled loop until the end.

The loop of `nonsmooth._core.events.loop` comes back when its output is full or when something happens that is rare: a
terminal event, an accumulation, chattering, a misbehaving function; `nonsmooth.events.decisions` decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nonsmooth._core.calls.callbacks import python_f, python_g
from nonsmooth._core.events import records as core
from nonsmooth._core.events.detect import detect
from nonsmooth._core.events.locate import locate
from nonsmooth._core.events.loop import event_run, event_start
from nonsmooth._core.events.roots import PARTS, rate_now
from nonsmooth._core.events.scan import first_suspicion
from nonsmooth._core.events.settle import settle
from nonsmooth._core.integrators.user_functions import user_field, user_jacobian, user_switches
from nonsmooth._core.jit import address_record
from nonsmooth.control.driver import Driver
from nonsmooth.errors import InconsistentStateError, StepLimitError
from nonsmooth.integrators.driver import Integration, UserProblem, get_method
from nonsmooth.integrators.reuse import Pool, Pristine
from nonsmooth.results.events import Event
from nonsmooth.results.result import Result

from .binding import Bound, checked_value
from .checks import check_not_zero, check_rates, check_rates_at_events, check_switches
from .decisions import Decisions
from .log import EventLog
from .options import SwitchOptions
from .scipy_events import ScipyEvents
from .sustained import Held

EPS = np.finfo(float).eps
LOOP_PARTS = {"suspicion": first_suspicion, "detect": detect, "locate": locate, "settle": settle}
#: Step-size control of Compere 2001, eqs. (5.7) and (5.8).
COMPERE = dict(safety=0.8, exponent=-1.0 / 6.0, min_factor=0.1, max_factor=1e6, compere=True)


class Records:
    """The records of a run with m switches and n states, and all that their addresses point to."""

    def __init__(self, method, n, m, n_p):
        self.problem = UserProblem(np.zeros(n_p))
        context = self.problem.reference
        data = get_method(method)
        self.integration = Integration(data, n, context, user_field)
        solver, rows = self.integration.solver, data.dense_rows
        at = address_record(g=user_switches, context=context, roots=0, **PARTS)
        self.roots = core.make_roots(solver, at, m)
        self.events = core.make_events(
            solver,
            self.roots,
            address_record(user=context, events=0, **LOOP_PARTS),
            np.zeros(m, core.SWITCH).view(np.recarray),
            self.problem.p,
            core.Options(),
            min(max(200_000 // max(n * rows, 1), 32), 512),
            rows,
        )
        log = self.events.log  # (fields and slices of a record array are made in Python, slowly)
        self.log = core.Log(log.event.view(np.ndarray), log.before, log.after)
        self.table = self.events.switches.view(np.ndarray)
        self._references = core.linked(self.roots, "roots"), core.linked(self.events, "events")
        self._pristine = Pristine(
            (self.events, self.problem.record), fixed=(self.events.rows, self.events.log)
        )

    def renew(self):
        """As they were."""
        self._pristine.restore()


_pool = Pool(Records)


class SwitchedRun(Decisions):
    """One run, as `nonsmooth.control.driver` takes it; `status` is 0 end of span, 1 stopped, -1 failed."""

    def __init__(
        self,
        bound: Bound,
        t_span,
        y0,
        method,
        rtol,
        atol,
        options: SwitchOptions,
        *,
        max_step=np.inf,
        first_step=None,
        jac=None,
    ):
        self.bound, self.options = bound, options
        self.t_0, self.t_bound = float(t_span[0]), float(t_span[1])
        self.method = get_method(method)
        self._key = (method, bound.n, bound.m, bound.p.size)
        self.records = records = _pool.take(*self._key)
        self.problem, self.integration = records.problem, records.integration
        self.ev, self.roots, self.solver = records.events, records.roots, records.integration.solver
        self.switches, self.y = self.ev.switches, self.solver.y
        f, g, reset = bound.functions
        self.problem.use(f=f, g=g, reset=reset, jacobian=bound.jac)
        self.problem.p[:] = bound.p
        bound.p = self.problem.p  # the modes live in the records
        self.table = records.table
        self.table[:] = bound.plan.table
        self.table["t_last"] = self.t_0
        constant = None if jac is None else np.asarray(jac, dtype=float)
        self.integration.prepare(
            (self.t_0, self.t_bound),
            y0,
            rtol,
            atol,
            user_jacobian if bound.jac is not None else constant,
            max_step=max_step,
            **(COMPERE if options.controller == "compere" else {}),
        )
        self._set_options()
        self.pending: core.Rows | None = None
        self.slices: list[core.Rows] = []
        self.latest: core.Log | None = None
        self.seen: ScipyEvents | None = None
        self.started = False
        self.held = Held(bound, self.scale)
        self.events = EventLog(bound.names, bound.n)
        self.status: int | None = None
        self.message = ""
        self.error: Any = None
        self.warned: set = set()
        self.first_step = float(first_step or 0.0)

    def release(self) -> None:
        """The run has ended and its result is made: its records may serve another run."""
        self.bound.p = self.bound.p.copy()
        _pool.give_back(self.records, *self._key)

    def _set_options(self):
        options, record = self.options, self.ev.options
        span = abs(self.t_bound - self.t_0)
        record.hermite = options.detection == "hermite"
        if options.concurrency is not None:
            record.eps_c, record.eps_roc = options.concurrency
        record.restart_step = options.restart_step or 0.0
        record.zeno_tol = 1e-9 * (span if np.isfinite(span) else 1.0)
        if options.zeno_tol is not None:
            record.zeno_tol = options.zeno_tol
        record.max_events, record.max_chain = options.max_events, options.max_chain

    # -- where the run is

    @property
    def t(self) -> float:
        """The instant reached."""
        return float(self.solver.now.t)

    @property
    def steps(self) -> int:
        """Accepted steps."""
        return int(self.solver.count.nsteps)

    @property
    def done(self) -> bool:
        """Whether the run has come to its end."""
        return self.status is not None

    @property
    def scale(self) -> float:
        """A typical length of time."""
        span = abs(self.t_bound - self.t_0)
        return min(span, 1.0) if np.isfinite(span) and span > 0 else 1.0

    @property
    def slope(self) -> np.ndarray:
        """y' at the present state."""
        return self.solver.step.K[0].copy()

    def rate(self, i) -> float:
        """dg_i/dt at the present state."""
        return float(rate_now(self.roots.at.roots, i, self.t, self.y, self.slope, self.scale))

    # -- start

    def start(self):
        """Modes, slopes and checks at the start."""
        self.started = True
        checked_value(self.bound.f(self.t, self.y.copy()), self.bound.n, "fun")
        if self.bound.m == 0:
            self.restart(self.first_step)
            return
        check_switches(self)
        if self.restart(self.first_step, set_modes=1) == core.SPECIAL:
            self._start_at_zero()
        if self.bound.plan.rates:
            check_rates(self)

    def restart(self, first_step=0.0, set_modes=0):
        """Slope, switching functions and first step at the present state."""
        code = event_start(self.ev.at.events, float(first_step), set_modes)
        self.raise_kept()
        if code >= 0:
            self.bad_switch(code, self.t)
        return code

    def _start_at_zero(self):
        """Some switching function is zero at the start, or a unilateral one negative."""
        bound, table = self.bound, self.switches
        g = self.ev.values.start.copy()
        check_not_zero(self, g)
        unilateral = table.kind == core.UNILATERAL
        beyond = np.flatnonzero(unilateral & (g < -(table.tol + 8 * EPS * table.scale)))
        if beyond.size:
            i = int(beyond[0])
            raise InconsistentStateError(
                f"unilateral switch {bound.names[i]!r} starts at g = {g[i]:.6g}; g >= 0 is wanted: change `y0` or the sign "
                "of g."
            )
        zero = [int(i) for i in np.flatnonzero(np.abs(g) <= 8 * EPS * table.scale)]
        rates = {i: self.rate(i) for i in zero}
        for i in zero:
            if not unilateral[i] and rates[i] != 0.0:
                bound.p[i] = np.sign(rates[i]) * (1.0 if self.t_bound >= self.t else -1.0)
        if zero:
            self.restart(self.first_step)
        for i in zero:
            if unilateral[i] and rates[i] < 0.0:
                continue  # moves inwards: the loop acts on it at once and reports it
            self.events.append(self.event("touch", i, self.y, self.y, direction=0, start=True))

    # -- slices

    def advance(self, budget: int) -> None:
        """A slice of the compiled loop, and the decision it came back for."""
        if not self.started:
            self.start()
        if self.seen is not None and self.seen.terminal:
            budget = 1  # nothing is integrated beyond a terminal event
        code = event_run(self.ev.at.events, budget)
        self.pending = self._take()
        self.raise_kept()
        if self.latest is not None:
            self.refuse_endless()
            if self.bound.plan.rates:
                check_rates_at_events(self, self.pending, self.latest)
        if code != core.FULL:
            self.decide(code)

    def collect(self) -> None:
        """Put the output of the last slice away (looked through for SciPy-style events)."""
        output = [] if self.pending is None else [self.pending]
        self.pending = None
        if self.ev.used.rows:  # a slice that was broken off
            output.append(self._take())
        for rows in output:
            try:
                if self.seen is not None:
                    rows = self.seen.look(rows, self)
            finally:  # also where an event function raises
                self.slices.append(rows)

    def refuse(self, error: StepLimitError) -> None:
        """A limit on steps or time: the run ends with ``status = -1``, as in SciPy."""
        self.fail(error)

    def _take(self) -> core.Rows:
        used, count = int(self.ev.used.rows), int(self.ev.used.events)
        self.latest = None
        if count:
            self.latest = core.Log(*(array[:count].copy() for array in self.records.log))
            self.events.add(self.latest, self.table["kind"] == core.UNILATERAL, frozenset(self.held.resting))
        self.ev.used.rows = self.ev.used.events = 0
        return core.Rows(*(array[:used].copy() for array in self.ev.rows))

    def add_row(self) -> None:
        """Append the present state to the slice as a right limit."""
        rows = self._take() if self.pending is None else self.pending
        Q = np.zeros((1, *rows.Q.shape[1:]))
        modes = self.bound.p[: self.bound.m].astype(np.int8)
        row = core.Rows(np.array([self.t]), np.ones(1, dtype=np.int64), self.y[None], modes[None], Q)
        self.pending = core.Rows(*(np.concatenate(pair) for pair in zip(rows, row)))

    def event(self, kind, i, before, after, t=None, **extra) -> Event:
        """A record of an event at the present instant (or at `t`)."""
        t = self.t if t is None else float(t)
        return Event(t, kind, self.bound.names[i], np.array(before), np.array(after), law=i, extra=extra)

    def use_held(self) -> None:
        """Call the functions of held switches, or those of the user again."""
        python, held = self.bound.python, self.held
        python.f, python.g = (held.f, held.g) if held else (self.bound.f, self.bound.g)
        f, g = (python_f(), python_g()) if held else self.bound.functions[:2]
        self.problem.use(f=f, g=g)
        self.restart()

    def counters(self) -> dict[str, int]:
        """Counters; those of Compere 2001 are n_acc, n_rej, n_it, n_ev and the three cases of Table 5.1."""
        found = self.integration.counters()
        counts = dict(zip(self.ev.counts.dtype.names, self.ev.counts.tolist()))
        found["nrejected"] += counts.pop("rejected")
        found |= {"niterations": counts.pop("iterations"), "nevents": counts.pop("events")}
        return found | counts


def driven(run: Any, finish: Callable, caller: str, first_slice: int) -> Result:
    """From the first slice to the result, which ``finish(status, message)`` makes."""
    options = run.options
    driver = Driver(
        run, finish, (run.t_0, run.t_bound), caller, max_steps=options.max_steps, time_limit=options.time_limit,
        progress=options.progress, first_slice=first_slice,
    )  # fmt: skip
    with run.bound.python:
        result = driver.drive()
    run.release()
    return result
