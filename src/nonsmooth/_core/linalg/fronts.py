"""Sums of dense fronts, the one part of a multifrontal elimination that is not a product of matrices."""

from nonsmooth._core.jit import kernel


@kernel
def extend_add(front, place, update, lower):
    """``front[place, place] += update`` by columns; of symmetric fronts only the `lower` triangles. `place` ascends."""
    for j in range(place.size):
        column = place[j]
        for i in range(j if lower else 0, place.size):
            front[place[i], column] += update[i, j]
