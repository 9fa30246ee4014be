"""A world as schemes see it: the `Assembled` protocol (`model.assembled`) over tables of elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies.frames import ALONG, GROUND, HELD, PHI, PLANAR, POINT, SPATIAL, TURNING
from nonsmooth._core.jit import MATRIX, VECTOR, address_record
from nonsmooth._core.records.scene import MODEL_FUNCTIONS, ON_REQUEST, ModelRecord, Size
from nonsmooth._core.stepping.trivial import no_vector
from nonsmooth.contact.laws import LawTable
from nonsmooth.model.bodies.assembly import Assembly
from nonsmooth.model.bodies.layout import Layout, WorldParameters
from nonsmooth.model.bodies.material import Stribeck, as_stribeck
from nonsmooth.model.bodies.plain import PlainRows
from nonsmooth.model.bodies.plain_forces import PlainForces
from nonsmooth.model.bodies.rows import CARRIED, FIXED
from nonsmooth.model.bodies.world_writers import WorldWriters
from nonsmooth.model.bodies.writers import UserFunctions, Writers
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.model import CoreFunctions
from nonsmooth.model.structures.linear import LaidMatrices


class WorldModel:
    """A `World` bound to a start. Made by ``world.bind(t0, q0, u0)``."""

    goes_back = False  # (functions of users are bound anew with every model of a world)
    # what only models of functions have
    gaps_of = jacobians_of = joints_of = joint_jacobians_of = ()
    sets: Any = {}  # noqa: RUF012
    f_potential = None
    complete: Any = None  # the model of all rows, where a run leaves some out
    _quadratic = SimpleNamespace(rows=())

    def __init__(self, world: Any, assembly: Assembly, t0: float, q0: np.ndarray, u0: np.ndarray):
        self.system, self.assembly = world, assembly
        self.n_q, self.n_u = assembly.n_q, assembly.n_u
        self._t0, self._q0, self._u0 = t0, q0.copy(), u0.copy()
        self.laws: LawTable = assembly.laws
        assembly.check_names()
        gravity, user = np.zeros(3), world.parameters
        gravity[: assembly.dim] = world.gravity
        self.layout = Layout(assembly, gravity, user.flat.size)
        self.parameters = WorldParameters(user.as_dict(), self.layout.numbers)
        self.user_functions: UserFunctions = world.user_functions
        self.user_functions.rebound(self.parameters, lambda: self.differentiator)
        self.f_kinematics = Kinematics(self) if assembly.turns_in_space else None
        linked = {int(row) for row, link in zip(self.laws.row, self.laws.link) if link >= 0}
        self.friction_of = [limit for limit in assembly.limits if limit.row in linked]
        self.bounds_of = [limit for limit in assembly.limits if limit.row not in linked]
        for own in assembly.user_rows:
            own.bind(self._t0, self._q0, self._u0, world.pieces.borders)
        self.plain_rows = PlainRows(assembly, assembly.rows)
        self.plain_forces = PlainForces(assembly, gravity, self.user_functions)
        self._made: dict[str, Any] = {}

    def _once(self, name, make):
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    # -- compiled ------------------------------------------------------------------------------------------------------

    @property
    def writers(self) -> Writers:
        return self._once("writers", lambda: WorldWriters(self.assembly, self.layout, self.user_functions))

    @property
    def core(self) -> CoreFunctions:
        """The compiled functions (made at the first use)."""
        return self._once(
            "core", lambda: CoreFunctions(*(getattr(self.writers, name) for name in CoreFunctions._fields))
        )

    @property
    def joints(self):
        """Compiled writer of the joints' constraints, in the order of their rows."""
        return self.writers.joints

    @property
    def kappa(self):
        """Compiled writer of the quadratic term of all rows."""
        return self.writers.kappa

    @property
    def differentiator(self) -> Differentiator:
        """For the functions of the user, and the scales of coordinates."""
        return self._once(
            "differ",
            lambda: Differentiator(self._t0, self._q0, self._u0, self.parameters.flat, self.system.pieces),
        )

    def size(self):
        """Sizes and flags for the compiled loops."""
        size, laws = Size(), self.laws
        size.n_q, size.n_u, size.n_unit = self.n_q, self.n_u, len(self.quaternions)
        size.n_N, size.n_laws, size.n_rows, size.n_J = laws.n_N, laws.n_laws, laws.n_rows, laws.n_J
        size.n_joints = self.assembly.n_joints
        size.has_B = self.f_kinematics is not None
        size.constant_M, size.constant_W = 1, int(self.constant_directions)
        size.has_zeta = self.core.zeta is not no_vector
        size.has_bounds = self.core.bounds is not no_vector
        size.has_friction = bool(self.friction_of)
        return size

    def record(self, more=()) -> ModelRecord:
        """What the compiled loops see of the model."""
        matrices = ("mass", "directions", "kinematics")
        functions: dict[str, Any] = {
            name: (getattr(self.core, name), MATRIX if name in matrices else VECTOR)
            for name in MODEL_FUNCTIONS
        }
        functions |= {name: (getattr(self, name), VECTOR) if name in more else 0 for name in ON_REQUEST}
        unit = np.array(self.quaternions or (0,), dtype=np.int64)
        return ModelRecord(
            address_record(**functions), self.size(), self.laws.core(), self.parameters.flat, unit
        )

    @property
    def tangent_parts(self):
        """Patterns and compiled parts of the tangents (made at the first use); see `model.bodies.tangents`."""
        from nonsmooth.model.bodies.tangents import WorldTangents  # its kernels compile where they are used

        return self._once("tangents", lambda: WorldTangents(self))

    @property
    def mass_operator(self):
        """M as an operator that factorises and solves."""
        from nonsmooth.model.mass_operator import MassOperator

        return self._once("mass", lambda: MassOperator(self, self.pattern_M))

    @property
    def pattern_M(self):
        """Blocks of bodies, elements of structures."""
        return self.writers.masses.pattern

    @property
    def mass_values(self):
        """Compiled writer of M on its pattern."""
        return self.writers.mass_values

    @property
    def pattern_K(self):
        """Bodies that share an element."""
        return self.tangent_parts.pattern

    @property
    def pattern_W(self):
        """Rows and the velocities of their two bodies."""
        from nonsmooth.model.colouring import Pattern

        def make():
            sides = [
                (n, self.assembly.velocities(k))
                for n, row in enumerate(self.assembly.rows)
                for k in (row.a, row.b)
            ]
            rows = np.array([n for n, places in sides for _ in places], dtype=np.int64)
            columns = np.concatenate([np.zeros(0, dtype=np.int64), *(places for _, places in sides)])
            shape = (self.laws.n_rows, self.n_u)
            return Pattern.of(sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=shape))

        return self._once("pattern_W", make)

    @property
    def space(self):
        """R^n, angles in the plane, rotations in space; see `model.space`."""
        from nonsmooth.model.space import SO2, SO3, R, Space

        def make():
            dim = self.assembly.dim
            turning = {POINT: [R(dim)], PLANAR: [R(dim), SO2], SPATIAL: [R(dim), SO3], TURNING: [SO3]}
            blocks = [
                turning.get(placed.kind, [R(placed.q.size)])
                for placed in self.assembly.placed[1:]
                if placed.q.size
            ]
            return Space([block for body in blocks for block in body])

        return self._once("space", make)

    def laws_at(self, t, q) -> LawTable:
        """The laws of a step that starts at (t, q): contacts without detection are always the same ones."""
        return self.laws

    @property
    def constant_mass(self) -> bool:
        return True

    @property
    def constant_directions(self) -> bool:
        """Whether W is the same everywhere: points that do not turn, against the ground."""
        frames = self.assembly.frames

        def constant(row):
            kind, fixed = frames.kind[row.b], row.type in (FIXED, CARRIED)
            moves_only = kind in (POINT, ALONG) or (kind == HELD and frames.parts[row.b, PHI] < 0)
            return fixed and frames.kind[row.a] == GROUND and moves_only

        return self._once("constant W", lambda: all(constant(row) for row in self.assembly.rows))

    @property
    def exactly_linear(self) -> bool:
        """Whether forces are linear in q and u, by what they are made of."""
        assembly = self.assembly
        plain_loads = all(
            not (load.carried or callable(load.force) or callable(load.torque)) for load in assembly.loads
        )
        others = assembly.springs or assembly.torsions or assembly.bushings or assembly.turns_in_space
        return plain_loads and not others and all(laid.linear for laid in assembly.structures)

    @property
    def passive(self) -> bool:
        """Whether nothing can feed energy to the bodies but what `potential_energy` knows: no loads, no drives, no functions."""
        assembly = self.assembly
        springs: list[Any] = [*assembly.springs, *assembly.torsions]
        given = any(spring.force is not None or spring.damping < 0.0 for spring in springs)
        given = given or any(
            isinstance(laid, LaidMatrices) and laid.has_damping for laid in assembly.structures
        )
        return not (given or assembly.bushings or assembly.loads or assembly.drives or assembly.user_rows)

    @property
    def damped(self) -> bool:
        """Whether forces can depend on velocities."""
        assembly = self.assembly
        functions = any(callable(load.force) or callable(load.torque) for load in assembly.loads)
        others = (
            assembly.springs or assembly.torsions or assembly.bushings or assembly.turns_in_space or functions
        )
        return bool(others) or any(laid.has_damping for laid in assembly.structures)

    @property
    def definite_tangent(self) -> bool:
        """Whether cM M + cD D + cK K is symmetric and positive definite for all positive factors."""
        return self.exactly_linear and all(laid.definite for laid in self.assembly.structures)

    # -- plain NumPy: the second route -------------------------------------------------------------------------------------

    @property
    def params(self) -> dict[str, Any]:
        return self.parameters.as_dict()

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Where unit quaternions begin in q."""
        return self.assembly.quaternions

    @property
    def derivative_sources(self) -> dict[str, str]:
        """Where each derivative came from."""
        self.core  # noqa: B018
        own = [rows.model.derivative_sources for rows in self.assembly.user_rows]
        found = {"rows of the world": "given", **self.differentiator.sources}
        return found | {name: source for sources in own for name, source in sources.items()}

    @property
    def functions(self) -> list[Any]:
        """All functions of the user."""
        self.core  # noqa: B018
        drives = [self.user_functions.drive_function(drive) for drive in self.assembly.drives]
        own = [function for rows in self.assembly.user_rows for function in rows.functions]
        return [*self.user_functions.all.values(), *drives, *own]

    @property
    def callbacks(self) -> list[str]:
        """Names of functions that run as Python callbacks."""
        return [f.name for f in self.functions if f.compiled is False]

    def mass_matrix(self, t, q) -> np.ndarray:
        """M, shape (n_u, n_u)."""
        return self._once("M", self.plain_forces.masses)

    @property
    def sparse_mass(self):
        """M as a sparse matrix of the second route."""
        return self._once("sparse M", self.plain_forces.sparse_masses)

    @property
    def sparse_inverse_mass(self):
        """M^-1 in blocks as a sparse matrix of the second route; None with structures, whose inverse is full."""
        if self.assembly.structures:
            return None
        return self._once("sparse M^-1", lambda: self.plain_forces.sparse_masses(inverse=True))

    def kinetic_energies(self, u) -> np.ndarray:
        """Of velocities (n, n_u), shape (n,)."""
        return 0.5 * np.sum(u * (self.sparse_mass @ u.T).T, axis=1)

    def forces(self, t, q, u) -> np.ndarray:
        """h, shape (n_u,)."""
        return self.batch_forces(*_one(t, q, u))[0]

    def applied_forces(self, t, q, u) -> np.ndarray:
        """The part of h that is gravity and loads, shape (n_u,)."""
        t, q, u = _one(t, q, u)
        return self.plain_forces.applied(t, q, u, self.parameters.flat)[0]

    def gaps(self, t, q) -> np.ndarray:
        """g_N, shape (n_N,)."""
        return self.batch_gaps(*_one(t, q))[0]

    def directions(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """W^T, shape (n_rows, n_u), and zeta, shape (n_rows,)."""
        WT, zeta = self.batch_directions(*_one(t, q))
        return WT[0], zeta[0]

    def bounds(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper force bounds by row."""
        upper = np.zeros(self.laws.n_rows)
        varying = any(isinstance(limit.friction, Stribeck) for limit in self.assembly.limits)
        gamma = self.directions(t, q)[0] @ np.asarray(u) if varying else upper
        for row, dim, friction in self.assembly.limits:
            rows = slice(row, row + dim)
            upper[rows] = as_stribeck(friction).at(float(np.linalg.norm(gamma[rows])))
        return -upper, upper

    def kinematic_matrix(self, t, q) -> np.ndarray:
        """B, shape (n_q, n_u)."""
        if self.f_kinematics is None:
            return np.eye(self.n_q)
        q = np.broadcast_to(np.asarray(q, dtype=float), (self.n_u, self.n_q))
        return self.batch_rates(q, np.eye(self.n_u)).T

    def potential_energy(self, t, q) -> float:
        return float(
            sum(value[0] for value in self.plain_forces.potentials(np.asarray(q, float)[None]).values())
        )

    def joint_residuals(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Position residual of joints and velocity residual of all bilateral constraints."""
        n_J = self.laws.n_J
        if n_J == 0:
            return np.zeros(0), np.zeros(0)
        WT, zeta = self.directions(t, q)
        return self.batch_joints(*_one(t, q))[0], WT[-n_J:] @ np.asarray(u) + zeta[-n_J:]

    def quadratic_term(self, t, q, u) -> np.ndarray:
        """kappa, shape (n_rows,)."""
        out = np.zeros(max(self.laws.n_rows, 1))
        q, u = np.ascontiguousarray(q, float), np.ascontiguousarray(u, float)
        self.kappa(float(t), q, u, self.parameters.flat, out)
        return out[: self.laws.n_rows]

    def tangent(self, t, q, u, a, la, cM=0.0, cD=0.0, cK=0.0):
        """cM M + cD D + cK K as a sparse matrix."""
        q, u, a, la = (np.ascontiguousarray(x, float) for x in (q, u, a, la))
        values = self.tangent_parts.values(float(t), q, u, a, la, self.parameters.flat, cM, cD, cK)
        return self.tangent_parts.pattern.sparse(values)

    # -- many instants at once (`results.audit.batch`) ---------------------------------------------------------------------

    def batch_forces(self, t, q, u) -> np.ndarray:
        """h, shape (n, n_u)."""
        return self.plain_forces.forces(t, q, u, self.parameters.flat)

    def batch_rates(self, q, u) -> np.ndarray:
        """q' = B u, shape (n, n_q)."""
        from nonsmooth.model.rotations import quaternion_rates

        rates, frames = np.empty(q.shape), self.assembly.frames
        for i, j, placed in zip(frames.at_q, frames.at_u, self.assembly.placed):
            n = {SPATIAL: 3, TURNING: 0}.get(placed.kind, placed.u.size)
            rates[:, i : i + n] = u[:, j : j + n]
            if placed.kind in (SPATIAL, TURNING):
                B = quaternion_rates(q[:, i + n : i + n + 4].T)
                rates[:, i + n : i + n + 4] = np.einsum("ijn,nj->ni", B, u[:, j + n : j + n + 3])
        return rates

    def batch_gaps(self, t, q) -> np.ndarray:
        """g_N, shape (n, n_N)."""
        return self._batch_values(t, q)[:, : self.laws.n_N]

    def _batch_values(self, t, q) -> np.ndarray:
        """Values of all rows that have one, shape (n, n_rows)."""
        values = self.plain_rows.values(q)
        for own in self.assembly.user_rows:
            if own.n_position:
                values[:, own.rows[: own.n_position]] = own.plain_values(t, q)
        return values

    def batch_joints(self, t, q) -> np.ndarray:
        """Position residuals of joints, shape (n, n_joints)."""
        first = self.assembly.first_joint
        values = self._batch_values(t, q)[:, first : first + self.assembly.n_joints]
        for drive in self.assembly.drives:
            column = drive.row - first
            values[:, column] -= self._driven(drive, t)
            if drive.wraps:
                values[:, column] -= 2 * np.pi * np.floor(values[:, column] / (2 * np.pi) + 0.5)
        return values

    def batch_directions(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """W^T, shape (n, n_rows, n_u), and zeta, shape (n, n_rows)."""
        WT, zeta = self.plain_rows.directions(q, self.n_u), self._rates_of_drives(t)
        for own in self.assembly.user_rows:
            own.plain_directions(t, q, WT, zeta)
        return WT, zeta

    def batch_sparse_directions(self, t, q) -> tuple[tuple, np.ndarray]:
        """W^T by its entries (rows, columns, values of shape (n, entries)), and zeta; of worlds without rows of functions."""
        return self.plain_rows.sparse_directions(q), self._rates_of_drives(t)

    def _rates_of_drives(self, t) -> np.ndarray:
        """zeta, shape (n, n_rows)."""
        zeta = np.zeros((t.size, self.laws.n_rows))
        for drive in self.assembly.drives:
            s = 1e-3 * self.differentiator.scales["t"][0]
            for c, weight in ((1.0, 0.75), (2.0, -0.15), (3.0, 1.0 / 60.0)):
                change = self._driven(drive, t + c * s) - self._driven(drive, t - c * s)
                zeta[:, drive.row] -= weight * change / s
        return zeta

    @property
    def whole(self) -> WorldModel:
        """The model with all rows of the joints, whether a run used them or not."""
        if not self.assembly.left_out:
            return self
        return self._once("whole", lambda: self.system.with_all_rows().bind(self._t0, self._q0, self._u0))

    def view(self, result, name: str) -> Any:
        """What a result says of a body, joint, spring, load or contact of that name."""
        from nonsmooth.model.bodies.views import view_of

        return view_of(self, result, name)

    def _driven(self, drive, t):
        """A prescribed coordinate at many instants."""
        from nonsmooth._core.calls.batches import values_at  # compiled: only where instants are many

        f = self.user_functions.drive_function(drive).writer(self._q0, self._u0, self._t0)
        q, u = np.zeros((t.size, self.n_q)), np.zeros((t.size, self.n_u))
        return values_at(f, np.ascontiguousarray(t), q, u, self.parameters.flat, (1,))[:, 0]


class Kinematics:
    """B(q) where others expect a function of the user."""

    name, compiled = "kinematics", True

    def __init__(self, model: WorldModel):
        self._model = model

    def call(self, t, q, u=None, p=None) -> np.ndarray:
        return self._model.kinematic_matrix(t, q)


def _one(*values):
    """One instant as many."""
    return tuple(np.asarray(value, dtype=np.float64)[None] for value in values)
