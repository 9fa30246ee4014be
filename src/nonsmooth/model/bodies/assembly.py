"""A world laid out in tables: frames, numbers, laws, rows; and in what order.

Order of laws as everywhere (`contact.laws`): contacts and stops, friction of contacts, dry friction of joints, joints that hold on
position level, then those of velocities. Numbers of elements follow the parameters of the user in the flat array p.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_COLUMNS, HELD, SPATIAL, TURNING, frame_of, make_frames
from nonsmooth._core.records import laws as codes
from nonsmooth.contact.laws import LawTableBuilder
from nonsmooth.errors import InputError, ModelError
from nonsmooth.model.bodies.body import Ground, Placed
from nonsmooth.model.bodies.bushing import Bushing
from nonsmooth.model.bodies.contacts import ContactPair, touches
from nonsmooth.model.bodies.element import Side
from nonsmooth.model.bodies.forces import Load, Spring, TorsionSpring
from nonsmooth.model.bodies.material import Stribeck
from nonsmooth.model.bodies.rows import USER, Row
from nonsmooth.model.bodies.user_rows import CONSTRAINTS, FRICTION, GAPS, UserRows
from nonsmooth.model.elements import Contact, Joint, NonholonomicConstraint
from nonsmooth.model.joints.base import JointElement
from nonsmooth.model.joints.on_curve import PointOnCurve


class Drive(NamedTuple):
    """A prescribed coordinate: its row, its function of t, whether it is an angle known up to full turns."""

    row: int
    function: Any
    wraps: bool
    name: str


class Limit(NamedTuple):
    """Dry friction with a limit of its own, or a coefficient that changes with the speed: its rows, the law."""

    row: int
    dim: int
    friction: Any  # number or Stribeck


class Assembly:
    """Everything about a world that its model needs.

    Attributes
    ----------
    frames : Frames, 1 + n_bodies of them
    fixed : ndarray, shape (1 + n_bodies, 6)
        What does not move of nodes.
    structures : list of Laid
    q0, u0 : ndarray
    rows : list of Row
        One for each row of the laws.
    laws : LawTable
    user_rows : list of UserRows
        Joints, constraints and contacts that are functions of the user.
    """

    def __init__(
        self,
        bodies: list[Any],
        elements: list[Any],
        contacts: list[ContactPair],
        gravity: np.ndarray,
        numbers: dict,
        structures: Any = (),
        own: Any = (),
        parameters: Any = None,
        known: Any = None,
        left_out: Any = (),
    ):
        dim = gravity.size
        self.dim, self.bodies, self.elements, self.contacts, self._numbers = (
            dim,
            bodies,
            elements,
            contacts,
            numbers,
        )
        self.structures = [structure.lay(dim, gravity) for structure in structures]
        nodes = {
            id(node): placed
            for laid in self.structures
            for node, placed in zip(laid.structure.frames, laid.placed)
        }
        self.placed: list[Any] = [
            nodes.get(id(body)) or Placed(body, dim) for body in bodies
        ]  # the ground is number 0
        self.is_body = np.array([id(body) not in nodes for body in bodies])
        self.is_body[0] = False
        self._place_bodies()
        for laid in self.structures:
            first = numbers[id(laid.structure.frames[0])]
            laid.first_q, laid.first_u = int(self.frames.at_q[first]), int(self.frames.at_u[first])
        self.rows: list[Row] = []
        self.drives: list[Drive] = []
        self.limits: list[Limit] = []
        self.rows_of: dict[str, slice] = {}  # by name of a joint
        self.may_go: list[str] = []  # names of rows that can be left out
        self.row_bodies: dict[str, tuple[int, int]] = {}
        self._table = LawTableBuilder()
        self._names = self._element_names()
        self.left_out = left_out
        self.user_rows = self._of_users(own, parameters, {} if known is None else known)
        self._collect_rows()
        self.springs = [e for e in elements if isinstance(e, Spring)]
        self.torsions = [e for e in elements if isinstance(e, TorsionSpring)]
        self.loads = [e for e in elements if isinstance(e, Load)]
        self.bushings = [e for e in elements if isinstance(e, Bushing)]
        self.spring_numbers = [e.numbers(self.side(e.a), self.side(e.b), dim) for e in self.springs]
        self.torsion_numbers = [e.numbers(self.side(e.a), self.side(e.b), dim) for e in self.torsions]
        self.bushing_numbers = [e.numbers(self.side(e.a), self.side(e.b), dim) for e in self.bushings]
        self.load_numbers = [e.numbers(self.side(e.body), dim) for e in self.loads]

    def _place_bodies(self):
        self.frames = make_frames(len(self.placed))
        self.fixed = np.zeros((len(self.placed), FIXED_COLUMNS))
        n_q = n_u = 0
        block = (0, 0)  # where the structure begins whose nodes share its coordinates
        for k, placed in enumerate(self.placed):
            if not placed.block:
                block = n_q, n_u
            for column, entry in zip(
                self.frames, (placed.kind, *block, self.dim, placed.seen[1], placed.offsets)
            ):
                column[k] = entry
            self.fixed[k] = placed.fixed
            n_q, n_u = n_q + placed.q.size, n_u + placed.u.size
        self.n_q, self.n_u = n_q, n_u
        self.q0 = np.concatenate([placed.q for placed in self.placed])
        self.u0 = np.concatenate([placed.u for placed in self.placed])
        after = {SPATIAL: 3, TURNING: 0}  # coordinates before the quaternion
        self.quaternions = tuple(
            int(i) + after[kind] for kind, i in zip(self.frames.kind, self.frames.at_q) if kind in after
        )

    def velocities(self, number: int) -> np.ndarray:
        """Which velocities move a body or node."""
        frame = frame_of(self.frames, number)
        if frame.kind == HELD:
            return frame.at_u + np.array([k for k in frame.parts if k >= 0], dtype=np.int64)
        return np.arange(frame.at_u, frame.at_u + frame.size)

    @property
    def turns_in_space(self) -> bool:
        return bool(self.quaternions)

    def side(self, body: Any) -> Side:
        """A body (None: the ground) by number."""
        number = 0 if body is None else self._numbers[id(body)]
        return Side(number, self.placed[number], self.bodies[number].owner)

    # -- laws in their order -----------------------------------------------------------------------------------------------

    def _collect_rows(self):
        joints = [e for e in self.elements if isinstance(e, JointElement)]
        sides = [(joint, self.side(joint.a), self.side(joint.b)) for joint in joints]
        points = [(contact, touches(contact, self.side, self.dim)) for contact in self.contacts]
        table = self._table
        law_of: list[list[int]] = []
        for contact, found in points:
            law_of.append([])
            for k, touch in enumerate(found):
                law_of[-1].append(len(table.entries))
                name = contact.name if len(found) == 1 else f"{contact.name} [{k}]"
                self._add(touch.gap, codes.HALF_LINE, name, e=contact.material.restitution)
        for joint, a, b in sides:
            self._add_stops(joint, a, b)
        links: dict[int, dict[int, int]] = {id(own): {} for own in self.user_rows}
        self._add_own(Contact, GAPS, links)
        n_N = table.row
        for (contact, found), laws in zip(points, law_of):
            self._add_friction(contact, found, laws)
        self._add_own(Contact, FRICTION, links)
        if not self._varying_friction():
            self.limits.clear()  # coefficients are those of the laws
        for joint, a, b in sides:
            self._add_joint_friction(joint, a, b)
        first = table.row
        for joint, a, b in sides:
            self._add_joint(joint, a, b)
        self._add_own(Joint, CONSTRAINTS, links)
        self.n_joints = table.row - first
        for joint, a, b in sides:
            self._add_velocity_rows(joint, a, b)
        self._add_own(NonholonomicConstraint, CONSTRAINTS, links)
        self.laws = table.build(n_N, table.row - first)
        self.first_joint = first

    def _of_users(self, own: Any, parameters: Any, known: dict) -> list[UserRows]:
        """What functions of the user say, numbered by kind."""
        found, count = [], Counter[type]()
        for item, bodies in [*own, *self._on_curves(known)]:
            numbers = [self._numbers[id(body)] for body in bodies]
            found.append(UserRows(item, count[type(item)], numbers, self, parameters, known))
            count[type(item)] += 1
        return found

    def _on_curves(self, known: dict) -> list[tuple[Joint, list[Any]]]:
        """Points on curves as joints of functions; the same object while their numbers are the same."""
        found = []
        for curve in self.elements:
            if isinstance(curve, PointOnCurve):
                joint, numbers = curve.joint(self.side(curve.a), self.side(curve.b), self.dim)
                joint.name = self.name(curve)
                kept = known.setdefault((id(curve), numbers), (curve, joint))[1]
                found.append((kept, [body for body in curve.bodies if not isinstance(body, Ground)]))
        return found

    def _add_own(self, kind: Any, codes_of: tuple[int, ...], links: dict[int, dict[int, int]]) -> None:
        """Laws of the user's objects of one class."""
        for own in self.user_rows:
            if isinstance(own.item, kind):
                added = own.add(self._table, codes_of, links[id(own)])
                self.rows += [Row(USER, own.a, own.b, np.zeros(0)) for _ in added]
                if codes_of is CONSTRAINTS:
                    self.rows_of[own.name] = slice(added[0], added[-1] + 1)
                    self.row_bodies[own.name] = (own.a, own.b)

    def _add(self, row: Row, kind: int, name: str, **numbers: Any) -> int:
        """A law with one row."""
        self.rows.append(row)
        return self._table.add(kind, 1, name, **numbers)

    def _coordinate(self, joint, a, b, what):
        found = joint.coordinate(a, b, self.dim)
        if found is None:
            raise InputError(f"{joint.owner} has no coordinate of its own: it takes no {what}.")
        return found

    def _add_stops(self, joint, a, b):
        low, high = joint.stops
        if low is None and high is None:
            return
        coordinate = self._coordinate(joint, a, b, "stops")
        for limit, sign, word in ((low, 1.0, "lower"), (high, -1.0, "upper")):
            if limit is not None:
                row = coordinate.at(sign, limit)
                self._add(row, codes.HALF_LINE, f"{self.name(joint)} {word} stop", e=joint.restitution)

    def _add_friction(self, contact, found, laws):
        material, name = contact.material, contact.name
        for k, (touch, law) in enumerate(zip(found, laws)):
            if touch.rolling is None and material.rolling_friction > 0.0:
                raise InputError(
                    f"{contact.owner} has `rolling_friction`: boxes and capsules do not roll in space."
                )
            of = name if len(found) == 1 else f"{name} [{k}]"
            for rows, mu, word in (
                (touch.sliding, material.friction, "friction"), (touch.rolling or [], material.rolling_friction, "rolling friction")
            ):  # fmt: skip
                if rows and mu:
                    kind = codes.COULOMB_1D if len(rows) == 1 else codes.COULOMB_2D
                    self.rows += rows
                    known = np.nan if isinstance(mu, Stribeck) else mu  # or only in a step
                    row = self._table.add(kind, len(rows), f"{of} {word}", link=law, mu=known)
                    self.limits.append(Limit(row, len(rows), mu))

    def _varying_friction(self) -> bool:
        """Whether friction of contacts changes with speed somewhere; then all coefficients are told with every step."""
        varying = any(isinstance(limit.friction, Stribeck) for limit in self.limits)
        for own in self.user_rows:
            for law in np.flatnonzero(own.laws.link >= 0):
                first, dim = own.rows[own.laws.row[law]], int(own.laws.dim[law])
                self.limits.append(Limit(int(first), dim, float(own.laws.mu[law])))
        return varying

    def _add_joint_friction(self, joint, a, b):
        if joint.friction:
            coordinate = self._coordinate(joint, a, b, "friction")
            row = self._add(coordinate.velocity, codes.INTERVAL, f"{self.name(joint)} friction")
            self.limits.append(Limit(row, 1, joint.friction))

    def _add_joint(self, joint, a, b):
        rows = joint.rows(a, b, self.dim)
        driven = joint.drive is not None
        if driven:
            coordinate = self._coordinate(joint, a, b, "drive")
            rows = [*rows, coordinate.at(1.0, 0.0)]
        name, first = self.name(joint), self._table.row
        for k, row in enumerate(rows):
            label = name if len(rows) == 1 else f"{name} [{k}]"
            if label in self.left_out:
                continue
            self._add(row, codes.FREE, label)
            if not driven or k < len(rows) - 1:
                self.may_go.append(label)
        self.rows_of[name] = slice(first, self._table.row)
        self.row_bodies[name] = (a.number, b.number)
        if driven:
            self.drives.append(
                Drive(self._table.row - 1, joint.drive, coordinate.wraps, f"drive of {joint.owner}")
            )

    def _add_velocity_rows(self, joint, a, b):
        rows = joint.velocity_rows(a, b, self.dim)
        name, first = self.name(joint), self._table.row
        for k, row in enumerate(rows):
            self._add(row, codes.FREE, f"{name} velocity" if len(rows) == 1 else f"{name} velocity [{k}]")
        if rows and self.rows_of[name].start == self.rows_of[name].stop:
            self.rows_of[name] = slice(first, self._table.row)

    def _element_names(self) -> dict[int, str]:
        """Names of elements, made up where there is none."""
        names, count = {}, Counter[str]()
        for element in self.elements:
            kind = type(element).__name__.lower()
            names[id(element)] = element.name or f"{kind} {count[kind]}"
            count[kind] += 1
        return names

    def name(self, element: Any) -> str:
        """Name of an element."""
        return self._names[id(element)]

    def body_name(self, number: int) -> str:
        """Name of a body by its number in the table of frames."""
        return self.bodies[number].name or f"body {number - 1}"

    # -- checks ------------------------------------------------------------------------------------------------------------

    def check_names(self) -> None:
        seen: dict[str, int] = {}
        for law, name in enumerate(self.laws.name):
            if name in seen:
                raise ModelError(
                    f"the name {name!r} belongs to laws {seen[name]} and {law}: give contacts and joints distinct names."
                )
            seen[name] = law

    def coordinate_names(self) -> list[str]:
        """Names of q: those of the bodies with x, y, z, phi, or the parts of the quaternion."""
        names: list[str] = []
        for k, placed in enumerate(self.placed[1:], 1):
            body = self.body_name(k)
            names += [f"{body}.{part}" for part in placed.parts]
        return names
