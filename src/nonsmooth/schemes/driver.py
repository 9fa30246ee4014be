"""The driver: strings slices of compiled steps together, for any scheme.

It cuts the span at breakpoints, collects or streams output, shows progress, keeps what was computed when something
fails, and turns status codes into typed errors. Slices are sized to last about 30 ms, so that Ctrl-C acts at once; how
the run is sliced never changes its numbers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nonsmooth._core.calls import faults
from nonsmooth._core.records import status as codes
from nonsmooth.errors import (
    ConvergenceError,
    EventError,
    InputError,
    IntegrationError,
    ModelError,
    NonFiniteStateError,
    NonsmoothError,
    NoSolutionError,
    StepLimitError,
)
from nonsmooth.model.user_errors import user_error

#: Fields of a streamed run.
STREAMED = ("t", "q", "u", "P_N", "P_T", "P_J", "modes", "dt", "order", "residual", "iterations")

SLICE_SECONDS = 0.03
FIRST_SLICE = 256
INTERRUPTED = -2  # status of a run ended by Ctrl-C or SystemExit
HALVINGS = 10


class Driver:
    """One run.

    Parameters
    ----------
    model : Model
    run : Run
        The scheme's run, before its first step.
    plan : Plan
    on_failure : {"raise", "halve", "accept", "dump"}
        What to do with a step whose contact problem does not converge.
    writer : StreamWriter or None
        Where finished columns go; None keeps them in memory.
    progress : bool or None
        None shows a bar on a terminal only.
    max_steps : int or None
    time_limit : float or None
        Seconds after which the run is stopped (with an error that carries the result so far).
    finish : callable
        ``finish(columns, raw_events, event_times, status, message) -> Result``.
    """

    def __init__(
        self,
        model,
        run,
        plan,
        on_failure,
        writer,
        progress,
        max_steps,
        time_limit,
        finish: Callable,
        dump_path="failed_step.hdf5",
    ):
        self.model, self.run, self.plan = model, run, plan
        self.on_failure, self.writer, self.dump_path = on_failure, writer, dump_path
        self.progress, self.max_steps, self.time_limit = progress, max_steps, time_limit
        self.finish = finish
        self.raw_events: list[np.ndarray] = []
        self.event_times: list[np.ndarray] = []
        self.chunks: list[dict[str, np.ndarray]] = []
        self.bar: Any = None

    def drive(self):
        """Run to the end; returns what `finish` makes of it. Errors carry the result so far as ``exc.partial``."""
        show = self.progress if self.progress is not None else sys.stderr.isatty()
        if show:
            from tqdm import tqdm

            t_0, t_1 = self.plan.segments[0][0], self.plan.segments[-1][1]
            self.bar = tqdm(
                total=t_1 - t_0, unit="s", unit_scale=True, leave=False, desc="simulate", mininterval=0.2
            )
        faults.forget()
        try:
            self._run_all()
        except BaseException as exc:
            error = user_error(exc)
            self._attach_partial(error)
            if error is exc:
                raise
            raise error from None
        finally:
            if self.bar is not None:
                self.bar.close()
        return self._result(0, "reached the end")

    # -- inside ---------------------------------------------------------------------------------------------------

    def _run_all(self):
        start = time.monotonic()
        for t_begin, t_end in self.plan.segments:
            self.run.begin_segment(t_begin, t_end)
            budget = FIRST_SLICE
            while not self.run.finished_segment:
                if self.max_steps is not None and self.run.steps >= self.max_steps:
                    raise StepLimitError(
                        f"max_steps = {self.max_steps} reached at t = {self.run.t:.9g} of {self.plan.segments[-1][1]:.9g}: "
                        "raise it, use a larger step, or shorten the span."
                    )
                if self.max_steps is not None:
                    budget = min(budget, self.max_steps - self.run.steps)
                tick = time.perf_counter()
                status = self.run.advance(budget)
                elapsed = time.perf_counter() - tick
                self._collect()
                if status != codes.OK:
                    self._handle(status)
                # the next slice: about 30 ms, whatever a step costs
                factor = SLICE_SECONDS / max(elapsed, 1e-6)
                budget = int(min(max(budget * min(factor, 16.0), 1), 10_000_000))
                if self.bar is not None:
                    self.bar.update(self.run.t - self.plan.segments[0][0] - self.bar.n)
                if self.time_limit is not None and time.monotonic() - start > self.time_limit:
                    raise StepLimitError(
                        f"time_limit = {self.time_limit:g} s reached at t = {self.run.t:.9g}: raise it or use a larger step."
                    )

    def _collect(self):
        raw, times = self.run.take_events()
        if raw.shape[0]:
            self.raw_events.append(raw)
            self.event_times.append(times)
        if self.run.output_full() and not self.run.finished_segment:
            if self.writer is not None:
                self._flush()
            else:
                self.chunks.append({name: array.copy() for name, array in self.run.take_output().items()})

    def _flush(self):
        columns = self.run.take_output()
        self.writer.append({name: columns[name] for name in STREAMED})

    def _handle(self, status: int):
        """A step failed: retry with halves where that can help, accept if asked, else raise."""
        run = self.run
        if status == codes.UNCONVERGED and self.on_failure == "accept":
            return
        unsolved = status in (codes.UNCONVERGED, codes.IMPLICIT_UNSOLVED, codes.UNPROJECTED)
        if status == codes.NON_FINITE or (unsolved and self.on_failure == "halve"):
            if run.retry_halved(HALVINGS) == codes.OK:
                return
        t, dt = run.t, run.dt
        if status == codes.UNCONVERGED:
            from nonsmooth.schemes.dump import dump_step

            dumped = " " + dump_step(self.dump_path, run.problem) if self.on_failure == "dump" else ""
            raise ConvergenceError(
                f"the contact problem of the step from t = {t:.9g} to {t + dt:.9g} was left with residual "
                f"{run.info.residual:.3g} after {int(run.info.iterations)} iterations ({int(run.problem.count.laws)} "
                f"active laws): {self._cures()}." + dumped
            )
        if status == codes.MASS_SINGULAR:
            q_M = run.work.q_m
            M = self.model.mass_matrix(t + dt / 2, q_M)
            condition = np.linalg.cond(M) if np.all(np.isfinite(M)) else float("nan")
            raise IntegrationError(
                f"the mass matrix is not positive definite at t = {t + dt / 2:.9g} (condition number {condition:.3g}): the "
                "coordinates run into a singularity; choose others or stop before."
            )
        if status == codes.ZERO_DIRECTION and np.all(np.isfinite(run.work.WT)):
            name = self.model.laws.name[int(run.info.law)]
            raise ModelError(
                f"the direction of {name!r} vanished at t = {t + dt / 2:.9g}: its gap or tangent does not depend on q there."
            )
        if status == codes.NO_SOLUTION:
            raise NoSolutionError(
                f"no impulses or accelerations that satisfy all laws were found at t = {t:.9g} (residual {run.info.residual:.3g}): "
                "a sliding contact may jam there (Painleve's paradox), or contacts and joints contradict each other."
            )
        if status == codes.IMPLICIT_UNSOLVED:
            raise ConvergenceError(
                f"Newton's method for the implicit step from t = {t:.9g} to {t + dt:.9g} did not converge (last change "
                f"{run.info.residual:.3g} of the velocities): use a smaller dt; forces or gaps with kinks or jumps can cause it, too."
            )
        if status == codes.UNPROJECTED:
            raise ConvergenceError(
                f"no positions that satisfy all contacts and joints were found at t = {t + dt:.9g}: they contradict each other there, "
                "or the step went too far from them; use a smaller dt, or projection=None."
            )
        if status == codes.CHATTER:
            raise EventError(
                f"modes change without end at t = {t:.9g} ({self._alternating()}): the laws there have no continuation that lasts; use "
                'method="extrapolated-moreau" or "moreau" to pass it with finite steps.'
            )
        with np.errstate(all="ignore"):  # what is looked for is found by value
            error = self._non_finite(t, dt, status)
        raise error

    def _cures(self) -> str:
        """What can be done about a contact problem that is not solved, as it has to be written."""
        scheme = self.run.scheme
        named = f"ns.{type(scheme).__name__}({'dt=..., ' if hasattr(scheme, 'dt') else ''}solver=...)"
        return (
            f'try another solver, method={named} with "auto", "newton", "nsgs" or "interior-point", or a larger budget, '
            'solver=ns.Exact(max_iter=...); on_failure="halve" takes smaller steps, on_failure="accept" goes on with such steps '
            "marked"
        )

    def _alternating(self) -> str:
        """The laws whose modes changed last, with their modes."""
        names, now = self.model.laws.name, self.run.state.modes
        listed = [f"{name}: {int(mode)}" for name, mode in zip(names, now)]
        return "modes now: " + ", ".join(listed[:6])

    def _non_finite(self, t, dt, status) -> NonsmoothError:
        """Which function is to blame for a NaN or infinity in the step from t."""
        model, run = self.model, self.run
        t_M, q_M, u = t + dt / 2, run.work.q_m.copy(), run.state.u.copy()
        for f in model.functions:
            value = f.call(t_M, q_M, u, model.parameters.flat)
            if not np.all(np.isfinite(value)):
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
                return NonFiniteStateError(
                    f"{f.name} is {value[where]} in entry {where} at t = {t_M:.9g}; last good instant t = {t:.9g}. Check the "
                    "formula there (division by zero, root of a negative number, overflow)."
                )
        for _, _, limit in model.bounds_of:
            value = limit.call(t_M, q_M, u, model.parameters.flat)[0] if hasattr(limit, "call") else 0.0
            if value < 0.0:
                return IntegrationError(
                    f"{limit.name} is {value:g} at t = {t_M:.9g}; last good instant t = {t:.9g}. A friction limit must not be "
                    "negative."
                )
        WT, zeta = model.directions(t_M, q_M)
        for law, name in enumerate(model.laws.name):
            rows = slice(model.laws.row[law], model.laws.row[law] + model.laws.dim[law])
            if not np.all(np.isfinite(WT[rows])) or not np.all(np.isfinite(zeta[rows])):
                return NonFiniteStateError(
                    f"the direction of {name!r} (a derivative of its gap, or its tangent) is not finite at t = {t_M:.9g}; last "
                    f"good instant t = {t:.9g}. The gap function has no derivative there: give `jacobian`, or change it."
                )
        if status == codes.STEP_UNDERFLOW:
            return StepLimitError(
                f"steps at t = {t:.9g} became shorter than the resolution of time ({dt:.3g}): a force has a pole or jumps there, or the "
                "problem is stiff; declare discontinuities as breakpoints=[...], or check the formula."
            )
        component = int(np.argmax(~np.isfinite(np.concatenate([run.scene.end.q, run.scene.end.u]))))
        return NonFiniteStateError(
            f"component {component} of the state (q, u) overflows in the step from t = {t:.9g}; last good instant "
            f"t = {t:.9g}. The motion grows without bound or the step is too large: try a smaller dt."
        )

    def _result(self, status: int, message: str):
        columns = self.run.take_output()
        if self.chunks:
            parts = [*self.chunks, columns]
            columns = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in columns}
        raw = np.concatenate(self.raw_events) if self.raw_events else np.zeros((0, 4), dtype=np.int64)
        times = np.concatenate(self.event_times) if self.event_times else np.zeros((0, 2))
        return self.finish(columns, raw, times, status, message)

    def _attach_partial(self, exc: BaseException):
        interrupted = isinstance(exc, KeyboardInterrupt | SystemExit)
        if not isinstance(exc, NonsmoothError) or isinstance(exc, InputError):
            exc.add_note(
                f"during a step from t = {self.run.t:.9g} (step {self.run.steps}); the result so far is `exc.partial`"
            )
        try:
            self._collect()
            status = INTERRUPTED if interrupted else -1
            message = f"stopped at t = {self.run.t:.9g}: {type(exc).__name__}: {exc}"
            exc.partial = self._result(status, message)  # type: ignore[attr-defined]
        except Exception as second:  # e.g. the disk is full: keep the first error
            exc.add_note(f"the partial result could not be kept: {type(second).__name__}: {second}")
