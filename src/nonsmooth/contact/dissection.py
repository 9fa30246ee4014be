"""Nested dissection: an order of elimination that keeps the factors of many connected bodies small.

A level of a breadth-first search from a far corner separates a graph into two parts of similar size; both are ordered first,
by the same rule, and the separator last (George 1973, with the level structures of Gibbs, Poole and Stockmeyer 1976). For
bodies in space this leaves about half the work of a minimum-degree order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

#: Parts of at most this many unknowns are not divided further.
LEAF = 200


def dissect(A) -> np.ndarray:
    """An order of the unknowns of the square sparse matrix `A` with symmetric pattern, shape (n,)."""
    graph = sp.csr_matrix(A)
    graph = sp.csr_matrix((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    order: list[np.ndarray] = []
    # parts still to be ordered; a separator is put in after both halves of its part
    stack = [(np.arange(graph.shape[0]), False)]
    while stack:
        nodes, finished = stack.pop()
        if finished or nodes.size <= LEAF:
            order.append(nodes)
            continue
        part = graph[nodes][:, nodes]
        count, label = csgraph.connected_components(part, directed=False)
        if count > 1:
            by_label = np.argsort(label, kind="stable")
            stack += [(nodes[k], False) for k in np.split(by_label, np.cumsum(np.bincount(label))[:-1])]
            continue
        level = _levels(part)
        sizes = np.bincount(level)
        reached = np.cumsum(sizes)
        middle = np.flatnonzero((reached > 0.35 * nodes.size) & (reached - sizes < 0.65 * nodes.size))
        cut = middle[np.argmin(sizes[middle])]
        # of the level only what touches the next one
        separator = (level == cut) & (part @ (level == cut + 1).astype(float) > 0.0)
        first, second = (level <= cut) & ~separator, level > cut
        if not (first.any() and second.any()):
            order.append(nodes)
            continue
        stack += [(nodes[separator], True), (nodes[second], False), (nodes[first], False)]
    return np.concatenate(order) if order else np.zeros(0, dtype=np.int64)


def _levels(graph) -> np.ndarray:
    """Distances from a node that is nearly as far away as any (three searches)."""
    start = 0
    for _ in range(3):
        distance = csgraph.shortest_path(graph, directed=False, indices=start, unweighted=True)
        start = int(np.argmax(distance))
    return csgraph.shortest_path(graph, directed=False, indices=start, unweighted=True).astype(np.int64)
