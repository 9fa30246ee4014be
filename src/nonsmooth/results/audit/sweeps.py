"""Gaps between stored states: contacts that closed and opened inside a step without being seen."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from nonsmooth.results.audit.batch import Batch

_HALVINGS = 48


@dataclass
class Missed:
    """Contacts a body passed inside steps; shape (m,) each: step, contact, depth, speed at which the gap closed."""

    step: np.ndarray
    contact: np.ndarray
    depth: np.ndarray
    speed: np.ndarray


class Paths:
    """Motion between consecutive stored states.

    Parameters
    ----------
    batch : Batch
    t : ndarray, shape (n + 1,)
    q, v : ndarray, shape (n + 1, n_q)
        Coordinates and their rates, for cubic paths; without `v` paths are straight.
    """

    def __init__(self, batch: Batch, t: np.ndarray, q: np.ndarray, v: np.ndarray | None = None):
        self.batch, self.t, self.q, self.v = batch, t, q, v
        self.dt = np.diff(t)

    def gap(self, k: np.ndarray, contact: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Gap `contact[i]` at the place s[i] (0 begin, 1 end) of step k[i]."""
        t = self.t[k] + s * self.dt[k]
        s, q_B, q_E = s[:, None], self.q[k], self.q[k + 1]
        if self.v is None:
            q = (1.0 - s) * q_B + s * q_E
        else:
            h = self.dt[k][:, None]
            along = s * (1.0 - s) * ((1.0 - s) * h * self.v[k] - s * h * self.v[k + 1])
            q = (1.0 + 2.0 * s) * (1.0 - s) ** 2 * q_B + (3.0 - 2.0 * s) * s**2 * q_E + along
        return self.batch.gaps(t, q)[np.arange(k.size), contact]


def missed_contacts(paths: Paths, gaps: np.ndarray, P_N: np.ndarray, noise: float) -> Missed:
    """Contacts that carried no impulse although their gap was negative for a while, inside a step or at one stored state.

    Between two stored states a gap that first falls and then rises lies above the meeting point of its two end tangents if it
    is convex; steps where that point is positive are cleared at once, the others are searched for the lowest point.

    Parameters
    ----------
    paths : Paths
    gaps : ndarray, shape (n + 1, n_N)
        At the stored states.
    P_N : ndarray, shape (n, n_N)
        Normal impulses of the steps.
    noise : float
        Depth that rounding alone may bring about.
    """
    if gaps.shape[0] < 2 or gaps.shape[1] == 0:
        return _none()
    through, inside = _through(paths, gaps, P_N, noise), _inside(paths, gaps, P_N, noise)
    return Missed(
        *(np.concatenate([getattr(through, f.name), getattr(inside, f.name)]) for f in fields(Missed))
    )


def _none() -> Missed:
    return Missed(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0), np.zeros(0))


def _through(paths: Paths, gaps: np.ndarray, P_N: np.ndarray, noise: float) -> Missed:
    """Gaps that are positive at both ends of a step and negative between them."""
    k, contact = _turning_points(gaps)
    before, after = gaps[k, contact], gaps[k + 1, contact]
    near = (before > 0.0) & (after > 0.0) & (P_N[k, contact] == 0.0)
    k, contact = k[near], contact[near]
    if k.size:
        k, contact = _tangents_meet_below(paths, k, contact, before[near], after[near])
    if k.size == 0:
        return _none()
    lowest = _bisect(lambda s: _slope(paths, k, contact, s) < 0.0, np.zeros(k.size), np.ones(k.size))
    depth = -paths.gap(k, contact, lowest)
    enters = _bisect(lambda s: paths.gap(k, contact, s) > 0.0, np.zeros(k.size), lowest)
    speed = np.abs(_slope(paths, k, contact, np.maximum(enters - 1e-6, 1e-6))) / paths.dt[k]
    hit = depth > noise
    return Missed(k[hit], contact[hit], depth[hit], speed[hit])


def _inside(paths: Paths, gaps: np.ndarray, P_N: np.ndarray, noise: float) -> Missed:
    """Gaps that are negative at a stored state and positive at its neighbours, without an impulse between them."""
    g = gaps[1:-1]
    alone = (g < -noise) & (gaps[:-2] > 0.0) & (gaps[2:] > 0.0)
    if not alone.any():
        return _none()
    k, contact = np.nonzero(alone)
    idle = (P_N[k, contact] == 0.0) & (P_N[k + 1, contact] == 0.0)
    k, contact = k[idle], contact[idle]
    speed = (gaps[k, contact] - gaps[k + 1, contact]) / paths.dt[k]
    return Missed(k, contact, -gaps[k + 1, contact], speed)


def _turning_points(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps and contacts whose gap falls before the step and rises after it, and is within reach of zero; the first and the last
    step, which have one neighbour only, are always among them."""
    n = gaps.shape[0] - 1
    edge = np.array([0, n - 1] if n > 1 else [0])
    steps, contacts = [np.repeat(edge, gaps.shape[1])], [np.tile(np.arange(gaps.shape[1]), edge.size)]
    for c in range(gaps.shape[1] if n > 2 else 0):
        g = np.ascontiguousarray(gaps[:, c])
        change = np.diff(g)
        k = 1 + np.flatnonzero((change[:-2] < 0.0) & (change[2:] > 0.0))
        # the gap changes in a step by what it did in the neighbouring ones; four times that is generous
        reach = 4.0 * np.maximum(-change[k - 1], change[k + 1])
        k = k[np.minimum(g[k], g[k + 1]) < reach]
        steps.append(k)
        contacts.append(np.full(k.size, c))
    return np.concatenate(steps), np.concatenate(contacts)


def _slope(paths: Paths, k: np.ndarray, contact: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Change of a gap per step."""
    a, b = np.clip(s - 1e-6, 0.0, 1.0), np.clip(s + 1e-6, 0.0, 1.0)
    return (paths.gap(k, contact, b) - paths.gap(k, contact, a)) / (b - a)


def _tangents_meet_below(paths, k, contact, before, after):
    """Those steps whose end tangents, falling and rising, meet below zero."""
    down, up = _slope(paths, k, contact, np.zeros(k.size)), _slope(paths, k, contact, np.ones(k.size))
    turns = (down < 0.0) & (up > 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = (after - up - before) / (down - up)
        low = before + np.clip(meet, 0.0, 1.0) * down
    below = turns & (np.minimum(low, after - (1.0 - np.clip(meet, 0.0, 1.0)) * up) < 0.0)
    return k[below], contact[below]


def _bisect(first, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where `first` ceases to hold, between a and b."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (a + b)
        holds = first(middle)
        a, b = np.where(holds, middle, a), np.where(holds, b, middle)
    return b
