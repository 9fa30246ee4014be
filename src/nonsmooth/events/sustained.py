"""Motion on a switching surface: sustained contact after accumulated resets, and sliding after chattering.

A unilateral switch whose events accumulate stays closed. Its reset moved the state along d = y+ - y-; the
sustained force acts along the same d (for an impact with Newton's law that is the direction M^-1 W of the
contact force):

    y' = f + sum_i d_i la_i,   g_i'' = 0,   la_i >= 0;       it opens where la_i would become negative.
    (1)

A bilateral switch that both neighbouring fields point at is slid on with Filippov's convex combination

    y' = sum over modes of the alpha-weighted fields,   g_i' = 0,   0 <= alpha_i <= 1;   left where alpha_i
    leaves.  (2)

While a switch is held its entry in g is replaced by la_i, or by min(alpha_i, 1 - alpha_i), and its mode is
0. Everything
here runs as Python callbacks: it is rare, and exact in modes only to differences (about 1e-8).
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.sliding.algebra import sliding_weights

from .binding import Bound


class Held:
    """The functions of a run in which some switches are held at zero."""

    def __init__(self, bound: Bound, scale: float):
        self.bound = bound
        self.delta = 1e-4 * scale
        self.resting: dict[int, np.ndarray] = {}  # switch -> direction d
        self.sliding: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.resting or self.sliding)

    # -- fields
    # -----------------------------------------------------------------------------------------------

    def _modes(self, replaced):
        mode = self.bound.mode()
        for i, value in replaced.items():
            mode[i] = value
        return mode

    def field(self, t, y, free=()):
        """Right-hand side without the forces of (1), with the combination (2); resting switches in `free`
        are open.
        """
        base = {i: (1 if i in free else 0) for i in self.resting}
        if not self.sliding:
            return self.bound.f_in(t, y, self._modes(base))
        alpha, low, steps = self.combination(t, y, base)
        return low + sum(a * step for a, step in zip(alpha, steps))

    def combination(self, t, y, base=None):
        """alpha of (2), the field with all sliding modes at -1, and its change when one of them is raised to
        +1.
        """
        base = {i: 0 for i in self.resting} if base is None else base
        order = sorted(self.sliding)
        low_modes = {**base, **{i: -1 for i in order}}
        low = self.bound.f_in(t, y, self._modes(low_modes))
        steps = [self.bound.f_in(t, y, self._modes({**low_modes, i: 1})) - low for i in order]
        rate_low = self.rates(t, y, low, order)
        rate_of = np.array([self.rates(t, y, low + step, order) for step in steps]).T - rate_low[:, None]
        alpha = np.empty(len(order))
        scale = np.abs(rate_of).max(axis=1, initial=0.0) + 1e-300  # rows have the units of their g
        sliding_weights(rate_of / scale[:, None], -rate_low / scale, len(order), alpha)
        return alpha, low, steps

    def rates(self, t, y, slope, which):
        """dg/dt along `slope` for the switches `which`."""
        d = self.delta
        ahead = self.bound.g_values(t + d, y + d * slope)
        behind = self.bound.g_values(t - d, y - d * slope)
        return ((ahead - behind) / (2.0 * d))[list(which)]

    def accelerations(self, t, y, free=()):
        """Second derivatives of the resting switching functions along the field."""
        d = self.delta
        f = self.field(t, y, free)
        change = (self.field(t + d, y + d * f, free) - self.field(t - d, y - d * f, free)) / (2.0 * d)
        order = sorted(self.resting)
        ahead = self.bound.g_values(t + d, y + d * f + 0.5 * d * d * change)[order]
        here = self.bound.g_values(t, y)[order]
        behind = self.bound.g_values(t - d, y - d * f + 0.5 * d * d * change)[order]
        return (ahead - 2.0 * here + behind) / (d * d)

    def influence(self, t, y):
        """Matrix of d g_i''/d la_j: the change of g_i' when y moves along d_j."""
        order = sorted(self.resting)
        matrix = np.empty((len(order), len(order)))
        for column, j in enumerate(order):
            d = self.resting[j]
            size = self.delta / max(np.linalg.norm(d), 1e-300) * max(np.linalg.norm(y), 1.0)
            plus, minus = y + size * d, y - size * d
            matrix[:, column] = (
                self.rates(t, plus, self.field(t, plus), order)
                - self.rates(t, minus, self.field(t, minus), order)
            ) / (2.0 * size)
        return matrix

    def forces(self, t, y, free=()):
        """la of (1) for the resting switches in order."""
        return np.linalg.lstsq(self.influence(t, y), -self.accelerations(t, y, free), rcond=None)[0]

    # -- callbacks
    # --------------------------------------------------------------------------------------------

    def f(self, t, y):
        """Right-hand side (1) with (2)."""
        out = self.field(t, y)
        if self.resting:
            for la, j in zip(self.forces(t, y), sorted(self.resting)):
                out = out + la * self.resting[j]
        return out

    def g(self, t, y, out):
        """Switching functions with the entries of held switches replaced."""
        self.bound.g(t, y, out)
        if self.resting:
            order = sorted(self.resting)
            matrix = self.influence(t, y)
            # The force that the open field would need: it changes sign where the switch lets go.
            out[order] = np.linalg.lstsq(matrix, -self.accelerations(t, y, free=order), rcond=None)[0]
        if self.sliding:
            alpha = self.combination(t, y)[0]
            out[sorted(self.sliding)] = np.minimum(alpha, 1.0 - alpha)
