"""Fewer columns with the same look: extremes and jumps of every row survive."""

from __future__ import annotations

import numpy as np


def extremes(values: np.ndarray, bins: int) -> np.ndarray:
    """Columns that hold the smallest and the largest value of every row in each of `bins` equal pieces.

    Parameters
    ----------
    values : ndarray, shape (n,) or (rows, n)
    bins : int

    Returns
    -------
    ndarray of int
        Sorted, without repetitions; first and last column included.
    """
    rows = np.atleast_2d(values)
    n = rows.shape[1]
    width = max(n // max(bins, 1), 1)
    whole = n // width
    found = [np.array([0, n - 1])] if n else []
    for row in rows:
        piece = row[: whole * width].reshape(whole, width)
        rest = row[whole * width :]
        begin = np.arange(whole) * width
        # NaN is neither: a piece of nothing else keeps its first column
        found.append(begin + np.argmin(np.where(np.isnan(piece), np.inf, piece), axis=1))
        found.append(begin + np.argmax(np.where(np.isnan(piece), -np.inf, piece), axis=1))
        if rest.size:
            found.append(whole * width + np.array([np.argmin(rest), np.argmax(rest)]))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=int)


def jumps(values: np.ndarray, bins: int) -> np.ndarray:
    """Both columns of the largest jump of every row in each of `bins` equal pieces."""
    rows = np.atleast_2d(values)
    if rows.shape[1] < 2:
        return np.zeros(0, dtype=int)
    width = max((rows.shape[1] - 1) // max(bins, 1), 1)
    whole = (rows.shape[1] - 1) // width
    found = []
    for row in rows:
        with np.errstate(invalid="ignore"):
            step = np.abs(np.diff(row))[: whole * width].reshape(whole, width)
        left = np.arange(whole) * width + np.argmax(np.where(np.isnan(step), -1.0, step), axis=1)
        found += [left, left + 1]
    return np.unique(np.concatenate(found))


def thin(t: np.ndarray, values: np.ndarray, limit: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """At most about `limit` points of one curve with the same outline."""
    if t.size <= limit:
        return t, values
    index = extremes(values, limit // 2)
    return t[index], values[index]


def mode_spans(
    t: np.ndarray, modes: np.ndarray, limit: int = 4000, signed: bool = False
) -> list[tuple[float, float, int]]:
    """Intervals ``(begin, end, mode)`` of equal mode; the mode at column k holds from column k - 1 to k.

    Modes are given without their sign unless `signed`. With more than `limit` changes the axis is cut into `limit` bins; a
    bin shows constraint mode if it holds any, else impressed mode if it holds any.
    """
    strip = modes.astype(np.int64) if signed else np.abs(modes.astype(np.int64))
    if t.size < 2:
        return [(float(t[0]), float(t[0]), int(strip[0]))] if t.size else []
    ends = np.flatnonzero(np.diff(strip[1:], append=99)) + 1
    if ends.size > limit:
        edges = np.unique(np.linspace(1, t.size - 1, limit + 1).astype(int))[:-1]
        size = np.abs(strip)
        rank = np.maximum.reduceat(np.where(size == 0, 0, 3 - np.minimum(size, 2)), edges)
        ends = np.append(edges[1:], t.size) - 1
        kinds = np.where(rank == 0, 0, 3 - rank)
    else:
        kinds = strip[ends]
    begins = np.concatenate([t[:1], t[ends[:-1]]])
    return [(float(b), float(e), int(k)) for b, e, k in zip(begins, t[ends], kinds)]
