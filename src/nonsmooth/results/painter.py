"""Single pictures of a scene, drawn with Pillow: what the canvas program of a report draws, for gifs and films."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nonsmooth.results.report.scene import Scene

_FINE = 2  # drawn larger and scaled down: smooth edges
_PAPER, _GRID, _INK = (252, 252, 253), (230, 232, 235), (75, 85, 99)


class Painter:
    """Draws a `Scene` at any instant.

    Parameters
    ----------
    scene : Scene
    size : (int, int)
        Width and height in pixels.
    """

    def __init__(self, scene: Scene, size: tuple[int, int]) -> None:
        self.scene, self.size = scene, size
        self.width, self.height = (_FINE * n for n in size)
        self._camera: Any = (
            _Plane(scene, self.width, self.height)
            if scene.dim == 2
            else _Space(scene, self.width, self.height)
        )

    def picture(self, t: float) -> Any:
        """A Pillow image (RGB) of the scene at `t`."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (self.width, self.height), _PAPER)
        self._draw = ImageDraw.Draw(image)
        self._parts: list[tuple[float, Callable[[], None]]] = []
        k = int(np.clip(np.searchsorted(self.scene.t, t, side="right") - 1, 0, self.scene.t.size - 1))
        last = min(k + 1, self.scene.t.size - 1)
        span = self.scene.t[last] - self.scene.t[k]
        x = (t - self.scene.t[k]) / span if span > 0 else 0.0
        self._camera.background(self._draw)
        for item in self.scene.items:
            paint = getattr(self, f"_{item['kind']}", None)
            if paint is not None:
                paint(item, _Moment(item["tracks"], k, last, x))
        for _, paint_now in sorted(self._parts, key=lambda part: -part[0]):
            paint_now()
        self._draw.text((8 * _FINE, 6 * _FINE), f"t = {t:.4g}", fill=_INK, font_size=11 * _FINE)
        return image.reduce(_FINE)

    # --- primitives ---------------------------------------------------------------------------------------

    def _later(self, depth: float, paint: Callable[[], None]) -> None:
        """Far parts are painted first; in the plane in the order of the shapes."""
        self._parts.append((depth if self.scene.dim == 3 else -float(len(self._parts)), paint))

    def _path(self, points: np.ndarray, colour: str, width: float, depth: float = 0.0) -> None:
        flat = [tuple(p) for p in points[np.isfinite(points).all(axis=1)]]
        if len(flat) > 1:
            self._later(
                depth,
                lambda: self._draw.line(
                    flat, fill=_rgb(colour), width=max(int(width * _FINE), 1), joint="curve"
                ),
            )

    def _area(
        self, points: np.ndarray, fill: tuple[int, int, int], edge: tuple[int, int, int], depth: float = 0.0
    ) -> None:
        if np.isfinite(points).all():
            flat = [tuple(p) for p in points]
            self._later(depth, lambda: self._draw.polygon(flat, fill=fill, outline=edge, width=_FINE))

    # --- shapes -------------------------------------------------------------------------------------------

    def _circle(self, item: dict[str, Any], now: _Moment) -> None:
        p, r = self._camera.screen(now("at")), max(item["constants"]["radius"] * self._camera.scale, 2.0)
        colour, edge = _rgb(item["colour"]), _shade(item["colour"], 0.62)
        if not np.isfinite(p).all():
            return
        box = (p[0] - r, p[1] - r, p[0] + r, p[1] + r)
        self._later(0.0, lambda: self._draw.ellipse(box, fill=colour, outline=edge, width=_FINE))
        if "angle" in now.tracks:
            a = now.angle("angle")
            tip = (p[0] + r * np.cos(a), p[1] - r * np.sin(a))
            self._later(0.0, lambda: self._draw.line([tuple(p), tip], fill=edge, width=_FINE))

    def _polygon(self, item: dict[str, Any], now: _Moment) -> None:
        a = now.angle("angle") if "angle" in now.tracks else 0.0
        turn = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
        corners = np.asarray(item["constants"]["points"]) @ turn + now("at")
        self._area(self._camera.screen(corners), _rgb(item["colour"]), _shade(item["colour"], 0.62))

    def _line(self, item: dict[str, Any], now: _Moment) -> None:
        points = now("points").reshape(-1, self.scene.dim)
        self._path(
            self._camera.screen(points),
            item["colour"],
            item["constants"]["width"],
            self._camera.depth(points),
        )

    def _spring(self, item: dict[str, Any], now: _Moment) -> None:
        a, b = now("a"), now("b")
        width = item["constants"]["width"] * self._camera.scale_at(a) or 12.0 * _FINE
        points = _zigzag(
            self._camera.screen(a), self._camera.screen(b), item["constants"]["coils"], 0.5 * width
        )
        self._path(points, item["colour"], 1.4, self._camera.depth(np.stack([a, b])))

    def _trace(self, item: dict[str, Any], now: _Moment) -> None:
        values = item["tracks"]["at"]
        points = np.vstack([values[: now.k + 1], now("at")[None]]) if len(values) > 1 else values
        self._path(self._camera.screen(points), item["colour"], 1.0, self._camera.depth(points))

    def _ground(self, item: dict[str, Any], now: _Moment) -> None:
        for corners, fill in self._camera.ground(now("at"), now("normal"), item["colour"]):
            self._parts.append((np.inf, partial(self._draw.polygon, corners, fill=fill)))

    def _sphere(self, item: dict[str, Any], now: _Moment) -> None:
        at = now("at")
        p, r = self._camera.screen(at), item["constants"]["radius"] * self._camera.scale_at(at)
        layers = [(1.0, 0.75), (0.8, 0.9), (0.55, 1.1), (0.25, 1.35)]

        def paint() -> None:
            for size, light in layers:
                x, y, s = p[0] - 0.3 * r * (1 - size), p[1] - 0.35 * r * (1 - size), r * size
                self._draw.ellipse((x - s, y - s, x + s, y + s), fill=_shade(item["colour"], light))

        self._later(self._camera.depth(at[None]), paint)

    def _mesh(self, item: dict[str, Any], now: _Moment) -> None:
        at, R = now("at"), now.matrix()
        corners = np.asarray(item["constants"]["vertices"]) @ R.T + at
        for face in item["constants"]["faces"]:
            points = corners[face]
            normal = np.cross(points[1] - points[0], points[2] - points[0])
            normal = normal / (np.linalg.norm(normal) or 1.0)
            if normal @ (self._camera.eye - points[0]) <= 0:
                continue
            light = 0.62 + 0.38 * max(0.0, 0.35 * float(normal[:2] @ self._camera.back[:2]) + 0.8 * normal[2])
            fill = _shade(item["colour"], min(light, 1.0))
            self._area(
                self._camera.screen(points), fill, _shade(item["colour"], 0.5), self._camera.depth(points)
            )

    def _force(self, item: dict[str, Any], now: _Moment) -> None:
        force = now.nearest("vector")
        size = float(np.linalg.norm(force))
        if not size > 0:
            return
        at = now("at")
        reach = (
            min(size / self.scene.force_scale, 1.25)
            * 0.2
            * min(self.width, self.height)
            / self._camera.scale_at(at)
        )
        tip, foot = self._camera.screen(at), self._camera.screen(at - reach * force / size)
        along = tip - foot
        length = float(np.linalg.norm(along))
        if length < 2 * _FINE:
            return
        along, head = along / length, min(9.0 * _FINE, 0.45 * length)
        across = np.array([-along[1], along[0]])
        colour = _rgb(item["colour"])
        neck = tip - head * along
        arrow = [tuple(tip), tuple(neck + 0.5 * head * across), tuple(neck - 0.5 * head * across)]
        self._later(
            -np.inf, lambda: self._draw.line([tuple(foot), tuple(neck)], fill=colour, width=int(2.2 * _FINE))
        )
        self._later(-np.inf, lambda: self._draw.polygon(arrow, fill=colour))


class _Moment:
    """Tracks of one item between two frames."""

    def __init__(self, tracks: dict[str, np.ndarray], k: int, last: int, x: float) -> None:
        self.tracks, self.k, self.last, self.x = tracks, k, last, x

    def _ends(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        values = self.tracks[name]
        return (values[0], values[0]) if len(values) == 1 else (values[self.k], values[self.last])

    def __call__(self, name: str) -> np.ndarray:
        a, b = self._ends(name)
        return a + self.x * (b - a)

    def nearest(self, name: str) -> np.ndarray:
        return self._ends(name)[1 if self.x > 0.5 else 0]

    def angle(self, name: str) -> float:
        a, b = (float(np.ravel(v)[0]) for v in self._ends(name))
        return a + self.x * (b - a - 2 * np.pi * round((b - a) / (2 * np.pi)))

    def matrix(self) -> np.ndarray:
        if "rotation" not in self.tracks:
            return np.eye(3)
        a, b = self._ends("rotation")
        q = a + self.x * ((-b if a @ b < 0 else b) - a)
        w, x, y, z = q / (np.linalg.norm(q) or 1.0)
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )


class _Plane:
    """The plane, second axis up, everything in sight."""

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        extent = np.maximum(scene.high - scene.low, 1e-12)
        extent = 1.16 * np.maximum(extent, 0.35 * extent.max())
        self.centre = 0.5 * (scene.low + scene.high)
        self.scale = float(min(width / extent[0], height / extent[1]))
        self.middle = np.array([width / 2, height / 2])
        self.size = (width, height)

    def screen(self, points: np.ndarray) -> np.ndarray:
        return self.middle + self.scale * (points - self.centre) * np.array([1.0, -1.0])

    def scale_at(self, point: np.ndarray) -> float:
        return self.scale

    def depth(self, points: np.ndarray) -> float:
        return 0.0

    def background(self, draw: Any) -> None:
        step = _nice(90 * _FINE / self.scale)
        low = self.centre - self.middle / self.scale
        high = self.centre + self.middle / self.scale
        for i in range(int(np.ceil(low[0] / step)), int(high[0] / step) + 1):
            x = self.screen(np.array([i * step, 0.0]))[0]
            draw.line([(x, 0), (x, self.size[1])], fill=_GRID, width=_FINE)
        for i in range(int(np.ceil(low[1] / step)), int(high[1] / step) + 1):
            y = self.screen(np.array([0.0, i * step]))[1]
            draw.line([(0, y), (self.size[0], y)], fill=_GRID, width=_FINE)

    def ground(self, at: np.ndarray, normal: np.ndarray, colour: str) -> list[Any]:
        p, n = self.screen(at), np.array([normal[0], -normal[1]])
        n = n / (np.linalg.norm(n) or 1.0)
        t, far = np.array([-n[1], n[0]]), 4.0 * sum(self.size)
        band = [p - far * t, p + far * t, p + far * t - far * n, p - far * t - far * n]
        edge = [p - far * t, p + far * t, p + far * t - 4 * n, p - far * t - 4 * n]
        return [
            ([tuple(c) for c in edge], _shade(colour, 0.8)),
            ([tuple(c) for c in band], _shade(colour, 1.75)),
        ][::-1]


class _Space:
    """Space in perspective, third axis up."""

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        self.target = 0.5 * (scene.low + scene.high)
        self.radius = max(0.5 * float(np.linalg.norm(scene.high - scene.low)), 1e-12)
        yaw, pitch = -0.9, 0.38
        self.right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        self.back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
        self.up = np.cross(self.back, self.right)
        self.eye = self.target + 3.1 * self.radius * self.back
        self.focal, self.middle = 1.35 * min(width, height), np.array([width / 2, height / 2])
        self.scale = self.focal / (3.1 * self.radius)

    def _depths(self, points: np.ndarray) -> np.ndarray:
        return np.maximum((self.eye - points) @ self.back, 0.02 * self.radius)

    def screen(self, points: np.ndarray) -> np.ndarray:
        s = self.focal / self._depths(points)
        d = points - self.eye
        return self.middle + np.stack([s * (d @ self.right), -s * (d @ self.up)], axis=-1)

    def scale_at(self, point: np.ndarray) -> float:
        return float(self.focal / self._depths(point))

    def depth(self, points: np.ndarray) -> float:
        return float(np.mean(self._depths(points)))

    def background(self, draw: Any) -> None:
        """Paper only."""

    def ground(self, at: np.ndarray, normal: np.ndarray, colour: str) -> list[Any]:
        n = normal / (np.linalg.norm(normal) or 1.0)
        e1 = np.cross([0.0, 0.0, 1.0] if abs(n[2]) < 0.9 else [1.0, 0.0, 0.0], n)
        e1 = e1 / np.linalg.norm(e1)
        e2, cell = np.cross(n, e1), _nice(0.28 * self.radius)
        foot = self.target - (n @ (self.target - at)) * n
        cells = []
        for i in range(-7, 7):
            for j in range(-7, 7):
                corners = np.array(
                    [
                        foot + cell * (a * e1 + b * e2)
                        for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))
                    ]
                )
                if np.all((self.eye - corners) @ self.back > 0.02 * self.radius):
                    fill = (227, 221, 208) if (i + j) % 2 else (236, 231, 220)
                    cells.append(([tuple(c) for c in self.screen(corners)], fill))
        return cells


def _rgb(colour: str) -> tuple[int, int, int]:
    from PIL import ImageColor

    try:
        red, green, blue = ImageColor.getrgb(colour)[:3]
    except ValueError:
        return (76, 120, 168)
    return red, green, blue


def _shade(colour: str, factor: float) -> tuple[int, int, int]:
    """Darker (factor < 1) or lighter (factor > 1)."""
    red, green, blue = (
        int(round(c * factor if factor <= 1 else c + (255 - c) * (factor - 1))) for c in _rgb(colour)
    )
    return red, green, blue


def _nice(least: float) -> float:
    """1, 2 or 5 times a power of ten, not below `least`."""
    power = 10.0 ** np.floor(np.log10(least))
    return float(next((f * power for f in (1, 2, 5, 10) if f * power >= 0.999 * least), 10 * power))


def _zigzag(a: np.ndarray, b: np.ndarray, coils: int, half: float) -> np.ndarray:
    d = b - a
    n = np.array([-d[1], d[0]]) / (np.linalg.norm(d) or 1.0)
    x = 0.12 + 0.76 * (np.arange(2 * coils) + 0.5) / (2 * coils)
    side = np.where(np.arange(2 * coils) % 2, -half, half)
    teeth = a + x[:, None] * d + side[:, None] * n
    return np.vstack([a, a + 0.12 * d, teeth, a + 0.88 * d, b])
