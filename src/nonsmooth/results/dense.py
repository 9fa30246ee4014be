"""The state of a simulation as a function of time: ``result.sol(t)``.

Inside a step the state is known at nodes: the ends of the step, and the Chebyshev points between them where a scheme controls its
error (its own state there, a part of the step taken again). Between nodes it is the polynomial through them, by the barycentric
formula (Berrut, Trefethen 2004). Where the state jumps, right limits.
"""

from __future__ import annotations

import numpy as np

from nonsmooth.errors import RangeError

#: Nodes inside a step of a scheme that controls its error: with its ends nine points, degree eight.
NODES = tuple(0.5 * (1.0 - np.cos(np.pi * np.arange(1, 8) / 8)))


class DenseSolution:
    """``sol(t) -> y``, y = (q, u), shape (n,) for a number and (n, len(t)) for an array.

    Parameters
    ----------
    t, y : ndarray, shape (k,), (n, k)
        Ends of steps; an instant at which the state jumps stands there twice.
    inside : ndarray, shape (m, n, k)
        States at the nodes of the step that ends at each instant; m may be 0.
    nodes : sequence of float
        Instants inside a step, as parts of it.
    """

    def __init__(self, t: np.ndarray, y: np.ndarray, inside: np.ndarray, nodes=()):
        ends = np.flatnonzero(np.diff(t) > 0) + 1  # columns that end a step of some length
        self.t_0, self.t_1 = t[ends - 1], t[ends]
        self.values = np.concatenate([y[None, :, ends - 1], inside[:, :, ends], y[None, :, ends]])
        self.nodes = np.concatenate([[0.0], np.asarray(nodes, dtype=float), [1.0]])
        self.weights = _weights(self.nodes)
        self.t_min, self.t_max, self.y_end = float(t[0]), float(t[-1]), y[:, -1].copy()

    def __call__(self, t):
        """The state at `t`."""
        instants = np.atleast_1d(np.asarray(t, dtype=float))
        slack = 1e-12 * max(abs(self.t_min), abs(self.t_max), self.t_max - self.t_min)
        if instants.size and not (
            instants.min() >= self.t_min - slack and instants.max() <= self.t_max + slack
        ):
            raise RangeError(
                f"sol(t) is known from t = {self.t_min:.9g} to {self.t_max:.9g}; {t!r} lies outside."
            )
        if self.t_0.size == 0:
            out = np.repeat(self.y_end[:, None], instants.size, axis=1)
            return out[:, 0] if np.ndim(t) == 0 else out
        at = np.clip(np.searchsorted(self.t_0, instants, side="right") - 1, 0, self.t_0.size - 1)
        x = (instants - self.t_0[at]) / (self.t_1[at] - self.t_0[at])
        out = self.in_piece(at, np.clip(x, 0.0, 1.0))
        out[:, instants >= self.t_max] = self.y_end[:, None]
        return out[:, 0] if np.ndim(t) == 0 else out

    def in_piece(self, at, x):
        """States at parts `x` of the steps with numbers `at`, shape (n, k), by the barycentric formula."""
        values = self.values[:, :, at]
        distance = x[None, :] - self.nodes[:, None]
        on_node = distance == 0.0
        share = self.weights[:, None] / np.where(on_node, 1.0, distance)
        share = np.where(on_node.any(axis=0), on_node, share)
        return np.einsum("mk,mnk->nk", share / share.sum(axis=0), values)


def _weights(nodes):
    """Barycentric weights of the nodes."""
    differences = nodes[:, None] - nodes[None, :] + np.eye(nodes.size)
    return 1.0 / np.prod(4.0 * differences, axis=1)  # (4: so that products neither vanish nor grow)
