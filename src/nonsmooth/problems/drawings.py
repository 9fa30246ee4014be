"""What the animated scenes of the benchmark problems show: shapes placed by the coordinates."""

from __future__ import annotations

import numpy as np

from ..model.drawing import Circle, Force, Ground, Line, Polygon, Shape, Spring, Trace

_WOOD, _STEEL = "#c9a26b", "#6b7480"


def _rectangle(left: float, right: float, low: float, high: float) -> list[tuple[float, float]]:
    return [(left, low), (right, low), (right, high), (left, high)]


def _ellipse(x: float, y: float, width: float, height: float, turn: float = 0.0) -> np.ndarray:
    phi = np.linspace(0.0, 2.0 * np.pi, 33)[:-1]
    points = np.column_stack([0.5 * width * np.cos(phi), 0.5 * height * np.sin(phi)])
    cos, sin = np.cos(turn), np.sin(turn)
    return points @ np.array([[cos, sin], [-sin, cos]]) + np.array([x, y])


def ball_on_table(contact: str, height: float) -> list[Shape]:
    """A ball of a size fit for its height; its lowest point is the coordinate."""
    r = 0.06 * height
    return [
        Ground(at=(0.0, 0.0), normal=(0.0, 1.0), name=contact, colour=_WOOD),
        Circle(at=lambda q: (0.0, q[0] + r), radius=r, name="ball"),
        Force(contact, at=lambda q: (0.0, q[0]), normal=(0.0, 1.0)),
    ]


def mass_at_wall(contact: str, side: float, length: float, foot: float) -> list[Shape]:
    """A block on a spring beside a wall at x = 0; `side` = -1: the block is on the left of the wall."""
    a = 0.12 * length
    return [
        Ground(at=(0.0, -a), normal=(0.0, 1.0), name="floor"),
        Ground(at=(0.0, 0.0), normal=(side, 0.0), name=contact),
        Spring(a=(foot, 0.0), b=lambda q: (q[0] + 2 * a * side, 0.0), width=1.1 * a, name="spring"),
        Polygon(_rectangle(-a, a, -a, a), at=lambda q: (q[0] + a * side, 0.0), name="mass"),
        Force(contact, at=lambda q: (q[0], 0.0), normal=(side, 0.0)),
    ]


def block_on_incline(size: float) -> list[Shape]:
    """A block on a slope; x runs up the slope, z away from it."""

    def slope(p):
        return np.array([p.cos, p.sin]), np.array([-p.sin, p.cos])

    def foot(t, q, p):
        along, away = slope(p)
        return q[0] * along + q[1] * away

    return [
        Ground(at=(0.0, 0.0), normal=lambda t, q, p: slope(p)[1], name="slope", colour=_WOOD),
        Polygon(
            _rectangle(-size, size, 0.0, 1.2 * size), at=foot, angle=lambda t, q, p: np.arctan2(p.sin, p.cos), name="block"
        ),
        Force("slope", at=foot, normal=lambda t, q, p: slope(p)[1], tangent=lambda t, q, p: slope(p)[0]),
    ]  # fmt: skip


def mass_on_belt(length: float) -> list[Shape]:
    """A block on a belt that runs over two wheels, held by a spring."""
    a, r = 0.16 * length, 0.22 * length
    left, right = -1.6 * length, 2.2 * length
    turn = lambda t, q, p: -p.v_belt * t / r  # noqa: E731
    marks = np.arange(6) / 6.0

    def cleats(t, q, p):  # marks that run with the belt
        x = left + (right - left) * np.mod(marks + p.v_belt * t / (right - left), 1.0)
        return x

    def cleat(i):
        return Line(
            lambda t, q, p: [(cleats(t, q, p)[i], 0.0), (cleats(t, q, p)[i], -0.12 * r)],
            width=3.0,
            colour=_STEEL,
        )

    def wheel(x, name):
        return Circle(at=(x, -r), radius=0.96 * r, angle=turn, colour="#b9c1cc", name=name)

    return [
        wheel(left, "wheel"), wheel(right, "second wheel"),
        Line([(left, 0.0), (right, 0.0)], width=3.0, name="belt"), Line([(left, -2 * r), (right, -2 * r)], width=3.0),
        *[cleat(i) for i in range(6)],
        Line([(-2.1 * length, -0.5 * a), (-2.1 * length, 2.6 * a)], width=4.0, name="wall"),
        Spring(a=(-2.1 * length, a), b=lambda q: (q[0] - a, a), width=0.8 * a, name="spring"),
        Polygon(_rectangle(-a, a, 0.0, 2 * a), at=lambda q: (q[0], 0.0), name="mass"),
        Force("belt", at=lambda q: (q[0], 0.0), tangent=(1.0, 0.0)),
    ]  # fmt: skip


def sliding_mass(size: float) -> list[Shape]:
    """A puck on a table seen from above, and its path."""
    return [
        Trace(at=lambda q: (q[0], q[1]), name="path"),
        Circle(at=lambda q: (q[0], q[1]), radius=size, name="mass"),
        Force("floor", at=lambda q: (q[0], q[1]), tangent=np.eye(2)),
    ]


def rod_on_ground(l: float) -> list[Shape]:
    """A rod of the length 2 l that falls over; both ends may touch the ground."""

    def end(side):
        return lambda q: (q[0] + side * l * np.cos(q[2]), q[1] + side * l * np.sin(q[2]))

    left, right = end(-1.0), end(1.0)
    return [
        Ground(at=(0.0, 0.0), normal=(0.0, 1.0), name="ground", colour=_WOOD),
        Line(lambda q: [left(q), right(q)], width=6.0, colour="#4c78a8", name="rod"),
        Force("left", at=left, normal=(0.0, 1.0), tangent=(1.0, 0.0)),
        Force("right", at=right, normal=(0.0, 1.0), tangent=(1.0, 0.0)),
    ]


def slider_crank(p: dict[str, float], corners: tuple[str, ...]) -> list[Shape]:
    """Crank, rod and a slider that has room in its guide."""
    l1, l2, a, b, c = (p[k] for k in ("l1", "l2", "a", "b", "c"))

    def pin(q):
        return (l1 * np.cos(q[0]), l1 * np.sin(q[0]))

    def slider(q):
        return (l1 * np.cos(q[0]) + l2 * np.cos(q[1]), l1 * np.sin(q[0]) + l2 * np.sin(q[1]))

    def corner(x, y):
        def place(q):
            cos, sin, middle = np.cos(q[2]), np.sin(q[2]), slider(q)
            return (middle[0] + cos * x - sin * y, middle[1] + sin * x + cos * y)

        return place

    left, right, half = l2 - l1 - 1.5 * a, l1 + l2 + 1.5 * a, b + c
    forces = []
    for name, x, y in zip(corners, (-a, a, -a, a), (b, b, -b, -b)):
        forces.append(Force(name, at=corner(x, y), normal=(0.0, -1.0 if y > 0 else 1.0), tangent=(1.0, 0.0)))
    return [
        Line([(left, half), (right, half)], width=3.0, name="guide"),
        Line([(left, -half), (right, -half)], width=3.0, name="lower guide"),
        Polygon(_rectangle(-a, a, -b, b), at=slider, angle=lambda q: q[2], name="slider"),
        Line(lambda q: [(0.0, 0.0), pin(q)], width=6.0, colour="#e4894b", name="crank"),
        Line(lambda q: [pin(q), slider(q)], width=4.0, colour="#5fa55a", name="rod"),
        Circle((0.0, 0.0), 0.1 * l1, colour=_STEEL, name="bearing"),
        *forces,
    ]


def woodpecker(p: dict[str, float]) -> list[Shape]:
    """Pole, sleeve, spring and bird."""
    wall = 0.0011
    r_0, r_M, h_M, l_M, l_G, h_S, l_S = (p[k] for k in ("r_0", "r_M", "h_M", "l_M", "l_G", "h_S", "l_S"))

    def sleeve(q):
        return (0.0, q[0])

    def lug(q):
        return (l_M * np.cos(q[1]), q[0] + l_M * np.sin(q[1]))

    def bird(q):
        x, y = lug(q)
        return (x + l_G * np.cos(q[2]), y + l_G * np.sin(q[2]))

    def part(points, colour, name=""):
        return Polygon(points, at=bird, angle=lambda q: q[2], colour=colour, name=name)

    def jacket(left, right):
        return Polygon(
            _rectangle(left, right, -h_M, h_M), at=sleeve, angle=lambda q: q[1], colour=_STEEL, name="sleeve"
        )

    return [
        Polygon(_rectangle(-r_0, r_0, -0.1, 0.045), colour=_WOOD, name="pole"),
        jacket(-r_M - wall, -r_M), jacket(r_M, r_M + wall),
        Line(lambda q: [((r_M + wall) * np.cos(q[1]), q[0] + (r_M + wall) * np.sin(q[1])), lug(q)], width=4.0, colour=_STEEL),
        Spring(a=lug, b=lambda q: np.add(lug(q), np.multiply(0.7, np.subtract(bird(q), lug(q)))), coils=5, width=0.002, name="spring"),
        part([(-0.001, -0.012), (0.004, -0.012), (0.009, -0.026), (0.005, -0.027)], "#1d1d1d"),
        part(_ellipse(0.0, 0.0, 0.0135, 0.031, 0.14), "#2f2f2f", "bird"),
        part(_ellipse(-0.0035, -0.001, 0.006, 0.022, 0.14), "#f3efe4"),
        part(_ellipse(-0.0058, h_S - 0.0005, 0.012, 0.0105), "#2f2f2f"),
        part([(-0.0085, 0.0235), (-0.003, 0.0262), (0.0008, 0.0205), (-0.004, 0.0225)], "#c8102e"),
        part([(-l_S, h_S), (-0.0105, h_S + 0.0021), (-0.0105, h_S - 0.0023)], "#e0a526", "beak"),
        part(_ellipse(-0.0078, h_S + 0.0008, 0.0012, 0.0012), "#ffffff"),
        Force("beak", at=lambda q: (r_0, q[0] + l_M * q[1] + (l_G - l_S) * q[2] + h_S), normal=(1.0, 0.0), tangent=(0.0, 1.0)),
        Force("lower sleeve", at=lambda q: (r_0, q[0] - h_M), normal=(1.0, 0.0), tangent=(0.0, 1.0)),
        Force("upper sleeve", at=lambda q: (r_0, q[0] + h_M), normal=(1.0, 0.0), tangent=(0.0, 1.0)),
    ]  # fmt: skip
