"""A simulation as the driver of all front doors takes it (`control.driver.Run`): any scheme, cut at breakpoints.

It strings the segments of the span together, collects or streams output, takes a step that failed again in halves where that
was asked for, and turns what remains into typed errors.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from nonsmooth._core.records import status as codes
from nonsmooth.errors import StepLimitError
from nonsmooth.results.events import EventTable
from nonsmooth.schemes.failures import failure
from nonsmooth.schemes.incidents import event_table

#: Fields of a streamed run.
STREAMED = ("t", "q", "u", "P_N", "P_T", "P_J", "modes", "dt", "order", "residual", "iterations")

#: A step that failed is taken again as 2, 4, ... 2**HALVINGS smaller ones.
HALVINGS = 10
UNSOLVED = (codes.UNCONVERGED, codes.IMPLICIT_UNSOLVED, codes.UNPROJECTED)


#: Modes as a user reads them.
MODES = {0: "open", 1: "closed or sticking", 2: "at its upper bound", -2: "open or at its lower bound"}


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
    memory_limit : float
        Bytes of output kept in memory.
    """

    def __init__(
        self,
        run,
        plan,
        on_failure: str,
        writer,
        dump_path: str | PathLike[str],
        memory_limit: float = np.inf,
    ):
        self.memory_limit = memory_limit
        self.run, self.plan, self.on_failure = run, plan, on_failure
        self.writer, self.dump_path = writer, dump_path
        self._to_come = list(reversed(plan.segments))
        self._chunks: list[dict[str, np.ndarray]] = []
        self._raw_events: list[np.ndarray] = []
        self._event_times: list[np.ndarray] = []
        self._asked = 0
        self._kept_bytes = 0
        self.written = 0  # changes of structure that the writer has
        self.ended = False  # by a terminal event
        self.cuts: list[float] = []  # ends of segments that are events of the user
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
    def trials(self) -> int:
        """Steps made or rejected."""
        return self.run.steps + self.run.rejected

    @property
    def done(self) -> bool:
        """Whether the end of the last segment is reached."""
        return self.run.finished_segment and not self._to_come

    def advance(self, budget: int) -> None:
        """At most `budget` steps, within one segment."""
        kept = self.run.snapshot() if self.plan.watched else None
        status = self.run.advance(budget)
        if status == codes.EVENT:
            self._stop(kept)
        elif status != codes.OK:
            self._mend(status)
        if self.run.finished_segment:
            self._next_segment()

    def collect(self) -> None:
        """Events, and columns where the buffer is full."""
        if self.plan.watched:
            self.plan.watched.take(self.run.watch)
        raw, times = self.run.take_events()
        if raw.shape[0]:
            self._raw_events.append(raw)
            self._event_times.append(times)
        if self.run.output_full() and not self.done:
            if self.writer is not None:
                self._flush()
            else:
                self._keep()

    def _keep(self) -> None:
        """Columns in memory, up to a limit."""
        chunk = {name: array.copy() for name, array in self.run.take_output().items()}
        self._chunks.append(chunk)
        self._kept_bytes += sum(array.nbytes for array in chunk.values()) + 56 * len(self.events()[0])
        if self._kept_bytes > self.memory_limit:
            raise StepLimitError(
                f"the output takes more than memory_limit = {self.memory_limit / 2**30:.3g} GiB at t = {self.t:.9g} ({self.steps} steps): "
                "store every k-th step (every=k), give t_eval, stream to a file (output=path), or raise memory_limit (bytes)."
            )

    def busiest(self) -> tuple[str, int, str]:
        """The law that changed its mode most since this was asked last: name, how often, between which modes."""
        raw, _ = self.events()
        recent, self._asked = raw[self._asked :], len(raw)
        if not len(recent):
            return "", 0, ""
        laws, counts = np.unique(recent[:, 1], return_counts=True)
        law = int(laws[np.argmax(counts)])
        modes = sorted(
            {MODES.get(int(mode), str(mode)) for mode in np.unique(recent[recent[:, 1] == law, 2:])}
        )
        return self.run.model.laws.name[law], int(counts.max()), "alternating: " + ", ".join(modes)

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
            begin, end = self._to_come.pop()
            if self.plan.controllers is not None:
                self.plan.controllers.at(begin, self.run.state.q.copy(), self.run.state.u.copy())
                self.run.info.ready = 0  # what is constant may depend on parameters
            self.run.begin_segment(begin, end)

    def _stop(self, kept) -> None:
        """An event of the user stops the run: the slice is taken again up to it; then the run ends, or goes on from where a reset
        leads."""
        run, control, watched = self.run, self.run.watch.control, self.plan.watched
        t, t_step, calls = float(control.t_stopped), float(control.t_step), int(control.calls)
        events = watched.due(run.watch, t)
        logged = watched.logged(run.watch)
        run.restore(kept)
        again = calls - int(control.calls) - 1
        if again:
            self._again(again)
        watched.keep(logged[int(control.logged) :])  # zeros before the event in the step that was not taken
        control.count = 0  # nothing is looked for in what is left up to the event
        if t >= t_step:
            self._again(1)
        elif t > run.t + 32 * np.spacing(abs(t)):  # else the run stands there already
            run.stop_at(t)
            while not run.finished_segment:
                self._again(1)
                if run.output_full():
                    self.collect()
        control.count, control.known, control.stopped = len(watched), 0, -1
        run.watch.fresh[events] = 1
        watched.take(run.watch)
        span = self.plan.segments[-1][1] - self.plan.segments[0][0]
        q, u, ends = run.state.q.copy(), run.state.u.copy(), False
        for event in events:  # those at the same instant act one after the other
            last, q, u = watched.stopped(event, t, q, u, span)
            ends = ends or last
        self._cut(t, ends)
        if not ends:
            before = _kinetic_energy(run.model, t, run.state.q, run.state.u)
            run.books.work_forces += _kinetic_energy(run.model, t, q, u) - before  # what the reset does
            run.restart(t, q, u)
        if self.plan.t_eval.size == 0:
            if run.output_full():
                self.collect()
            run.store_now(t)
        self.ended = ends

    def _again(self, budget: int) -> None:
        """Steps of a slice that is taken again: they went well before."""
        status = self.run.advance(budget)
        if status != codes.OK:
            self._mend(status)

    def _cut(self, t: float, ends: bool) -> None:
        """The present segment ends at `t`; what is left of it comes next, or nothing does."""
        segments = self.plan.segments
        k = len(segments) - len(self._to_come) - 1
        begin, end = segments[k]
        self.cuts.append(t)
        if ends:
            self._to_come.clear()
            segments[k:] = [(begin, t)]
        elif t < end:
            segments[k : k + 1] = [(begin, t), (t, end)]
            self._to_come.append((t, end))
        clock = self.run.clock
        clock.t = clock.t_end = self.run.ask.t_stop = t
        clock.finished = 1

    def _flush(self) -> None:
        columns = self.run.take_output()
        self.writer.append({name: columns[name] for name in STREAMED}, self._settled())

    def _settled(self) -> EventTable:
        """Events that no later step can change any more and that were not written yet: a run that is killed keeps them."""
        raw, times = self.events()
        rows = slice(
            self.written, self.written + int(np.searchsorted(raw[self.written :, 0], self.steps - 1))
        )
        # a contact that closes in one step and opens in the next one is a single event: they stay together
        while rows.start < rows.stop < len(raw) and raw[rows.stop, 0] <= raw[rows.stop - 1, 0] + 1:
            rows = slice(rows.start, rows.stop - 1)
        self.written = rows.stop
        return event_table(raw[rows], times[rows], self.run.model.laws)

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


def _kinetic_energy(model, t, q, u) -> float:
    """u^T M u / 2."""
    if hasattr(model, "kinetic_energies"):
        return float(model.kinetic_energies(u[None])[0])
    return float(0.5 * u @ model.mass_matrix(t, q) @ u)
