"""A run in progress, of any scheme: the records its compiled loop works on, and their meaning for the driver."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from nonsmooth._core.calls.late import Late
from nonsmooth._core.calls.plain import PlainCall
from nonsmooth._core.jit import VECTOR, Reference, address_record
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.records.problem import SolverOptions, make_problem
from nonsmooth._core.records.run import LOOK, Clock, RunRecord, make_log, make_output, make_watch
from nonsmooth._core.records.scene import BETWEEN, PARTS, STEP, Ask, Books, Info, Scene, make_state, make_work
from nonsmooth._core.records.status import OK, UNCONVERGED
from nonsmooth._core.stepping.output import log_changes, write_columns
from nonsmooth._core.stepping.run_loop import run
from nonsmooth._core.stepping.watch import look
from nonsmooth.integrators.reuse import Pristine
from nonsmooth.model.order_of_laws import order_of_laws
from nonsmooth.schemes.base import Plan
from nonsmooth.schemes.spare import usual

LOG_ROWS = 4096
#: Columns of the ends of steps.
ENDS = ("t_B", "q_B", "u_B", "t_E", "q_E", "u_E")
BLUR = 4 * np.finfo(float).eps  # of an instant: on which side of a breakpoint it lies


class SchemeRun:
    """A run of a scheme.

    Parameters
    ----------
    scheme : Scheme
    model : Model
    t, q, u : float, ndarray, ndarray
        Start.
    plan : Plan
    parts : dict
        Compiled parts of the scheme besides `step` and `between`: pairs (function, signature), or `Reference`s to records.
    n_own : int
        How many numbers the scheme remembers from step to step besides the state, other than those of `Scheme.remembers`.
    """

    controlled = True

    def __init__(
        self, scheme, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan, parts=None, n_own=0
    ):
        self.scheme, self.model, self.plan = scheme, model, plan
        self._loop = scheme.chosen_loop(model)
        n_own = n_own + scheme.remembers(model)
        self._make_problem()
        self._make_scene(parts, n_own)
        self._make_output(n_own if scheme.shows_own else 0)
        records = self.scene, self.state, RunRecord(self.clock, self.out, self.log, plan.t_eval, self.watch)
        self._references = [Reference(record, self._problem_reference) for record in records]
        self.at_scene, self.at_state, self.at_run = (reference.address for reference in self._references)
        if scheme.serves_again and usual(plan):
            own = [part.record for part in self._parts.values() if isinstance(part, Reference)]
            self.pristine = Pristine(
                [self.scene, self.state, self.clock, self.watch, own], fixed=self.scene.model
            )
        self._place(t, q, u)

    def _make_problem(self) -> None:
        """The contact problem of the steps, and who solves it."""
        model, laws, solver = self.model, self.model.laws, getattr(self.scheme, "solver", None)
        self.problem = make_problem(
            solve_laws.addresses(model.core.project), laws.n_laws, laws.n_rows,
            solver.options() if solver is not None else SolverOptions(),
            *(order_of_laws(model) if self.scheme.orders_laws else ()),
        )  # fmt: skip
        self._outside = PlainCall(partial(_solve_outside, self.problem, solver))
        self.problem.at.outside = self._outside.address
        self._problem_reference = Reference(self.problem)

    def _make_scene(self, parts, n_own: int) -> None:
        """What a step works on, and the state it begins from."""
        scheme, model = self.scheme, self.model
        record = model.record(scheme.asks)
        size = record.size
        self._parts = {
            **dict.fromkeys(PARTS, 0), "between": (type(scheme).between, BETWEEN), "problem": self._problem_reference,
            **(parts or self._step()), **scheme.parts(model),
        }  # fmt: skip
        self.scene = Scene(
            address_record(**self._parts), record, make_work(size, scheme.is_dense(model)), self.problem, make_state(size, n_own),
            make_state(size, n_own), Info(), Ask(), Books(),
        )  # fmt: skip
        self.work, self.info, self.ask, self.books = (
            self.scene.work, self.scene.info, self.scene.ask, self.scene.books
        )  # fmt: skip
        self.ask.books, self.ask.unit = 1, size.n_unit > 0
        self.info.order, self.books.gap = 1, math.inf
        self.state = make_state(size, n_own)

    def _make_output(self, n_shown: int) -> None:
        """What the loop writes: columns, changes of modes, what it watches for; and its clock."""
        model, laws, plan, size = self.model, self.model.laws, self.plan, self.scene.model.size
        self.out = make_output(
            plan.capacity, model.n_q, model.n_u, laws.n_rows, laws.n_laws, plan.keep_ends, n_shown, len(plan.nodes)
        )  # fmt: skip
        self.log = make_log(LOG_ROWS + 2 * laws.n_laws)
        self.clock = Clock()
        self.clock.controlled, self.clock.first = self.controlled, 1
        self.clock.with_ends = plan.keep_ends
        parts = {"log": (log_changes, LOOK), "write": (write_columns, LOOK)}
        if plan.watched:
            parts |= {"values": (plan.watched.writer, VECTOR), "look": (look, LOOK)}
        self.watch = make_watch(len(plan.watched or ()), size, plan.nodes, **parts)
        if plan.watched:
            plan.watched.prepare(self.watch)

    def again(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> SchemeRun:
        """The records of this run, which is over, for another one."""
        self.model, self.plan = model, plan
        self.pristine.restore()
        for array in self.out:
            array[:1] = 0  # (the column of the start is not written as a whole)
        self._place(t, q, u)
        return self

    def _place(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """The records at the start of the run."""
        plan, clock = self.plan, self.clock
        self.ask.accept = plan.accept
        self.state.q[:], self.state.u[:] = q, u
        clock.t = clock.t_end = t
        clock.every = clock.next_store = plan.every

    def _step(self):
        """The step, unless the scheme has a loop of its own with the step inside."""
        return {"step": (type(self.scheme).step, STEP)} if self._loop is run else {}

    # -- progress -----------------------------------------------------------------------------------------------------

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        self.clock.t_begin, self.clock.t, self.clock.t_end = t_begin, t_begin, t_end
        self.ask.t_stop = t_end
        self.clock.finished = 0
        self.clock.tail = t_end == self.plan.segments[-1][1]

    def advance(self, budget: int) -> int:
        """At most `budget` steps; returns the status of the last one."""
        status = self._loop(self.at_scene, self.at_state, self.at_run, budget)
        self._outside.raise_error()
        Late.raise_errors()
        return status

    @property
    def finished_segment(self) -> bool:
        return bool(self.clock.finished)

    @property
    def t(self) -> float:
        return float(self.clock.t)

    @property
    def dt(self) -> float:
        """Size of the step that failed last."""
        return float(self.info.dt)

    @property
    def longest(self) -> float:
        """How far the step about to be taken may reach."""
        return float(self.clock.t_end - self.clock.t)

    @property
    def steps(self) -> int:
        return int(self.clock.total)

    @property
    def rejected(self) -> int:
        return int(self.clock.rejected)

    @property
    def base_steps(self) -> int:
        return int(self.info.base_steps) or self.steps + self.rejected

    def retry_halved(self, levels: int) -> int:
        """Take the step that just failed again in smaller ones, if the scheme can."""
        return UNCONVERGED

    # -- events that stop a run (see `schemes.user_events`) ----------------------------------------------------------------

    def snapshot(self) -> list:
        """Everything that a later step depends on, to go back to (`restore`); output and log are written again the same."""
        records = [self.scene, self.state, self.clock, self.watch]
        records += [part.record for part in self._parts.values() if isinstance(part, Reference)]
        return [(leaf, leaf.copy()) for leaf in _leaves(records)]

    @staticmethod
    def restore(kept: list) -> None:
        """Back to a `snapshot`."""
        for leaf, copy in kept:
            if isinstance(leaf, np.record):
                _restore(leaf, copy)
            else:
                leaf[...] = copy

    def stop_at(self, t: float) -> None:
        """Let the segment end at `t`, which lies in the step about to be taken."""
        self.clock.t_end = self.ask.t_stop = t
        self.clock.tail = 1

    def restart(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Go on from another state than the one the run came to."""
        self.state.q[:], self.state.u[:] = q, u
        self.info.ready = 0  # parameters may have changed, too

    def store_now(self, t: float) -> None:
        """The present state as a column."""
        k, out = int(self.clock.stored), self.out
        out.t[k], out.order[k], out.dt[k] = t, self.info.order, 0.0
        out.residual[k], out.iterations[k], out.error[k], out.P[k] = 0.0, 0, 0.0, 0.0
        out.q[k], out.u[k], out.modes[k] = self.state.q, self.state.u, self.state.modes[: out.modes.shape[1]]
        self.clock.stored = k + 1

    def diverges(self) -> bool:
        """Whether a step that became too short did so because the motion grows without bound."""
        return False

    def warn(self) -> None:
        """Warn of what a user should know of a run that reached its end."""

    def remarks(self) -> list[str]:
        """What the message of the result and the audit say of how the run was made."""
        return []

    def ambiguous(self) -> list[dict[str, Any]]:
        """Instants at which the laws led on in several ways (see `schemes.choices`)."""
        return []

    def fields(self, result, own) -> dict[str, Any]:
        """Fields of the result that only the run knows; `own` is what the scheme remembers, shape (numbers, columns)."""
        return {}

    # -- output ---------------------------------------------------------------------------------------------------------

    def store_start(self, t: float) -> None:
        """The start as the first column (the loop gives it the modes of the first step)."""
        self.out.t[0], self.out.order[0] = t, self.info.order
        self.out.q[0], self.out.u[0] = self.state.q, self.state.u
        self.clock.stored = 1

    def output_full(self) -> bool:
        return bool(self.clock.stored >= self.out.t.size)

    def take_output(self) -> dict[str, np.ndarray]:
        """Finished columns since the last call (views into the buffer, valid until the next slice)."""
        n, out, laws = int(self.clock.stored), self.out, self.model.laws
        self.clock.stored = 0
        n_N, n_T = laws.n_N, laws.n_rows - laws.n_J
        columns = {
            "t": out.t[:n], "q": out.q[:n].T, "u": out.u[:n].T, "P_N": out.P[:n, :n_N].T, "P_T": out.P[:n, n_N:n_T].T,
            "P_J": out.P[:n, n_T:].T, "modes": out.modes[:n].T, "dt": out.dt[:n], "order": out.order[:n],
            "residual": self._residual(n), "iterations": out.iterations[:n],
        }  # fmt: skip
        if out.own.shape[1]:
            columns["own"] = out.own[:n].T
        if self.plan.keep_ends:
            columns |= {name: getattr(out, name)[:n].T for name in ENDS}
        if self.plan.nodes:  # (node, component, instant)
            columns |= {
                "q_nodes": out.q_nodes[:n].transpose(1, 2, 0),
                "u_nodes": out.u_nodes[:n].transpose(1, 2, 0),
            }
        return columns

    def _residual(self, n):
        """What a result shows as the residual of a step."""
        return self.out.residual[:n]

    def take_events(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of structure since the last call: integers (step, law, before, after), times (begin, end, best)."""
        n, log = int(self.clock.logged), self.log
        self.clock.logged = 0
        raw = np.column_stack([log.step[:n], log.law[:n], log.before[:n], log.after[:n]])
        return raw, np.column_stack([log.t_begin[:n], log.t_end[:n], log.t_best[:n]])

    def totals(self) -> dict[str, Any]:
        b, names = self.books, self.model.laws.name
        return {
            "worst_gap": float(b.gap), "worst_gap_t": float(b.gap_t),
            "max_residual": float(b.residual), "max_residual_t": float(b.residual_t),
            "unconverged": int(b.unconverged), "unconverged_t": float(b.unconverged_t),
            "max_iterations": int(b.iterations_max), "sum_iterations": float(b.iterations), "solves": int(b.solves),
            "energy_gain_count": int(b.gain_count), "energy_gain_worst": float(b.gain), "energy_gain_t": float(b.gain_t),
            "energy_gain_T_before": float(b.gain_before), "energy_gain_T_after": float(b.gain_after),
            "energy_gain_law": names[int(b.gain_law)] if names else "",
            "work_projection": float(b.work_projection), "projected": int(b.projected),
        }  # fmt: skip


class ConstantStepRun(SchemeRun):
    """A run with constant step size."""

    controlled = False

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        n, dt = self.scheme.steps_in(t_begin, t_end), self.scheme.dt
        t_last = t_begin + (n - 1) * dt
        dt_last = t_end - t_last
        if (
            not self.clock.tail and self.scheme.asks_at_end
        ):  # functions may jump at a breakpoint: they are asked before it
            dt_last -= BLUR * max(abs(t_begin), abs(t_end))
        self._set_steps(dt, dt_last, n)

    def stop_at(self, t: float) -> None:
        super().stop_at(t)
        self.clock.dt_last, self.clock.steps = t - self.t, self.clock.step + 1

    def _set_steps(self, dt, dt_last, steps):
        self.clock.dt, self.clock.dt_last, self.clock.step, self.clock.steps = dt, dt_last, 0, steps
        self.clock.finished = 0

    @property
    def t(self) -> float:
        c = self.clock
        return float(c.t_end if c.finished else c.t_begin + c.step * c.dt)

    @property
    def dt(self) -> float:
        """Size of the step about to be taken."""
        return float(self.clock.dt_last if self.clock.step == self.clock.steps - 1 else self.clock.dt)

    @property
    def longest(self) -> float:
        return self.dt

    def retry_halved(self, levels: int) -> int:
        """Take the step that just failed again as 2, 4, ... 2**levels smaller ones; returns the status."""
        clock, before, books = self.clock, self.clock.copy(), self.books.copy()
        state = [array.copy() for array in self.state]
        t, dt = self.t, self.dt
        last = before.step == before.steps - 1
        t_new = float(before.t_end) if last else t + dt
        store = before.total + 1 >= before.next_store
        status = UNCONVERGED
        rejected = int(before.rejected) + 1
        for level in range(1, levels + 1):
            parts = 2**level
            small = dt / parts
            clock.t_begin, clock.t_end = t, t_new
            self._set_steps(small, t_new - (t + (parts - 1) * small), parts)
            clock.next_store = 2**62
            clock.tail = store or (last and before.tail)
            status = self.advance(parts)
            if status == OK and self.finished_segment:
                break
            status = UNCONVERGED if status == OK else status
            rejected += 1
            _restore(clock, before)
            _restore(self.books, books)
            for array, kept in zip(self.state, state):
                array[:] = kept
        if status == OK:
            stored, evaluated, logged = int(clock.stored), int(clock.evaluated), int(clock.logged)
            _restore(clock, before)
            clock.stored, clock.evaluated, clock.logged = stored, evaluated, logged
            clock.t, clock.step, clock.total, clock.first = t_new, before.step + 1, before.total + 1, 0
            clock.finished = clock.step >= clock.steps
            if store:
                clock.next_store += clock.every
        clock.rejected = rejected
        return status

    def totals(self) -> dict[str, Any]:
        work = {
            "work_forces": float(self.books.work_forces),
            "work_contacts": float(self.books.work_contacts),
        }
        return super().totals() | work


def _solve_outside(problem, solver) -> bool:
    """The contact problem of a step by a method of `solve_contact`."""
    from nonsmooth.contact.in_step import solve_step  # most runs never need it

    return solve_step(problem, solver)


def _leaves(value):
    """Arrays and records of numbers in nested records."""
    if isinstance(value, tuple | list):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, np.ndarray | np.record):
        yield value


def _restore(record, kept):
    """Fields of a record of numbers as they were."""
    for name in record.dtype.names:
        record[name] = kept[name]  # (not by attribute: a record has some of its own)
