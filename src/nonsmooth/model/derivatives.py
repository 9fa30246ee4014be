"""Derivatives of user functions: given, by the complex step, or by Richardson-extrapolated differences.

The complex step  df/dx_j = Im f(x + i h e_j) / h  is exact to rounding for analytic code, and silently wrong for code
that takes absolute values or norms. It is therefore used only where the function compiles for complex input *and* its
derivatives agree with differences at the start and at two points nearby. Otherwise

    D(h) = (f(x + h) - f(x - h)) / 2h,     df/dx = (4 D(h/2) - D(h)) / 3,     h = 1e-3 x scale of x,

accurate to about 1e-11 of the function's size for smooth functions. Which one was used is kept by name for the audit.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, MATRIX, VECTOR, static_array, user_kernel
from nonsmooth.model.functions import UserFunction

COMPLEX_STEP = 1e-40
RELATIVE_STEP = 1e-3
AGREEMENT = 1e-6


class Differentiator:
    """Makes derivative writers of user functions around one start state.

    Parameters
    ----------
    t0, q0, u0, p : start time, coordinates, velocities, flat parameters
    """

    def __init__(self, t0, q0, u0, p):
        self.t0, self.q0, self.u0, self.p = float(t0), np.array(q0, float), np.array(u0, float), p
        self.keep: list[np.ndarray] = []  # scratch arrays that compiled code points into
        self.sources: dict[str, str] = {}
        self.scale_q = _scales(self.q0)
        self.scale_u = _scales(self.u0)
        self.scale_t = max(abs(self.t0), 1.0)

    def jacobian(self, f: UserFunction, variable: str, rows: slice, label: str):
        """Writer of d f/d`variable` ("q" or "u"), shape (m, n), into `rows` of a matrix."""
        n = self.q0.size if variable == "q" else self.u0.size
        m = f.shape[0]
        difference = self._differences(f, variable, rows.start, m, n)
        evaluator = f.complex_evaluator(self.t0, self.q0, self.u0)
        if evaluator is not None:
            complex_writer = self._complex(evaluator, variable, rows.start, m, n)
            if self._agree(complex_writer, difference, (rows.stop, n), MATRIX):
                self.sources[label] = "complex step"
                return complex_writer
        self.sources[label] = "differences"
        return difference

    def time_derivative(self, f: UserFunction, rows: slice, label: str):
        """Writer of df/dt, shape (m,), into `rows` of a vector."""
        m = f.shape[0]
        difference = self._time_differences(f, rows.start, m)
        evaluator = f.complex_evaluator(self.t0, self.q0, self.u0)
        if evaluator is not None:
            complex_writer = self._time_complex(evaluator, rows.start, m)
            if self._agree(complex_writer, difference, (rows.stop,), VECTOR):
                self.sources[label] = "complex step"
                return complex_writer
        self.sources[label] = "differences"
        return difference

    # -- checks -----------------------------------------------------------------------------------------------------

    def _agree(self, candidate, reference, shape, signature):
        rng = np.random.default_rng(20081)
        for trial in range(3):
            q = self.q0 + (0.05 * self.scale_q * rng.uniform(-1, 1, self.q0.size) if trial else 0.0)
            u = self.u0 + (0.05 * self.scale_u * rng.uniform(-1, 1, self.u0.size) if trial else 0.0)
            t = self.t0 + (0.013 * trial)
            a, b = np.zeros(shape), np.zeros(shape)
            candidate(t, q, u, self.p, a)
            reference(t, q, u, self.p, b)
            size = max(np.max(np.abs(b), initial=0.0), 1e-300)
            if not np.all(np.abs(a - b) <= AGREEMENT * size):
                return False
        return True

    def _scratch(self, shape, dtype=np.float64):
        array = np.zeros(shape, dtype=dtype)
        self.keep.append(array)
        return static_array(array)

    # -- builders ---------------------------------------------------------------------------------------------------

    def _complex(self, f, variable, offset, m, n):
        by_q = variable == "q"
        q_work = self._scratch(self.q0.size, np.complex128)
        u_work = self._scratch(self.u0.size, np.complex128)
        value = self._scratch(m, np.complex128)

        def write(t, q, u, p, out):
            qc, uc, f_c = q_work(), u_work(), value()
            for i in range(q.size):
                qc[i] = q[i]
            for i in range(u.size):
                uc[i] = u[i]
            for j in range(n):
                if by_q:
                    qc[j] = q[j] + 1j * COMPLEX_STEP
                else:
                    uc[j] = u[j] + 1j * COMPLEX_STEP
                f(complex(t), qc, uc, p, f_c)
                for i in range(m):
                    out[offset + i, j] = f_c[i].imag / COMPLEX_STEP
                if by_q:
                    qc[j] = q[j]
                else:
                    uc[j] = u[j]

        return user_kernel(write, MATRIX)

    def _time_complex(self, f, offset, m):
        q_work = self._scratch(self.q0.size, np.complex128)
        u_work = self._scratch(self.u0.size, np.complex128)
        value = self._scratch(m, np.complex128)

        def write(t, q, u, p, out):
            qc, uc, f_c = q_work(), u_work(), value()
            for i in range(q.size):
                qc[i] = q[i]
            for i in range(u.size):
                uc[i] = u[i]
            f(t + 1j * COMPLEX_STEP, qc, uc, p, f_c)
            for i in range(m):
                out[offset + i] = f_c[i].imag / COMPLEX_STEP

        return user_kernel(write, VECTOR)

    def _differences(self, f: UserFunction, variable, offset, m, n):
        value = f.writer(self.q0, self.u0, self.t0)
        by_q = variable == "q"
        q_work, u_work = self._scratch(self.q0.size), self._scratch(self.u0.size)
        plus, minus, coarse = self._scratch(m), self._scratch(m), self._scratch(m)
        steps = RELATIVE_STEP * (self.scale_q if by_q else self.scale_u)

        def write(t, q, u, p, out):
            qd, ud, f_p, f_m, d_1 = q_work(), u_work(), plus(), minus(), coarse()
            for i in range(q.size):
                qd[i] = q[i]
            for i in range(u.size):
                ud[i] = u[i]
            x = qd if by_q else ud
            for j in range(n):
                x_j = x[j]
                h = max(steps[j], RELATIVE_STEP * abs(x_j))
                for level in range(2):
                    x[j] = x_j + h
                    value(t, qd, ud, p, f_p)
                    x[j] = x_j - h
                    value(t, qd, ud, p, f_m)
                    for i in range(m):
                        d = (f_p[i] - f_m[i]) / (2.0 * h)
                        if level == 0:
                            d_1[i] = d
                        else:
                            out[offset + i, j] = (4.0 * d - d_1[i]) / 3.0
                    h *= 0.5
                x[j] = x_j

        return user_kernel(write, MATRIX)

    def _time_differences(self, f: UserFunction, offset, m):
        value = f.writer(self.q0, self.u0, self.t0)
        plus, minus, coarse = self._scratch(m), self._scratch(m), self._scratch(m)
        step = RELATIVE_STEP * self.scale_t

        def write(t, q, u, p, out):
            f_p, f_m, d_1 = plus(), minus(), coarse()
            h = step
            for level in range(2):
                value(t + h, q, u, p, f_p)
                value(t - h, q, u, p, f_m)
                for i in range(m):
                    d = (f_p[i] - f_m[i]) / (2.0 * h)
                    if level == 0:
                        d_1[i] = d
                    else:
                        out[offset + i] = (4.0 * d - d_1[i]) / 3.0
                h *= 0.5

        return user_kernel(write, VECTOR)


def _scales(x):
    """Size of each component, for steps: its own start value, or the largest of all, or 1 (units of the model)."""
    largest = np.max(np.abs(x), initial=0.0)
    typical = largest if largest > 0.0 else 1.0
    return np.where(np.abs(x) > 1e-3 * typical, np.abs(x), typical)


__all__ = ["JIT_ENABLED", "Differentiator"]
