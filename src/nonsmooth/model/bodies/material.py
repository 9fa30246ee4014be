"""Materials: restitution and friction of surfaces, and of pairs of them; friction that falls with the speed of slipping."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, RangeError
from nonsmooth.model.bodies.check import number
from nonsmooth.names import Label


class Stribeck:
    """Dry friction that changes with the speed v of slipping: kinetic + (static - kinetic) exp(-(v/speed)^exponent) + viscous v.

    Wherever a coefficient of friction (materials, contacts) or a limit of friction (joints) is wanted.

    Parameters
    ----------
    static, kinetic : float
        At rest and far from it.
    speed : float
        Where friction has fallen to 1/e of the way from one to the other.
    exponent : float
    viscous : float
        Growth with the speed, while slipping.
    """

    def __init__(
        self, static: float, kinetic: float, speed: float, exponent: float = 2.0, viscous: float = 0.0
    ):
        self.static, self.kinetic = (
            number(static, "static", "Stribeck", 0.0),
            number(kinetic, "kinetic", "Stribeck", 0.0),
        )
        self.speed = number(speed, "speed", "Stribeck", 0.0, strict=True)
        self.exponent = number(exponent, "exponent", "Stribeck", 0.0, strict=True)
        self.viscous = number(viscous, "viscous", "Stribeck", 0.0)

    @property
    def numbers(self) -> np.ndarray:
        """As kernels take them (`_core.bodies.friction_limits`)."""
        return np.array([self.kinetic, self.static, self.speed, self.exponent, self.viscous])

    def at(self, v: Any) -> Any:
        """Friction at the speed v."""
        falling = np.exp(-((v / self.speed) ** self.exponent))
        return self.kinetic + (self.static - self.kinetic) * falling + self.viscous * v

    def __bool__(self) -> bool:
        return self.static > 0.0 or self.kinetic > 0.0 or self.viscous > 0.0

    def __repr__(self) -> str:
        return f"Stribeck(static={self.static:g}, kinetic={self.kinetic:g}, speed={self.speed:g})"


def friction_of(value: Any, name: str, owner: str) -> Any:
    """A number that is not negative, or a Stribeck."""
    return value if isinstance(value, Stribeck) else number(value, name, owner, 0.0)


def as_stribeck(value: Any) -> Stribeck:
    """A constant as a law of the speed."""
    return value if isinstance(value, Stribeck) else Stribeck(value, value, 1.0)


class Material:
    """Coefficients of a surface.

    Where two materials meet, the geometric mean of their coefficients holds, unless the world has an entry for the pair
    (`World.pair`).

    Parameters
    ----------
    restitution : float
        Newton's coefficient, in [0, 1].
    friction : float or Stribeck
        Coulomb's coefficient.
    rolling_friction : float
        A length: the torque that resists rolling is at most this times the normal force.
    name : str, optional
    """

    name = Label()

    def __init__(
        self,
        restitution: float = 0.0,
        friction: Any = 0.0,
        rolling_friction: float = 0.0,
        name: str | None = None,
    ):
        self.name = name
        owner = f"Material {name!r}" if name else "Material"
        self.restitution = number(restitution, "restitution", owner, 0.0)
        if self.restitution > 1.0:
            raise RangeError(
                f"`restitution` of {owner} is {self.restitution:g}: it must lie between 0 and 1."
            )
        self.friction = friction_of(friction, "friction", owner)
        self.rolling_friction = number(rolling_friction, "rolling_friction", owner, 0.0)

    def __repr__(self) -> str:
        return f"Material(restitution={self.restitution:g}, friction={self.friction})"


def material_of(value: Any, owner: str) -> Material | None:
    """What was given as `material`, if anything was."""
    if value is not None and not isinstance(value, Material):
        raise InputError(f"`material` of {owner} is {value!r}: a Material is wanted.")
    return value


def refuse_coefficients(owner: str, unknown: dict[str, Any]) -> None:
    """Refuse arguments that `owner` does not have; of coefficients, say where they belong."""
    mine = [name for name in unknown if name in ("restitution", "friction", "rolling_friction")]
    if mine:
        raise InputError(
            f"`{mine[0]}` is no argument of {owner}: coefficients belong to a pair or to a material; write "
            f"world.contact(body, surface, {mine[0]}=...), or give both sides, or the world, material=ns.Material({mine[0]}=...)."
        )
    if unknown:
        raise TypeError(f"{owner} has no argument {next(iter(unknown))!r}.")


def met(a: Any, b: Any) -> Material:
    """What holds where two materials meet."""
    if a is b:
        return a
    return Material(
        sqrt(a.restitution * b.restitution),
        _mean(a.friction, b.friction),
        sqrt(a.rolling_friction * b.rolling_friction),
    )


def _mean(a: Any, b: Any) -> Any:
    """Geometric mean of two coefficients; of two laws of the speed that of their coefficients, with the speeds of the one that varies."""
    if not isinstance(a, Stribeck) and not isinstance(b, Stribeck):
        return sqrt(a * b)
    shape = a if isinstance(a, Stribeck) else b
    x, y = as_stribeck(a), as_stribeck(b)
    means = [sqrt(getattr(x, name) * getattr(y, name)) for name in ("static", "kinetic", "viscous")]
    return Stribeck(means[0], means[1], shape.speed, shape.exponent, means[2])
