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
    A = _vertices(t / time_scale, a)
    B = _vertices(s / time_scale, r)
    rounding = 16.0 * np.finfo(float).eps * max(np.max(np.abs(A)), np.max(np.abs(B)))
    from nonsmooth._core.norms.hausdorff import directed  # compiled when it is first wanted

    return max(directed(A, B, rtol, rounding), directed(B, A, rtol, rounding))


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


def _vertices(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The filled-in graph as a polygonal line of at least one segment, one vertex per row."""
    line = np.ascontiguousarray(np.column_stack([t, values.T]))
    return line if t.size > 1 else np.repeat(line, 2, axis=0)
