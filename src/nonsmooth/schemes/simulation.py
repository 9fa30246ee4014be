"""A simulation as the driver of all front doors takes it (`control.driver.Run`): any scheme, cut at breakpoints.

It strings the segments of the span together, collects or streams output, takes a step that failed again in halves where that
was asked for, and turns what remains into typed errors.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from nonsmooth._core.records import status as codes
from nonsmooth.errors import StepLimitError
from nonsmooth.schemes.failures import failure

#: Fields of a streamed run.
STREAMED = ("t", "q", "u", "P_N", "P_T", "P_J", "modes", "dt", "order", "residual", "iterations")

#: A step that failed is taken again as 2, 4, ... 2**HALVINGS smaller ones.
HALVINGS = 10
UNSOLVED = (codes.UNCONVERGED, codes.IMPLICIT_UNSOLVED, codes.UNPROJECTED)


class Simulation:
    """One run of a scheme over all segments of the span.

    Parameters
    ----------
    run : SchemeRun
        Before its first step.
    plan : Plan
    on_failure : {"raise", "halve", "accept", "dump"}
        What to do with a step whose contact problem does not converge.
    writer : StreamWriter or None
        Where finished columns go; None keeps them in memory.
    dump_path : path
        FCLIB file for ``on_failure="dump"``.
    """

    def __init__(self, run, plan, on_failure: str, writer, dump_path: str | PathLike[str]):
        self.run, self.plan, self.on_failure = run, plan, on_failure
        self.writer, self.dump_path = writer, dump_path
        self._to_come = list(reversed(plan.segments))
        self._chunks: list[dict[str, np.ndarray]] = []
        self._raw_events: list[np.ndarray] = []
        self._event_times: list[np.ndarray] = []
        self._next_segment()

    # -- what the driver asks

    @property
    def t(self) -> float:
        """The instant reached."""
        return self.run.t

    @property
    def steps(self) -> int:
        """Steps made."""
        return self.run.steps

    @property
    def done(self) -> bool:
        """Whether the end of the last segment is reached."""
        return self.run.finished_segment and not self._to_come

    def advance(self, budget: int) -> None:
        """At most `budget` steps, within one segment."""
        status = self.run.advance(budget)
        if status != codes.OK:
            self._mend(status)
        if self.run.finished_segment:
            self._next_segment()

    def collect(self) -> None:
        """Events, and columns where the buffer is full."""
        raw, times = self.run.take_events()
        if raw.shape[0]:
            self._raw_events.append(raw)
            self._event_times.append(times)
        if self.run.output_full() and not self.done:
            if self.writer is not None:
                self._flush()
            else:
                self._chunks.append({name: array.copy() for name, array in self.run.take_output().items()})

    def refuse(self, error: StepLimitError) -> None:
        """A limit on steps or time."""
        raise error

    # -- what was collected

    def columns(self) -> dict[str, np.ndarray]:
        """All columns (of a streamed run: those not yet written)."""
        last = self.run.take_output()
        if not self._chunks:
            return last
        parts = [*self._chunks, last]
        return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in last}

    def events(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of structure as `SchemeRun.take_events` gives them."""
        if not self._raw_events:
            return np.zeros((0, 4), dtype=np.int64), np.zeros((0, 2))
        return np.concatenate(self._raw_events), np.concatenate(self._event_times)

    # -- inside

    def _next_segment(self) -> None:
        if self._to_come:
            self.run.begin_segment(*self._to_come.pop())

    def _flush(self) -> None:
        columns = self.run.take_output()
        self.writer.append({name: columns[name] for name in STREAMED})

    def _mend(self, status: int) -> None:
        """A step failed: try it in halves where that can help, else raise."""
        halve = status == codes.NON_FINITE or (status in UNSOLVED and self.on_failure == "halve")
        if halve and self.run.retry_halved(HALVINGS) == codes.OK:
            return
        error = failure(self.run, status)
        if status == codes.UNCONVERGED and self.on_failure == "dump":
            error = type(error)(f"{error} {self._dump()}")
        raise error

    def _dump(self) -> str:
        from nonsmooth.schemes.dump import dump_step

        return dump_step(self.dump_path, self.run.problem)
