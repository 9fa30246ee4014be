"""Continuous extensions from order conditions.

A tableau without published dense output gets one here: weights ``b(theta)`` of the form (1) of
`nonsmooth._core.integrators.dense_output` that fulfil the order conditions ``b(theta)^T Phi(tau) = theta^rho(tau) / gamma(tau)``
for all rooted trees up to the order wanted (Butcher; Hairer, Norsett & Wanner 1993, II.2 and II.6). The
conditions are linear in ``b``; of all solutions that keep values and slopes at both ends the one of least
norm is taken.
"""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def rooted_trees(order: int) -> list[tuple]:
    """All rooted trees with `order` nodes, each the sorted tuple of its branches."""
    if order == 1:
        return [()]
    found = set()

    def forests(nodes, largest):
        if nodes == 0:
            yield ()
            return
        for size in range(1, nodes + 1):
            for tree in rooted_trees(size):
                if largest is None or (size, tree) <= largest:
                    for rest in forests(nodes - size, (size, tree)):
                        yield (tree, *rest)

    for forest in forests(order - 1, None):
        found.add(tuple(sorted(forest)))
    return sorted(found)


def tree_order(tree: tuple) -> int:
    """rho: number of nodes."""
    return 1 + sum(tree_order(branch) for branch in tree)


def tree_density(tree: tuple) -> int:
    """gamma: product of the orders of all subtrees."""
    density = tree_order(tree)
    for branch in tree:
        density *= tree_density(branch)
    return density


def elementary_weights(tree: tuple, A: np.ndarray) -> np.ndarray:
    """Phi: the stage values of the elementary differential of `tree`."""
    value = np.ones(A.shape[0])
    for branch in tree:
        value = value * (A @ elementary_weights(branch, A))
    return value


def nested_coefficients(powers: np.ndarray) -> np.ndarray:
    """Coefficients in the nested basis (1) of the polynomial ``sum_k powers[k] theta^(k+1)``."""
    powers = np.array(powers, dtype=float)
    basis = np.zeros((powers.size, powers.size))
    monomials = np.array([1.0])  # of theta^1
    for j in range(powers.size):
        basis[: monomials.size, j] = monomials
        # phi_{j+2} = phi_{j+1} times (1 - theta) and theta in turn
        factor = np.array([1.0, -1.0]) if j % 2 == 0 else np.array([0.0, 1.0])
        monomials = np.convolve(monomials, factor)
    return np.linalg.solve(basis, powers)


def stage_weights(A: np.ndarray, theta: float, order: int) -> np.ndarray:
    """Least-norm weights that give y(t + theta h) to `order` from the stages of `A`."""
    trees = [tree for k in range(1, order + 1) for tree in rooted_trees(k)]
    matrix = np.array([elementary_weights(tree, A) for tree in trees])
    wanted = np.array([theta ** tree_order(tree) / tree_density(tree) for tree in trees])
    weights, *_ = np.linalg.lstsq(matrix, wanted, rcond=1e-12)
    return weights


def dense_rows(A: np.ndarray, b: np.ndarray, end: int, order: int) -> np.ndarray:
    """Rows D of (1) for a dense output of `order`.

    Parameters
    ----------
    A : ndarray, shape (S, S)
        All stages, row `end` being the weights `b` (slope at the end of the step).
    b : ndarray, shape (S,)
        Weights of the step, padded with zeros.
    end : int
    order : int
        At least 4; the polynomial has this degree.

    Returns
    -------
    D : ndarray, shape (order - 3, S)
    """
    trees = [tree for k in range(1, order + 1) for tree in rooted_trees(k)]
    matrix = np.array([elementary_weights(tree, A) for tree in trees])
    first, last = np.eye(A.shape[0])[0], np.eye(A.shape[0])[end]
    hermite = np.array([b, first - b, 2 * b - first - last])
    D = np.zeros((order - 3, A.shape[0]))
    wanted = np.zeros((len(trees), order))
    for i, tree in enumerate(trees):
        powers = np.zeros(order)
        powers[tree_order(tree) - 1] = 1.0 / tree_density(tree)
        wanted[i] = nested_coefficients(powers)
    wanted[:, :3] -= matrix @ hermite.T
    for j in range(3, order):
        D[j - 3], *_ = np.linalg.lstsq(matrix, wanted[:, j], rcond=1e-12)
    residual = max(np.abs(matrix @ D.T - wanted[:, 3:]).max(), np.abs(wanted[:, :3]).max())
    if residual > 1e-9:
        raise ValueError(f"no continuous extension of order {order}: residual {residual:.1e}")
    return D
