"""The quadratic term of every row,  kappa = d/dt(W^T) u + d zeta/dt,  what is left of gamma' = W^T u' + kappa when u' = 0.

With gamma = W^T u + zeta it is the rate of gamma along the motion q' = B u at fixed u. Each row takes the best source it has:

"given"
    the user's `jacobian_rate`;
"constant"
    directions that depend on nothing: kappa is zero;
"complex step"
    directions, surface velocities, nonholonomic constraints, given Jacobians: kappa = Im gamma(t + i h, q + i h B u, u) / h,
    exact to rounding;
"complex step and differences"
    gaps and joints, where kappa is a second derivative: gamma = Im g(t + i h, q + i h B u) / h is exact, its rate an extrapolated
    difference (about 1e-12);
"differences"
    where the function does not compile for complex input, or disagrees there with differences (absolute values, norms): first
    differences of gamma, second differences of a gap (about 1e-9).

The size of the steps is found on the spot (`_core.derivatives.along_motion`), so units do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.derivatives.along_motion import (
    AGREEMENT,
    FIRST_STEP,
    N_LARGER,
    N_SMALLER,
    ONE_SIDED,
    ROUNDING,
    SECOND_POWER,
    SHRINK,
    SIGNIFICANT,
    ULPS,
    WITHIN,
    copy_velocity,
    derivative_along,
    nothing,
    time_of_motion,
)
from nonsmooth._core.derivatives.pieces import CENTRAL, NOWHERE, Pieces, side_of_stencil
from nonsmooth._core.jit import VECTOR, addresses, static_array, user_kernel
from nonsmooth.model.derivatives import COMPLEX_STEP, Differentiator
from nonsmooth.model.functions import UserFunction, chain

#: How well complex steps must agree with differences to be believed.
BELIEVED = 1e-6


@dataclass
class Rows:
    """Rows of one user function: what their relative velocity gamma is made of.

    Parameters
    ----------
    rows : slice
    name : str
    value : UserFunction
        g(t, q) of contacts and joints, gamma = dg/dt along the motion.
    directions : UserFunction
        W^T(t, q), gamma = W^T u (+ `offset`); with `of_q`, gamma = W^T B u.
    offset : UserFunction
        zeta(t, q), or all of gamma(t, q, u) for nonholonomic constraints.
    rate : UserFunction
        kappa, where the user gives it.
    """

    rows: slice
    name: str
    value: UserFunction | None = None
    directions: UserFunction | None = None
    offset: UserFunction | None = None
    rate: UserFunction | None = None
    of_q: bool = False

    @property
    def size(self) -> int:
        return self.rows.stop - self.rows.start

    @property
    def rheonomic(self) -> bool:
        return any(f is not None and f.depends_on("t") for f in (self.value, self.directions, self.offset))

    @property
    def constant(self) -> bool:
        """Whether gamma depends on nothing but u."""
        parts = [f for f in (self.directions, self.offset) if f is not None]
        turns = self.of_q or self.value is not None  # even a constant Jacobian turns with B
        return not turns and not any(f.depends_on("t", "q") for f in parts)

    def gamma(self, t, q, u, p, velocity) -> np.ndarray:
        """gamma by the user's Python functions, for rows that have `directions` or `offset`."""
        gamma = np.zeros(self.size)
        if self.directions is not None:
            gamma += self.directions.call(t, q, u, p) @ (velocity(t, q, u) if self.of_q else u)
        if self.offset is not None:
            gamma += self.offset.call(t, q, u, p)
        return gamma


class QuadraticTerm:
    """kappa of a model: a compiled writer and the route through the user's own Python functions.

    Parameters
    ----------
    rows : list of Rows
    n_rows, n_q, n_u : int
    kinematics : UserFunction or None
        B(t, q) where q' is not u.
    differentiator : Differentiator
        Scales of the start state, scratch space, names of the sources.
    """

    def __init__(
        self, rows: list[Rows], n_rows: int, kinematics: UserFunction | None, differ: Differentiator
    ):
        self.rows, self.n_rows, self.kinematics, self.differ = rows, n_rows, kinematics, differ
        self.n_q, self.n_u = differ.q0.size, differ.u0.size

    # -- plain Python -----------------------------------------------------------------------------------------------

    def velocity(self, t, q, u, p) -> np.ndarray:
        """q' = B u."""
        return u if self.kinematics is None else self.kinematics.call(t, q, u, p) @ u

    def call(self, t, q, u, p) -> np.ndarray:
        """kappa of all rows by the user's Python functions, shape (n_rows,)."""
        kappa = np.zeros(self.n_rows)
        for rows in self.rows:
            kappa[rows.rows] = (
                self.differences(rows, t, q, u, p)[0] if rows.rate is None else rows.rate.call(t, q, u, p)
            )
        return kappa

    def differences(self, rows: Rows, t, q, u, p) -> tuple[np.ndarray, np.ndarray]:
        """kappa of some rows by differences along the motion, and an estimate of the error."""
        v = self.velocity(t, q, u, p)
        T, room = self._time(rows, t, q, v), self._room(rows, t)
        if rows.value is None:
            velocity = lambda t, q, u: self.velocity(t, q, u, p)  # noqa: E731
            gamma = lambda t, q: rows.gamma(t, q, u, p, velocity)  # noqa: E731
            return extrapolated(lambda s: gamma(t + s, q + s * v), 1, T, rounding(gamma, t, q, *room), *room)
        w = np.zeros(self.n_q)
        if self.kinematics is not None:
            w = extrapolated(lambda s: self.velocity(t + s, q + s * v, u, p), 1, T, 0.0, *room)[0]
        value = rows.value
        blur = rounding(lambda t, q: value.call(t, q, u, p), t, q, *room)
        return extrapolated(lambda s: value.call(t + s, q + s * v + 0.5 * s * s * w, u, p), 2, T, blur, *room)

    def _room(self, rows: Rows, t) -> tuple[float, float]:
        """How far functions may be asked before and after t (motion along them may be slow, where they do not read time)."""
        a, b = self.differ.pieces.around(t) if rows.rheonomic else (-np.inf, np.inf)
        return t - a, b - t

    # -- compiled ---------------------------------------------------------------------------------------------------

    def writer(self):
        """Compiled writer ``(t, q, u, p, out)`` of kappa."""
        done, first, second = (
            [nothing],
            [],
            [],
        )  # finished writers; of gamma, of g for first and second differences
        for rows in self.rows:
            source, write = self._best(rows)
            self.differ.sources[f"d/dt gamma of {rows.name}"] = source
            if source == "constant":
                continue
            if source in ("given", "complex step"):
                done.append(write)
            elif rows.value is None or source == "complex step and differences":
                first.append((rows, write))
            else:
                second.append((rows, write))
        for order, group in ((1, first), (2, second)):
            if group:
                done.append(self._along(order, *zip(*group)))
        return chain(done, VECTOR)

    def _best(self, rows: Rows) -> tuple[str, Any]:
        """Source of these rows and its writer: of kappa, of gamma or of g."""
        differ = self.differ
        if rows.rate is not None:
            return "given", rows.rate.writer(differ.q0, differ.u0, differ.t0, rows.rows)
        if rows.constant:
            return "constant", None
        if rows.value is None:
            kappa = self._complex_rows(rows)
            if kappa is not None and self._agree(rows, lambda *args: self._called(kappa, *args)):
                return "complex step", kappa
            return "differences", self._gamma(rows)
        gamma = self._complex_gap(rows.value, rows)
        if gamma is not None and self._agree(rows, lambda *args: self._rate_of(gamma, rows, *args)):
            return "complex step and differences", gamma
        return "differences", rows.value.writer(differ.q0, differ.u0, differ.t0, rows.rows)

    def _called(self, writer, t, q, u, p) -> np.ndarray:
        found = np.zeros(self.n_rows)
        writer(t, q, u, p, found)
        return found

    def _rate_of(self, gamma, rows, t, q, u, p) -> np.ndarray:
        """Rate along the motion of a compiled gamma, as the writer will find it."""
        v = self.velocity(t, q, u, p)
        T = self._time(rows, t, q, v)
        return extrapolated(
            lambda s: self._called(gamma, t + s, q + s * v, u, p), 1, T, 0.0, *self._room(rows, t)
        )[0]

    def _time(self, rows, t, q, v):
        scales = self.differ.scales
        return time_of_motion(t, q, v, scales["q"], scales["t"][0], int(rows.rheonomic))

    def _agree(self, rows: Rows, kappa) -> bool:
        """Whether a compiled kappa agrees with differences at the start and nearby."""
        differ, tried = self.differ, 0
        for t, q, u in differ.points():
            try:
                with np.errstate(all="ignore"):
                    wanted, error = self.differences(rows, t, q, u, differ.p)
            except (ArithmeticError, ValueError):  # outside the domain of the function: says nothing
                continue
            if not np.all(np.isfinite(wanted)):
                continue
            found = kappa(t, q, u, differ.p)
            size = np.max(np.abs(wanted), initial=0.0)
            if not np.all(np.abs(found[rows.rows] - wanted) <= BELIEVED * size + 100.0 * error):
                return False
            tried += 1
        return tried > 0

    def _velocity(self):
        """Compiled writer of q' = B u."""
        return (
            copy_velocity
            if self.kinematics is None
            else self.differ.kept("velocity", self._kinematic_velocity)
        )

    def _kinematic_velocity(self):
        differ, n_q, n_u = self.differ, self.n_q, self.n_u
        kinematics = self.kinematics.writer(differ.q0, differ.u0, differ.t0)
        B = differ._scratch((n_q, n_u))

        def write(t, q, u, p, out):
            b = B()
            kinematics(t, q, u, p, b)
            for i in range(n_q):
                s = 0.0
                for j in range(n_u):
                    s += b[i, j] * u[j]
                out[i] = s

        return user_kernel(write, VECTOR)

    def _complex_motion(self):
        """Inlined by the writers below: the complex point q + i h B u, and u, in scratch space."""
        return self.differ.kept("complex motion", self._moved)

    def _moved(self):
        differ, velocity, n_q, n_u = self.differ, self._velocity(), self.n_q, self.n_u
        q_work, u_work = differ._scratch(n_q, np.complex128), differ._scratch(n_u, np.complex128)
        v_work = differ._scratch(n_q)

        def move(t, q, u, p):
            q_c, u_c, v = q_work(), u_work(), v_work()
            velocity(t, q, u, p, v)
            for j in range(n_q):
                q_c[j] = complex(q[j], COMPLEX_STEP * v[j])
            for j in range(n_u):
                u_c[j] = u[j]
            return q_c, u_c

        return user_kernel(move, inner=True)

    def _complex_gap(self, g: UserFunction, rows: Rows):
        """Compiled writer of gamma = Im g(t + i h, q + i h B u) / h, or None."""
        evaluate = self.differ.complex_evaluator(g)
        if evaluate is None:
            return None
        m, first = rows.size, rows.rows.start
        move, value = self._complex_motion(), self.differ._scratch(m, np.complex128)

        def write(t, q, u, p, out):
            g_c = value()
            q_c, u_c = move(t, q, u, p)
            evaluate(complex(t, COMPLEX_STEP), q_c, u_c, p, g_c)
            for i in range(m):
                out[first + i] = g_c[i].imag / COMPLEX_STEP

        return user_kernel(write, VECTOR)

    def _complex_rows(self, rows: Rows):
        """Compiled writer of kappa = Im gamma(t + i h, q + i h B u, u) / h, or None."""
        if rows.of_q:
            return None  # W^T q' turns with B, too
        parts = []
        m, first, n_u = rows.size, rows.rows.start, self.n_u
        move = self._complex_motion()
        if rows.directions is not None:
            directions = self.differ.complex_evaluator(rows.directions)
            if directions is None:
                return None
            W = self.differ._scratch((m, n_u), np.complex128)

            def turn(t, q, u, p, out):
                w = W()
                q_c, u_c = move(t, q, u, p)
                directions(complex(t, COMPLEX_STEP), q_c, u_c, p, w)
                for i in range(m):
                    s = 0.0
                    for j in range(n_u):
                        s += w[i, j].imag / COMPLEX_STEP * u[j]
                    out[first + i] = s

            parts.append(user_kernel(turn, VECTOR))
        if rows.offset is not None:
            offset = self.differ.complex_evaluator(rows.offset)
            if offset is None:
                return None
            zeta = self.differ._scratch(m, np.complex128)
            add = rows.directions is not None

            def change(t, q, u, p, out):
                z = zeta()
                q_c, u_c = move(t, q, u, p)
                offset(complex(t, COMPLEX_STEP), q_c, u_c, p, z)
                for i in range(m):
                    out[first + i] = (out[first + i] if add else 0.0) + z[i].imag / COMPLEX_STEP

            parts.append(user_kernel(change, VECTOR))
        return chain(parts, VECTOR)

    def _gamma(self, rows: Rows):
        """Compiled writer of gamma in real numbers, for rows that have `directions` or `offset`."""
        differ, m, first, n_q, n_u = self.differ, rows.size, rows.rows.start, self.n_q, self.n_u
        parts = []
        if rows.directions is not None:
            n = n_q if rows.of_q else n_u
            directions = rows.directions.writer(differ.q0, differ.u0, differ.t0)
            velocity = self._velocity() if rows.of_q else copy_velocity
            W, v_work = differ._scratch((m, n)), differ._scratch(n)

            def turn(t, q, u, p, out):
                w, v = W(), v_work()
                directions(t, q, u, p, w)
                velocity(t, q, u, p, v)
                for i in range(m):
                    s = 0.0
                    for j in range(n):
                        s += w[i, j] * v[j]
                    out[first + i] = s

            parts.append(user_kernel(turn, VECTOR))
        if rows.offset is not None:
            offset, zeta = rows.offset.writer(differ.q0, differ.u0, differ.t0), differ._scratch(m)
            add = rows.directions is not None

            def change(t, q, u, p, out):
                z = zeta()
                offset(t, q, u, p, z)
                for i in range(m):
                    out[first + i] = (out[first + i] if add else 0.0) + z[i]

            parts.append(user_kernel(change, VECTOR))
        return chain(parts, VECTOR)

    def _along(self, order: int, group, writers):
        """Compiled writer of the derivative of order 1 or 2 along the motion of what `writers` write."""
        differ, n_q, n_rows = self.differ, self.n_q, self.n_rows
        value = chain(list(writers), VECTOR)
        moving = self._velocity()
        differ.keep += [value, moving]
        f, f_moving = addresses((value, moving), (VECTOR, VECTOR))
        places = np.concatenate([np.arange(rows.rows.start, rows.rows.stop) for rows in group])
        rheonomic, curved = (
            int(any(rows.rheonomic for rows in group)),
            order == 2 and moving is not copy_velocity,
        )
        row_list, found = static_array(places), differ._scratch(n_rows)
        q_work, v_work, w_work, zero = (differ._scratch(n_q) for _ in range(4))
        work, work_q = differ._scratch((9, n_rows)), differ._scratch((9, n_q))
        scale_q, scale_t = static_array(differ.scales["q"]), static_array(differ.scales["t"])
        cut = differ.pieces if rheonomic else Pieces()
        pieces = static_array(cut.cell)
        differ.keep += [places, cut]

        def write(t, q, u, p, out):
            v, w, kappa, rows = v_work(), w_work(), found(), row_list()
            moving(t, q, u, p, v)
            T = time_of_motion(t, q, v, scale_q(), scale_t()[0], rheonomic)
            if curved:  # w = q'' at fixed u
                derivative_along(f_moving, 1, T, pieces(), t, q, v, zero(), u, p, q_work(), work_q(), w)
            derivative_along(f, order, T, pieces(), t, q, v, w, u, p, q_work(), work(), kappa)
            for k in range(rows.size):
                out[rows[k]] = kappa[rows[k]]

        return user_kernel(write, VECTOR)


def rounding(f, t: float, q: np.ndarray, before: float = np.inf, after: float = np.inf) -> np.ndarray:
    """What rounding of arguments does to the values of f(t, q): `rounding_along` in NumPy."""
    change, value, sign = ULPS * 2.2e-16, f(t, q), np.where(np.arange(q.size) % 2 == 0, 1.0, -1.0)
    later, earlier = (t * (1 + c) if -before <= t * c < after else t for c in (change, -change))
    moved = f(later, q * (1 + change)), f(earlier, q * (1 + change * sign))
    return np.max([np.abs(new - value) for new in moved], axis=0) * (ROUNDING / change)


def extrapolated(
    f, order: int, T: float, noise: Any = 0.0, before: float = np.inf, after: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of order 1 or 2 of f(s) at s = 0 and an estimate of its error: `derivative_along` in NumPy."""
    f_0 = f(0.0)

    def difference(h, side):
        if side != CENTRAL:
            values = [f_0, *(f(k * side * h) for k in range(1, order + 2))]
            return sum(w * x for w, x in zip(ONE_SIDED[order - 1], values)) / (side * h) ** order
        if order == 1:
            return (f(h) - f(-h)) / (2.0 * h)
        return ((f(h) - f_0) + (f(-h) - f_0)) / (h * h)

    value: Any = np.nan
    doubt: Any = np.inf
    ratio: Any = np.inf
    flat = False
    for power in (*range(1 + N_SMALLER), *range(-1, -1 - N_LARGER, -1)):
        if flat and power > 0:
            continue
        h = FIRST_STEP[order - 1] * T * SHRINK**power
        side = side_of_stencil(0.0, -before, after, h, (1 + order) * h)
        if side == NOWHERE:
            continue
        d = [difference(step, side) for step in (h, 0.5 * h, 0.25 * h)]
        third, fourth = (4.0 * d[1] - d[0]) / 3.0, (4.0 * d[2] - d[1]) / 3.0
        power_2 = SECOND_POWER[0 if side == CENTRAL else 1]
        sixth = (power_2 * fourth - third) / (power_2 - 1.0)
        blur = np.maximum(ROUNDING * np.abs(f_0), noise)
        new = 0.5 * np.abs(fourth - third) + blur / (0.25 * h) ** order
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(sixth != 0.0, new / np.abs(sixth), np.where(new > 0.0, 1.0, 0.0))
            known = (power < 0) & (ratio < SIGNIFICANT)
            same = ~known | (np.abs(sixth - value) <= WITHIN * doubt)
        better = (r < ratio) & (r < SIGNIFICANT) & same | (ratio >= SIGNIFICANT) & (power >= 0) & (
            new < doubt
        )
        value, doubt, ratio = (np.where(better, a, b) for a, b in ((sixth, value), (new, doubt), (r, ratio)))
        missing = ~(ratio <= AGREEMENT)
        if not np.any(missing):
            break
        flat = not np.any((np.abs(d[0]) * h**order > blur) & missing)
    return value, doubt
