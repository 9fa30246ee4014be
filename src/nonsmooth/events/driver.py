"""Runs with switches: the compiled loop in slices, and the decisions that are taken in Python.

The loop of `nonsmooth._core.events.loop` comes back when its output is full or when something happens that is
rare: a terminal event, an accumulation, chattering, a misbehaving function.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from nonsmooth._core.calls.callbacks import python_f, python_g
from nonsmooth._core.events import loop
from nonsmooth._core.events import records as core
from nonsmooth._core.integrators.rk import (
    JAC_CONSTANT,
    JAC_FUNCTION,
    JAC_MODE,
    K_0,
    NFEV,
    NJEV,
    NLU,
    NON_FINITE,
    NREJECTED,
    NSTEPS,
    STEP_TOO_SMALL,
)
from nonsmooth._core.integrators.single_step import (
    adapt_function,
    dense_function,
    solid_function,
    try_function,
)
from nonsmooth._core.jit import address_of
from nonsmooth.control.warn import warn_user
from nonsmooth.errors import (
    EventError,
    InconsistentStateError,
    IntegrationError,
    NonFiniteStateError,
    StepLimitError,
    ZenoWarning,
)
from nonsmooth.integrators.driver import get_method, make_control, make_work, no_jacobian
from nonsmooth.results.events import Event

from .at_end import settle_at_end
from .binding import Bound, checked_value
from .checks import check_not_zero, check_rates, check_rates_at_events
from .log import EventLog
from .options import SwitchOptions
from .scipy_events import ScipyEvents
from .sustained import Held

EPS = np.finfo(float).eps


@cache
def _steppers(kind):
    """Addresses of the integrator's functions."""
    functions = (try_function(kind), adapt_function(), solid_function(), dense_function())
    return tuple(address_of(function) for function in functions)


class SwitchedRun:
    """One run. `advance` yields slices of output until `status` is set: 0 end of span, 1 stopped, -1 failed."""

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
        self.t, self.t_bound = float(t_span[0]), float(t_span[1])
        self.t_0 = self.t
        self.y = np.array(y0, dtype=float)
        self.method = get_method(method)
        n, m = bound.n, bound.m
        self.work = make_work(self.method, n)
        extra: dict[str, Any] = {}
        if options.controller == "compere":
            extra = dict(safety=0.8, exponent=-1.0 / 6.0, min_factor=0.1, max_factor=1e6, norm=1)
        self.control = make_control(self.method, n, rtol, atol, max_step, **extra)
        self.steppers = _steppers(self.method.kind)
        self.jac = no_jacobian()
        if bound.jac is not None:
            self.work.ints[JAC_MODE] = JAC_FUNCTION
            self.jac = bound.jac
        elif jac is not None:
            self.work.ints[JAC_MODE] = JAC_CONSTANT
            self.work.X[:n] = jac
        self.sw = self._switches(n, m)
        rows = 3 + self.method.n_dense
        size = min(max(200_000 // max(n * rows, 1), 32), 512)
        self.out = core.Output(
            np.empty((size, 2 + n + m)),
            np.empty((size, rows, n)),
            np.empty((size + 4 * m + 8, 6 + 2 * n)),
            np.zeros(2, dtype=np.int64),
        )
        self.pending: tuple[np.ndarray, np.ndarray] | None = None
        self.slices: list[tuple[np.ndarray, np.ndarray]] = []
        self.seen: ScipyEvents | None = None
        self.started = False
        self.held = Held(bound, self._scale())
        self.events = EventLog(bound.names, n)
        self.status: int | None = None
        self.message = ""
        self.error: IntegrationError | None = None
        self.warned: set = set()
        self.first_step = float(first_step or 0.0)

    # -- preparation
    # ------------------------------------------------------------------------------------------

    def _scale(self) -> float:
        span = abs(self.t_bound - self.t_0)
        return min(span, 1.0) if np.isfinite(span) and span > 0 else 1.0

    def _switches(self, n, m) -> core.Switches:
        options = self.options
        span = abs(self.t_bound - self.t_0)
        default = 1e-9 * (span if np.isfinite(span) else 1.0)
        eps_c, eps_roc = options.concurrency if options.concurrency is not None else (0.0, 0.0)
        sw = core.Switches(
            self.bound.plan.ints.copy(),
            self.bound.plan.reals.copy(),
            np.zeros((17, m)),
            np.empty((10, 64)),
            np.zeros((3, n)),
            np.array(
                [
                    options.detection == "hermite",
                    eps_c,
                    eps_roc,
                    options.restart_step or 0.0,
                    options.zeno_tol if options.zeno_tol is not None else default,
                    1.0,
                    options.max_events,
                    options.max_chain,
                ],
                dtype=float,
            ),  # in the order of core.O_*
            np.zeros(16, dtype=np.int64),
            np.zeros(32),
        )
        sw.reals[:, core.T_LAST] = self.t_0
        sw.info[21] = np.nan
        return sw

    def entry(self):
        """Addresses of all functions, as the loop takes them."""
        f, g, reset = self.bound.functions
        if self.held:
            f, g = python_f(), python_g()
        return (
            *self.steppers,
            address_of(f),
            address_of(self.jac),
            address_of(g),
            address_of(reset),
        )

    def _arguments(self):
        """What all loops begin with."""
        return (
            self.entry(), self.method, self.t, self.y, self.t_bound, self.bound.p, 0, self.work, self.control, self.sw,
        )  # fmt: skip

    def start(self):
        """Modes, slopes and checks at the start."""
        self.started = True
        checked_value(self.bound.f(self.t, self.y.copy()), self.bound.n, "fun")
        if self.bound.m == 0:
            self._event_start(self.first_step)
            return
        if self._event_start(self.first_step, modes=1) == core.SPECIAL:
            self._start_at_zero()
        if self.bound.plan.rates:
            check_rates(self)

    def _start_at_zero(self):
        """Some switching function is zero at the start, or a unilateral one negative."""
        bound, t, y = self.bound, self.t, self.y
        g = self.sw.G[core.G_START].copy()
        check_not_zero(self, g)
        scale = self.sw.reals[:, core.SCALE]
        unilateral = self.sw.ints[:, core.KIND] == core.UNILATERAL
        beyond = np.flatnonzero(unilateral & (g < -(self.sw.reals[:, core.TOL] + 8 * EPS * scale)))
        if beyond.size:
            i = int(beyond[0])
            raise InconsistentStateError(
                f"unilateral switch {bound.names[i]!r} starts at g = {g[i]:.6g}; g >= 0 is wanted: change `y0` or the sign "
                "of g."
            )
        zero = [int(i) for i in np.flatnonzero(np.abs(g) <= 8 * EPS * scale)]
        rates = {i: self.rate(i) for i in zero}
        for i in zero:
            if not unilateral[i] and rates[i] != 0.0:
                bound.p[i] = np.sign(rates[i]) * (1.0 if self.t_bound >= self.t else -1.0)
        if zero:
            self._event_start(self.first_step)
        for i in zero:
            if unilateral[i] and rates[i] < 0.0:
                continue  # moves inwards: the loop acts on it at once and reports it
            self.events.append(self._event(t, "touch", i, y, y, direction=0, start=True))

    def _event_start(self, first_step, modes=0):
        code = loop.event_start(*self._arguments(), float(first_step), modes)
        self._raise_kept()
        if code >= 0:
            self._bad_switch(code, self.t)
        return code

    def rate(self, i) -> float:
        """dg_i/dt at the present state."""
        slope = self.work.F[K_0].copy()
        buffer, out = np.zeros(self.bound.n), np.zeros(self.bound.m)
        return float(
            loop.rate_now(self.entry(), i, self.t, self.y, slope, self.bound.p, self._scale(), buffer, out)
        )

    # -- the loop
    # ---------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the run has come to its end."""
        return self.status is not None

    @property
    def steps(self) -> int:
        """Accepted steps."""
        return int(self.work.ints[NSTEPS])

    def advance(self, budget: int) -> None:
        """A slice of the compiled loop, and the decision it came back for."""
        if not self.started:
            self.start()
        if self.seen is not None and self.seen.terminal:
            budget = 1  # nothing is integrated beyond a terminal event
        self.t, code = loop.event_run(*self._arguments(), self.out, budget)
        self.pending = self._take()
        self._raise_kept()
        if self.latest is not None:
            self._refuse_endless()
            if self.bound.plan.rates:
                check_rates_at_events(self, self.pending[0], self.latest)
        if code != core.FULL:
            self._decide(code)

    def collect(self) -> None:
        """Put the rows and dense output of the last slice away (looked through for SciPy-style events)."""
        output = [] if self.pending is None else [self.pending]
        self.pending = None
        if self.out.used[0]:  # a slice that was broken off
            output.append(self._take())
        for rows, Q in output:
            try:
                if self.seen is not None:
                    rows, Q = self.seen.look(rows, Q, self)
            finally:  # also where an event function raises
                self.slices.append((rows, Q))

    def refuse(self, error: StepLimitError) -> None:
        """A limit on steps or time: the run ends with ``status = -1``, as in SciPy."""
        self._fail(error)

    def _take(self):
        used, count = self.out.used.tolist()
        self.latest = None
        rows, Q = self.out.rows[:used].copy(), self.out.Q[:used].copy()
        if count:
            self.latest = self.out.ev[:count].copy()
            self.events.add_rows(self.latest, self.sw.ints, frozenset(self.held.resting))
        self.out.used[:] = 0
        return rows, Q

    def _event(self, t, kind, i, before, after, **extra) -> Event:
        return Event(
            float(t), kind, self.bound.names[i], np.array(before), np.array(after), law=i, extra=extra
        )

    def _add_row(self, flag=1.0):
        """Append the present state to the slice as a right limit."""
        rows, Q = self.pending
        row = np.concatenate([[self.t, flag], self.y, self.bound.p[: self.bound.m]])
        self.pending = np.vstack([rows, row]), np.concatenate([Q, np.zeros((1, *Q.shape[1:]))])

    def _decide(self, code):
        i = int(self.sw.info[6])
        if code == core.DONE:
            self.status, self.message = (
                0,
                "The solver successfully reached the end of the integration interval.",
            )
            if self.bound.m:
                settle_at_end(self)
        elif code == core.STOPPED:
            held = [j for j in (*self.held.resting, *self.held.sliding) if self.sw.ints[j, core.TRIGGERED]]
            if held:
                self._release(held)
                return
            self.status, self.message = 1, "A termination event occurred."
        elif code in (core.ZENO, core.RESTING):
            self._accumulation(i, code)
        elif code == core.CHATTER:
            self._chatter(i)
        elif code == core.CYCLE:
            self._cycle(i)
        elif code == core.BAD_G:
            self._bad_switch(i, float(self.sw.info[7]) if np.isfinite(self.sw.info[7]) else self.t)
        elif code == core.NOT_REPEATABLE:
            raise self._with_partial(
                EventError(
                    f"switch {self.bound.names[i]!r} gave two values for the same (t, y) at t = {self.t:.9g}: it must depend on "
                    "t and y only (no random numbers, no clock)."
                )
            )
        elif code == NON_FINITE:
            slope = self.work.F[K_0 + self.method.stages]
            where = np.flatnonzero(~np.isfinite(slope))
            part = (
                f"component {where[0]} of `fun` is {slope[where[0]]}" if where.size else "`fun` is not finite"
            )
            self._fail(NonFiniteStateError(f"{part} just beyond t = {self.t:.9g}, whatever the step size."))
        elif code in (STEP_TOO_SMALL, core.LOST_STEP):
            self._fail(
                StepLimitError(
                    f"Required step size is less than spacing between numbers, at t = {self.t:.9g}: stiffness, a singularity or an "
                    "undeclared discontinuity; try a stiff method or declare a switch."
                )
            )
        else:
            self._fail(IntegrationError(f"the run ended with code {code} at t = {self.t:.9g}."))

    def _fail(self, error: IntegrationError):
        self.error = error
        self.status, self.message = -1, str(error)

    def _with_partial(self, error):
        self.failed = error
        return error

    def _raise_kept(self):
        python = self.bound.python
        if python.error is not None:
            name, t = python.where
            python.error.add_note(f"raised in `{name}` at t = {t:.9g}, after the step to t = {self.t:.9g}")
            raise python.error

    def _bad_switch(self, i, t):
        self._raise_kept()
        raise EventError(
            f"switch {self.bound.names[i]!r} (or its reset) is not finite near t = {t:.9g}: g must be finite wherever the "
            "solution goes."
        )

    def _cycle(self, i):
        if self.sw.counts[core.C_EVENTS] > self.options.max_events:
            self._fail(
                StepLimitError(
                    f"more than max_events = {self.options.max_events} events at t = {self.t:.9g}, the last one of "
                    f"{self.bound.names[i]!r}."
                )
            )
            return
        raise self._endless(
            {event.name for event in self.events[-2 * self.bound.m - 2 :] if event.t == self.t}
        )

    def _endless(self, names) -> EventError:
        return EventError(
            f"events follow each other without end at t = {self.t:.9g}: cycle of {', '.join(map(repr, sorted(names)))} (more "
            f"than {self.options.max_chain} rounds): a reset makes its own or another switch fire again at once."
        )

    def _refuse_endless(self):
        """A reset that puts the state back on its switch makes it fire again a rounding of time later, and so on."""
        n = (
            self.options.max_chain * self.bound.m + 1
        )  # some switch has fired more than `max_chain` times in so many events
        if len(self.events) < n:
            return
        first, last = self.events[-n], self.events[-1]
        if abs(last.t - first.t) <= 32 * self.options.max_chain * EPS * abs(last.t):
            raise self._endless({event.name for event in self.events[-2 * self.bound.m - 2 :]})

    # -- accumulation, sustained contact, sliding
    # --------------------------------------------------------------

    def _accumulation(self, i, code):
        name = self.bound.names[i]
        resting = code == core.RESTING
        t_star = self.t if resting else float(self.sw.info[20])
        last = next(event for event in reversed(self.events) if event.law == i and event.kind == "impact")
        if not resting:
            self.events.append(self._event(t_star, "zeno", i, self.y, self.y, found_at=self.t))
            if self.options.on_zeno == "raise":
                raise EventError(f"events of switch {name!r} accumulate at t = {t_star:.9g}.")
            if i not in self.warned:
                self.warned.add(i)
                warn_user(
                    f"events of switch {name!r} accumulate at t = {t_star:.9g}; continued in sustained contact.",
                    ZenoWarning,
                )
            if self.options.on_zeno == "stop":
                self.status, self.message = 1, f"events of switch {name!r} accumulate at t = {t_star:.9g}."
                return
        if callable(self.options.on_zeno):
            self.y[:] = self.options.on_zeno(t_star, self.y.copy(), i)
            self.sw.ints[i, core.HITS] = 0
            self._event_start(0.0)
            self._add_row()
            return
        # Rest: the point between the states before and after the last reset at which g_i' vanishes.
        jump = np.asarray(last.after) - np.asarray(last.before)
        size = np.linalg.norm(jump)
        if size == 0.0:
            raise EventError(
                f"switch {name!r} fires again and again at t = {self.t:.9g} and its reset changes nothing: give it a reset "
                "that acts, or make it terminal."
            )
        f = self.bound.f
        before, after = (
            self.held.rates(self.t, np.asarray(state), np.asarray(f(self.t, np.asarray(state)), float), [i])[
                0
            ]
            for state in (last.before, last.after)
        )
        share = 1.0 if after == before else -before / (after - before)
        left = self.y.copy()
        self.y[:] = np.asarray(last.before) + share * jump
        self.held.resting[i] = jump / size
        self.bound.p[i] = 0.0
        self.sw.ints[i, core.TERMINAL] = self.sw.ints[i, core.HITS] + 1
        self.sw.ints[i, core.HAS_RESET] = 0
        self._hold()
        forces = dict(
            zip(sorted(self.held.resting), self.held.forces(self.t, self.y, free=sorted(self.held.resting)))
        )
        if forces[i] <= 0.0:  # nothing presses: it opens again
            self._unhold(i)
            self._hold()
        elif resting:
            self.events.append(self._event(self.t, "close", i, left, self.y))
        self._add_row()

    def _hold(self):
        python = self.bound.python
        python.f = self.held.f if self.held else self.bound.f
        python.g = self.held.g if self.held else self.bound.g
        self._event_start(0.0)

    def _unhold(self, i):
        k, _ = self.bound.owner[i]
        switch = self.bound.switches[k]
        self.held.resting.pop(i, None)
        self.held.sliding.discard(i)
        self.sw.ints[i, core.TERMINAL] = int(switch.terminal)
        self.sw.ints[i, core.HAS_RESET] = switch.reset is not None
        self.sw.ints[i, core.HITS] = 0
        self.sw.ints[i, core.KIND] = switch.kind == "unilateral"
        self.sw.reals[i, core.GAP_1 : core.GAP_3 + 1] = 0.0
        self.bound.p[i] = 1.0

    def _release(self, which):
        """Held switches let go: the force or the weight has reached its bound."""
        for i in which:
            was_sliding = i in self.held.sliding
            side = 1.0
            if was_sliding:
                alpha = self.held.combination(self.t, self.y)[0][sorted(self.held.sliding).index(i)]
                side = 1.0 if alpha > 0.5 else -1.0
                self.events.replace_last(
                    self._event(self.t, "switch", i, self.y, self.y, direction=int(side), sliding="end")
                )
            self._unhold(i)
            self.bound.p[i] = side
            self.sw.ints[i, core.MUTED] = core.WAITING
        self._hold()
        self._add_row()

    def _chatter(self, i):
        name = self.bound.names[i]
        if self.options.on_chatter == "raise":
            raise EventError(
                f"switch {name!r} chatters at t = {self.t:.9g}: both neighbouring fields point at its surface, the solution "
                'slides there. Use solve_filippov, or on_chatter="filippov" here.'
            )
        self.held.sliding.add(i)
        self.bound.p[i] = 0.0
        self.sw.ints[i, core.KIND] = core.UNILATERAL
        self.sw.ints[i, core.HAS_RESET] = 0
        self.sw.ints[i, core.TERMINAL] = self.sw.ints[i, core.HITS] + 1
        self.events.append(self._event(self.t, "switch", i, self.y, self.y, direction=0, sliding="begin"))
        self._hold()
        self._add_row()

    # -- numbers
    # ----------------------------------------------------------------------------------------------

    def counters(self) -> dict[str, int]:
        """Counters; those of Compere 2001 are n_acc, n_rej, n_it, n_ev and the three cases of Table 5.1."""
        ints, counts = self.work.ints.tolist(), self.sw.counts.tolist()
        return dict(
            nfev=ints[NFEV],
            njev=ints[NJEV],
            nlu=ints[NLU],
            nsteps=ints[NSTEPS],
            nrejected=ints[NREJECTED] + counts[core.C_EVENT_REJECTED],
            niterations=counts[core.C_ITER],
            nevents=counts[core.C_EVENTS],
            case_1=counts[core.C_CASE_1],
            case_2=counts[core.C_CASE_2],
            case_3=counts[core.C_CASE_3],
            touches=counts[core.C_TOUCH],
            chained=counts[core.C_CHAIN],
        )
