"""The solution as a function of time: polynomial pieces, right limits where the state jumps."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DenseOutput, OdeSolution

from nonsmooth.integrators.driver import nested_eval


class Piece(DenseOutput):
    """Dense output of one step (a SciPy `DenseOutput`), in the nested basis of `nonsmooth._core.integrators.dense_output`."""

    def __init__(self, t_old, t, y_old, Q):
        super().__init__(t_old, t)
        self.y_old, self.Q = y_old, Q

    def _call_impl(self, t):
        h = self.t - self.t_old
        theta = np.atleast_1d((t - self.t_old) / h if h else np.zeros_like(t))
        count = theta.size
        y = nested_eval(
            np.broadcast_to(self.y_old, (count, self.y_old.size)),
            np.broadcast_to(self.Q, (count, *self.Q.shape)),
            theta,
        )
        return y[0] if np.ndim(t) == 0 else y.T


class PiecewiseSolution(OdeSolution):
    """``sol(t)`` for solutions that jump: right limits at the jumps.

    Parameters
    ----------
    t_0, t_1 : ndarray, shape (k,)
        Ends of the pieces in order of time.
    y_0 : ndarray, shape (k, n)
        States at the beginnings.
    Q : ndarray, shape (k, rows, n)
    t_end, y_end
        Last instant and right limit there.
    """

    def __init__(self, t_0, t_1, y_0, Q, t_end, y_end):
        self.t_0, self.t_1, self.y_0, self.Q = t_0, t_1, y_0, Q
        self.t_end, self.y_end = float(t_end), y_end
        self.n_segments = t_0.size
        self.ts = np.append(t_0, t_end)
        self.ascending = self.ts[-1] >= self.ts[0]
        self.t_min, self.t_max = float(min(self.ts[0], t_end)), float(max(self.ts[0], t_end))

    @property
    def interpolants(self):
        """The pieces as SciPy `DenseOutput` objects."""
        return [Piece(*row) for row in zip(self.t_0, self.t_1, self.y_0, self.Q)]

    def __call__(self, t):
        """Evaluate at `t`, scalar or 1-D: shape (n,) or (n, len(t))."""
        scalar = np.ndim(t) == 0
        t = np.atleast_1d(np.asarray(t, dtype=float))
        if self.n_segments == 0:
            out = np.broadcast_to(self.y_end, (t.size, self.y_end.size)).copy()
            return out[0] if scalar else out.T
        sign = 1.0 if self.ascending else -1.0
        at = np.clip(np.searchsorted(sign * self.t_0, sign * t, side="right") - 1, 0, self.n_segments - 1)
        h = self.t_1[at] - self.t_0[at]
        theta = np.where(h != 0.0, (t - self.t_0[at]) / np.where(h == 0.0, 1.0, h), 0.0)
        out = nested_eval(self.y_0[at], self.Q[at], theta)
        out[t == self.t_end] = self.y_end
        return out[0] if scalar else out.T
