"""Semi-explicit equations in Hessenberg form as a control problem (Compere 2001, secs 3.1-3.4 and 6.2).

    y' = f(t, y, z),     0 = g(t, y)

z is the input, g the output. Equation i has relative order r_i, the number of derivatives of g_i until z appears: 1 (index 2) or 2
(index 3). Its surface is s_i = (d/dt + sigma)^(r_i - 1) g_i (3.18), and z follows from

    S' = d/dt S(t, y) along y' = f(t, y, z) = 0                                                                          (3.24)

by Newton's method (one iteration where f is linear in z). After a step y is moved onto g = 0 and, where r_i = 2, dg_i/dt = 0, by the least
change relative to the size of each component, twice (3.27)-(3.30).

First derivatives of g along the motion are complex steps where g allows it and agrees with differences, else differences; second ones
differences of sixth order of the first, or first ones of `rate` where the user gives dg/dt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nonsmooth.errors import InputError, ModelError, NoSolutionError, ShapeError

EPS = np.finfo(float).eps
SIXTH = ((1.0, 0.75), (2.0, -0.15), (3.0, 1.0 / 60.0))  # central difference: node, weight
NOTHING = 1e-13  # part of the largest component that is rounding
PART = 1e-2  # of the time scale, over which differences are taken
CONFLICT = 1e-5  # part of its terms that S' may miss
MOST = 20  # Newton iterations for z


class Hessenberg:
    """The equations of one problem.

    Parameters
    ----------
    f : callable ``f(t, y, z) -> (n,)``
    g : callable ``g(t, y) -> (m,)``
    t, y : float, ndarray
        Start, at which orders are found.
    m : int
        Number of unknowns z.
    rate : callable ``rate(t, y) -> (m,)``, optional
        dg/dt along the motion, where r = 2.
    sigma : ndarray, shape (m,)
    span : float
        Length of the run, a bound of its time scale.
    """

    def __init__(
        self, f: Callable, g: Callable, t: float, y: np.ndarray, z: np.ndarray, sigma, span: float, rate=None
    ):
        self.f, self.g, self.rate_given = f, g, rate
        self.n, self.m, self.sigma, self.span = y.size, z.size, sigma, span
        self.z = z.copy()
        self.scale = self._sizes_at_start(t, y)
        self.complex_g = self._complex_steps(g, t, y)
        self.complex_rate = rate is not None and self._complex_steps(rate, t, y)
        self.second = np.zeros(self.m, dtype=bool)
        self.not_finite = ""  # the function that was not finite last
        self._orders(t, y)

    def _sizes_at_start(self, t, y) -> np.ndarray:
        """Sizes of the components: what they are, or what they become in the time scale of the others (a pendulum that starts from rest has
        velocities none the less, in whatever units). Zero where neither is known."""
        size, slope = np.abs(y), np.abs(self.f(t, y, self.z))
        # what becomes a million times its size within the run began at zero, but for rounding
        known = size >= 1e-6 * slope * self.span
        short = 1e-6 * self.span
        bend = (
            np.abs(self.f(t + short, y + short * self.f(t, y, self.z), self.z) - self.f(t, y, self.z)) / short
        )
        fastest, turn = (
            np.max(slope[known] / np.maximum(size[known], 1e-300), initial=0.0),
            np.max(bend, initial=0.0),
        )
        turning = np.sqrt(turn / np.max(size)) if size.any() else 0.0
        return np.maximum(size, slope / max(fastest, turning, 1.0 / self.span))

    # -- derivatives along the motion ----------------------------------------------------------------------------------

    def _complex_steps(self, function, t, y) -> bool:
        """Whether complex steps of a function can be believed."""
        direction = np.cos(1.0 + np.arange(y.size)) * np.maximum(np.abs(y), 1.0)
        try:
            found = np.imag(np.asarray(function(t + 1e-30j, y + 1e-30j * direction), dtype=complex)) / 1e-30
        except Exception:  # a function that takes no complex numbers
            return False
        wanted = self._difference(lambda c: np.asarray(function(t + c, y + c * direction), dtype=float), 1e-3)
        size = np.maximum(np.abs(wanted), np.abs(found)) + np.max(np.abs(wanted), initial=0.0)
        return bool(np.all(np.abs(found - wanted) <= 1e-6 * size + EPS))

    @staticmethod
    def _difference(value, step):
        return sum(w * (value(c * step) - value(-c * step)) for c, w in SIXTH) / step

    def time_scale(self, y, slope) -> float:
        """Over which y changes by its own size (not of components that begin at zero). Too short costs few digits, too long all."""
        size = self.weights(y)
        moving = np.abs(slope) > 0
        shortest = np.min(size[moving] / np.abs(slope[moving]), initial=np.inf)
        largest = np.max(size) / max(np.max(np.abs(slope), initial=0.0), 1e-300)
        return float(min(self.span, max(shortest, 0.1 * largest)))

    def along(self, function, complex_step, t, y, slope):
        """d/dt of function(t, y) along y' = slope."""
        if complex_step:
            h = 1e-30 * self.span
            return np.imag(np.asarray(function(t + 1j * h, y + 1j * h * slope))) / h
        return self._difference(
            lambda c: np.asarray(function(t + c, y + c * slope), dtype=float),
            PART * self.time_scale(y, slope),
        )

    def rate(self, t, y, z):
        """dg/dt with the input z."""
        return self.along(self.g, self.complex_g, t, y, self.f(t, y, z))

    def rate_of_second(self, t, y, z):
        """dg/dt of equations in which z does not appear: of the user, or with the input as it was."""
        return self.rate_given(t, y) if self.rate_given is not None else self.rate(t, y, z)

    def surface_rate(self, t, y, z):
        """S' with the input z, and the size of its terms."""
        slope = self.f(t, y, z)
        first = self.along(self.g, self.complex_g, t, y, slope)
        if not self.second.any():
            return first
        if self.rate_given is not None:
            second = self.along(self.rate_given, self.complex_rate, t, y, slope)
        else:
            step, held = PART * self.time_scale(y, slope), self.z
            second = self._difference(lambda c: self.rate(t + c, y + c * slope, held), step)
        return np.where(self.second, second + self.sigma * first, first)

    # -- relative order ------------------------------------------------------------------------------------------------

    def _orders(self, t, y) -> None:
        """Which equations have relative order 2; the unit of each z, in which y' changes by its own size, is found on the way."""
        weight, base = self.weights(y), self.f(t, y, self.z)
        by_y, by_z = self.constraint_jacobian(t, y), np.zeros((self.n, self.m))
        for j in range(self.m):
            shifted = self.z.copy()
            shifted[j] += max(abs(shifted[j]), 1.0)
            by_z[:, j] = (self.f(t, y, shifted) - base) / (shifted[j] - self.z[j])
        pace = max(float(np.max(np.abs(base) / weight)), 1.0 / self.span)
        share = np.max(np.abs(by_z) / weight[:, None], axis=0)
        if np.any(share == 0.0):
            raise ModelError(
                f"z[{int(np.argmin(share))}] does not appear in `fun` at the start: the constraints cannot determine it there."
            )
        self.unit = np.maximum(pace / share, np.abs(self.z))
        terms = np.abs(by_y) @ np.abs(by_z)
        second = ~np.any(np.abs(by_y @ by_z) > 1e-8 * terms, axis=1)
        self.second = second
        if second.any():
            reach = np.max(
                np.abs(self.by_input(t, y, self.z, self.surface_rate(t, y, self.z), 1.0)) * self.unit, axis=1
            )
            size = (np.abs(by_y) @ weight) * pace**2
            hidden = np.flatnonzero(second & (reach <= 1e-7 * size))
            if hidden.size:
                raise ModelError(
                    f"the relative order of constraint {int(hidden[0])} is not defined: z appears neither in its first nor in its second "
                    "derivative, so that the equations are not of index 2 or 3."
                )

    def weights(self, y) -> np.ndarray:
        """Size of each component of y, never zero; one that is nothing but rounding beside the largest is as large as that."""
        self.scale = np.maximum(self.scale, np.abs(y))
        largest = float(np.max(self.scale, initial=0.0)) or 1.0
        return np.where(self.scale > NOTHING * largest, self.scale, largest)

    def by_input(self, t, y, z, base, part) -> np.ndarray:
        """dS'/dz, shape (m, m), by differences over `part` of the size of z: exact where f is linear in z."""
        out = np.zeros((self.m, self.m))
        for j in range(self.m):
            shifted = z.copy()
            shifted[j] += part * max(abs(z[j]), self.unit[j])
            out[:, j] = (self.surface_rate(t, y, shifted) - base) / (shifted[j] - z[j])
        return out

    # -- input ---------------------------------------------------------------------------------------------------------

    def input(self, t, y) -> np.ndarray:
        """z of (3.24), by Newton's method from the last one; NaN where the functions are."""
        z, part = self.z.copy(), 1.0
        miss, before = self.surface_rate(t, y, z), np.inf
        if not np.all(np.isfinite(miss)):
            self.not_finite = "constraint" if np.all(np.isfinite(self.f(t, y, z))) else "fun"
            return np.full(self.m, np.nan)
        for _ in range(MOST):
            matrix = self.by_input(t, y, z, miss, part)
            step = _solved(matrix * self.unit, miss) * self.unit
            z = z - step
            miss = self.surface_rate(t, y, z)
            if not np.all(np.isfinite(z)):
                break
            # in units of its terms; rounding of differences ends the iteration before 1e-12 does
            left = float(
                np.max(
                    np.abs(miss) / np.maximum(np.abs(matrix) @ np.maximum(np.abs(z), self.unit), 1e-300),
                    initial=0.0,
                )
            )
            if left <= 1e-12 or (left <= CONFLICT and left >= 0.1 * before):
                self.z = z
                return z
            part, before = 1e-4, left
        raise NoSolutionError(
            f"no z was found at t = {t:.9g} that keeps the constraints (S' = {np.max(np.abs(miss), initial=0.0):.3g} is left over): they "
            "contradict each other there, or their derivative by z becomes singular."
        )

    def field(self, t, y):
        """y' of the underlying ordinary equations."""
        z = self.input(t, y)
        return self.f(t, y, z) if np.all(np.isfinite(z)) else np.full(self.n, np.nan)

    # -- constraints ---------------------------------------------------------------------------------------------------

    def residuals(self, t, y) -> np.ndarray:
        """g, and dg/dt of equations of order 2."""
        g = np.asarray(self.g(t, y), dtype=float)
        if not self.second.any():
            return g
        return np.concatenate([g, self.rate_of_second(t, y, self.z)[self.second]])

    def constraint_jacobian(self, t, y) -> np.ndarray:
        """dg/dy, shape (m, n)."""
        weight, columns = self.weights(y), []
        for k in range(self.n):
            unit = np.zeros(self.n)
            unit[k] = weight[k]
            if self.complex_g:
                columns.append(
                    np.imag(np.asarray(self.g(complex(t), y + 1e-30j * unit))) / (1e-30 * weight[k])
                )
            else:
                columns.append(
                    self._difference(lambda c, unit=unit: self.g(t, y + c * unit), PART) / weight[k]
                )
        return np.array(columns).T

    def jacobian(self, t, y) -> np.ndarray:
        """Derivative of `residuals` by y."""
        top = self.constraint_jacobian(t, y)
        if not self.second.any():
            return top
        weight, columns = self.weights(y), []
        for k in range(self.n):
            unit = np.zeros(self.n)
            unit[k] = weight[k]
            rate = self._difference(lambda c, unit=unit: self.rate_of_second(t, y + c * unit, self.z), PART)
            columns.append(rate[self.second] / weight[k])
        return np.vstack([top, np.array(columns).T])

    def project(self, t, y, passes=2) -> np.ndarray:
        """y on its constraints, by the least change relative to the size of its components."""
        for _ in range(passes):
            weight = self.weights(y)
            y = y - weight * _solved(self.jacobian(t, y) * weight, self.residuals(t, y))
        return y

    def consistency(self, t, y) -> np.ndarray:
        """Residuals relative to the terms they are made of."""
        terms = np.linalg.norm(self.jacobian(t, y) * self.weights(y), axis=1)
        return np.abs(self.residuals(t, y)) / np.where(terms > 0, terms, 1.0)


def _solved(matrix, right) -> np.ndarray:
    """Least-squares solution with rows scaled to size one; dependent rows are found by their singular values. NaN where these are."""
    if not np.all(np.isfinite(matrix)):
        return np.full(matrix.shape[1], np.nan)
    size = np.max(np.abs(matrix), axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    return np.linalg.lstsq(matrix / size[:, None], right / size, rcond=1e-11)[0]


def wrapped(function, name: str, m: int, args: tuple, extra: int) -> Callable:
    """A user function of ``2 + extra`` arguments, its value as an array of shape (m,)."""
    if not callable(function):
        raise InputError(f"`{name}` is {function!r}: a function is wanted.")

    def call(*arguments):
        value = np.asarray(function(*arguments, *args))
        if value.dtype == object or value.dtype.kind not in "fiubc":
            raise InputError(f"`{name}` returned values of type {value.dtype}: real numbers are wanted.")
        value = np.atleast_1d(value)
        if value.shape != (m,):
            raise ShapeError(f"`{name}` returned shape {value.shape}: ({m},) is wanted.")
        return value

    return call
