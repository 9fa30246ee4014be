"""Directed Hausdorff distance of two polygonal lines, by branch and bound over a tree of boxes.

A line is given by its vertices, one per row, column 0 is time. The distance of two points is
``max(|t - s|, ||x - y||_2)``. The vertices of a trajectory are in order of time, so a binary tree over runs of
neighbouring segments has boxes that hardly overlap, and the segment nearest to a point is found in a few dozen tests.
For noise the boxes do overlap, but the nearest segment is not wanted either: any that is no farther away than the farthest point
so far will do (Taha & Hanbury 2015), and a first look at a few vertices tells about how far that is.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel

LEAF = 4  # segments per leaf of the tree
DEPTH = 64  # of the stacks: a tree over 2^60 leaves, a piece halved 60 times
FIRST = 64  # vertices that are looked at first
MATCHED = 16  # most vertices of B opposite to a piece of A that are worth a comparison one by one


@kernel
def box_tree(B):
    """Boxes (low, high) of all nodes: node 1 is the root, node i has the children 2 i and 2 i + 1."""
    segments, k = B.shape[0] - 1, B.shape[1]
    leaves = 1
    while leaves * LEAF < segments:
        leaves *= 2
    low, high = np.full((2 * leaves, k), np.inf), np.full((2 * leaves, k), -np.inf)
    for j in range(segments):
        node = leaves + j // LEAF
        for v in range(j, j + 2):
            for c in range(k):
                low[node, c] = min(low[node, c], B[v, c])
                high[node, c] = max(high[node, c], B[v, c])
    for node in range(leaves - 1, 0, -1):
        for c in range(k):
            low[node, c] = min(low[2 * node, c], low[2 * node + 1, c])
            high[node, c] = max(high[2 * node, c], high[2 * node + 1, c])
    return low, high


@kernel
def _to_box(x, low, high, node):
    """Distance of a point from a box; infinite for the empty boxes that fill up the tree."""
    square = 0.0
    for c in range(1, x.size):
        out = max(low[node, c] - x[c], x[c] - high[node, c])
        if out > 0.0:
            square += out * out
    return max(low[node, 0] - x[0], x[0] - high[node, 0], np.sqrt(square))


@kernel
def _apart(x, B, j, s):
    """How far a point is from the point with parameter s on segment j: (in time, in values)."""
    square = 0.0
    for c in range(1, x.size):
        out = (1.0 - s) * B[j, c] + s * B[j + 1, c] - x[c]  # exact at both ends
        square += out * out
    return abs((1.0 - s) * B[j, 0] + s * B[j + 1, 0] - x[0]), np.sqrt(square)


@kernel
def to_segment(x, B, j):
    """(distance of a point from segment j, parameter of the nearest point), exactly.

    Along the segment |c + s d| (time) and ||C + s D|| (values) are convex: the larger one is smallest where one of them has
    its minimum and is the larger one there, or else where both are equal, between the two minima.
    """
    c, d = B[j, 0] - x[0], B[j + 1, 0] - B[j, 0]
    cc, cd, dd = 0.0, 0.0, 0.0
    for i in range(1, x.size):
        C, D = B[j, i] - x[i], B[j + 1, i] - B[j, i]
        cc += C * C
        cd += C * D
        dd += D * D
    foot = min(max(-cd / dd, 0.0), 1.0) if dd > 0.0 else 0.0
    meet = min(max(-c / d, 0.0), 1.0) if d != 0.0 else foot
    if not dd > 0.0:
        foot = meet
    time, values = _apart(x, B, j, foot)
    if values >= time:
        return values, foot
    best, where = time, foot
    time, values = _apart(x, B, j, meet)
    if time >= values:
        return time, meet
    if values < best:
        best, where = values, meet
    # ||C + s D||^2 = (c + s d)^2: one root between the minima
    a2, a1, a0 = dd - d * d, cd - c * d, cc - c * c
    root = np.sqrt(max(a1 * a1 - a2 * a0, 0.0))
    q = -(a1 + root) if a1 >= 0.0 else -(a1 - root)
    begin, end = min(foot, meet), max(foot, meet)
    for k in range(2):
        s = (q / a2 if a2 != 0.0 else begin) if k == 0 else (a0 / q if q != 0.0 else end)
        s = min(max(s, begin), end)
        time, values = _apart(x, B, j, s)
        if max(time, values) < best:
            best, where = max(time, values), s
    return best, where


@kernel
def nearest(x, B, low, high, guess, enough, nodes, bounds):
    """(distance, segment, parameter) of the point of B nearest to x, or of one no farther than `enough`; `guess` may be near."""
    best_j = guess
    best, best_s = to_segment(x, B, guess)
    leaves = low.shape[0] // 2
    top = 0
    nodes[0], bounds[0] = 1, _to_box(x, low, high, 1)
    while top >= 0 and best > enough:
        node, bound = nodes[top], bounds[top]
        top -= 1
        if bound >= best:
            continue
        if node >= leaves:
            first = (node - leaves) * LEAF
            for j in range(first, min(first + LEAF, B.shape[0] - 1)):
                distance, s = to_segment(x, B, j)
                if distance < best:
                    best, best_j, best_s = distance, j, s
            continue
        left, right = 2 * node, 2 * node + 1
        to_left, to_right = _to_box(x, low, high, left), _to_box(x, low, high, right)
        if to_left < to_right:  # the nearer one is looked at first
            left, right = right, left
            to_left, to_right = to_right, to_left
        if to_left < best:
            top += 1
            nodes[top], bounds[top] = left, to_left
        if to_right < best:
            top += 1
            nodes[top], bounds[top] = right, to_right
    return best, best_j, best_s


@kernel
def _largest_along(x0, x1, d0, j0, s0, d1, j1, s1, B, enough, x):
    """Bound of the distance from B along the piece x0 ... x1, whose ends are nearest to (j0, s0) and (j1, s1).

    The distance from a convex set is convex: from one segment of B it is largest at an end of the piece. The piece may also
    be laid beside B vertex by vertex between the two nearest points; the distance of points moving linearly beside each
    other is convex, too. Stops at a bound of `enough`.
    """
    bound = max(d1, to_segment(x0, B, j1)[0])
    if bound > enough:
        bound = min(bound, max(d0, to_segment(x1, B, j0)[0]))
    count = abs(j1 - j0)
    if bound <= enough or count == 0 or count > MATCHED:
        return bound
    k = x0.size
    square = 0.0
    for c in range(k):
        y0 = B[j0, c] + s0 * (B[j0 + 1, c] - B[j0, c])
        y1 = B[j1, c] + s1 * (B[j1 + 1, c] - B[j1, c])
        square += (y1 - y0) ** 2
    if square == 0.0:
        return bound
    beside, along = max(d0, d1), 0.0
    for i in range(count):
        v = j0 + 1 + i if j1 > j0 else j0 - i
        dot = 0.0
        for c in range(k):
            y0 = B[j0, c] + s0 * (B[j0 + 1, c] - B[j0, c])
            y1 = B[j1, c] + s1 * (B[j1 + 1, c] - B[j1, c])
            dot += (B[v, c] - y0) * (y1 - y0)
        along = min(max(dot / square, along), 1.0)
        for c in range(k):
            x[c] = x0[c] + along * (x1[c] - x0[c])
        time, values = _apart(x, B, v, 0.0) if v < B.shape[0] - 1 else _apart(x, B, v - 1, 1.0)
        beside = max(beside, time, values)
    return min(bound, beside)


@kernel
def _between(A, i, a, x):
    """The point with parameter a of segment i, into `x`."""
    for c in range(x.size):
        x[c] = (1.0 - a) * A[i, c] + a * A[i + 1, c]


@kernel
def directed(A, B, rtol, rounding):
    """Largest distance of a point of A from B: a lower bound, at most ``rtol`` of it plus `rounding` too small.

    Parameters
    ----------
    A, B : ndarray, shape (n, k), (m, k)
        Vertices, at least two each; time in column 0.
    rtol, rounding : float

    Returns
    -------
    float
    """
    n, k = A.shape
    low, high = box_tree(B)
    nodes, bounds = np.empty(2 * DEPTH, dtype=np.int64), np.empty(2 * DEPTH)
    distance, segment, parameter = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)
    best = 0.0
    j = 0
    for i in range(0, n, max(n // FIRST, 1)):
        found, j, _ = nearest(A[i], B, low, high, j, best, nodes, bounds)
        best = max(best, found)
    j = 0
    for i in range(n):
        distance[i], j, parameter[i] = nearest(A[i], B, low, high, j, best, nodes, bounds)
        segment[i] = j
        best = max(best, distance[i])

    # Between the vertices of A: from a point on, go as far as the bound allows; what may be farther away than the farthest
    # point so far is halved. The points ahead are on a stack, the nearest one on top.
    x, x0, x1 = np.empty(k), np.empty(k), np.empty(k)
    place, ahead, beside, where = (
        np.empty(DEPTH),
        np.empty(DEPTH),
        np.empty(DEPTH, dtype=np.int64),
        np.empty(DEPTH),
    )
    for i in range(n - 1):
        a, d0, j0, s0 = 0.0, distance[i], segment[i], parameter[i]
        top = 0
        place[0], ahead[0], beside[0], where[0] = 1.0, distance[i + 1], segment[i + 1], parameter[i + 1]
        while top >= 0:
            _between(A, i, a, x0)
            _between(A, i, place[top], x1)
            enough = best * (1.0 + rtol) + rounding
            bound = _largest_along(x0, x1, d0, j0, s0, ahead[top], beside[top], where[top], B, enough, x)
            if bound <= enough or top == DEPTH - 1:
                a, d0, j0, s0 = place[top], ahead[top], beside[top], where[top]
                top -= 1
                continue
            middle = 0.5 * (a + place[top])
            _between(A, i, middle, x)
            top += 1
            place[top] = middle
            ahead[top], beside[top], where[top] = nearest(x, B, low, high, j0, best, nodes, bounds)
            best = max(best, ahead[top])
    return best
