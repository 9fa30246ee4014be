"""Joints, constraints of velocities and contacts that are functions of the user, on one or two bodies of a world.

Each is a small system of its own, of the bodies it names and nothing else: rows, derivatives and quadratic terms are those of any system
of functions (`model.model`). `_core.bodies.user_rows` carries them into the world.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from nonsmooth._core.bodies import user_rows as kernels
from nonsmooth._core.bodies.frames import SPATIAL, TURNING
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import MATRIX, VECTOR, Reference
from nonsmooth._core.records import laws as codes
from nonsmooth._core.stepping.trivial import no_vector
from nonsmooth.errors import InputError, ModelError
from nonsmooth.model.bodies.body import Body, Ground
from nonsmooth.model.elements import Contact, Joint, NonholonomicConstraint
from nonsmooth.model.system import MechanicalSystem

#: What a world takes, how it is called, and which argument of a system it is.
KINDS = {
    Joint: ("joint", "joints"),
    NonholonomicConstraint: ("constraint", "nonholonomic"),
    Contact: ("contact", "contacts"),
}
OF_USERS = tuple(KINDS)


def owner_of(item: Any) -> str:
    """How messages call it."""
    kind = KINDS[type(item)][0]
    return f"{kind} {item.name!r}" if item.name else f"a {kind} without name"


def bodies_of(item: Any) -> tuple[Any, ...]:
    """The one or two bodies whose coordinates its functions see."""
    given, owner = item.bodies, owner_of(item)
    if given is None:
        raise InputError(
            f"`bodies` of {owner} is missing: in a world it says whose coordinates its functions see."
        )
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not 1 <= len(found) <= 2 or not all(isinstance(body, Body) for body in found):
        hint = "; leave the ground out" if any(isinstance(body, Ground) for body in found) else ""
        raise InputError(
            f"`bodies` of {owner} is {given!r}: one or two bodies of the world are wanted{hint}."
        )
    if len(found) == 2 and found[0] is found[1]:
        raise ModelError(
            f"`bodies` of {owner} names {found[0].owner} twice: two different bodies are wanted."
        )
    return found


class UserRows:
    """One object of functions in a world.

    Attributes
    ----------
    a, b : int
        Its bodies by number; the first is the ground if there is one only.
    from_q, from_u : ndarray of int64
        What its functions see.
    rows : ndarray of int64
        Where each of its rows is in the world.
    """

    def __init__(
        self, item: Any, number: int, numbers: list[int], assembly: Any, parameters: Any, known: dict
    ):
        self.item, self.numbers = item, numbers
        self.a, self.b = (0, *numbers)[-2:]
        self.name = item.name or f"{KINDS[type(item)][0]} {number}"
        q: list[int] = []
        u: list[int] = []
        self.quaternions: list[tuple[int, int]] = []
        for k in numbers:
            n_q, n_u = assembly.placed[k].seen
            if (kind := assembly.frames.kind[k]) in (SPATIAL, TURNING):
                before = 3 if kind == SPATIAL else 0
                self.quaternions.append((len(q) + before, len(u) + before))
            q += range(assembly.frames.at_q[k], assembly.frames.at_q[k] + n_q)
            u += range(assembly.frames.at_u[k], assembly.frames.at_u[k] + n_u)
        self.from_q, self.from_u = np.array(q, dtype=np.int64), np.array(u, dtype=np.int64)
        self.side = assembly.placed[numbers[0]].seen[1]
        key = (id(item), *numbers)
        if key not in known:  # shared by all worlds made with `with_params`
            known[key] = item, self._system(parameters)
        self.system = known[key][1].with_params(**parameters.as_dict())
        self.model = self.system.bind(0.0, assembly.q0[self.from_q], assembly.u0[self.from_u])
        self.laws = self.model.laws
        self.rows = np.zeros(self.laws.n_rows, dtype=np.int64)
        if self.model.friction_of:
            raise InputError(
                f"`friction` of {owner_of(item)} is a function of the state: in a world give a Stribeck."
            )

    def _system(self, parameters: Any) -> MechanicalSystem:
        n_q, n_u = self.from_q.size, self.from_u.size
        turns = {"kinematics": rates_of(n_q, n_u, self.quaternions)} if self.quaternions else {}
        own: dict[str, Any] = {}
        mine = replace(self.item, bodies=None, name=self.name if self.item.name is None else self.item.name)
        own[KINDS[type(self.item)][1]] = [mine]
        return MechanicalSystem(
            np.eye(n_u),
            np.zeros(n_u),
            params=parameters.as_dict() or None,
            quaternions=[place for place, _ in self.quaternions],
            **turns,
            **own,
        )

    def bind(self, t: float, q: np.ndarray, u: np.ndarray, borders: np.ndarray) -> None:
        """To a start of the world: scales of derivatives and pieces of time follow."""
        self.system.pieces.cut(borders)
        self.model = self.system.bind(t, q[self.from_q], u[self.from_u])

    # -- laws --------------------------------------------------------------------------------------------------------------

    def add(self, table: Any, kinds: tuple[int, ...], links: dict[int, int]) -> list[int]:
        """Its laws of these kinds to a table; `links` from its laws to those of the table. The rows that were added."""
        laws, added = self.laws, list[int]()
        for law in range(laws.n_laws):
            if laws.kind[law] in kinds:
                links[law] = len(table.entries)
                link = links[int(laws.link[law])] if laws.link[law] >= 0 else -1
                numbers = {"mu": float(laws.mu[law]), "e": float(laws.e[law])}
                first = table.add(
                    int(laws.kind[law]), int(laws.dim[law]), laws.name[law], link=link, **numbers
                )
                places = range(first, first + int(laws.dim[law]))
                self.rows[laws.row[law] : laws.row[law] + laws.dim[law]] = places
                added += places
        return added

    @property
    def n_N(self) -> int:
        """Gaps come first among its rows."""
        return self.laws.n_N

    @property
    def n_position(self) -> int:
        """Number of rows that have a value: gaps, or constraints of joints."""
        return (
            self.laws.n_N
            if isinstance(self.item, Contact)
            else self.laws.n_J
            if isinstance(self.item, Joint)
            else 0
        )

    # -- compiled ------------------------------------------------------------------------------------------------------------

    def _made(
        self, code: Any, signature: Any, function: Any, rows: np.ndarray, to_u: Any = None
    ) -> ModelFunction:
        part = Reference(
            kernels.make_part(self.from_q, self.from_u, self.from_u if to_u is None else to_u, rows)
        )
        return ModelFunction(code, signature, kernels.OfPart(part.address, function), keep=part)

    def values(self, offset: int) -> ModelFunction:
        """Writer of gaps or constraints, to their rows minus `offset`."""
        function = self.model.joints if isinstance(self.item, Joint) else self.model.core.gap
        return self._made(kernels.part_vector, VECTOR, function, self.rows[: self.n_position] - offset)

    def directions(self, side: int | None = None) -> ModelFunction:
        """Writer of rows of W^T; with `side` without zeros, velocities of the second body from there on."""
        first = (
            self.side if len(self.numbers) == 2 else 0
        )  # velocities of the first body, the ground has none
        paired = np.concatenate([np.arange(first), (side or 0) + np.arange(self.from_u.size - first)])
        to_u = self.from_u if side is None else paired
        return self._made(kernels.part_matrix, MATRIX, self.model.core.directions, self.rows, to_u)

    def kappa(self) -> ModelFunction:
        return self._made(kernels.part_vector, VECTOR, self.model.kappa, self.rows)

    def zeta(self) -> ModelFunction | None:
        zeta = self.model.core.zeta
        return None if zeta is no_vector else self._made(kernels.part_vector, VECTOR, zeta, self.rows)

    @property
    def functions(self) -> list[Any]:
        """Functions of the user, as functions of the whole state."""
        from nonsmooth.model.bodies.writers import OnBody

        model = self.model
        ours = (model.f_mass, model.f_force, model.f_kinematics)
        seen = lambda q, u: (q[self.from_q], u[self.from_u])  # noqa: E731
        return [OnBody(f, seen) for f in model.functions if f not in ours]

    # -- plain NumPy -----------------------------------------------------------------------------------------------------------

    def plain_values(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Gaps or constraints at many instants, shape (n, rows)."""
        if isinstance(self.item, Joint):
            rest = np.zeros(self.from_u.size)
            found = [self.model.joint_residuals(s, x[self.from_q], rest)[0] for s, x in zip(t, q)]
        else:
            found = [self.model.gaps(s, x[self.from_q]) for s, x in zip(t, q)]
        return np.array(found).reshape(t.size, self.n_position)

    def plain_directions(self, t: np.ndarray, q: np.ndarray, WT: np.ndarray, zeta: np.ndarray) -> None:
        """W^T and zeta at many instants, into those of the world."""
        for k in range(t.size):
            own, rates = self.model.directions(t[k], q[k, self.from_q])
            WT[k][np.ix_(self.rows, self.from_u)] = own
            zeta[k, self.rows] = rates


def rates_of(n_q: int, n_u: int, quaternions: list[tuple[int, int]]) -> Any:
    """B of bodies side by side, (n_q, n_u): q' = u, and the rates of quaternions."""
    constant = np.zeros((n_q, n_u))
    turning = {i + k for i, _ in quaternions for k in range(4)}
    places = [j for j in range(n_u) if not any(first <= j < first + 3 for _, first in quaternions)]
    for i, j in zip([i for i in range(n_q) if i not in turning], places):
        constant[i, j] = 1.0
    at_q, at_u = (np.array([pair[k] for pair in quaternions], dtype=np.int64) for k in (0, 1))

    def kinematics(t, q):
        B = np.zeros((n_q, n_u), q.dtype)
        B += constant
        for k in range(at_q.size):
            i, j = at_q[k], at_u[k]
            w, x, y, z = 0.5 * q[i], 0.5 * q[i + 1], 0.5 * q[i + 2], 0.5 * q[i + 3]
            B[i, j], B[i, j + 1], B[i, j + 2] = -x, -y, -z
            B[i + 1, j], B[i + 1, j + 1], B[i + 1, j + 2] = w, -z, y
            B[i + 2, j], B[i + 2, j + 1], B[i + 2, j + 2] = z, w, -x
            B[i + 3, j], B[i + 3, j + 1], B[i + 3, j + 2] = -y, x, w
        return B

    return kinematics


#: Kinds of laws by the place where worlds keep them.
GAPS, FRICTION, CONSTRAINTS = (codes.HALF_LINE,), (codes.COULOMB_1D, codes.COULOMB_2D), (codes.FREE,)
