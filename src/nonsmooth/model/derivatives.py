"""Derivatives of user functions: given, by the complex step, or by Richardson-extrapolated differences.

The complex step  df/dx_j = Im f(x + i h e_j) / h  is exact to rounding for analytic code, and silently wrong for code
that takes absolute values or norms (whole powers are multiplications, see `_core.compiler.powers`). It is therefore used only
where the function compiles for complex input *and* its derivatives agree with differences in random directions at the start, at
two points nearby and at two far away, where signs differ. (Code that compiles for complex input cannot branch on it: what holds at
these points holds everywhere.) Otherwise

    D(h) = (f(x + h) - f(x - h)) / 2h,     df/dx = (4 D(h/2) - D(h)) / 3,     h = s x scale of x.

The factor s is 1e-3, accurate to about 1e-11 of the function's size, unless the function changes on a much shorter scale
than its argument (a wall that shakes at high frequency, time in seconds where microseconds matter): then the s between 1e-3 and
1e-13 is taken at which two successive values of s agree best. Which source was used is kept by name for the audit.

Functions are asked within the span of the run alone, and differences in time do not reach across its breakpoints (`pieces`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.calls.rows import rows_of
from nonsmooth._core.derivatives import jacobians
from nonsmooth._core.derivatives.jacobians import COMPLEX_STEP, ONE_SIDED
from nonsmooth._core.derivatives.pieces import CENTRAL, Pieces, side_of_stencil
from nonsmooth._core.jit import JIT_ENABLED, MATRIX, VECTOR, static_array
from nonsmooth.model.functions import UserFunction

FACTORS = tuple(10.0**-k for k in range(3, 14))
AGREEMENT = 1e-6
TELLS = 1e-3  # part of a difference below which its rounding must lie for it to judge
EPS = np.finfo(np.float64).eps


class Differentiator:
    """Makes derivative writers of user functions around one start state.

    Parameters
    ----------
    t0, q0, u0, p : start time, coordinates, velocities, flat parameters
    pieces : Pieces, optional
        Of the time axis.
    """

    def __init__(self, t0, q0, u0, p, pieces: Pieces | None = None):
        self.pieces = pieces or Pieces()
        self.t0, self.q0, self.u0, self.p = float(t0), np.array(q0, float), np.array(u0, float), p
        self.keep: list[Any] = []  # scratch arrays that compiled code points into
        self.sources: dict[str, str] = {}
        self._made: dict[Any, Any] = {}  # compiled once, used by several derivatives
        self._chosen: list[tuple[UserFunction, str, np.ndarray]] = []  # factors of differences
        self.scales = {"q": np.zeros(self.q0.size), "u": np.zeros(self.u0.size), "t": np.zeros(1)}
        self.keep.extend(self.scales.values())
        self._start: tuple = (None,) * 4
        self.rescale(t0, q0, u0)

    def rescale(self, t0, q0, u0, p=None):
        """Take the size of the steps from another start state and other parameters; the compiled functions stay."""
        start = float(t0), np.asarray(q0, float).tobytes(), np.asarray(u0, float).tobytes(), p
        if p is not None and self._start[:3] == start[:3] and self._start[3] is p:
            return  # values of parameters never change in place
        self._start = start
        self.scales["q"][:] = _scales(np.asarray(q0, float))
        self.scales["u"][:] = _scales(np.asarray(u0, float))
        self.scales["t"][:] = max(abs(float(t0)), 1.0)
        if p is not None:
            self.t0, self.q0, self.u0, self.p = float(t0), np.array(q0, float), np.array(u0, float), p
        for f, variable, factor in self._chosen:
            factor[0] = _best_factor(self._trials(f, variable))

    def kept(self, name, make):
        """What `make` makes, made once."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def complex_evaluator(self, f: UserFunction):
        """`f` for complex arguments, or None if it does not compile for them."""

        def make():
            try:
                return f.complex_evaluator(self.t0, self.q0, self.u0)
            except AssertionError:  # Numba on nested lists of real and complex entries
                return None

        return self.kept(f, make)

    def points(self):
        """Points (t, q, u) at which derivatives are compared: the start, two nearby, and two far away with other signs."""
        rng = np.random.default_rng(20081)
        later = min(0.013, 0.1 * (self.pieces.around(self.t0)[1] - self.t0))
        for trial in range(5):
            reach = (0.0, 0.05, 0.05, 1.5, 1.5)[trial]
            keep = 0.0 if reach > 1.0 else 1.0
            q = keep * self.q0 + (
                reach * self.scales["q"] * rng.uniform(-1, 1, self.q0.size) if trial else 0.0
            )
            u = keep * self.u0 + (
                reach * self.scales["u"] * rng.uniform(-1, 1, self.u0.size) if trial else 0.0
            )
            yield self.t0 + later * trial, q, u

    def jacobian(self, f: UserFunction, variable: str, rows: slice, label: str):
        """Writer of d f/d`variable` ("q" or "u"), shape (m, n), into `rows` of a matrix."""
        n = self.q0.size if variable == "q" else self.u0.size
        m = f.shape[0]
        trials = self._trials(f, variable)
        evaluator = self.complex_evaluator(f)
        if evaluator is not None:
            complex_writer = self._complex(evaluator, variable, rows.start, m, n)
            if self._agree(complex_writer, trials, rows, (rows.stop, n)):
                self.sources[label] = "complex step"
                return complex_writer
        self.sources[label] = "differences"
        return self._differences(f, variable, rows.start, m, n, _best_factor(trials))

    def time_derivative(self, f: UserFunction, rows: slice, label: str):
        """Writer of df/dt, shape (m,), into `rows` of a vector."""
        m = f.shape[0]
        trials = self._trials(f, "t")
        evaluator = self.complex_evaluator(f)
        if evaluator is not None:
            complex_writer = self._time_complex(evaluator, rows.start, m)
            if self._agree(complex_writer, trials, rows, (rows.stop,)):
                self.sources[label] = "complex step"
                return complex_writer
        self.sources[label] = "differences"
        return self._time_differences(f, rows.start, m, _best_factor(trials))

    # -- checks -----------------------------------------------------------------------------------------------------

    def _trials(self, f: UserFunction, variable):
        """Derivatives of the user's Python function in random directions, for all `FACTORS`.

        Returns [(t, q, u, direction, values, noise, size)] with the rounding of each value and the size of the function.
        """
        rng = np.random.default_rng(1974)
        found = []
        scale = self.scales[variable]
        for t, q, u in self.points():
            direction = scale * rng.standard_normal(scale.size)
            try:
                with np.errstate(all="ignore"):
                    size = np.max(np.abs(f.call(t, q, u, self.p)), initial=0.0)
                    values = [self._slope(f, variable, t, q, u, direction, s) for s in FACTORS]
            except (ArithmeticError, ValueError):  # outside the domain of the function: says nothing
                continue
            noise = [100 * EPS * size / s for s in FACTORS]
            if variable == "t":  # instants so close together are rounded themselves
                noise = [
                    x + 4 * EPS * abs(t) / s * np.max(np.abs(v)) for x, s, v in zip(noise, FACTORS, values)
                ]
            if np.all(np.isfinite(values)):
                found.append((t, q, u, direction, values, noise, size))
        return found

    def _slope(self, f: UserFunction, variable, t, q, u, direction, s):
        """df/d`variable` times `direction` by differences with the step `s`, through plain Python calls, shape (m,)."""
        p = self.p
        if variable == "q":
            return _richardson(lambda x: f.call(t, x, u, p), q, s * direction) / s
        if variable == "u":
            return _richardson(lambda x: f.call(t, q, x, p), u, s * direction) / s
        at = lambda x: f.call(x, q, u, p)  # noqa: E731
        a, b = self.pieces.around(t)
        h = min(s * abs(direction[0]), 0.125 * (b - a))
        side = side_of_stencil(t, a, b, h, 2.0 * h)
        if side == CENTRAL:
            return _richardson(at, t, h) / h * direction[0]
        distance = 0.5 * h * side
        rate = sum(weight * at(t + k * distance) for k, weight in enumerate(ONE_SIDED)) / (12.0 * distance)
        return rate * direction[0]

    def _agree(self, candidate, trials, rows, shape):
        """Whether the compiled `candidate` agrees with the differences of one step size at every point."""
        for t, q, u, direction, values, noise, _ in trials:
            J = np.zeros(shape)
            candidate(t, q, u, self.p, J)
            a = J[rows] @ direction if J.ndim == 2 else J[rows] * direction
            agrees = False
            for b, floor, s in zip(values, noise, FACTORS):
                size = np.max(np.abs(b), initial=0.0)
                if s < 0.5e-7 and floor > TELLS * size:
                    continue
                agrees = agrees or bool(np.all(np.abs(a - b) <= AGREEMENT * size + floor))
            if not agrees:
                return False
        return bool(trials)

    def _scratch(self, shape, dtype=np.float64):
        array = np.zeros(shape, dtype=dtype)
        self.keep.append(array)
        return static_array(array)

    # -- builders ---------------------------------------------------------------------------------------------------

    def _complex(self, f, variable, offset, m, n):
        words = self._complex_words(f, variable, m)
        return rows_of([(ModelFunction(jacobians.complex_jacobian, MATRIX, words), offset, m)], MATRIX)

    def _time_complex(self, f, offset, m):
        words = self._complex_words(f, "t", m)
        return rows_of([(ModelFunction(jacobians.complex_rate, VECTOR, words), offset, m)], VECTOR)

    def _complex_words(self, f, variable, m):
        q, u, value = (np.zeros(size, complex) for size in (self.q0.size, self.u0.size, m))
        return jacobians.ByComplexStep(f, m, int(variable == "q"), q, u, value)

    def _differences(self, f: UserFunction, variable, offset, m, n, factor):
        function = ModelFunction(
            jacobians.difference_jacobian, MATRIX, self._difference_words(f, variable, m, factor)
        )
        return rows_of([(function, offset, m)], MATRIX)

    def _time_differences(self, f: UserFunction, offset, m, factor):
        function = ModelFunction(jacobians.difference_rate, VECTOR, self._difference_words(f, "t", m, factor))
        return rows_of([(function, offset, m)], VECTOR)

    def _difference_words(self, f: UserFunction, variable, m, factor):
        chosen = np.array([factor])
        self._chosen.append((f, variable, chosen))  # and again for other starts and parameters
        value = f.writer(self.q0, self.u0, self.t0)
        q, u, plus, minus, coarse = (np.zeros(size) for size in (self.q0.size, self.u0.size, m, m, m))
        return jacobians.ByDifferences(
            value, m, int(variable == "q"), q, u, plus, minus, coarse, scales=self.scales[variable], factor=chosen,
            pieces=self.pieces.cell,
        )  # fmt: skip


def _richardson(f, x, move):
    """Difference quotient of f around x, times `move`: of fourth order in it."""
    d = []
    for step in (move, 0.5 * move):
        after, before = x + step, x - step
        # (instants may be rounded)
        way = (after - before) / (2.0 * step) if np.ndim(x) == 0 and after != before else 1.0
        d.append((f(after) - f(before)) / (2.0 * way) * (2.0 if d else 1.0))
    return (4.0 * d[1] - d[0]) / 3.0


def _best_factor(trials):
    """The factor at which differences change least from one step size to the next, beside their size and the function's."""
    if not trials:
        return FACTORS[0]
    change = np.zeros(len(FACTORS) - 1)
    for *_, values, _, size in trials:
        for k in range(change.size):
            terms = np.max(np.abs(values[k]) + np.abs(values[k + 1]), initial=0.0) + size
            difference = np.max(np.abs(values[k] - values[k + 1]), initial=0.0)
            change[k] = max(change[k], difference / terms if terms > 0.0 else 0.0)
    return FACTORS[int(np.argmin(change))]


def _scales(x):
    """Size of each component, for steps: its own start value; where that is small, the largest of all, but at most 1.

    An angle beside lengths of 1e6 is no reason to turn it by 1e3 rad.
    """
    largest = np.max(np.abs(x), initial=0.0)
    typical = largest if largest > 0.0 else 1.0
    return np.where(np.abs(x) > 1e-3 * typical, np.abs(x), np.maximum(np.abs(x), min(typical, 1.0)))


__all__ = ["COMPLEX_STEP", "JIT_ENABLED", "Differentiator"]
