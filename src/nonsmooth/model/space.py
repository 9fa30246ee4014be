"""The space the coordinates live in: blocks R^n, SO(2) and SO(3), and how increments move them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nonsmooth._core.jit import MATRIX, Reference, address_record
from nonsmooth._core.space.retract import LINEAR, PLANE_ROTATION, SPACE_ROTATION, SpaceRecord, retract
from nonsmooth.errors import InputError


@dataclass(frozen=True)
class Block:
    """Neighbouring coordinates of one kind.

    Attributes
    ----------
    kind : int
    n_q, n_u : int
        Number of coordinates and of velocities.
    """

    kind: int
    n_q: int
    n_u: int


#: An angle in the plane, kept as it is (not brought back to one turn), and a unit quaternion (w, x, y, z).
SO2 = Block(PLANE_ROTATION, 1, 1)
SO3 = Block(SPACE_ROTATION, 4, 3)


def R(n: int) -> Block:
    """n coordinates that add."""
    return Block(LINEAR, n, n)


def _merged(blocks: Sequence[Block]) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and sizes of blocks, neighbours whose increments add as one."""
    kinds: list[int] = []
    sizes: list[int] = []
    for block in blocks:
        kind = SPACE_ROTATION if block.kind == SPACE_ROTATION else LINEAR
        if kind == LINEAR and kinds and kinds[-1] == LINEAR:
            sizes[-1] += block.n_u
        else:
            kinds.append(kind)
            sizes.append(block.n_u)
    return np.array(kinds, dtype=np.int64), np.array(sizes, dtype=np.int64)


class Space:
    """A product of blocks, or the coordinates of a model that gives q' = B u itself.

    Parameters
    ----------
    blocks : sequence of Block
        ``R(n)``, `SO2`, `SO3`, in the order of the coordinates.
    kinematics : compiled writer of B(t, q)
        Then `blocks` only says the sizes, and increments move q by B delta.
    quaternions : sequence of int
        Where unit quaternions begin in q, with `kinematics`.

    Attributes
    ----------
    n_q, n_u : int
    reference : Reference
        ``reference.address`` is what the kernel `retract` takes.
    """

    def __init__(self, blocks: Sequence[Block], kinematics=None, quaternions: Sequence[int] = ()):
        self.blocks = tuple(blocks)
        if not all(isinstance(block, Block) for block in self.blocks):
            raise InputError(f"`blocks` is {blocks!r}: a sequence of R(n), SO2 and SO3 is wanted.")
        self.n_q = sum(block.n_q for block in self.blocks)
        self.n_u = sum(block.n_u for block in self.blocks)
        self._kinematics = kinematics  # kept alive
        self._record = SpaceRecord(
            address_record(kinematics=0 if kinematics is None else (kinematics, MATRIX)),
            *_merged(self.blocks),
            np.array(tuple(quaternions) or (-1,), dtype=np.int64),
            np.zeros((1, 1) if kinematics is None else (self.n_q, self.n_u)),
        )
        self.reference = Reference(self._record)

    @classmethod
    def of_functions(cls, n_q: int, n_u: int, kinematics=None, quaternions=()) -> Space:
        """Of a model made of functions: R^n, or what its kinematics says."""
        return cls((Block(LINEAR, n_q, n_u),), kinematics, quaternions)

    def retract(self, q, delta, t: float = 0.0, p=None) -> np.ndarray:
        """q moved by the increments delta (t and p matter to kinematics of the user only)."""
        q, delta = np.ascontiguousarray(q, float), np.ascontiguousarray(delta, float)
        out = np.zeros(self.n_q)
        retract(self.reference.address, float(t), q, delta, np.zeros(1) if p is None else p, out)
        return out
