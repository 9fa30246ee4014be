"""Systems of the gauntlet: families of descriptions (plain numbers), drawn with fixed seeds.

A description holds the model's name, parameters, coefficients, start and span; `library.system` makes the library's system
of it, `reference_models.MODELS` the reference's. Descriptions are drawn in units of size one; `in_units` turns lengths,
masses and times into others.
"""

from __future__ import annotations

import zlib
from math import cos, sin

import numpy as np

# Dimensions of parameters: powers of length, mass and time.
ANGLE, LENGTH, MASS, INERTIA, RATE = (0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 1, 0), (0, 0, -1)
SPEED, GRAVITY, FORCE, STIFFNESS, DAMPING = (1, 0, -1), (1, 0, -2), (1, 1, -2), (0, 1, -2), (0, 1, -1)
DIMENSIONS = {
    **dict.fromkeys(("m", "m0", "m1", "m2"), MASS),
    **dict.fromkeys(("h", "A", "z", "z0", "z1", "z2", "d", "l", "l1", "l2", "top", "xw"), LENGTH),
    **dict.fromkeys(("w", "wF", "wv"), RATE),
    **dict.fromkeys(("V", "v0", "v1"), SPEED),
    **dict.fromkeys(("g", "gx"), GRAVITY),
    **dict.fromkeys(("F", "L0", "L1"), FORCE),
    **dict.fromkeys(("k", "kA"), STIFFNESS),
    "c": DAMPING,
    "J": INERTIA,
    "b": (-1, 0, 0),
    "s": ANGLE,
}
COORDINATES = {
    "vertical": (LENGTH,), "walls": (LENGTH,), "planar": (LENGTH,) * 2, "corner": (LENGTH,) * 2,
    "box": (LENGTH, LENGTH, ANGLE), "slot": (LENGTH, LENGTH, ANGLE), "chain": (LENGTH,) * 3, "chain4": (LENGTH,) * 3,
    "pendulum": (ANGLE,) * 2, "joints": (LENGTH,) * 4, "belts": (LENGTH,) * 2, "twin": (LENGTH,) * 3,
}  # fmt: skip

VERTICAL = {
    "m": 1.0,
    "g": 9.81,
    "k": 0.0,
    "z": 0.0,
    "c": 0.0,
    "F": 0.0,
    "wF": 1.0,
    "h": 0.0,
    "A": 0.0,
    "w": 1.0,
    "V": 0.0,
}
PLANAR = {
    "m": 1.0, "g": 9.81, "gx": 0.0, "k": 0.0, "c": 0.0, "F": 0.0, "wF": 1.0, "h": 0.0, "s": 0.0, "b": 0.0, "A": 0.0, "w": 1.0,
    "v0": 0.0, "v1": 0.0, "wv": 1.0,
}  # fmt: skip
BOX = {"m": 1.0, "J": 0.1, "g": 9.81, "gx": 0.0, "F": 0.0, "wF": 1.0, "l": 0.5, "d": 0.2, "h": 0.0}
CHAIN = {
    "m0": 1.0, "m1": 1.0, "m2": 1.0, "g": 9.81, "k": 0.0, "kA": 0.0, "c": 0.0, "z0": 0.0, "z1": 0.5, "z2": 1.0, "h": 0.0,
    "d": 0.2,
}  # fmt: skip
PENDULUM = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": 9.81, "xw": 0.2}
BELTS = {
    "m0": 1.0, "m1": 1.0, "k": 0.0, "kA": 4.0, "c": 0.0, "F": 0.0, "wF": 1.0, "v0": 0.4, "v1": 0.0, "wv": 1.0, "L0": 1.5,
    "L1": 1.5,
}  # fmt: skip
TWIN = {"m": 1.0, "g": 9.81, "h": 0.0, "s": 0.1}


class Draw:
    """Numbers of four digits from a seed."""

    def __init__(self, family, index):
        self.rng = np.random.default_rng([zlib.crc32(family.encode()), index])

    def __call__(self, low, high):
        return float(f"{self.rng.uniform(low, high):.4g}")

    def of(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def sign(self):
        return self.of(-1.0, 1.0)


def make(model, base, e, mu, q0, u0, T, **params):
    return {
        "model": model, "params": {**base, **params}, "e": list(e), "mu": list(mu), "q0": list(map(float, q0)),
        "u0": list(map(float, u0)), "T": float(T),
    }  # fmt: skip


# -- one contact without friction -----------------------------------------------------------------------------------------


def ball(d):
    """A ball over a displaced floor; some impacts, perhaps a ceiling of air (drag)."""
    h = d(-5, 5)
    return make(
        "vertical",
        VERTICAL,
        [d.of(0.4, 0.8)],
        [0],
        [h + d(0.3, 2)],
        [d(-1, 1)],
        d(0.6, 1.1),
        h=h,
        c=d(0, 0.5),
    )


def moving_floor(d):
    """A ball over a floor that shakes or rises."""
    h = d(-2, 2)
    e = [d.of(0.4, 0.8)]
    return make(
        "vertical",
        VERTICAL,
        e,
        [0],
        [h + d(0.5, 1)],
        [d(-1, 1)],
        d(0.7, 1.2),
        h=h,
        A=d(0.01, 0.1),
        w=d(2, 8),
        V=d(-1, 1),
    )


def accumulation(d):
    """Impacts accumulate on a displaced floor, the ball rests."""
    h, e, fall = d.of(0.0, d(-2, 2)), d.of(0.4, 0.7), d(0.2, 0.8)
    T = (2 * fall / 9.81) ** 0.5 * (1 + 2 * e / (1 - e))
    return make("vertical", VERTICAL, [e], [0], [h + fall], [0], T * d(1.1, 1.6), h=h)


def accumulation_moving(d):
    """Impacts accumulate on a floor that rises or swings more slowly than gravity falls."""
    e, fall, h = d.of(0.4, 0.6), d(0.1, 0.4), d(-2, 2)
    w = d(1, 4)
    T = (2 * fall / 9.81) ** 0.5 * (1 + 2 * e / (1 - e))
    return make(
        "vertical",
        VERTICAL,
        [e],
        [0],
        [h + fall],
        [0],
        T * d(1.5, 2.5),
        h=h,
        A=d(0.0, 0.4) / w**2,
        w=w,
        V=d(-0.5, 0.5),
    )


def oscillator(d):
    """A driven oscillator against a stop."""
    k = d(10, 60)
    e = [d.of(0.0, 0.6)]
    return make(
        "vertical", VERTICAL, e, [0], [d(0.5, 1)], [d(-1, 1)], d(1.5, 4), g=0.0, k=k, z=d(0, 0.3), h=d(-0.3, 0.0), F=d(0, 8),
        wF=d(1, 4), c=d(0, 1),
    )  # fmt: skip


def lift_off(d):
    """A ball rides on a shaking floor, is thrown off and caught again."""
    w = d(5, 9)
    A = d(1.1, 1.6) * 9.81 / w**2
    return make("vertical", VERTICAL, [d.of(0.0, 0.4)], [0], [0], [A * w], d(1.0, 2.5) * 6.283 / w, A=A, w=w)


def walls(d):
    """Between a floor and a ceiling."""
    e = d.of((0.4, 0.8), (1.0, 1.0), (0.6, 0.6))
    return make(
        "walls", VERTICAL, e, [0, 0], [d(0.2, 0.8)], [d.sign() * d(2, 4)], d(0.5, 1.2), top=d(0.9, 1.5), g=d.of(0.0, 9.81), k=d(0, 10),
    )  # fmt: skip


# -- starts ---------------------------------------------------------------------------------------------------------------


def start_on_event(d):
    """On the floor: approaching, leaving, resting, or leaving a moving floor."""
    h, kind = d(-3, 3), d.of("hit", "leave", "rest")
    u = {"hit": d(-3, -1), "leave": d(1, 3), "rest": 0.0}[kind]
    return make("vertical", VERTICAL, [d.of(0.4, 0.8)], [0], [h], [u], d(0.3, 0.7), h=h, c=d(0, 0.3))


def from_rest(d):
    """Let go at rest: pendula, chains, oscillators in a corner."""
    kind = d.of("pendulum", "chain", "joints", "oscillator")
    if kind == "pendulum":
        return make(
            "pendulum",
            PENDULUM,
            [d.of(0.0, 0.5)],
            [0],
            [d(0.4, 0.8), d(0.6, 1.0)],
            [0, 0],
            d(0.6, 1.1),
            xw=d(0.1, 0.3),
        )
    if kind == "joints":
        return _with_joints(d, d(0.4, 0.8), d(0.6, 1.0), [0, 0], d(0.6, 1.1))
    if kind == "chain":
        q0 = [d(0.1, 0.2), d(0.5, 0.6), d(0.9, 1.0)]
        return make(
            "chain", CHAIN, [0.5, 0.5, 0.5], [0, 0, 0], q0, [0, 0, 0], d(0.25, 0.5), k=d(0, 30), kA=d(0, 10)
        )
    return make("planar", PLANAR, [0.4], [0.3], [d(0.5, 1), d(0.2, 0.5)], [0, 0], d(0.5, 0.9), k=d(5, 20))


def at_rest(d):
    """What rests must go on resting: on slopes, on two corners, under a pull below the cone's edge."""
    kind = d.of("slope", "box", "pull")
    if kind == "slope":
        s = d.sign() * d(0.05, 0.25)
        return make("planar", PLANAR, [0.4], [0.3], [0, 0], [0, 0], d(0.5, 2), s=s)
    if kind == "box":
        h, height = d(-2, 2), d(0.1, 0.3)
        return make(
            "box",
            BOX,
            [0, 0],
            [0.3, 0.3],
            [0, h + height, 0],
            [0, 0, 0],
            d(0.5, 2),
            h=h,
            d=height,
            gx=d(-2, 2),
        )
    h = d(-3, 3)
    return make("planar", PLANAR, [0.4], [0.3], [0, h], [0, 0], d(0.5, 2), h=h, F=d(0.5, 2.5), wF=d(1, 5))


# -- friction ---------------------------------------------------------------------------------------------------------------


def incline(d):
    """Up a slope: stick at the top, or slide back."""
    mu = d.of(0.3, 0.6)
    v, h = d(1, 3), d(-2, 2)
    s = d(0.6, 1.5) * mu
    return make("planar", PLANAR, [0], [mu], [0, h], [v, v * s], d(0.5, 1.0), s=s, h=h)


def cone_edge(d):
    """A constant pull below, at and above the cone's edge, from rest or from sliding."""
    part = d.of(0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 1.5)
    v = d.of(0.0, d(0.5, 1))
    if part == 1.0:
        v = d(0.5, 1)  # slides on for ever
    return make("planar", PLANAR, [0], [0.3], [0, 0], [v, 0], d(0.5, 1.5), gx=part * 0.3 * 9.81)


def belt(d):
    """A mass on a belt of varying speed, held by a spring: stick and slip."""
    mu = d.of(0.3, 0.6)
    return make(
        "planar", PLANAR, [0], [mu], [d(-0.2, 0.2), 0], [d(-0.5, 0.5), 0], d(1, 2.5), k=d(10, 40), c=d(0, 0.5), v0=d(0.2, 0.6),
        v1=d(0.0, 0.3), wv=d(1, 6),
    )  # fmt: skip


def belts(d):
    """Two coupled masses on belts with friction of given limit."""
    L = d(1, 3)
    return make(
        "belts", BELTS, [], [], [d(-0.5, 0.5), d(-0.5, 0.5)], [d(-0.5, 0.5), d(-0.5, 0.5)], d(1, 3), k=d(1, 10), kA=d(4, 20),
        v0=d(0.2, 0.5), v1=d(0, 0.3), wv=d(1, 5), L0=L, L1=d(1, 3), c=d(0, 0.3), F=d(0, 2), wF=d(1, 5),
    )  # fmt: skip


def valley(d):
    """Sliding in a curved valley: the contact force follows the curvature, the mass sticks or swings back."""
    b, x = d(0.2, 0.8), d.sign() * d(0.3, 1)
    v, mu = d(-2, 2), d.of(0.1, 0.3)
    return make("planar", PLANAR, [0], [mu], [x, b * x * x], [v, 2 * b * x * v], d(0.8, 2), b=b)


def hill(d):
    """Over a hill: the contact opens where the surface falls away."""
    b, x = -d(0.3, 0.6), d(-0.5, 0.0)
    v = d(2.5, 4)
    return make(
        "planar",
        PLANAR,
        [d.of(0.0, 0.4)],
        [d.of(0.0, 0.1)],
        [x, b * x * x],
        [v, 2 * b * x * v],
        d(0.3, 0.8),
        b=b,
        k=d(0, 2),
    )


def friction_bounce(d):
    """Bouncing with friction over tilted ground."""
    h, mu = d(-2, 2), d.of(0.1, 0.3)
    return make(
        "planar", PLANAR, [d.of(0.4, 0.8)], [mu], [0, h + d(0.3, 1)], [d(-3, 3), d(-1, 1)], d(0.5, 1.0), h=h, s=d(-0.3, 0.3),
    )  # fmt: skip


def accumulation_friction(d):
    """Impacts with friction accumulate on tilted or moving ground, then the mass slides and sticks or slides on."""
    h, fall = d(-2, 2), d(0.1, 0.3)
    e, mu = d.of(0.3, 0.5), d.of(0.1, 0.3)
    T = (2 * fall / 9.81) ** 0.5 * (1 + 2 * e / (1 - e))
    w = d(1, 3)
    return make(
        "planar", PLANAR, [e], [mu], [0, h + fall], [d.sign() * d(0.5, 3), 0], T * d(1.3, 2.0), h=h, s=d(-0.15, 0.15),
        A=d.of(0.0, d(0.05, 0.3) / w**2), w=w,
    )  # fmt: skip


def twin(d):
    """Impacts of two contacts accumulate, coupled by their friction."""
    h = d.of(0.0, d(-2, 2))
    fall = [d(0.2, 0.5), d(0.2, 0.5)]
    return make(
        "twin",
        TWIN,
        [0.5, 0.5],
        [0.3, 0.3],
        [h + fall[0], h + fall[1], 0],
        [0, 0, d(1, 3)],
        d(1.1, 1.4),
        h=h,
        s=d(0.05, 0.2),
    )


def corner(d):
    """Into a corner of rough ground and rough wall."""
    e, mu = d.of((0.4, 0.4), (0.0, 0.5)), d.of((0.3, 0.3), (0.1, 0.2))
    h, xw = d(-1, 1), d(0.5, 1.5)
    return make(
        "corner",
        PLANAR,
        e,
        mu,
        [0, h + d(0.0, 0.5)],
        [d(2, 4), d(0.1, 2)],
        d(0.5, 1.0),
        h=h,
        xw=xw,
        s=d(-0.1, 0.1),
    )


# -- bodies -----------------------------------------------------------------------------------------------------------------


def box_corner(d):
    """A tilted box falls on one corner, then on the other."""
    h, height, half = d(-2, 2), d(0.1, 0.3), d(0.4, 0.7)
    tilt = d.sign() * d(0.1, 0.5)
    low = half * abs(sin(tilt)) + height * cos(tilt)
    e, mu = d.of(0.0, 0.4), d.of(0.0, 0.3)
    return make(
        "box", BOX, [e] * 2, [mu] * 2, [0, h + low + d(0.05, 0.4), tilt], [d(-1, 1), d(-1, 0), d(-0.5, 0.5)], d(0.3, 0.6), h=h,
        d=height, l=half, J=d(0.05, 0.15),
    )  # fmt: skip


def box_flat(d):
    """A box falls flat: two impacts at one instant, then rest or sliding. Tilted by a hair it would do so one after the other."""
    h, height = d(-2, 2), d(0.1, 0.3)
    e, mu = d.of(0.0, 0.4), d.of(0.0, 0.3)
    speed = 0.0 if mu else d(-1, 1)  # friction would turn the box
    q0, u0 = [0, h + height + d(0.05, 0.3), 0], [speed, d(-1, 0), 0]
    # with J = m l^2 one corner does not feel the other
    box = make("box", BOX, [e] * 2, [mu] * 2, q0, u0, d(0.3, 0.8), h=h, d=height, J=d.of(0.25, 0.1))
    return {**box, "kept": [2]}


def box_slides(d):
    """A low box slides on two corners and comes to rest, or is pulled off."""
    h, height, mu = d(-2, 2), d(0.05, 0.15), 0.3
    return make(
        "box", BOX, [0, 0], [mu] * 2, [0, h + height, 0], [d(-2, 2), 0, 0], d(0.5, 1.2), h=h, d=height, F=d(0, 4), wF=d(1, 5), l=0.5,
    )  # fmt: skip


def rod(d):
    """A falling rod on rough ground: slides, reverses, sticks, slaps."""
    theta, omega, v, h = d(0.6, 1.3), d(-1, 0), d(-1, 1), d(-1, 1)
    half = 0.5
    q0 = [0, h + half * sin(theta), theta]
    u0 = [v, half * cos(theta) * omega, omega]
    return make("box", BOX, [0, 0], [0.3, 0.3], q0, u0, d(0.4, 0.7), d=0.0, l=half, J=half**2 / 3, h=h)


def slot(d):
    """A box in a slot: four corners."""
    h, height, half = d(-1, 1), d(0.1, 0.2), d(0.4, 0.6)
    e, mu = d.of(0.0, 0.4), d.of(0.0, 0.2)
    return make(
        "slot", BOX, [e] * 4, [mu] * 4, [0, h + d(0.4, 0.5), d(-0.2, 0.2)], [d(-1, 1), d.sign() * d(1, 3), d(-2, 2)], d(0.15, 0.4), h=h,
        top=h + d(0.9, 1.1), d=height, l=half,
    )  # fmt: skip


# -- chains -----------------------------------------------------------------------------------------------------------------


def chain(d):
    """Three masses that hit the floor and each other."""
    h = d(-2, 2)
    q0 = [h + d(0.1, 0.3), h + d(0.6, 0.8), h + d(1.1, 1.3)]
    e = d.of((0.5, 0.5, 0.5), (0.8, 0.4, 0.2), (1.0, 1.0, 1.0))
    return make(
        "chain", CHAIN, e, [0] * 3, q0, [d(-2, 0), d(-3, 0), d(-4, 0)], d(0.2, 0.5), h=h, k=d(0, 50), m0=d(0.5, 2), m1=d(0.5, 2), z0=h,
        z1=h + 0.5, z2=h + 1,
    )  # fmt: skip


def chain4(d):
    """Three masses between floor and ceiling."""
    h = d(-2, 2)
    q0 = [h + d(0.1, 0.3), h + d(0.6, 0.8), h + d(1.1, 1.3)]
    e = d.of((0.5, 0.5, 0.5, 0.5), (0.8, 0.4, 0.2, 0.6))
    return make(
        "chain4", CHAIN, e, [0] * 4, q0, [d(-2, 2), d(-3, 3), d(1, 4)], d(0.2, 0.4), h=h, k=d(0, 50), m0=d(0.5, 2), m1=d(0.5, 2), z0=h,
        z1=h + 0.5, z2=h + 1, top=h + d(1.4, 1.6), g=d.of(0.0, 9.81),
    )  # fmt: skip


def cradle(d):
    """A row of touching masses is hit: closed contacts that do not approach take part."""
    h, gap = d(-2, 2), 0.2
    e = d.of((0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    q0 = [h + 0.5, h + 0.5 + gap, h + 0.5 + 2 * gap + d(0.1, 0.3)]
    return make(
        "chain",
        CHAIN,
        e,
        [0] * 3,
        q0,
        [0, 0, -d(1, 3)],
        d(0.15, 0.5),
        h=h,
        g=0.0,
        m0=d(0.5, 2),
        m1=d(0.5, 2),
        d=gap,
    )


def column(d):
    """A column of touching masses falls and bounces as one: its inner contacts carry nothing but impulses."""
    h, gap, floor = d(-2, 2), d(0.1, 0.3), d.of(0.0, 0.4, 0.7)
    q0 = [h + d(0.2, 0.5)]
    q0 += [q0[0] + gap, q0[0] + 2 * gap]
    masses = {"m0": d(0.5, 2), "m1": d(0.5, 2), "m2": d(0.5, 2)}
    return make(
        "chain", CHAIN, [floor, 0.5, 0.5], [0] * 3, q0, [d(-1, 1)] * 3, d(0.6, 0.9), h=h, d=gap, **masses
    )


def chain_accumulation(d):
    """A stack comes to rest: impacts accumulate at several contacts."""
    h = d(-2, 2)
    q0 = [h + d(0.02, 0.05), h + d(0.3, 0.35), h + d(0.6, 0.7)]
    e = d.of((0.0, 0.2, 0.2), (0.2, 0.0, 0.2), (0.0, 0.0, 0.3), (0.3, 0.0, 0.0))
    return make(
        "chain", CHAIN, e, [0] * 3, q0, [0, 0, 0], d(0.5, 0.9), h=h, m0=d(2, 4), m1=d(1, 2), m2=d(0.3, 0.8)
    )


def stiff(d):
    """Stiff springs with dampers beside an impact."""
    k = 10 ** d(3, 5)
    if d.of(True, False):
        h = d(-2, 2)
        return make(
            "planar",
            PLANAR,
            [0.4],
            [0.1],
            [0.0, h + d(0.1, 0.5)],
            [d(0, 1), 0],
            d(0.3, 0.6),
            k=k,
            c=2 * k**0.5,
            h=h,
        )
    q0 = [d(0.1, 0.2), d(0.5, 0.6), d(0.9, 1.0)]
    return make(
        "chain",
        CHAIN,
        [0.5, 0.5, 0.5],
        [0] * 3,
        q0,
        [0, -1, -2],
        d(0.1, 0.3),
        k=k,
        c=2 * k**0.5,
        z0=q0[0],
        z1=q0[1],
        z2=q0[2],
    )


# -- pendula ----------------------------------------------------------------------------------------------------------------


def pendulum(d):
    """A double pendulum against a wall: curved contact, sustained for e = 0."""
    e, mu = d.of(0.0, 0.5), d.of(0.0, 0.2)
    return make(
        "pendulum", PENDULUM, [e], [mu], [d(0.3, 0.8), d(0.3, 1.0)], [d(-1, 1), d(-1, 1)], d(0.8, 1.4), xw=d(0.0, 0.3), l2=d(0.7, 1.3),
        m2=d(0.5, 1.5),
    )  # fmt: skip


def _with_joints(d, a, b, rate, T):
    l1, l2 = 1.0, d(0.7, 1.3)
    x1, y1 = l1 * sin(a), -l1 * cos(a)
    u1 = (l1 * cos(a) * rate[0], l1 * sin(a) * rate[0])
    q0 = [x1, y1, x1 + l2 * sin(b), y1 - l2 * cos(b)]
    u0 = [*u1, u1[0] + l2 * cos(b) * rate[1], u1[1] + l2 * sin(b) * rate[1]]
    e, mu = d.of(0.0, 0.5), d.of(0.0, 0.2)
    return make("joints", PENDULUM, [e], [mu], q0, u0, T, l2=l2, m2=d(0.5, 1.5), xw=d(0.0, 0.3))


def joints(d):
    """The same as two particles on rods, in four coordinates with two joints."""
    return _with_joints(d, d(0.3, 0.8), d(0.3, 1.0), [d(-1, 1), d(-1, 1)], d(0.8, 1.4))


# -- units ------------------------------------------------------------------------------------------------------------------

UNITS = {
    "tiny": (-6, -9, -3),
    "small": (-3, -3, -1),
    "large": (3, 6, 2),
    "huge": (6, 12, 4),
    "slow": (0, 0, 6),
    "fast": (0, 0, -6),
}


def units(d):
    """Systems of the other families in micrometres and megametres, microseconds and years."""
    base = d.of(
        ball, accumulation, moving_floor, belt, friction_bounce, box_corner, chain, pendulum, valley, joints
    )
    description = base(d)
    description["units"] = list(UNITS[d.of(*UNITS)])
    return description


#: Families and how many of each the gauntlet holds.
FAMILIES = {
    maker.__name__: (maker, count)
    for makers, count in (
        (
            (
                ball,
                moving_floor,
                accumulation_moving,
                oscillator,
                lift_off,
                walls,
                start_on_event,
                at_rest,
                incline,
                belts,
            ),
            10,
        ),
        (
            (
                valley,
                friction_bounce,
                twin,
                box_corner,
                box_slides,
                rod,
                chain,
                chain_accumulation,
                stiff,
                pendulum,
                joints,
            ),
            10,
        ),
        ((accumulation, accumulation_friction, from_rest, belt, corner), 12),
        ((hill, box_flat, slot, chain4, cradle, column), 8),
        ((cone_edge,), 14),
        ((units,), 24),
    )
    for maker in makers
}


def candidates(family):
    """Descriptions of a family without end, in the order of their seeds."""
    maker, _ = FAMILIES[family]
    index = 0
    while True:
        yield {"name": f"{family}-{index}", **maker(Draw(family, index))}
        index += 1


def factors(description, dimensions):
    """Numbers by which quantities of these dimensions grow in the units of a description."""
    powers = np.array(description.get("units", (0, 0, 0)))
    return 10.0 ** (np.array(dimensions, dtype=float).reshape(-1, 3) @ powers)


def in_units(description):
    """The description with all numbers in its units."""
    if "units" not in description:
        return description
    names = list(description["params"])
    by = factors(description, [DIMENSIONS[name] for name in names])
    q_by, u_by, t_by = state_factors(description)
    return {
        **description,
        "params": {name: value * f for (name, value), f in zip(description["params"].items(), by)},
        "q0": list(np.array(description["q0"]) * q_by),
        "u0": list(np.array(description["u0"]) * u_by),
        "T": description["T"] * t_by,
    }


def state_factors(description):
    """Factors of q, u and t."""
    if "units" not in description:
        return np.ones(len(description["q0"])), np.ones(len(description["u0"])), 1.0
    coordinates = np.array(COORDINATES[description["model"]])
    rates = coordinates - [0, 0, 1]
    return (
        factors(description, coordinates),
        factors(description, rates),
        float(factors(description, [0, 0, 1])[0]),
    )


def running_scales(description, q, u):
    """Scales of errors, instants by rows: the largest value of each component so far.

    Where a component vanishes it is measured by the others of its kind (q or u); where all of them vanish (rest at the
    origin), by the unit the description was drawn in.
    """
    q_by, u_by, _ = state_factors(description)
    out = []
    for values, unit in ((q, q_by), (u, u_by)):
        running = np.maximum.accumulate(np.abs(values), axis=0) / unit
        kind = running.max(axis=1, keepdims=True)
        kind = np.where(kind <= 1e-9, 1.0, kind)
        out.append(np.where(running <= 1e-9 * kind, kind, running) * unit)
    return out
