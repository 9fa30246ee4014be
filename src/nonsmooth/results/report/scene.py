"""The moving scene of a run: shapes of the model at the frames, forces of the contacts, events that flash.

Shapes come from the model (`draw` of a system; see `nonsmooth.model.drawing.Shape` for what one owes): here they are only
evaluated and packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ShapeError
from nonsmooth.results.columns import Columns
from nonsmooth.results.report.encode import is_large, packed, track

FRAMES = 300
_MOST_FRAMES = 600
_NUMBERS = 450_000  # of a scene, beyond which it gets no more than the frames asked for
_BLUE, _GREY = "#4c78a8", "#9a9a9a"
_COLOURS = (_BLUE, "#e4894b", "#5fa55a", "#b07aa1", "#d6a93c", "#6bb3c9", "#c25e5e", "#7a7a9d")
_DEFAULT = {
    "ground": "#8c8678",
    "line": "#444444",
    "spring": "#555555",
    "trace": "#c25e5e",
    "force": "#c81e4b",
}


@dataclass
class Scene:
    """Shapes at the frames of a run."""

    t: np.ndarray
    dim: int
    items: list[dict[str, Any]]  # kind, name, colour, constants, tracks
    low: np.ndarray
    high: np.ndarray
    force_scale: float

    @property
    def numbers(self) -> int:
        """How many numbers its tracks hold."""
        return sum(values.size for item in self.items for values in item["tracks"].values())

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        coarse = is_large(self.numbers)
        items = []
        for item in self.items:
            tracks = {name: track(values, coarse) for name, values in item["tracks"].items()}
            items.append(
                {**{k: item[k] for k in ("kind", "name", "colour")}, **item["constants"], "tracks": tracks}
            )
        return {
            "dim": self.dim, "t": packed(self.t, "f8"), "frames": self.t.size, "items": items, "low": self.low.tolist(),
            "high": self.high.tolist(), "force_scale": self.force_scale,
        }  # fmt: skip


def checked(draw: Any) -> tuple[Any, ...]:
    """`draw` of a report: one shape or several."""
    shapes = (draw,) if hasattr(draw, "track") else tuple(draw)
    for k, shape in enumerate(shapes):
        if not (hasattr(shape, "track") and hasattr(shape, "kind")):
            raise InputError(
                f"`draw`[{k}] is of class {type(shape).__name__}: shapes of nonsmooth.draw are wanted, draw=[ns.draw.Circle(...), ...]."
            )
    return shapes


def build_scene(
    columns: Columns, shapes: Sequence[Any], params: Any, laws: Any, frames: int | None = None
) -> Scene | None:
    """Shapes at frames evenly spread over the run, and at its events.

    Parameters
    ----------
    columns : Columns
    shapes : sequence
        Each with ``kind, name, colour, constants(), track(t, q, p)``; none: no scene.
    params : mapping
        Parameters of the system.
    laws : object or None
        Law table of the model (``name, row, dim``), for the forces.
    frames : int, optional
        Number of frames; default: 300, and up to as many more at events.
    """
    state = columns.q if columns.q.size else columns.y
    if not shapes or not state.size or not columns.t.size:
        return None
    at = _frames(columns, len(shapes), frames)
    t, q = columns.t[at], state[:, at]
    p = SimpleNamespace(**dict(params or {}))
    items = []
    for shape in shapes:
        tracks = shape.track(t, q, p)
        if shape.kind == "force":
            tracks = _forces(shape, tracks, columns, at, laws)
        items.append(
            {
                "kind": shape.kind,
                "name": shape.name,
                "constants": shape.constants(),
                "tracks": tracks,
                "colour": shape.colour or _DEFAULT.get(shape.kind) or _colour(shape, shapes),
                "law": getattr(shape, "law", ""),
            }
        )
    for item in items:
        if item["kind"] == "force":
            item["constants"] = {"law": item["law"]}
    dim = _dimension(items)
    low, high = _bounds(items, dim)
    return Scene(t, dim, items, low, high, _force_scale(items))


def _colour(shape: Any, shapes: Sequence[Any]) -> str:
    bodies = [s for s in shapes if s.kind not in _DEFAULT]
    return _COLOURS[bodies.index(shape) % len(_COLOURS)]


def _frames(columns: Columns, n_shapes: int, frames: int | None) -> np.ndarray:
    """Columns nearest to evenly spread instants, and those around events as far as there is room."""
    t = columns.t
    count = frames or FRAMES
    even = np.searchsorted(t, np.linspace(t[0], t[-1], count))
    even = np.clip(even, 0, t.size - 1)
    room = 0
    if frames is None:
        room = int(min(_MOST_FRAMES, max(_NUMBERS / (4 * n_shapes), FRAMES))) - count
    instants = np.array([event.t for event in columns.events])
    if instants.size > room // 3:
        instants = instants[np.linspace(0, instants.size - 1, max(room // 3, 0)).astype(int)]
    near = np.searchsorted(t, instants)
    around = np.concatenate([near - 1, near, near + 1]) if instants.size else np.zeros(0, dtype=int)
    chosen = np.unique(np.clip(np.concatenate([even, around]), 0, t.size - 1))
    return np.unique(np.concatenate([chosen, [0, t.size - 1]]))


def _forces(
    shape: Any, tracks: dict[str, np.ndarray], columns: Columns, at: np.ndarray, laws: Any
) -> dict[str, np.ndarray]:
    """Where a contact force acts and its vector, in the step that ends at the frame (mean over the step)."""
    place = tracks["at"]
    normal, tangent = tracks.get("normal"), tracks.get("tangent")
    vector = np.zeros((at.size, place.shape[-1]))
    if laws is None or columns.dt.size != columns.t.size:
        return {"at": place, "vector": vector}
    dt = columns.dt[at]
    P = np.vstack([columns.P_N, columns.P_T])[:, at]
    with np.errstate(divide="ignore", invalid="ignore"):
        force = np.where(dt > 0, P / dt, 0.0)
    names = list(laws.name)
    if normal is not None and shape.law in names:
        vector = vector + normal * force[int(laws.row[names.index(shape.law)])][:, None]
    partner = f"{shape.law} friction" if f"{shape.law} friction" in names else shape.law
    if tangent is not None and partner in names:
        j = names.index(partner)
        directions = tangent[:, None, :] if tangent.ndim == 2 else tangent
        for i in range(min(int(laws.dim[j]), directions.shape[1])):
            vector = vector + directions[:, i] * force[int(laws.row[j]) + i][:, None]
    return {"at": place, "vector": vector}


def _force_scale(items: Sequence[dict[str, Any]]) -> float:
    """A force that deserves a long arrow: larger ones are impacts and are cut off."""
    sizes = [np.linalg.norm(item["tracks"]["vector"], axis=1) for item in items if item["kind"] == "force"]
    acting = np.concatenate(sizes) if sizes else np.zeros(0)
    acting = acting[(acting > 0) & np.isfinite(acting)]
    return float(np.quantile(acting, 0.7)) * 2.0 if acting.size else 1.0


_POINTS = ("at", "points", "a", "b")


def _dimension(items: Sequence[dict[str, Any]]) -> int:
    """2 or 3, the same for all shapes."""
    found: dict[int, str] = {}
    for item in items:
        for name in _POINTS:
            if name in item["tracks"]:
                dim = item["tracks"][name].shape[-1]
                if dim not in (2, 3):
                    raise ShapeError(
                        f"`{name}` of the {item['kind']} {item['name']!r} in `draw` has {dim} coordinates: two or three are wanted."
                    )
                found.setdefault(dim, f"{item['kind']} {item['name']!r}")
    if len(found) > 1:
        raise ShapeError(
            f"`draw` mixes the plane ({found[2]}) and space ({found[3]}): give all points two coordinates or all three."
        )
    return next(iter(found), 2)


def _bounds(items: Sequence[dict[str, Any]], dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Box that holds everything that moves or has a size; the ground counts only where nothing else is drawn."""
    solid = [_points(item, dim) for item in items if item["kind"] != "ground"]
    cloud = np.concatenate(solid or [_points(item, dim) for item in items])
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    if not cloud.size:
        return -np.ones(dim), np.ones(dim)
    return cloud.min(axis=0), cloud.max(axis=0)


def _points(item: dict[str, Any], dim: int) -> np.ndarray:
    """Points that an item touches in any frame, shape (k, dim)."""
    tracks, constants = item["tracks"], item["constants"]
    if item["kind"] == "polygon":
        at = tracks["at"].reshape(-1, 1, 2)
        angle = tracks["angle"].reshape(-1) if "angle" in tracks else np.zeros(1)
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.stack([np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)], axis=-2)
        return (np.asarray(constants["points"]) @ turn + at).reshape(-1, 2)
    corners = constants.get("vertices")
    reach = np.linalg.norm(corners, axis=1).max() if corners else float(constants.get("radius", 0.0))
    found = [tracks[name].reshape(-1, dim) for name in _POINTS if name in tracks]
    return np.concatenate([points + side * reach for points in found for side in (-1.0, 1.0)])
