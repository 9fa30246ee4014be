"""Materials: restitution and friction of surfaces, and of pairs of them."""

from __future__ import annotations

from math import sqrt
from typing import Any

from nonsmooth.errors import RangeError
from nonsmooth.model.bodies.check import number


class Material:
    """Coefficients of a surface.

    Where two materials meet, the geometric mean of their coefficients holds, unless the world has an entry for the pair
    (`World.pair`).

    Parameters
    ----------
    restitution : float
        Newton's coefficient, in [0, 1].
    friction : float
        Coulomb's coefficient.
    rolling_friction : float
        A length: the torque that resists rolling is at most this times the normal force.
    name : str, optional
    """

    def __init__(
        self,
        restitution: float = 0.0,
        friction: float = 0.0,
        rolling_friction: float = 0.0,
        name: str | None = None,
    ):
        owner = f"Material {name!r}" if name else "Material"
        self.restitution = number(restitution, "restitution", owner, 0.0)
        if self.restitution > 1.0:
            raise RangeError(
                f"`restitution` of {owner} is {self.restitution:g}: it must lie between 0 and 1."
            )
        self.friction = number(friction, "friction", owner, 0.0)
        self.rolling_friction = number(rolling_friction, "rolling_friction", owner, 0.0)
        self.name = name

    def __repr__(self) -> str:
        return f"Material(restitution={self.restitution:g}, friction={self.friction:g})"


def met(a: Any, b: Any) -> Material:
    """What holds where two materials meet."""
    if a is b:
        return a
    return Material(
        sqrt(a.restitution * b.restitution),
        sqrt(a.friction * b.friction),
        sqrt(a.rolling_friction * b.rolling_friction),
    )
