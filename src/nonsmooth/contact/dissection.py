"""Nested dissection: an order of elimination that keeps the factors of many connected bodies small.

A level of a breadth-first search from a far corner separates a graph into two parts of similar size; both are ordered first,
by the same rule, and the separator last (George 1973, with the level structures of Gibbs, Poole and Stockmeyer 1976). For
bodies in space this leaves about half the work of a minimum-degree order. The separators form the tree along which
`nonsmooth.contact.multifrontal` eliminates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

#: Parts of at most this many unknowns are not divided further.
LEAF = 200


class Tree(NamedTuple):
    """Groups of unknowns in the order of their elimination, and the group above each (-1: none)."""

    groups: list[np.ndarray]
    parent: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """All unknowns in the order of elimination, shape (n,)."""
        return np.concatenate(self.groups) if self.groups else np.zeros(0, dtype=np.int64)


def dissect(A) -> Tree:
    """The tree of separators of the square sparse matrix `A` with symmetric pattern."""
    graph = sp.csr_matrix(A)
    graph = sp.csr_matrix((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    groups: list[np.ndarray] = []
    parents: list[int] = []
    # from the last separator downwards, to be read backwards
    stack = [(np.arange(graph.shape[0]), -1)] if graph.shape[0] else []
    while stack:
        nodes, parent = stack.pop()
        if nodes.size > LEAF:
            part = graph[nodes][:, nodes]
            count, label = csgraph.connected_components(part, directed=False)
            if count > 1:
                stack += [(nodes[k], parent) for k in _components(label)]
                continue
            first, second, separator = _divide(part)
            if first.any() and second.any():
                stack += [(nodes[first], len(groups)), (nodes[second], len(groups))]
                nodes = nodes[separator]
        groups.append(nodes)
        parents.append(parent)
    last = len(groups) - 1
    above = np.array([-1 if p < 0 else last - p for p in parents], dtype=np.int64)
    return Tree(groups[::-1], above[::-1])


def _components(label):
    """Nodes of every component of a graph; small components lie together in parts of about `LEAF` nodes."""
    sizes = np.bincount(label)
    small = sizes < LEAF // 2
    part = np.empty(sizes.size, dtype=np.int64)
    part[small] = np.cumsum(sizes[small]) // LEAF
    part[~small] = sizes.size + np.arange(np.sum(~small))
    of_node = part[label]
    order = np.argsort(of_node, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of_node[order])) + 1)


def _divide(part):
    """Masks of two parts of a connected graph and of the nodes between them."""
    level = _levels(part)
    sizes = np.bincount(level)
    reached = np.cumsum(sizes)
    total = level.size
    middle = np.flatnonzero((reached > 0.35 * total) & (reached - sizes < 0.65 * total))
    cut = middle[np.argmin(sizes[middle])]
    # of the level only what touches the next one
    separator = (level == cut) & (part @ (level == cut + 1).astype(float) > 0.0)
    return (level <= cut) & ~separator, level > cut, separator


def _levels(graph) -> np.ndarray:
    """Distances from a node that is nearly as far away as any (three searches)."""
    start = 0
    for _ in range(3):
        distance = csgraph.shortest_path(graph, directed=False, indices=start, unweighted=True)
        start = int(np.argmax(distance))
    return csgraph.shortest_path(graph, directed=False, indices=start, unweighted=True).astype(np.int64)
