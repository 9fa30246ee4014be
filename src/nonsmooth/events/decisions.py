"""What a run with switches decides in Python: the end, accumulation, sustained contact, sliding, failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.events import records as core
from nonsmooth._core.integrators.records import NON_FINITE, STEP_TOO_SMALL
from nonsmooth.errors import (
    EventError,
    IntegrationError,
    NonFiniteStateError,
    StepLimitError,
    ZenoWarning,
)
from nonsmooth.warn import warn_user

from .at_end import settle_at_end

EPS = np.finfo(float).eps


class Decisions:
    """Base of `SwitchedRun`, which holds the state."""

    bound: Any
    options: Any
    ev: Any
    solver: Any
    switches: Any
    held: Any
    events: Any
    y: np.ndarray
    status: int | None
    message: str
    warned: set
    event: Any
    restart: Any
    add_row: Any
    use_held: Any

    @property
    def t(self) -> float:
        """The instant reached."""
        raise NotImplementedError

    def decide(self, code) -> None:
        """Do what the compiled loop came back for."""
        i = int(self.ev.info.switch)
        if code == core.DONE:
            self.status = 0
            self.message = "The solver successfully reached the end of the integration interval."
            if self.bound.m:
                settle_at_end(self)
        elif code == core.STOPPED:
            held = [j for j in (*self.held.resting, *self.held.sliding) if self.switches[j].triggered]
            if held:
                self._release(held)
                return
            self.stop("A termination event occurred.")
        elif code == core.ZENO:
            self._accumulation(i)
        elif code == core.RESTING:
            self._come_to_rest(i, closes=True)
        elif code == core.CHATTER:
            self._chatter(i)
        elif code == core.CYCLE:
            self._cycle(i)
        else:
            self._failure(code, i)

    def stop(self, message) -> None:
        """The run has ended early, as it should."""
        self.status, self.message = 1, message

    # -- failures

    def _failure(self, code, i) -> None:
        """Trouble: of a switch it raises, of the integration it ends the run with status -1."""
        if code == core.BAD_G:
            self.bad_switch(i, float(self.ev.info.t_bad))
        if code == core.NOT_REPEATABLE:
            raise EventError(
                f"switch {self.bound.names[i]!r} gave two values for the same (t, y) at t = {self.t:.9g}: it must depend on "
                "t and y only (no random numbers, no clock)."
            )
        if code == NON_FINITE:
            slope = self.solver.step.K[self.solver.method.stages]
            where = np.flatnonzero(~np.isfinite(slope))
            part = (
                f"component {where[0]} of `fun` is {slope[where[0]]}" if where.size else "`fun` is not finite"
            )
            self.fail(NonFiniteStateError(f"{part} just beyond t = {self.t:.9g}, whatever the step size."))
        elif code in (STEP_TOO_SMALL, core.LOST_STEP):
            self.fail(
                StepLimitError(
                    f"Required step size is less than spacing between numbers, at t = {self.t:.9g}: stiffness, a singularity "
                    "or an undeclared discontinuity; try a stiff method or declare a switch."
                )
            )
        else:
            self.fail(IntegrationError(f"the run ended with code {code} at t = {self.t:.9g}."))

    def fail(self, error: IntegrationError) -> None:
        """The run has ended with status -1."""
        self.error = error
        self.status, self.message = -1, str(error)

    def raise_kept(self) -> None:
        """An exception of a Python function, kept while compiled code ran."""
        python = self.bound.python
        if python.error is not None:
            name, t = python.where
            python.error.add_note(f"raised in `{name}` at t = {t:.9g}, after the step to t = {self.t:.9g}")
            raise python.error

    def bad_switch(self, i, t) -> None:
        """A switching function is not finite."""
        self.raise_kept()
        raise EventError(
            f"switch {self.bound.names[i]!r} (or its reset) is not finite near t = {t:.9g}: g must be finite wherever the "
            "solution goes."
        )

    def _cycle(self, i) -> None:
        if self.ev.counts.events > self.options.max_events:
            self.fail(
                StepLimitError(
                    f"more than max_events = {self.options.max_events} events at t = {self.t:.9g}, the last one of "
                    f"{self.bound.names[i]!r}."
                )
            )
            return
        raise self.endless(
            {event.name for event in self.events[-2 * self.bound.m - 2 :] if event.t == self.t}
        )

    def endless(self, names) -> EventError:
        """Events without end at one instant."""
        return EventError(
            f"events follow each other without end at t = {self.t:.9g}: cycle of {', '.join(map(repr, sorted(names)))} (more "
            f"than {self.options.max_chain} rounds): a reset makes its own or another switch fire again at once."
        )

    def refuse_endless(self) -> None:
        """A reset that puts the state back on its switch makes it fire again a rounding of time later, and so on."""
        # some switch has fired more than `max_chain` times in so many events
        n = self.options.max_chain * self.bound.m + 1
        if len(self.events) < n:
            return
        first, last = self.events[-n], self.events[-1]
        if abs(last.t - first.t) <= 32 * self.options.max_chain * EPS * abs(last.t):
            raise self.endless({event.name for event in self.events[-2 * self.bound.m - 2 :]})

    # -- accumulation, sustained contact, sliding

    def _accumulation(self, i) -> None:
        """Events of switch i accumulate: stop, ask, or go on in sustained contact."""
        name, t_star = self.bound.names[i], float(self.ev.info.t_zeno)
        self.events.append(self.event("zeno", i, self.y, self.y, t_star, found_at=self.t))
        text = f"events of switch {name!r} accumulate at t = {t_star:.9g}"
        if self.options.on_zeno == "raise":
            raise EventError(text + ".")
        if i not in self.warned:
            self.warned.add(i)
            warn_user(text + "; continued in sustained contact.", ZenoWarning)
        if self.options.on_zeno == "stop":
            self.stop(text + ".")
        elif callable(self.options.on_zeno):
            self._ask(i, t_star)
        else:
            self._come_to_rest(i, closes=False)

    def _ask(self, i, t_star) -> None:
        """The state after an accumulation, by the user's rule."""
        self.y[:] = self.options.on_zeno(t_star, self.y.copy(), i)
        self.switches[i].hits = 0
        self.restart()
        self.add_row()

    def _come_to_rest(self, i, closes) -> None:
        """Sustained contact of switch i from the point between the states of the last reset at which g_i' vanishes."""
        if closes and callable(self.options.on_zeno):
            self._ask(i, self.t)
            return
        last = next(e for e in reversed(self.events) if e.law == i and e.kind in ("impact", "switch"))
        jump = np.asarray(last.after) - np.asarray(last.before)
        size = np.linalg.norm(jump)
        if size == 0.0:
            raise EventError(
                f"switch {self.bound.names[i]!r} fires again and again at t = {self.t:.9g} and its reset changes nothing: give "
                "it a reset that acts, or make it terminal."
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
        self._hold(i)
        self.use_held()
        order = sorted(self.held.resting)
        if (
            self.held.forces(self.t, self.y, free=order)[order.index(i)] <= 0.0
        ):  # nothing presses: it opens again
            self._unhold(i)
            self.use_held()
        elif closes:
            self.events.append(self.event("close", i, left, self.y))
        self.add_row()

    def _hold(self, i) -> None:
        """Switch i is held at zero: its entry of g is replaced, and becomes zero where it lets go."""
        self.bound.p[i] = 0.0
        self.switches[i].kind = core.UNILATERAL
        self.switches[i].has_reset = 0
        self.switches[i].terminal = self.switches[i].hits + 1

    def _unhold(self, i) -> None:
        k, _ = self.bound.owner[i]
        switch, row = self.bound.switches[k], self.switches[i]
        self.held.resting.pop(i, None)
        self.held.sliding.discard(i)
        row.terminal = int(switch.terminal)
        row.has_reset = switch.reset is not None
        row.kind = core.UNILATERAL if switch.kind == "unilateral" else core.BILATERAL
        row.hits = 0
        row.gap_1 = row.gap_2 = row.gap_3 = 0.0
        self.bound.p[i] = 1.0

    def _release(self, which) -> None:
        """Held switches let go: the force or the weight has reached its bound."""
        for i in which:
            side = 1.0
            if i in self.held.sliding:
                alpha = self.held.combination(self.t, self.y)[0][sorted(self.held.sliding).index(i)]
                side = 1.0 if alpha > 0.5 else -1.0
                self.events.replace_last(
                    self.event("slip", i, self.y, self.y, direction=int(side), sliding="end")
                )
            self._unhold(i)
            self.bound.p[i] = side
            self.switches[i].muted = core.WAITING
        self.use_held()
        self.add_row()

    def _chatter(self, i) -> None:
        """Both fields point at the surface of switch i: slide there, or say so."""
        if self.options.on_chatter == "raise":
            raise EventError(
                f"switch {self.bound.names[i]!r} chatters at t = {self.t:.9g}: both neighbouring fields point at its surface, "
                'the solution slides there. Use solve_filippov, or on_chatter="filippov" here.'
            )
        self.held.sliding.add(i)
        self._hold(i)
        self.events.append(self.event("stick", i, self.y, self.y, direction=0, sliding="begin"))
        self.use_held()
        self.add_row()
