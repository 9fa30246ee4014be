"""The second route: a world's answers in plain NumPy, for many instants at once.

Nothing here goes through the compiled writers. Directions of position rows come from complex steps of their values,

    dg/d(x_k) = Im g(x + i h e_k) / h,      dg/d(turn about axis k) = Im g(R (1 + i h [e_k])) / h,

six for either body of all rows at once; those of velocity rows from unit velocities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import ALONG, FIXED_E, HELD, PLANAR, POINT, SPATIAL, TURNING, Frames
from nonsmooth.model.bodies.body import matrix_of
from nonsmooth.model.bodies.rows import USER, Ends, Row, turn

STEP = 1e-40
FEW = 2_000  # values at n instants up to which motions are tried together

#: [e_k] as matrices: [e_k] s = e_k x s.
CROSS = np.array([
    [[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
], dtype=float)  # fmt: skip


class Poses:
    """All bodies at n instants; number 0 is the ground.

    Attributes
    ----------
    x : ndarray, shape (n, n_bodies, 3)
    R : ndarray, shape (n, n_bodies, 3, 3)
    phi : ndarray, shape (n, n_bodies), or None
        Angles, in the plane.
    """

    def __init__(self, layout: Any, q: np.ndarray):
        frames = self.frames = layout.frames
        self.fixed = layout.fixed
        n, m = q.shape[0], frames.kind.size
        self.x, self.R = np.zeros((n, m, 3)), np.broadcast_to(np.eye(3), (n, m, 3, 3)).copy()
        moving = np.flatnonzero(np.isin(frames.kind, (POINT, PLANAR, SPATIAL)))
        for k in range(3):
            some = moving[frames.dim[moving] > k]
            self.x[:, some, k] = q[:, frames.at_q[some] + k]
        self.phi = None if np.any(np.isin(frames.kind, (SPATIAL, TURNING))) else np.zeros((n, m))
        planar, spatial = (np.flatnonzero(frames.kind == kind) for kind in (PLANAR, SPATIAL))
        if planar.size and self.phi is not None:
            self.phi[:, planar] = q[:, frames.at_q[planar] + 2]
            c, s = np.cos(self.phi[:, planar]), np.sin(self.phi[:, planar])
            self.R[:, planar, 0, 0], self.R[:, planar, 1, 1] = c, c
            self.R[:, planar, 0, 1], self.R[:, planar, 1, 0] = -s, s
        if spatial.size:
            places = frames.at_q[spatial][:, None] + 3 + np.arange(4)
            self.R[:, spatial] = matrix_of(q[:, places])
        self._place_nodes(q)

    def _place_nodes(self, q):
        """Nodes of which something does not move."""
        frames, fixed = self.frames, self.fixed
        along, partly = (np.flatnonzero(frames.kind == kind) for kind in (ALONG, HELD))
        s = q[:, frames.at_q[along], None]
        self.x[:, along] = fixed[along, :3] + s * fixed[along, FIXED_E : FIXED_E + 3]
        pinned = np.flatnonzero(frames.kind == TURNING)
        if pinned.size:
            self.x[:, pinned] = fixed[pinned, :3]
            self.R[:, pinned] = matrix_of(q[:, frames.at_q[pinned][:, None] + np.arange(4)])
        values = held_values(frames, partly, frames.at_q, q) + fixed[partly, :4]
        self.x[:, partly] = values[..., :3]
        c, s = np.cos(values[..., 3]), np.sin(values[..., 3])
        self.R[:, partly, 0, 0], self.R[:, partly, 1, 1] = c, c
        self.R[:, partly, 0, 1], self.R[:, partly, 1, 0] = -s, s
        if self.phi is not None:
            self.phi[:, partly] = values[..., 3]

    def ends(self, a: Any, b: Any) -> Ends:
        phi_a, phi_b = (None, None) if self.phi is None else (self.phi[:, a], self.phi[:, b])
        return Ends(self.x[:, a], self.R[:, a], phi_a, self.x[:, b], self.R[:, b], phi_b)

    def velocities(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities and angular velocities of all bodies in the world, shape (n, n_bodies, 3) each."""
        v, w, frames = np.zeros(self.x.shape), np.zeros(self.x.shape), self.frames
        moving = np.flatnonzero(np.isin(frames.kind, (POINT, PLANAR, SPATIAL)))
        for k in range(3):
            some = moving[frames.dim[moving] > k]
            v[:, some, k] = u[:, frames.at_u[some] + k]
        planar, spatial = (np.flatnonzero(frames.kind == kind) for kind in (PLANAR, SPATIAL))
        w[:, planar, 2] = u[:, frames.at_u[planar] + 2]
        if spatial.size:
            places = frames.at_u[spatial][:, None] + 3 + np.arange(3)
            w[:, spatial] = turn(self.R[:, spatial], u[:, places])
        along, partly = (np.flatnonzero(frames.kind == kind) for kind in (ALONG, HELD))
        v[:, along] = u[:, frames.at_u[along], None] * self.fixed[along, FIXED_E : FIXED_E + 3]
        pinned = np.flatnonzero(frames.kind == TURNING)
        if pinned.size:
            w[:, pinned] = turn(self.R[:, pinned], u[:, frames.at_u[pinned][:, None] + np.arange(3)])
        rates = held_values(frames, partly, frames.at_u, u)
        v[:, partly], w[:, partly, 2] = rates[..., :3], rates[..., 3]
        return v, w


def held_values(frames: Frames, nodes: np.ndarray, first: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What coordinates (or velocities) say of x, y, z, phi of HELD nodes, zero where they do not move; shape (n, nodes, 4)."""
    offsets = frames.parts[nodes]
    places = np.where(offsets >= 0, first[nodes][:, None] + offsets, 0)
    found = values[:, places] if values.shape[1] else np.zeros((values.shape[0], *places.shape))
    return np.where(offsets >= 0, found, 0.0)


class Group:
    """Rows of one type, as arrays."""

    def __init__(self, rows: list[tuple[int, Row]]):
        self.type = rows[0][1].type
        self.row = np.array([number for number, _ in rows])
        self.a, self.b = (np.array([getattr(row, side) for _, row in rows]) for side in "ab")
        self.numbers = np.array([row.numbers for _, row in rows])


class Motions:
    """Which motions of the bodies move rows of one type, for either side: (k as in `_columns`, rows, columns in u, shares)."""

    def __init__(self, layout: Any, group: Group):
        self.found: list[list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]] = []
        for bodies in (group.a, group.b):
            parts = ((k, *_columns(layout, bodies, k)) for k in range(6))
            self.found.append([
                (k, np.flatnonzero(share), columns[share != 0.0], share[share != 0.0])
                for k, columns, share in parts if np.any(share)
            ])  # fmt: skip


class PlainRows:
    """All rows of a world.

    Parameters
    ----------
    layout : Assembly
        With the tables of frames.
    rows : list of Row
        In the order of the model.
    """

    def __init__(self, layout: Any, rows: list[Row]):
        self.layout, self.n_rows = layout, len(rows)
        by_type: dict[Any, list[tuple[int, Row]]] = {}
        for number, row in enumerate(rows):
            by_type.setdefault(row.type, []).append((number, row))
        by_type.pop(USER, None)
        self.groups = [Group(members) for members in by_type.values()]
        self.motions = [Motions(layout, group) for group in self.groups]

    def values(self, q: np.ndarray) -> np.ndarray:
        """g of position rows (zero for the others), shape (n, n_rows)."""
        poses, out = Poses(self.layout, q), np.zeros((q.shape[0], self.n_rows))
        for group in self.groups:
            if group.type.plain_value is not None:
                out[:, group.row] = group.type.plain_value(poses.ends(group.a, group.b), group.numbers)
        return out

    def directions(self, q: np.ndarray, n_u: int) -> np.ndarray:
        """W^T, shape (n, n_rows, n_u)."""
        out = np.zeros((q.shape[0], self.n_rows, n_u))
        for rows, columns, values in self._entries(q):
            out[:, rows, columns] += values  # no row meets a body twice
        return out

    def sparse_directions(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values, shape (n, entries), of W^T; entries at one place add up."""
        found = list(self._entries(q))
        none = [(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros((q.shape[0], 0)))]
        rows, columns, values = zip(*(found or none))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values, axis=1)

    def _entries(self, q: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Parts of W^T that come from one motion of the bodies on one side: rows, columns, values of shape (n, entries)."""
        poses = Poses(self.layout, q)
        for group, motions in zip(self.groups, self.motions):
            ends = poses.ends(group.a, group.b)
            at_once = max(1, FEW // max(1, ends.x_a.shape[0] * group.row.size))
            for side, found in enumerate(motions.found):
                for first in range(0, len(found), at_once):
                    part = found[first : first + at_once]
                    change = slopes(group, ends, side, np.array([k for k, *_ in part]))
                    for (_, moves, columns, share), value in zip(part, change):
                        yield group.row[moves], columns, share * value[:, moves]


def _columns(layout, bodies, k):
    """Where in u the motion number k (three along, three about the axes) of these bodies stands, and how much of it they have."""
    frames, fixed = layout.frames, layout.fixed
    kind, first = frames.kind[bodies], frames.at_u[bodies]
    whole = np.isin(kind, (POINT, PLANAR, SPATIAL))
    component = k if k < 3 else 3
    offset = frames.parts[bodies, component]
    partly = (kind == HELD) & (offset >= 0) & (k in (0, 1, 2, 5))
    if k < 3:
        columns, share = first + k, 1.0 * (whole & (frames.dim[bodies] > k))
        along = kind == ALONG
        columns, share = np.where(along, first, columns), np.where(along, fixed[bodies, FIXED_E + k], share)
    else:
        columns = np.where(kind == SPATIAL, first + k, np.where(kind == TURNING, first + k - 3, first + 2))
        share = 1.0 * (np.isin(kind, (SPATIAL, TURNING)) | ((kind == PLANAR) & (k == 5)))
    return np.where(partly, first + offset, columns), np.where(partly, 1.0, share)


def slopes(group, ends, side, motions):
    """Change of the rows with each of these motions of the bodies on one side, shape (motions, n, rows)."""
    n, many = ends.x_a.shape[0], motions.size
    ends = Ends(*(x if x is None else np.tile(x, (many,) + (1,) * (x.ndim - 1)) for x in ends))
    x, R, phi = ends[3 * side : 3 * side + 3]
    k = np.repeat(motions, n)
    e = np.eye(3)[k % 3][:, None, :]
    moves, turns = (k < 3)[:, None, None], (k >= 3)[:, None, None]
    if group.type.plain_value is None:
        zero = np.zeros_like(x)
        motion = (np.broadcast_to(np.where(moves, e, 0.0), x.shape), np.where(turns, turn(R, e), 0.0))
        velocities = (*motion, zero, zero) if side == 0 else (zero, zero, *motion)
        value = group.type.plain_gamma(ends, group.numbers, *velocities)
    else:
        x = x + 1j * STEP * np.where(moves, e, 0.0)
        if turns.any():
            R = R + 1j * STEP * np.where(turns[..., None], R @ CROSS[k % 3][:, None], 0.0)
            phi = phi if phi is None else phi + 1j * STEP * (k == 5)[:, None]
        moved = (x, R, phi, *ends[3:]) if side == 0 else (*ends[:3], x, R, phi)
        value = np.imag(group.type.plain_value(Ends(*moved), group.numbers)) / STEP
    return value.reshape(many, n, -1)
