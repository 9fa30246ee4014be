"""`World`: bodies, joints, forces and contacts instead of functions; a model like any other."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from nonsmooth._core.derivatives.pieces import Pieces
from nonsmooth.errors import InputError, ModelError, NonFiniteError, ShapeError
from nonsmooth.model.bodies.assembly import Assembly
from nonsmooth.model.bodies.body import Body, Ground
from nonsmooth.model.bodies.contacts import ContactPair, name_of
from nonsmooth.model.bodies.element import Element
from nonsmooth.model.bodies.forces import Load
from nonsmooth.model.bodies.material import Material, material_of, met
from nonsmooth.model.bodies.shapes import Surface, _Flat
from nonsmooth.model.bodies.user_rows import OF_USERS, bodies_of, owner_of
from nonsmooth.model.bodies.writers import UserFunctions
from nonsmooth.model.parameters import Parameters
from nonsmooth.model.structures.base import Node, Structure
from nonsmooth.model.system import RunGuard
from nonsmooth.model.world_model import WorldModel
from nonsmooth.names import Label, check_label

#: What `with_params` leaves as it is.
KEPT = ("name", "world", "a", "b", "body", "shape", "bodies", "frames", "fixed", "points", "M", "points_of")


class World:
    """Bodies and what acts between them.

    Parameters
    ----------
    gravity : (2,) or (3,)
        Acceleration; its length is the dimension of the world.
    material : Material, optional
        Of everything that has none of its own.
    params : mapping, optional
        Reaches the functions of loads, springs and drives as their argument ``p``.
    name : str, optional

    Attributes
    ----------
    ground
        What does not move; joints, springs and surfaces attach to it.
    """

    force_tangents = None
    name = Label()

    def __init__(
        self,
        gravity: Any = (0.0, -9.81),
        material: Material | None = None,
        params: Any = None,
        name: str | None = None,
    ):
        self.gravity = _gravity(gravity)
        self.dim = self.gravity.size
        self.material = material_of(material, "the world") or Material()
        self.parameters, self.name = Parameters(params), name
        self.ground = Ground(self)
        self.bodies: list[Any] = [self.ground]
        self.elements: list[Any] = []
        self.structures: list[Any] = []
        self.surfaces: list[Surface] = []
        self.own: list[Any] = []  # joints, constraints and contacts that are functions
        self._own_systems: dict[tuple, Any] = {}
        self._left_out: frozenset[str] = frozenset()
        self._explicit: list[tuple[Any, Any, dict[str, float | None], str | None]] = []
        self._pairs: dict[frozenset[int], Material] = {}
        self._apart: set[frozenset[int]] = set()
        self._names: dict[str, Any] = {"ground": self.ground}
        self._numbers: dict[int, int] = {id(self.ground): 0}
        self._guard = RunGuard()
        self.pieces = Pieces()  # of the time axis, cut by runs
        self.user_functions = UserFunctions(self.parameters, lambda: None)
        self._assembly: Assembly | None = None

    # -- building --------------------------------------------------------------------------------------------------------

    def add(self, *items: Any) -> Any:
        """Add bodies, structures, joints, forces and surfaces; returns the item, or a tuple of them.

        `Joint`, `NonholonomicConstraint` and `Contact`, which are functions, name the `bodies` whose coordinates they see.
        """
        if not items:
            raise InputError("`add` got nothing: bodies, structures, joints, forces or surfaces are wanted.")
        for item in items:
            self._add(item)
        self._assembly = None
        return items[0] if len(items) == 1 else items

    def add_bodies(self, n: int, name: str = "body", **arrays: Any) -> list[Body]:
        """Add n bodies at once: arguments of `Body`, each the same for all or an array with one entry for each body.

        Names are ``name[0]``, ``name[1]``, ...
        """
        if not isinstance(name, str):
            raise InputError(f"`name` of `add_bodies` is {name!r}: text is wanted.")
        single = {"position": 1, "velocity": 1, "rotation": 1, "angular_velocity": self.dim - 2, "inertia": 0}
        columns = {}
        for argument, value in arrays.items():
            shared = np.ndim(value) <= single.get(argument, 0) or argument in ("shape", "material")
            if not shared and len(value) != n:
                raise ShapeError(f"`{argument}` has {len(value)} entries for {n} bodies.")
            columns[argument] = [value] * n if shared else list(value)
        bodies = []
        for k in range(n):
            body = Body(**{argument: values[k] for argument, values in columns.items()})
            body.name = f"{name}[{k}]"
            bodies.append(body)
        self.add(*bodies)
        return bodies

    def _add(self, item: Any) -> None:
        if isinstance(item, Surface):
            self._add_surface(item)
            self.surfaces.append(item)
            return
        if isinstance(item, OF_USERS):
            self._add_own(item)
            return
        if isinstance(item, Node) or not isinstance(item, Body | Element | Load | Structure):
            raise InputError(
                f"`add` got {item!r}: bodies, structures, joints, forces or surfaces are wanted."
            )
        if item.world is not None:
            where = "this world already" if item.world is self else "another world"
            raise ModelError(f"{item.owner} is in {where}: make a new one.")
        if isinstance(item, Body):
            self._name(item)
            self._numbers[id(item)] = len(self.bodies)
            self.bodies.append(item)
        elif isinstance(item, Structure):
            self._add_structure(item)
        else:
            for body in item.bodies:
                self._mine(body, item.owner)
            self._name(item)
            self.elements.append(item)
        item.world = self

    def _add_own(self, item: Any) -> None:
        """A joint, constraint or contact that is a function of the coordinates of its bodies."""
        for body in bodies_of(item):
            self._mine(body, owner_of(item))
        if any(item is other for other in self.own):
            raise ModelError(f"{owner_of(item)} is in this world already: make a new one.")
        if isinstance(item.name, str):
            self._name(item)
        self.own.append(item)

    def _add_structure(self, structure: Structure) -> None:
        """Its nodes are numbered like bodies; a structure without name gets one, for results."""
        if structure.name is None:
            kind, count = type(structure).__name__.lower(), len(self.structures)
            structure.name = next(
                name for k in range(count, 2 * count + 2) if (name := f"{kind} {k}") not in self._names
            )
        self._name(structure)
        for node in structure.frames:
            self._numbers[id(node)] = len(self.bodies)
            self.bodies.append(node)
            node.world = self
        self.structures.append(structure)

    def _add_surface(self, surface: Surface) -> None:
        if surface.dim is not None and surface.dim != self.dim:
            instead = "HalfPlane" if self.dim == 2 else "Plane"
            raise InputError(f"{surface.owner} does not fit a world of dimension {self.dim}: use {instead}.")
        if len(surface.point) != self.dim:
            raise ShapeError(
                f"`point` of {surface.owner} has {len(surface.point)} entries in a world of dimension {self.dim}."
            )
        if surface.body is not None:
            self._mine(surface.body, surface.owner)
        if surface.name is not None and self._names.get(surface.name) is not surface:
            self._name(surface)

    def _name(self, item: Any) -> None:
        if item.name is None:
            return
        if item.name in self._names:
            raise ModelError(
                f"the name {item.name!r} is used twice: by {self._names[item.name]!r} and by {item!r}; rename one."
            )
        self._names[item.name] = item

    def _mine(self, body: Any, owner: str) -> None:
        if id(body) not in self._numbers:
            where = "in no world" if getattr(body, "world", None) is None else "in another world"
            raise ModelError(
                f"{owner} refers to {getattr(body, 'owner', repr(body))}, which is {where}: add it to this world first."
            )

    def contact(
        self,
        a: Any,
        b: Any,
        restitution: float | None = None,
        friction: Any = None,
        rolling_friction: float | None = None,
        name: str | None = None,
    ) -> None:
        """Let two things touch: a body and a surface (HalfPlane, Plane, Circle), or two bodies, one of them a disk, ball or point.

        Nodes of structures are points; a structure touches with all of its nodes. Coefficients that are left out are those of the
        materials.
        """
        if isinstance(b, Surface):
            a, b = b, a
        if isinstance(a, Structure):
            a, b = b, a
        if isinstance(b, Structure):
            for k, node in enumerate(b.nodes):
                self.contact(
                    a, node, restitution, friction, rolling_friction, None if name is None else f"{name} {k}"
                )
            return
        if isinstance(b, Surface) or not isinstance(b, Body) or not isinstance(a, Body | Surface):
            raise InputError(
                f"`contact` got {a!r} and {b!r}: a body and a surface, or two bodies, are wanted."
            )
        self._mine(b, "`contact`")
        if isinstance(a, Surface):
            self._add_surface(a)
        else:
            self._mine(a, "`contact`")
        if a is b:
            raise ModelError(f"`contact` got {b.owner} twice: two things are wanted.")
        check_label(name, "`name` of a contact")
        self._explicit.append(
            (
                a,
                b,
                {"restitution": restitution, "friction": friction, "rolling_friction": rolling_friction},
                name,
            )
        )
        self._assembly = None

    def pair(
        self,
        a: Material,
        b: Material,
        restitution: float = 0.0,
        friction: Any = 0.0,
        rolling_friction: float = 0.0,
    ) -> None:
        """Coefficients that hold where the materials a and b meet."""
        for material in (a, b):
            if not isinstance(material, Material):
                raise InputError(f"`pair` got {material!r}: two materials are wanted.")
        self._pairs[frozenset((id(a), id(b)))] = Material(restitution, friction, rolling_friction)
        self._assembly = None

    def keep_apart(self, a: Any, b: Any) -> None:
        """A body and a surface that were added pair by themselves; these two do not."""
        self._apart.add(frozenset((id(a), id(b))))
        self._assembly = None

    def _material(self, a: Any, b: Any, given: dict[str, Any]) -> Material:
        m_a, m_b = a.material or self.material, b.material or self.material
        found = self._pairs.get(frozenset((id(m_a), id(m_b)))) or met(m_a, m_b)
        chosen = {name: getattr(found, name) if value is None else value for name, value in given.items()}
        return Material(**chosen)

    def _contacts(self) -> list[ContactPair]:
        """Explicit pairs, and every body with a shape against every plane and half-plane that was added."""
        nothing: dict[str, float | None] = dict.fromkeys(("restitution", "friction", "rolling_friction"))
        listed = [(a, b, given, name) for a, b, given, name in self._explicit]
        known = {frozenset((id(a), id(b))) for a, b, _, _ in listed} | self._apart
        for surface in self.surfaces:
            for body in self.bodies[1:]:
                key = frozenset((id(surface), id(body)))
                if (
                    isinstance(surface, _Flat)
                    and body.shape is not None
                    and surface.body is not body
                    and key not in known
                ):
                    listed.append((surface, body, nothing, None))
        surfaces = {
            id(a): k
            for k, a in enumerate(dict.fromkeys(a for a, _, _, _ in listed if isinstance(a, Surface)))
        }
        found = []
        for a, b, given, name in listed:
            number = surfaces.get(id(a), 0) if isinstance(a, Surface) else self._numbers[id(a)] - 1
            title = name or f"{name_of(b, self._numbers[id(b)] - 1)} on {name_of(a, number)}"
            found.append(ContactPair(a, b, self._material(a, b, given), title))
        return found

    # -- what schemes and front doors ask -----------------------------------------------------------------------------------

    @property
    def assembly(self) -> Assembly:
        """The world laid out in tables."""
        if self._assembly is None:
            self._assembly = Assembly(
                self.bodies, self.elements, self._contacts(), self.gravity, self._numbers, self.structures,
                [(item, bodies_of(item)) for item in self.own], self.parameters, self._own_systems, self._left_out,
            )  # fmt: skip
        return self._assembly

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """q0 and u0 from the states given with the bodies."""
        return self.assembly.q0.copy(), self.assembly.u0.copy()

    @property
    def quaternions(self) -> tuple[int, ...]:
        return self.assembly.quaternions

    @property
    def kinematics(self) -> Any:
        """None where q' = u."""
        return True if self.assembly.turns_in_space else None

    @property
    def coordinate_names(self) -> list[str]:
        return self.assembly.coordinate_names()

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the user's functions by name (a copy)."""
        return self.parameters.as_dict()

    @property
    def draw(self) -> tuple[Any, ...]:
        """Shapes of the scene, from those of the bodies."""
        from nonsmooth.model.bodies.scenery import scenery

        return scenery(self)

    def bind(self, t0: float, q0: Any, u0: Any) -> WorldModel:
        """The model for a start."""
        q0, u0 = np.asarray(q0, dtype=np.float64), np.asarray(u0, dtype=np.float64)
        for name, value, wanted in (("q0", q0, self.assembly.n_q), ("u0", u0, self.assembly.n_u)):
            if value.shape != (wanted,):
                raise ShapeError(
                    f"`{name}` has shape {value.shape}: the bodies of the world have {wanted} entries."
                )
        return WorldModel(self, self.assembly, float(t0), q0, u0)

    def running(self) -> RunGuard:
        """Context of a run: one at a time."""
        return self._guard

    def with_params(self, **changes: Any) -> World:
        """The same world with other numbers; nothing is recompiled.

        A name is that of a parameter of `params`, or of a body, joint, spring, load, with a mapping from its arguments to new
        values: ``world.with_params(spring=dict(stiffness=30.0), speed=2.0)``.
        """
        other = copy.copy(self)
        values = {name: value for name, value in changes.items() if name in self.parameters.names}
        other.parameters = self.parameters.replaced(values)
        other.bodies, other.elements, other.structures, other.own = (
            list(self.bodies),
            list(self.elements),
            list(self.structures),
            list(self.own),
        )
        other._numbers, other._names = dict(self._numbers), dict(self._names)
        for name, numbers in changes.items():
            if name not in values:
                other._replace(name, numbers)
        other._assembly = None
        if other.assembly.laws.name != self.assembly.laws.name:
            raise InputError(
                "a changed parameter must keep the laws of the world; build a new world instead."
            )
        return other

    def without_redundant_rows(self) -> World:
        """The same world without rows of joints that others imply, at the start and near it: overconstrained loops.

        `simulate` does so by itself. Forces of joints are still told for all rows: the smallest that do the same.
        """
        from nonsmooth.model.redundancy import lasting, redundant_names

        q, u = self.start()
        model = self.bind(0.0, q, u)
        return self.without_rows(lasting(model, 0.0, q) if redundant_names(model, 0.0, q) else ())

    def without_rows(self, names: Any) -> World:
        """The same world without rows of joints of these names, such as "hinge [3]"."""
        other = self.with_params()
        other._left_out = self._left_out | frozenset(names)
        other._assembly = None
        return other

    def with_all_rows(self) -> World:
        """The same world with all rows of its joints."""
        other = self.with_params()
        other._left_out, other._assembly = frozenset(), None
        return other

    def _replace(self, name: str, numbers: Any) -> None:
        old = self._names.get(name)
        if old is None or old is self.ground:
            known = ", ".join([*self.parameters.names, *(n for n in self._names if n != "ground")])
            raise InputError(f"unknown parameter or element {name!r}; the world has {known or 'none'}.")
        if not isinstance(numbers, dict):
            raise InputError(f"`{name}` is {numbers!r}: a dict with arguments of {old!r} is wanted.")
        new = copy.copy(old)
        for key, value in numbers.items():
            if key in KEPT or key not in vars(old):
                listed = ", ".join(k for k in vars(old) if k not in KEPT and not k.startswith("_"))
                raise InputError(f"{name!r} has no number {key!r} that could change; it has {listed}.")
            setattr(new, key, value)
        for items in (self.bodies, self.elements, self.structures, self.own):
            for k, item in enumerate(items):
                if item is old:
                    items[k] = new
        if id(old) in self._numbers:
            self._numbers[id(new)] = self._numbers[id(old)]
        self._names[name] = new

    def view(self, result: Any, name: str) -> Any:
        """What ``result[name]`` is, for a result that was read from a file."""
        known = set(result.law_names)
        run = self.without_rows(row for row in self.assembly.may_go if row not in known)
        return run.bind(float(result.t[0]), result.q[:, 0], result.u[:, 0]).view(result, name)

    def __getitem__(self, name: str) -> Any:
        """A body, joint, force or surface by name."""
        if name not in self._names:
            raise KeyError(f"the world has no {name!r}; it has {', '.join(self._names)}")
        return self._names[name]

    def __repr__(self) -> str:
        counts = [
            (sum(not isinstance(body, Node) for body in self.bodies) - 1, "bodies"),
            (len(self.structures), "structures"),
            (len(self.elements), "elements"),
            (len(self.surfaces), "surfaces"),
        ]
        place = "plane" if self.dim == 2 else "space"
        title = f"World {self.name}" if self.name else "World"
        return f"<{title} ({place}): {', '.join(f'{n} {word}' for n, word in counts)}>"

    def _repr_html_(self) -> str:
        from nonsmooth.results.notebook import table

        kinds = ("structures", "elements", "surfaces")
        rows = [("bodies", [body for body in self.bodies[1:] if not isinstance(body, Node)])]
        rows += [(kind, getattr(self, kind)) for kind in kinds] + [("contacts", self._contacts())]
        named = [
            (kind, ", ".join(str(item.name or f"number {k}") for k, item in enumerate(items)))
            for kind, items in rows
            if items
        ]
        return table(
            repr(self).strip("<>"),
            named + [(f"parameter {name}", str(value)) for name, value in self.params.items()],
        )


def _gravity(gravity: Any) -> np.ndarray:
    try:
        array = np.array(gravity, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`gravity` is {gravity!r}: two (plane) or three (space) numbers are wanted."
        ) from exc
    if array.shape not in ((2,), (3,)):
        raise ShapeError(
            f"`gravity` has shape {array.shape}: two (plane) or three (space) numbers are wanted."
        )
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`gravity` is {array.tolist()}: it must be finite.")
    return array
