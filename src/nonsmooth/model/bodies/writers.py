"""The compiled writers of a world: kernels of all types of elements over their tables, and the functions of the user between them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies import assemble, forces, friction_limits, inertia
from nonsmooth._core.bodies.frames import PLANAR, SPATIAL, Frames, frame_of
from nonsmooth._core.bodies.table import Table
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.calls.rows import rows_of
from nonsmooth._core.jit import MATRIX, VECTOR, Reference
from nonsmooth._core.stepping.trivial import no_matrix, no_projection, no_vector
from nonsmooth._core.structures import elements as structural
from nonsmooth.errors import InputError
from nonsmooth.model.bodies.assembly import Assembly
from nonsmooth.model.bodies.body import Placed
from nonsmooth.model.bodies.layout import Layout, table
from nonsmooth.model.bodies.material import Stribeck
from nonsmooth.model.bodies.rows import USER
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.functions import UserFunction


class OnBody:
    """A function of the user that sees a part of the state: that of one body, or a length and its rate.

    Named and called like a `UserFunction` of the whole state, for checks and messages.
    """

    def __init__(self, function: UserFunction, seen: Any):
        self.function, self.seen, self.name = function, seen, function.name

    @property
    def parameters(self):
        return self.function.parameters

    @parameters.setter
    def parameters(self, value):
        self.function.parameters = value

    @property
    def compiled(self):
        return self.function.compiled

    def call(self, t, q, u, p=None):
        return self.function.call(t, *self.seen(np.asarray(q), np.asarray(u)), p)

    def check_finite(self, t, q, u):
        return self.function.check_finite(t, *self.seen(np.asarray(q), np.asarray(u)))


def sequence(functions: list, signature) -> Any:
    """One model function that calls all of these, each on the whole of `out`."""
    if not functions:
        return no_vector if signature == VECTOR else no_matrix
    if len(functions) == 1:
        return functions[0]
    code = assemble.all_vectors if signature == VECTOR else assemble.all_matrices
    return ModelFunction(code, signature, [len(functions), *functions])


def element(code, signature, reference) -> ModelFunction:
    """A kernel over a table."""
    return ModelFunction(code, signature, [reference.address], keep=reference)


class Writers:
    """Made once for a world laid out in tables; `functions` are those of the user, with what they see of the state."""

    def __init__(self, assembly: Assembly, layout: Layout, functions: UserFunctions):
        self.assembly, self.layout, self.functions = assembly, layout, functions
        moving = np.flatnonzero(assembly.is_body)
        gravity = np.full(moving.size, layout.gravity[0])
        self._bodies = table(assembly, np.zeros_like(moving), moving, gravity, layout.bodies)
        self.masses = MassEntries(assembly, layout)
        self.mass = element(inertia.mass_matrix, MATRIX, self.masses.reference)
        self.mass_values = element(inertia.mass_values, VECTOR, self.masses.reference)
        self.kinematics = (
            element(inertia.kinematics, MATRIX, self._bodies) if assembly.turns_in_space else no_matrix
        )
        self.own_force = sequence(self._forces(), VECTOR)  # without structures, which know their tangents
        self.force = sequence([*self._forces(), *self._structures()], VECTOR)
        first, own = assembly.first_joint, assembly.user_rows
        gaps = [rows.values(0) for rows in own if rows.n_N]
        joints = [rows.values(first) for rows in own if rows.n_position and not rows.n_N]
        self.gap = sequence(self._rows("value", 0, assembly.laws.n_N, 0) + gaps, VECTOR)
        self.joints = sequence(
            self._rows("value", first, first + assembly.n_joints, first)
            + joints
            + self._drives("value", first),
            VECTOR,
        )
        self.directions = sequence(self._rows("directions") + [rows.directions() for rows in own], MATRIX)
        self.kappa = sequence(
            self._rows("kappa") + [rows.kappa() for rows in own] + self._drives("second"), VECTOR
        )
        self.zeta, rates = no_vector, [zeta for rows in own if (zeta := rows.zeta()) is not None]
        if assembly.drives or rates:
            clear = ModelFunction(assemble.zero_vector, VECTOR, [0])
            self.zeta = sequence([clear, *rates, *self._drives("rate")], VECTOR)
        self.bounds = self._bounds()
        self.project = no_projection

    def _rows(self, what: str, start: int = 0, stop: int | None = None, offset: int = 0) -> list:
        """Kernels of the rows from `start` to `stop`, type by type, that write to the row minus `offset`."""
        rows = self.assembly.rows
        signature = MATRIX if what == "directions" else VECTOR
        made = []
        for kind, numbers in self._by_type(range(start, len(rows) if stop is None else stop)).items():
            a, b = ([getattr(rows[k], side) for k in numbers] for side in "ab")
            at = self.layout.rows[numbers]
            reference = table(self.assembly, a, b, np.array(numbers) - offset, at)
            made.append(element(getattr(kind, what), signature, reference))
        return made

    def paired_directions(self, side: int, apart: bool = False) -> Any:
        """Rows of W^T without zeros, (n_rows, 2 side): velocities of the first body, then of the second from `side` on.

        The same kernels over a table of frames whose velocities begin there. If `apart`, the second bodies read their coordinates from
        a second copy of q behind the first (rows of users do not).
        """
        assembly, rows, n = self.assembly, self.assembly.rows, self.assembly.frames.kind.size
        frames = Frames(*(np.concatenate([column, column]) for column in assembly.frames))
        frames.at_u[:n], frames.at_u[n:] = 0, side
        frames.at_q[n:] += assembly.n_q if apart else 0
        fixed = np.vstack([assembly.fixed, assembly.fixed])
        made = []
        for kind, numbers in self._by_type(range(len(rows))).items():
            a, b = [rows[k].a for k in numbers], [n + rows[k].b for k in numbers]
            columns = (
                np.ascontiguousarray(x, dtype=np.int64) for x in (a, b, numbers, self.layout.rows[numbers])
            )
            made.append(element(kind.directions, MATRIX, Reference(Table(frames, fixed, *columns))))
        return sequence(made + [rows.directions(side) for rows in assembly.user_rows], MATRIX)

    def _by_type(self, numbers) -> dict[Any, list[int]]:
        """Numbers of rows by their type; those of users have writers of their own."""
        members: dict[Any, list[int]] = {}
        for number in numbers:
            members.setdefault(self.assembly.rows[number].type, []).append(number)
        members.pop(USER, None)
        return members

    def _forces(self) -> list:
        assembly, layout = self.assembly, self.layout
        found = [element(inertia.body_forces, VECTOR, self._bodies)]
        kinds: Any = (
            (assembly.springs, layout.springs, forces.springs, forces.spring_by_function),
            (assembly.torsions, layout.torsions, forces.torsion_springs, forces.torsion_by_function),
        )
        for items, places, code, by_function in kinds:
            plain = [k for k, item in enumerate(items) if item.force is None]
            if plain:
                found.append(element(code, VECTOR, self._pairs(items, places, plain)))
            for k in sorted(set(range(len(items))) - set(plain)):
                reference, function = (
                    self._pairs(items, places, [k]),
                    self.functions.writer(items[k], "force"),
                )
                words = forces.ByFunction(reference.address, function, np.zeros(3))
                found.append(ModelFunction(by_function, VECTOR, words, keep=reference))
        constant = [
            k
            for k, load in enumerate(assembly.loads)
            if not callable(load.force) and not callable(load.torque)
        ]
        if constant:
            found.append(element(forces.loads, VECTOR, self._loads(constant)))
        for k in sorted(set(range(len(assembly.loads))) - set(constant)):
            load, reference = assembly.loads[k], self._loads([k])
            side = assembly.side(load.body)
            words = self.functions.load(
                load, assembly.load_numbers[k], frame_of(assembly.frames, side.number), side.placed
            )
            found.append(
                ModelFunction(
                    forces.load_by_function,
                    VECTOR,
                    forces.ByFunction(reference.address, *words),
                    keep=reference,
                )
            )
        return found

    def _structures(self) -> list:
        """Weights and elastic forces of structures."""
        found = []
        for laid, at in zip(self.assembly.structures, self.layout.weights):
            if np.any(laid.weights):
                words = structural.Weights(laid.first_u, laid.n, int(at))
                found.append(ModelFunction(structural.weights, VECTOR, words))
            found.append(laid.force())
        return found

    def _pairs(self, items, places, chosen):
        side = self.assembly.side
        a = [side(items[k].a).number for k in chosen]
        b = [side(items[k].b).number for k in chosen]
        return table(self.assembly, a, b, np.zeros(len(chosen)), places[chosen])

    def _loads(self, chosen):
        b = [self.assembly.side(self.assembly.loads[k].body).number for k in chosen]
        return table(
            self.assembly, np.zeros(len(chosen)), b, np.zeros(len(chosen)), self.layout.loads[chosen]
        )

    def _drives(self, what: str, offset: int = 0) -> list:
        """Prescribed coordinates, their rates or second rates, subtracted from their rows."""
        made = []
        for drive in self.assembly.drives:
            function = self.functions.drive(drive, what)
            code = assemble.subtract_turned if what == "value" and drive.wraps else assemble.subtract_at
            rows = np.array([float(drive.row - offset)])
            made.append(ModelFunction(code, VECTOR, assemble.Subtracted(function, 1, np.zeros(1), rows)))
        return made

    def _bounds(self):
        """Limits of friction; speeds of slipping only where one of them asks for them."""
        assembly, limits = self.assembly, self.assembly.limits
        if not limits:
            return no_vector
        table = np.array([(x.row, x.dim, at) for x, at in zip(limits, self.layout.limits)], dtype=float)
        first, end = assembly.laws.n_N, assembly.first_joint
        varying = any(isinstance(limit.friction, Stribeck) for limit in limits)
        WT: Any = sequence(self._rows("directions", first, end, first), MATRIX) if varying else 0
        words = friction_limits.Limits(
            count=len(limits), table=table, n_rows=assembly.laws.n_rows, directions=WT, first=first, sliding=end - first,
            scratch=np.zeros((end - first, assembly.n_u)),
        )  # fmt: skip
        return ModelFunction(friction_limits.set_limits, VECTOR, words)


class MassEntries:
    """Entries of M: of bodies and of structures.

    Attributes
    ----------
    pattern : Pattern
    reference : Reference
        For the kernels of `_core.bodies.inertia`.
    """

    def __init__(self, assembly: Assembly, layout: Layout):
        rows, columns, at = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
        for k, place in zip(np.flatnonzero(assembly.is_body), layout.bodies):
            i, j, number = _body_entries(assembly.placed[k])
            first = assembly.frames.at_u[k]
            rows.append(first + i)
            columns.append(first + j)
            at.append(place + number)
        for laid, place in zip(assembly.structures, layout.masses):
            rows.append(laid.first_u + laid.mass.rows)
            columns.append(laid.first_u + laid.mass.columns)
            at.append(place + np.arange(laid.mass.values.size))
        i, j, numbers = (np.concatenate(x).astype(np.int64) for x in (rows, columns, at))
        shape = (assembly.n_u, assembly.n_u)
        self.pattern = Pattern.of(sparse.csr_array((np.ones(i.size), (i, j)), shape=shape))
        self.reference = Reference(inertia.Entries(i, j, self.pattern.places(i, j), numbers))


def _body_entries(placed: Placed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a body, and their places among its numbers."""
    dim = placed.dim
    rows = columns = list(range(dim))
    numbers = [inertia.MASS] * dim
    if placed.kind == PLANAR:
        rows, columns, numbers = [*rows, 2], [*columns, 2], [*numbers, inertia.J]
    elif placed.kind == SPATIAL:
        i, j, of = (3, 4, 5, 3, 4, 3, 5, 4, 5), (3, 4, 5, 4, 3, 5, 3, 5, 4), (0, 1, 2, 3, 3, 4, 4, 5, 5)
        rows, columns, numbers = [*rows, *i], [*columns, *j], [*numbers, *(inertia.J + k for k in of)]
    return np.array(rows), np.array(columns), np.array(numbers)


class UserFunctions:
    """Functions the user has given to elements of a world, and their compiled forms.

    Shared by all worlds made with `with_params`: nothing of them is compiled again.
    """

    def __init__(self, parameters, differentiator: Any):
        self.parameters, self._differentiator = parameters, differentiator
        self.all: dict[tuple, OnBody] = {}  # by element and what it says
        self._drive_functions: dict[Any, UserFunction] = {}

    @property
    def differ(self):
        return self._differentiator()

    def rebound(self, parameters, differentiator) -> None:
        """Parameters of the same names, another start."""
        self.parameters, self._differentiator = parameters, differentiator

    def known(self, key, make) -> OnBody:
        if key not in self.all:
            self.all[key] = make()
        return self.all[key]

    def law(self, item: Any) -> OnBody:
        """Tension or torque of a spring as a function of length (angle) and rate."""
        owner = f"force of {item.owner}"
        key = (item.force, owner)
        seen = item_state(item)
        return self.known(
            key,
            lambda: OnBody(
                UserFunction(_of_scalars(item.force, owner), owner, (1,), True, self.parameters), seen
            ),
        )

    def writer(self, item: Any, what: str) -> ModelFunction:
        return self.law(item).function.writer(np.ones(1), np.zeros(1), 0.0)

    def load_parts(self, load: Any, frame: Frames, placed: Placed) -> dict[str, OnBody]:
        """Force and torque of a load, where they are functions."""
        dim, found = placed.dim, {}
        i, j = int(frame.at_q), int(frame.at_u)
        n_q, n_u = placed.seen
        seen = lambda q, u: (q[i : i + n_q], u[j : j + n_u])  # noqa: E731
        for what, size in (("force", dim), ("torque", 1 if dim == 2 else 3)):
            given = getattr(load, what)
            if callable(given):
                name = f"{what} of {load.owner}"
                key = (given, name, i, j, n_q)
                make = lambda given=given, name=name, size=size: OnBody(  # noqa: E731
                    UserFunction(given, name, (size,), True, self.parameters), seen
                )
                found[what] = self.known(key, make)
        return found

    def load(self, load: Any, numbers: np.ndarray, frame: Frames, placed: Placed) -> list:
        """What the kernel of a load with functions wants: the function of six values, and these."""
        value = np.zeros(6)
        value[:3], value[3:] = numbers[4:7], numbers[7:10]  # a constant part beside the function
        parts = []
        for what, f in self.load_parts(load, frame, placed).items():
            n_q, n_u = placed.seen
            writer = f.function.writer(
                np.ones(n_q) if placed.block else placed.q, np.ones(n_u) if placed.block else placed.u, 0.0
            )
            size = f.function.shape[0]
            first = 0 if what == "force" else 3 if size == 3 else 5
            parts.append((writer, first, size))
        return [rows_of(parts, VECTOR), value]

    def drive_function(self, drive: Any) -> UserFunction:
        key = (drive.function, drive.name)
        if key not in self._drive_functions:
            made = UserFunction(
                _of_time(drive.function, drive.name), drive.name, (1,), False, self.parameters
            )
            self._drive_functions[key] = made
        return self._drive_functions[key]

    def drive(self, drive: Any, what: str) -> Any:
        """Compiled value, rate or second rate of a prescribed coordinate."""
        f, differ = self.drive_function(drive), self.differ
        if what == "value":
            return f.writer(differ.q0, differ.u0, differ.t0)
        if what == "rate":
            return differ.time_derivative(f, slice(0, 1), f"d/dt {f.name}")
        from nonsmooth.model.quadratic_term import QuadraticTerm, Rows

        return QuadraticTerm([Rows(slice(0, 1), f.name, value=f)], 1, None, differ).writer()


def item_state(item):
    """For checks: length one, rate zero."""
    return lambda q, u: (np.ones(1), np.zeros(1))


def _arguments(function, name, base) -> bool:
    """Whether a function takes `p` after its `base` arguments."""
    try:
        n = len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        n = base
    if n not in (base, base + 1):
        raise InputError(
            f"the {name} takes {n} arguments: {base}, or one more for the parameters `p`, are wanted."
        )
    return n == base + 1


def _of_time(function, name):
    """``f(t[, p])`` as a function of a model."""
    if _arguments(function, name, 1):

        def with_parameters(t, q, p):
            return function(t, p)

        return with_parameters

    def of_time(t, q):
        return function(t)

    return of_time


def _of_scalars(function, name):
    """``f(t, x, rate[, p])`` as a function of a model with one coordinate."""
    if _arguments(function, name, 3):

        def with_parameters(t, q, u, p):
            return function(t, q[0], u[0], p)

        return with_parameters

    def of_scalars(t, q, u):
        return function(t, q[0], u[0])

    return of_scalars
