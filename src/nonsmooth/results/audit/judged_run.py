"""A run with a tolerance as its audit judges it: what it promised, how large its motion is, where nothing happens between two columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import UPPER, USER_SET
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.figures import motion
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import evenly, impulse_rows, whole_steps
from nonsmooth.results.events import event_times

_BLUR = 2e-15  # of an instant: on which side of a breakpoint it lies
_EPS = np.finfo(np.float64).eps
# of the velocities that forces alone would make in a step: what remains of them by rounding, and what counts as a speed at rest
_CANCELLED, _AT_REST = 1e-12, 1e-6
#: Columns up to which all of them are looked at.
MANY = 100_000
#: Work of forces and of laws, by the column a step or jump ends in.
Work = dict[int, tuple[float, float]]


def loose(rtol: float) -> float:
    """What a run with `rtol` has promised of its states, relative to the motion."""
    return max(100.0 * rtol, 1e-10)


class JudgedRun:
    """Columns of a run, at least one, states with the instant as first axis, and the scales by which they are judged.

    Attributes
    ----------
    ends : ndarray, shape (n_t,)
        The instants of the columns as functions that jump at breakpoints see them at the end of a step.
    tolerance : ndarray, shape (n_q + n_u,)
        Error of a step that was asked for, by component.
    length, speed : float
        Size of the motion, and of the relative velocities that terms of W^T u reach; where bodies rest, of what forces would make.
    complete : bool
        Whether all impulses are stored.
    """

    def __init__(
        self, system: Any, result: Any, totals: Mapping[str, Any], rtol: float, atol: float, max_checked: int
    ):
        self.batch, self.result, self.totals, self.rtol = Batch(system), result, totals, rtol
        self.most, self.loose = self.batch.most(max_checked), loose(rtol)
        self.t, self.q, self.u = result.t, result.q.T, result.u.T
        self.ends = self.ends_of_steps(result)
        self.modes, self.order = result.modes.T, result.order
        self.instants = np.sort(event_times(result.events))
        self.complete = impulse_rows(result) == self.batch.n_rows
        size = np.concatenate([sizes(self.q), sizes(self.u)])
        n_q = self.batch.n_q
        # a component that hardly moves is measured by the largest of its kind, as the run does at its start
        size[:n_q] = np.maximum(size[:n_q], 0.01 * np.max(size[:n_q], initial=0.0))
        size[n_q:] = np.maximum(size[n_q:], 0.01 * np.max(size[n_q:], initial=0.0))
        made, longest = self.made_by_forces(), float(np.max(result.dt, initial=0.0))
        # where bodies rest, forces and impulses cancel to rounding, which is no error of a step
        self.tolerance = np.maximum(atol + rtol * size, np.finfo(float).tiny)
        self.tolerance += _CANCELLED * np.concatenate([self.moved_by(made), made])
        self.speed, at_rest = self.speed_scale(made)
        self.length = max(motion(self.q), at_rest * longest)

    def ends_of_steps(self, result: Any) -> np.ndarray:
        """The instants of the columns as functions that jump at breakpoints see them at the end of a step: before, not on it."""
        t, inside = self.t, event_times(result.events.of("breakpoint"))
        self.batch.cut(np.concatenate([t[:1], inside, t[-1:]]))
        cut = np.isin(t, np.append(inside, t[-1])) & (np.diff(t, prepend=t[0]) > 0.0)
        return np.where(cut, t - _BLUR * (np.abs(t) + result.dt), t)

    def made_by_forces(self) -> np.ndarray:
        """Velocities that the forces alone would make in the longest step, measured by their energy, shape (n_u,)."""
        k = evenly(self.t.size, 16)
        h = self.batch.force(self.t[k], self.q[k], self.u[k])
        root = np.sqrt(np.abs(np.diagonal(self.batch.mass(self.t[k], self.q[k]), axis1=1, axis2=2)))
        made = np.sum(np.abs(h) / root, axis=1, keepdims=True) / root
        return np.max(made, axis=0, initial=0.0) * np.max(self.result.dt, initial=0.0)

    def moved_by(self, speeds: np.ndarray) -> np.ndarray:
        """How far coordinates move in the longest step with velocities of those sizes, shape (n_q,)."""
        first = np.zeros(speeds.size, dtype=int)
        rates = np.abs(self.batch.q_dot(self.t[first], self.q[first], np.diag(speeds)))
        return np.sum(rates, axis=0) * np.max(self.result.dt)

    def speed_scale(self, made: np.ndarray) -> tuple[float, float]:
        """Largest relative velocity that terms of W^T u reach, and what stands for it at rest: a small part of what forces would make."""
        if self.batch.n_rows == 0:
            return float(np.max(np.abs(self.u), initial=0.0)), 0.0
        k = evenly(self.t.size, 200)
        WT, zeta = self.batch.directions(self.t[k], self.q[k])
        terms, rest = (
            float(np.max(times(np.abs(WT), u), initial=0.0))
            for u in (np.abs(self.u[k]), np.broadcast_to(_AT_REST * made, self.u[k].shape))
        )
        return max(terms, rest, float(np.max(np.abs(zeta), initial=0.0))), rest

    def intervals(self) -> np.ndarray:
        """Columns k such that the motion from column k - 1 to k is smooth: no event between them, modes of column k hold."""
        if self.t.size < 2:
            return np.zeros(0, dtype=int)
        k = np.arange(1, self.t.size)
        free = self.quiet() & (
            np.diff(self.t) > 1e3 * _EPS * np.maximum(np.abs(self.t[1:]), np.abs(self.t[:-1]))
        )
        # (of thinned output a transition may be missing between two columns that look like the ends of a step)
        whole = np.isin(k, whole_steps(self.t, self.result.dt)) & (self.t.size >= self.result.nsteps)
        same = np.all(self.modes[1:] == self.modes[:-1], axis=1)
        smooth = np.where(whole, self.order[1:] > 1, free & same)
        user = [i for i in range(self.batch.laws.n_laws) if int(self.batch.laws.kind[i]) == USER_SET]
        if user:
            smooth &= ~np.any(np.abs(self.modes[1:, user]) == UPPER, axis=1)
        return k[smooth]

    def quiet(self) -> np.ndarray:
        """Whether no event lies between column k and k + 1, shape (n_t - 1,)."""
        dt = np.diff(self.t)
        first = np.searchsorted(self.instants, self.t[:-1] - 1e-9 * dt, side="left")
        return first == np.searchsorted(self.instants, self.t[1:] + 1e-9 * dt, side="right")


def sizes(x: np.ndarray) -> np.ndarray:
    """The largest finite size of each component."""
    some = np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.max(some, axis=0, initial=0.0)
