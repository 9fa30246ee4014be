"""Errors between trajectories that jump.

A velocity that jumps at a slightly wrong instant is wrong by the whole jump there, however small the step:
the uniform norm does not converge. L1, L2 and the Hausdorff distance of filled-in graphs do, at the rates
eps, sqrt(eps) and eps for a jump displaced by eps [1]_.

A trajectory is given by instants ``t`` (not decreasing) and values ``a``, shape ``(n_t,)`` or ``(n, n_t)``.
An instant given twice is a jump: left limit first, right limit second. Between instants values are linear,
or constant with ``interpolation="previous"``. All integrals are exact for these functions; nothing is
sampled.

The filled-in graph gr*(f) is the graph with every jump filled by a straight segment, and the distance of
two points is ``max(|t - s|, ||x - y||_2)`` (section 2.1 of [1]_).

References
----------
.. [1] V. Acary, "Higher order event capturing time-stepping schemes for nonsmooth multibody systems with
unilateral
       constraints and impacts", Applied Numerical Mathematics 62 (2012) 1259-1275.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError


def l1_error(
    t: ArrayLike, a: ArrayLike, t_ref: ArrayLike, ref: ArrayLike, interpolation: str = "linear"
) -> float:
    """Integral over time of ``sum_i |a_i - ref_i|``.

    Parameters
    ----------
    t, t_ref : array_like, shapes (n_t,), (n_r,)
        Instants, not decreasing; twice the same instant is a jump. The reference must cover `t`.
    a, ref : array_like, shapes (n_t,) or (n, n_t), (n_r,) or (n, n_r)
        Values.
    interpolation : {"linear", "previous"}
        What holds between two instants of `a`; the reference is always linear.

    Returns
    -------
    float
    """
    dt, d0, d1 = _differences(t, a, t_ref, ref, interpolation)
    same_sign = d0 * d1 >= 0.0
    size = np.abs(d0) + np.abs(d1)
    # Trapezium, or two triangles where the difference changes its sign.
    crossing = np.divide(d0**2 + d1**2, size, out=np.zeros_like(size), where=size > 0)
    return float(np.sum(0.5 * dt * np.where(same_sign, size, crossing)))


def l2_error(
    t: ArrayLike, a: ArrayLike, t_ref: ArrayLike, ref: ArrayLike, interpolation: str = "linear"
) -> float:
    """Square root of the integral of ``sum_i (a_i - ref_i)^2``; arguments as in `l1_error`."""
    dt, d0, d1 = _differences(t, a, t_ref, ref, interpolation)
    return float(np.sqrt(np.sum(dt * (d0**2 + d0 * d1 + d1**2) / 3.0)))


def sup_error(
    t: ArrayLike, a: ArrayLike, t_ref: ArrayLike, ref: ArrayLike, interpolation: str = "linear"
) -> float:
    """Largest ``|a_i - ref_i|``, one-sided limits at jumps included; arguments as in `l1_error`.

    Does not converge for trajectories that jump; it is here to show that, and for positions.
    """
    _, d0, d1 = _differences(t, a, t_ref, ref, interpolation)
    return float(max(np.max(np.abs(d0), initial=0.0), np.max(np.abs(d1), initial=0.0)))


def grid_error(
    t: ArrayLike, a: ArrayLike, reference: Callable[[np.ndarray], ArrayLike], p: float = 1.0
) -> float:
    """Norm of the errors at the instants, ``(sum_k dt_k sum_i |a_i(t_k) - ref_i(t_k)|^p)^(1/p)``.

    Parameters
    ----------
    t : array_like, shape (n_t,)
    a : array_like, shape (n_t,) or (n, n_t)
    reference : callable
        ``reference(t)`` with the shape of `a`.
    p : float
        1, 2, ... or ``inf`` for the largest error.

    Returns
    -------
    float
    """
    t, a = _trajectory("a", t, a)
    error = np.abs(a - np.asarray(reference(t), dtype=float).reshape(a.shape))
    if np.isinf(p):
        return float(np.max(error, initial=0.0))
    if not p >= 1.0:
        raise RangeError(f"`p` is {p}, wanted a number >= 1 or inf.")
    weights = np.diff(t, prepend=t[0])
    return float(np.sum(weights * np.sum(error**p, axis=0)) ** (1.0 / p))


def hausdorff_error(
    t: ArrayLike,
    a: ArrayLike,
    t_ref: ArrayLike,
    ref: ArrayLike,
    interpolation: str = "linear",
    time_scale: float = 1.0,
    rtol: float = 1e-4,
) -> float:
    """Hausdorff distance of the filled-in graphs, metric ``max(|t - s| / time_scale, ||x - y||_2)``.

    Parameters
    ----------
    t, a, t_ref, ref, interpolation
        As in `l1_error`.
    time_scale : float
        How many units of time weigh as much as one unit of the values.
    rtol : float
        Relative accuracy of the distance; the returned value is a lower bound, at most this much too small.

    Returns
    -------
    float
    """
    if not time_scale > 0.0:
        raise RangeError(f"`time_scale` is {time_scale}, wanted a positive number.")
    if not 0.0 < rtol < 1.0:
        raise RangeError(f"`rtol` is {rtol}, wanted a number between 0 and 1.")
    t, a = _held(*_trajectory("a", t, a), interpolation)
    s, r = _trajectory("ref", t_ref, ref)
    _check_pair(t, a, s, r)
    s, r = _cut(s, r, t[0], t[-1])
    A = np.column_stack([t / time_scale, a.T])
    B = np.column_stack([s / time_scale, r.T])
    return max(_directed(A, B, rtol), _directed(B, A, rtol))


# --- trajectories -----------------------------------------------------------------------------------------


def _trajectory(name: str, t: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Checked instants and values, shapes (n_t,) and (n, n_t)."""
    t, values = np.asarray(t, dtype=float), np.atleast_2d(np.asarray(values, dtype=float))
    if t.ndim != 1 or t.size == 0 or values.ndim != 2 or values.shape[1] != t.size:
        raise ShapeError(
            f"`{name}` has shape {values.shape} for instants of shape {t.shape}; wanted (n, {t.size})."
        )
    if not (np.isfinite(t).all() and np.isfinite(values).all()):
        raise NonFiniteError(f"`{name}` or its instants hold NaN or inf; errors need finite trajectories.")
    if np.any(np.diff(t) < 0):
        k = int(np.argmax(np.diff(t) < 0))
        raise RangeError(
            f"the instants of `{name}` decrease at index {k + 1} ({t[k]} -> {t[k + 1]}); sort them."
        )
    return t, values


def _held(t: np.ndarray, values: np.ndarray, interpolation: str) -> tuple[np.ndarray, np.ndarray]:
    """Piecewise constant trajectories become linear ones with jumps."""
    if interpolation == "linear":
        return t, values
    if interpolation != "previous":
        raise InputError(f"`interpolation` is {interpolation!r}; use 'linear' or 'previous'.")
    twice = np.repeat(np.arange(t.size), 2)
    return t[twice][1:], values[:, twice][:, :-1]


def _check_pair(t: np.ndarray, a: np.ndarray, s: np.ndarray, r: np.ndarray) -> None:
    if a.shape[0] != r.shape[0]:
        raise ShapeError(f"`a` has {a.shape[0]} components, `ref` has {r.shape[0]}; they must agree.")
    slack = 1e-9 * max(t[-1] - t[0], np.finfo(float).tiny)
    if s[0] > t[0] + slack or s[-1] < t[-1] - slack:
        raise RangeError(
            f"the reference covers {s[0]:.9g} ... {s[-1]:.9g}, the trajectory {t[0]:.9g} ... {t[-1]:.9g};"
            " the reference must cover it."
        )


def _limits(s: np.ndarray, r: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left and right limits of a trajectory at instants `at`, each of shape (n, n_at)."""
    return _one_sided(s, r, at, "left"), _one_sided(s, r, at, "right")


def _one_sided(s: np.ndarray, r: np.ndarray, at: np.ndarray, side: str) -> np.ndarray:
    if s.size == 1:
        return np.repeat(r, at.size, axis=1)
    # The piece [s_k, s_k+1] that ends (left limit) or begins (right limit) at the instant, or holds it
    # inside.
    k = np.searchsorted(s, at, side="left" if side == "left" else "right") - 1
    k = np.clip(k, 0, s.size - 2)
    length = s[k + 1] - s[k]
    x = np.divide(at - s[k], length, out=np.full(at.shape, 0.0 if side == "left" else 1.0), where=length > 0)
    x = np.clip(x, 0.0, 1.0)
    return r[:, k] * (1.0 - x) + r[:, k + 1] * x


def _differences(
    t: ArrayLike, a: ArrayLike, t_ref: ArrayLike, ref: ArrayLike, interpolation: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths of the pieces on which both are linear, and the difference at the begin and end of each."""
    t, a = _held(*_trajectory("a", t, a), interpolation)
    s, r = _trajectory("ref", t_ref, ref)
    _check_pair(t, a, s, r)
    nodes = np.unique(np.concatenate([t, s[(s > t[0]) & (s < t[-1])]]))
    if nodes.size == 1:
        return (
            np.zeros(1),
            a[:, -1:] - _one_sided(s, r, nodes, "right"),
            a[:, :1] - _one_sided(s, r, nodes, "left"),
        )
    begins, ends = nodes[:-1], nodes[1:]
    d0 = _one_sided(t, a, begins, "right") - _one_sided(s, r, begins, "right")
    d1 = _one_sided(t, a, ends, "left") - _one_sided(s, r, ends, "left")
    return ends - begins, d0, d1


def _cut(s: np.ndarray, r: np.ndarray, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The part of a trajectory between two instants."""
    inside = (s > begin) & (s < end)
    edges = np.array([begin, end])
    at_edges = np.column_stack([_one_sided(s, r, edges[:1], "right"), _one_sided(s, r, edges[1:], "left")])
    t = np.concatenate([edges[:1], s[inside], edges[1:]])
    return t, np.column_stack([at_edges[:, :1], r[:, inside], at_edges[:, 1:]])


# --- Hausdorff distance -----------------------------------------------------------------------------------


def _directed(A: np.ndarray, B: np.ndarray, rtol: float) -> float:
    """Largest distance of a point of polyline A from polyline B, by branch and bound.

    Rows of A and B are vertices, column 0 is time. The distance from one segment of B is convex, hence
    along a segment of A it is largest at an end: the distance from B is at most min_j max(d0_j, d1_j),
    where d0_j and d1_j are the distances of both ends from segment j. A first bound is the distance at
    equal time.
    """
    P, bound = _refined(A, B)
    if bound.size == 0:
        return float(np.min(_to_polyline(A[:1], B)[0]))
    rounding = 16.0 * np.finfo(float).eps * max(np.max(np.abs(A)), np.max(np.abs(B)))
    best = 0.0
    heap = [(-bound[i], i, 0.0, 1.0) for i in range(bound.size)]
    heapq.heapify(heap)
    while heap:
        top, i, x0, x1 = heapq.heappop(heap)
        if -top <= best * (1.0 + rtol) + rounding:
            break
        ends = P[i] + np.array([[x0], [x1]]) * (P[i + 1] - P[i])
        d = _to_polyline(ends, B)
        best = max(best, float(np.max(np.min(d, axis=1))))
        upper = min(-top, float(np.min(np.max(d, axis=0))))
        if upper > best * (1.0 + rtol) + rounding:
            middle = 0.5 * (x0 + x1)
            heapq.heappush(heap, (-upper, i, x0, middle))
            heapq.heappush(heap, (-upper, i, middle, x1))
    return best


def _refined(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A with the instants of B inserted, and a bound of the distance from B for each of its segments."""
    t, s = A[:, 0], B[:, 0]
    extra = np.unique(s[(s > t[0]) & (s < t[-1])])
    extra = extra[~np.isin(extra, t)]
    inserted = np.column_stack([extra, _one_sided(t, A[:, 1:].T, extra, "right").T])
    P = np.insert(A, np.searchsorted(t, extra, side="left"), inserted, axis=0)
    left, right = (limit.T for limit in _limits(s, B[:, 1:].T, P[:, 0]))
    at_begin = np.linalg.norm(P[:-1, 1:] - right[:-1], axis=1)
    at_end = np.linalg.norm(P[1:, 1:] - left[1:], axis=1)
    # A segment of no duration (a jump): both ends against the same point of B.
    vertical = P[1:, 0] == P[:-1, 0]
    at_end = np.where(vertical, np.linalg.norm(P[1:, 1:] - right[:-1], axis=1), at_end)
    return P, np.maximum(at_begin, at_end)


def _to_polyline(points: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Distances of k points from the m segments of B near enough in time to matter, shape (k, m)."""
    s, begin, end = B[:, 0], np.min(points[:, 0]), np.max(points[:, 0])
    if s.size == 1:
        return np.stack([_to_segments(point, B, B) for point in points])
    at = int(np.clip(np.searchsorted(s, begin), 1, s.size - 1))
    window = max(abs(s[at] - begin), abs(s[at - 1] - begin), end - begin, np.finfo(float).tiny)
    while True:
        first = max(int(np.searchsorted(s, begin - window, side="left")) - 1, 0)
        last = min(int(np.searchsorted(s, end + window, side="right")), s.size - 1)
        found = np.stack([_to_segments(point, B[first:last], B[first + 1 : last + 1]) for point in points])
        # A segment outside the window is farther away than the window is wide.
        if np.min(np.max(found, axis=0)) <= window or (first == 0 and last == s.size - 1):
            return found
        window *= 4.0


def _to_segments(point: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Distances of a point from segments, metric max(|time|, Euclidean norm of the rest), exactly.

    On a segment the distance is max(|c + x d|, ||C + x D||), convex in x: its minimum lies at an end, at
    the minimum of one of the two, or where they are equal.
    """
    c, d = begin[:, 0] - point[0], end[:, 0] - begin[:, 0]
    C, D = begin[:, 1:] - point[1:], end[:, 1:] - begin[:, 1:]
    cc, cd, dd = (np.einsum("ij,ij->i", X, Y) for X, Y in ((C, C), (C, D), (D, D)))
    zero = np.zeros_like(c)
    with np.errstate(divide="ignore", invalid="ignore"):
        foot = -cd / dd
        meet = -c / d
        # ||C + x D||^2 = (c + x d)^2
        a2, a1, a0 = dd - d**2, cd - c * d, cc - c**2
        root = np.sqrt(np.maximum(a1**2 - a2 * a0, 0.0))
        q = -(a1 + np.where(a1 >= 0, root, -root))
        candidates = np.stack([zero, zero + 1.0, foot, meet, q / a2, a0 / q])
    x = np.clip(np.where(np.isfinite(candidates), candidates, 0.0), 0.0, 1.0)
    norm = np.linalg.norm(C[None] + x[..., None] * D[None], axis=-1)
    return np.min(np.maximum(np.abs(c + x * d), norm), axis=0)
