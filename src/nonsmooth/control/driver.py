"""The driver of every front door: strings slices of compiled steps together.

What a run owes (`Run`):

1. ``advance(budget)`` takes at most `budget` steps inside compiled code, then does what needs Python (a decision at a
   switching point, the next segment of a span, the retry of a failed step). All progress lives in its arrays, so that
   an exception loses nothing. Numerical trouble is raised here, as a typed error. How a run is cut into slices never
   changes its numbers.
2. ``t``, ``steps``, ``done``: the instant reached, the steps made, whether nothing is left to do. A door that ends
   early (a terminal event) sets `done`.
3. ``collect()`` puts finished output where it belongs: lists in memory, or the writer of a streamed run. Called after
   every slice, and once more when a run is broken off.
4. ``refuse(error)``: a limit is reached. Raise `error`, or keep it and be `done` (`solve_ivp` reports by status).

What the driver gives:

* slices of about 30 ms (at most 50 ms once the cost of a step is known);
* signals: Ctrl-C acts between two slices, or at once inside a Python function of the user (`HeldSignals`);
* limits on steps and on time (which only ever stop a run: no decision depends on the clock);
* progress on a terminal;
* results: ``finish(status, message)`` makes one, at the end (status 0) or out of what there is when a run is broken
  off: the exception leaves with it as ``exc.partial``, status `INTERRUPTED` after a signal and `FAILED` otherwise.

A door reads: check arguments, make the run, ``return Driver(run, finish, span, ...).drive()``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from nonsmooth._core.calls import faults
from nonsmooth.errors import InputError, NonsmoothError, StepLimitError
from nonsmooth.model.user_errors import user_error

from .progress import Progress
from .signals import HeldSignals
from .stall import StallWatch

#: Seconds a slice is meant to last, and steps of the first one.
SLICE_SECONDS = 0.03
FIRST_SLICE = 256

#: Status of a run that failed, and of one that was ended by Ctrl-C or `SystemExit`.
FAILED = -1
INTERRUPTED = -2


class Run(Protocol):
    """A run in progress, as the driver sees it."""

    t: float
    steps: int
    done: bool

    def advance(self, budget: int) -> None: ...

    def collect(self) -> None: ...

    def refuse(self, error: StepLimitError) -> None: ...


class Driver:
    """One run, from its first slice to its result.

    Parameters
    ----------
    run : Run
    finish : callable
        ``finish(status, message)``: the result of what has been collected.
    span : (float, float)
        For the progress bar and for messages.
    door : str
        Name of the front door, for messages.
    max_steps : int, optional
    time_limit : float, optional
        Seconds.
    progress : bool, optional
        None shows a bar on a terminal only.
    first_slice : int
        Steps of the first slice: fewer where a step is known to be slow.
    watch : bool
        Whether a run that no longer gets on is ended (see `stall`).
    """

    def __init__(
        self,
        run: Run,
        finish: Callable[[int, str], Any],
        span: tuple[float, float],
        door: str,
        *,
        max_steps: int | None = None,
        time_limit: float | None = None,
        progress: bool | None = None,
        first_slice: int = FIRST_SLICE,
        watch: bool = True,
    ):
        self.run, self.finish, self.span, self.door = run, finish, span, door
        self.max_steps, self.time_limit, self.progress = max_steps, time_limit, progress
        self.budget = first_slice
        self.watch = StallWatch(run, span, door) if watch else None

    def drive(self) -> Any:
        """Run to the end and return the result; exceptions carry the result so far as ``exc.partial``."""
        run = self.run
        faults.forget()
        try:
            with HeldSignals() as signals, Progress(*self.span, self.progress, self.door) as bar:
                self.began = time.monotonic()
                while not run.done:
                    if not self._within_limits():
                        break
                    self._slice()
                    run.collect()
                    self._refuse_stalled()
                    bar.update(run.t)
                    signals.deliver()
        except BaseException as exc:
            error = user_error(exc)
            self._attach_partial(error)
            if error is exc:
                raise
            raise error from None
        return self.finish(0, "reached the end")

    def _slice(self) -> None:
        """One slice, and the size of the next one: about 30 ms, whatever a step costs."""
        budget = self.budget
        if self.max_steps is not None:
            budget = min(budget, self.max_steps - self.run.steps)
        if self.watch is not None:
            budget = self.watch.budget(budget)
        tick = time.perf_counter()
        self.run.advance(budget)
        elapsed = time.perf_counter() - tick
        factor = min(SLICE_SECONDS / max(elapsed, 1e-6), 16.0)
        self.budget = int(min(max(self.budget * factor, 1), 10_000_000))

    def _refuse_stalled(self) -> None:
        if self.watch is None or self.run.done:
            return
        try:
            self.watch.look()
        except StepLimitError as error:
            self.run.refuse(error)

    def _within_limits(self) -> bool:
        run = self.run
        if self.max_steps is not None and run.steps >= self.max_steps:
            run.refuse(
                StepLimitError(
                    f"{self.door}: max_steps = {self.max_steps} reached at t = {run.t:.9g} of {self.span[1]:.9g}: raise it, use a "
                    "larger step or tolerance, or shorten the span."
                )
            )
            return False
        if self.time_limit is not None and time.monotonic() - self.began > self.time_limit:
            run.refuse(
                StepLimitError(
                    f"{self.door}: time_limit = {self.time_limit:g} s reached at t = {run.t:.9g} of {self.span[1]:.9g}: raise it, "
                    "or use a larger step or tolerance."
                )
            )
            return False
        return True

    def _attach_partial(self, exc: BaseException) -> None:
        """What there is goes out with the exception; a second error (the disk is full) must not hide the first."""
        run = self.run
        status = INTERRUPTED if isinstance(exc, KeyboardInterrupt | SystemExit) else FAILED
        try:
            if not isinstance(exc, NonsmoothError) or isinstance(exc, InputError):
                exc.add_note(
                    f"during a step from t = {run.t:.9g} (step {run.steps}) of {self.door}; the result so far is `exc.partial`"
                )
            try:
                run.collect()
            except Exception as second:  # what it could not put away is asked for by `finish` again
                exc.add_note(f"while collecting the result so far: {type(second).__name__}: {second}")
            exc.partial = self.finish(  # type: ignore[attr-defined]
                status, f"stopped at t = {run.t:.9g}: {type(exc).__name__}: {exc}"
            )
        except Exception as second:
            exc.add_note(f"the partial result could not be kept: {type(second).__name__}: {second}")
