"""The model every scheme relies on: a small set of questions, answered compiled and in plain NumPy.

What a scheme may ask (n_q coordinates, n_u velocities, rows of all laws in the order of `LawTable`):

====================  ==========================================================================
mass, force           M(t, q), h(t, q, u)
gap                   g_N(t, q), one entry per unilateral contact
directions, zeta      W^T(t, q) and zeta(t, q): relative velocity gamma = W^T u + zeta
bounds                force bounds of elements with given limits: (lower | upper), by row
kinematics            B(t, q) in q' = B u
joints, kappa         constraints of joints; d/dt(W^T) u + d zeta/dt, for acceleration-level schemes
tangent               cM M + cD D + cK K on a fixed pattern, for implicit schemes
mass_operator         M factorised and solved with, as its pattern suggests
space                 how increments of a step move q
====================  ==========================================================================

The whole list stands in `model.assembled`. `core` holds the first ones compiled, the rest is compiled when a scheme asks for it;
the methods below answer from the user's own Python functions, which is the independent route the audit takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    JIT_ENABLED,
    MATRIX,
    VECTOR,
    address_record,
)
from nonsmooth._core.records.scene import MODEL_FUNCTIONS, ON_REQUEST, ModelRecord, Size
from nonsmooth._core.stepping.trivial import no_matrix, no_projection, no_vector
from nonsmooth.contact.laws import LawTable
from nonsmooth.errors import ShapeError
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction, chain
from nonsmooth.model.model_laws import ModelLaws
from nonsmooth.model.products import directions_times, mass_times
from nonsmooth.model.writers import at_rest, dispatch, fixed_bounds, symmetric_bounds, times_kinematics


class CoreFunctions(NamedTuple):
    """The compiled functions of a model, in the order the loops take them."""

    mass: Any
    force: Any
    gap: Any
    directions: Any
    zeta: Any
    bounds: Any
    kinematics: Any
    project: Any


class Model(ModelLaws):
    """A `MechanicalSystem` bound to the size of its state. Made by ``system.bind(t0, q0, u0)``."""

    def __init__(self, system, t0: float, q0: np.ndarray, u0: np.ndarray):
        self.system = system
        self.parameters = system.parameters
        self.n_q, self.n_u = q0.size, u0.size
        self._t0, self._q0, self._u0 = t0, q0.copy(), u0.copy()
        if system.kinematics is None and self.n_q != self.n_u:
            raise ShapeError(
                f"`q0` has shape {q0.shape} and `u0` has shape {u0.shape}: they must agree unless `kinematics` is given."
            )
        n_q, n_u = self.n_q, self.n_u
        self.f_mass = self._function(system.mass, "mass", (n_u, n_u))
        self.f_force = self._function(system.force, "force", (n_u,), takes_u=True)
        self.f_kinematics = (
            None if system.kinematics is None else self._function(system.kinematics, "kinematics", (n_q, n_u))
        )
        self.f_potential = (
            None if system.potential is None else self._function(system.potential, "potential", (1,))
        )
        self._collect_laws()
        self._compiled: dict[str, Any] = {}  # shared by all parameter values
        self._mass_operator = None
        self.checked: dict[str, Any] = {}  # the start whose functions were checked last; shared as well
        self.spare: dict[
            str, Any
        ] = {}  # finished runs whose records serve the next one (`schemes.spare`); shared as well

    def bound_to(self, system, t0: float, q0: np.ndarray, u0: np.ndarray) -> Model:
        """The same compiled functions with the parameter values of `system` and the scales of another start."""
        other = Model.__new__(Model)
        other.__dict__.update(self.__dict__)
        other.system, other.parameters = system, system.parameters
        other._mass_operator = None  # factors belong to the parameters
        other._t0, other._q0, other._u0 = t0, q0.copy(), u0.copy()
        if self._of_p:
            other.laws = other._laws_of_parameters()
        if "differentiator" in self._compiled:
            self._compiled["differentiator"].rescale(t0, q0, u0, system.parameters.flat)
        return other

    # -- compiled functions -----------------------------------------------------------------------------------------

    @property
    def core(self) -> CoreFunctions:
        """The compiled functions (made at the first use)."""
        if "core" not in self._compiled:
            self._compiled["core"] = self._compile()
        return self._compiled["core"]

    @property
    def differentiator(self) -> Differentiator:
        if "differentiator" not in self._compiled:
            made = Differentiator(self._t0, self._q0, self._u0, self.parameters.flat)
            self._compiled["differentiator"] = made
        return self._compiled["differentiator"]

    @property
    def kappa(self):
        """Compiled writer ``(t, q, u, p, out)`` of the quadratic term of all rows (made at the first use)."""
        if "kappa" not in self._compiled:
            self._compiled["kappa"] = self._quadratic.writer()
        return self._compiled["kappa"]

    @property
    def joints(self):
        """Compiled writer ``(t, q, u, p, out)`` of the joints' constraints, in the order of their rows (made at the first use)."""
        if "joints" not in self._compiled:
            writers, first = [], self.joint_rows[0].start if self.joint_rows else 0
            for f, rows in zip(self.joints_of, self.joint_rows):
                places = slice(rows.start - first, rows.stop - first)
                writers.append(f.writer(self._q0, self._u0, self._t0, places))
            self._compiled["joints"] = chain(writers, VECTOR) if writers else no_vector
        return self._compiled["joints"]

    @property
    def inputs(self):
        """Compiled writer ``(t, q, u, p, out)`` of directions of inputs that are not gradients, in their rows; None if there are none."""
        if "inputs" not in self._compiled:
            given = [
                (constraint.input, rows, constraint.name)
                for items, places in ((self.system.joints, self.joint_rows), (self.system.nonholonomic, self.nonholonomic_rows))
                for constraint, rows in zip(items, places) if getattr(constraint, "input", None) is not None
            ]  # fmt: skip
            writers = []
            for function, rows, name in given:
                shape = (rows.stop - rows.start, self.n_u)
                f = self._function(function, f"input of servo {name or rows.start!r}", shape, transposed=True)
                f.check_finite(self._t0, self._q0, self._u0)
                writers.append(f.writer(self._q0, self._u0, self._t0, rows))
            self._compiled["inputs"] = chain(writers, MATRIX) if writers else None
        return self._compiled["inputs"]

    @property
    def _quadratic(self):
        if "quadratic" not in self._compiled:
            from nonsmooth.model.quadratic_term import (
                QuadraticTerm,
            )  # its kernels compile where they are used

            rows = self._rows_of_gamma()
            made = QuadraticTerm(rows, self.laws.n_rows, self.f_kinematics, self.differentiator)
            self._compiled["quadratic"] = made
        return self._compiled["quadratic"]

    def _rows_of_gamma(self):
        """What the relative velocities of all rows are made of."""
        from nonsmooth.model.quadratic_term import Rows

        found, of_q = [], self.f_kinematics is not None
        gaps = zip(self.gaps_of, self.jacobians_of, self.normal_rows, self.normal_rates_of)
        joints = zip(self.joints_of, self.joint_jacobians_of, self.joint_rows, self.joint_rates_of)
        for f, jacobian, rows, rate in (*gaps, *joints):
            if jacobian is None or f.depends_on("t"):
                found.append(Rows(rows, f.name, value=f, rate=rate))
            else:
                found.append(Rows(rows, f.name, directions=jacobian, rate=rate, of_q=of_q))
        for f, surface, rows, rate in zip(
            self.tangents_of, self.surface_of, self.tangent_rows, self.tangent_rates_of
        ):
            found.append(Rows(rows, f.name, directions=f, offset=surface, rate=rate))
        for f, rows, rate in zip(self.nonholonomic_of, self.nonholonomic_rows, self.nonholonomic_rates_of):
            found.append(Rows(rows, f.name, offset=f, rate=rate))
        return found

    def _compile(self) -> CoreFunctions:
        q0, u0, t0 = self._q0, self._u0, self._t0
        mass = self.f_mass.writer(q0, u0, t0)
        force = self.f_force.writer(q0, u0, t0)
        kinematics = no_matrix if self.f_kinematics is None else self.f_kinematics.writer(q0, u0, t0)

        gaps = [f.writer(q0, u0, t0, rows) for f, rows in zip(self.gaps_of, self.normal_rows)]
        directions, zetas = [], []
        for f, jacobian, rows in zip(self.gaps_of, self.jacobians_of, self.normal_rows):
            directions.append(self._gradient(f, jacobian, rows, kinematics))
            if f.depends_on("t"):
                zetas.append(self.differentiator.time_derivative(f, rows, f"d/dt {f.name}"))
        for f, surface, rows in zip(self.tangents_of, self.surface_of, self.tangent_rows):
            directions.append(f.writer(q0, u0, t0, rows))
            if surface is not None:
                zetas.append(surface.writer(q0, u0, t0, rows))
        for f, jacobian, rows in zip(self.joints_of, self.joint_jacobians_of, self.joint_rows):
            directions.append(self._gradient(f, jacobian, rows, kinematics))
            if f.depends_on("t"):
                zetas.append(self.differentiator.time_derivative(f, rows, f"d/dt {f.name}"))
        for f, rows in zip(self.nonholonomic_of, self.nonholonomic_rows):
            directions.append(self.differentiator.jacobian(f, "u", rows, f"d/du {f.name}"))
            zetas.append(at_rest(f.writer(q0, u0, t0, rows), self.n_u, self.differentiator))

        # a function whose code never reads t or q is constant during a run: it is evaluated once
        self._compiled["constant"] = (
            bool(self.f_mass.compiled) and not self.f_mass.depends_on("t", "q"),
            self.f_kinematics is None
            and all(j is not None and j.compiled and not j.depends_on("t", "q") for j in self.jacobians_of)
            and all(f.compiled and not f.depends_on("t", "q") for f in self.tangents_of)
            and not self.joints_of
            and not self.nonholonomic_of,
        )
        return CoreFunctions(
            mass,
            force,
            chain(gaps, VECTOR) if gaps else no_vector,
            chain(directions, MATRIX) if directions else no_matrix,
            chain(zetas, VECTOR) if zetas else no_vector,
            self._bounds(),
            kinematics,
            self._projections(),
        )

    def _gradient(self, f, jacobian, rows, kinematics):
        """Writer of the rows dg/dq B."""
        q0, u0, t0 = self._q0, self._u0, self._t0
        label = f"d/dq {f.name}"
        if self.f_kinematics is None:
            if jacobian is not None:
                self.differentiator.sources[label] = "given"
                return jacobian.writer(q0, u0, t0, rows)
            return self.differentiator.jacobian(f, "q", rows, label)
        m = rows.stop - rows.start
        if jacobian is not None:
            self.differentiator.sources[label] = "given"
            by_q = jacobian.writer(q0, u0, t0)
        else:
            by_q = self.differentiator.jacobian(f, "q", slice(0, m), label)
        return times_kinematics(by_q, kinematics, rows.start, m, self.n_q, self.n_u, self.differentiator)

    def _bounds(self):
        n_rows = self.laws.n_rows
        if not self.bounds_of and not self.friction_of:
            return no_vector
        writers = []
        for row, dim, given in self.friction_of:
            if isinstance(given, UserFunction):
                writer = given.writer(self._q0, self._u0, self._t0)
                writers.append(symmetric_bounds(writer, row, dim, n_rows, given.shape[0]))
            else:
                writers.append(fixed_bounds(-self.laws.mu[given], self.laws.mu[given], row, dim, n_rows))
        for row, dim, limit in self.bounds_of:
            if isinstance(limit, UserFunction):
                writer = limit.writer(self._q0, self._u0, self._t0)
                writers.append(symmetric_bounds(writer, row, dim, n_rows))
            else:
                lower, upper = limit if isinstance(limit, tuple) else (-limit, limit)
                writers.append(fixed_bounds(lower, upper, row, dim, n_rows))
        return chain(writers, VECTOR)

    def _projections(self):
        if not self.sets:
            return no_projection
        project = no_projection
        in_python = self._compiled.setdefault("python_sets", [])
        for law, convex_set in self.sets.items():
            name = f"projection of {self.laws.name[law]!r}"
            project, compiled = dispatch(law, int(self.laws.dim[law]), convex_set.project, name, project)
            if JIT_ENABLED and not compiled:
                in_python.append(name)
        return project

    def size(self):
        """Sizes and flags for the compiled loops."""
        core, size = self.core, Size()
        size.n_q, size.n_u, size.n_unit = self.n_q, self.n_u, len(self.quaternions)
        size.n_N, size.n_laws, size.n_rows = self.laws.n_N, self.laws.n_laws, self.laws.n_rows
        size.n_J = self.laws.n_J
        size.n_joints = sum(rows.stop - rows.start for rows in self.joint_rows)
        size.has_B = self.f_kinematics is not None
        size.constant_M, size.constant_W = self._compiled["constant"]
        size.has_zeta = core.zeta is not no_vector
        size.has_bounds = core.bounds is not no_vector
        size.has_friction = bool(self.friction_of)
        return size

    def record(self, more=()) -> ModelRecord:
        """What the compiled loops see of the model (which keeps the functions alive); `more` of what is made on request."""
        functions: dict[str, Any] = {
            name: (
                getattr(self.core, name),
                MATRIX if name in ("mass", "directions", "kinematics") else VECTOR,
            )
            for name in MODEL_FUNCTIONS
        }
        functions |= {name: (getattr(self, name), VECTOR) if name in more else 0 for name in ON_REQUEST}
        unit = np.array(self.quaternions or (0,), dtype=np.int64)
        return ModelRecord(
            address_record(**functions), self.size(), self.laws.core(), self.parameters.flat, unit
        )

    # -- plain NumPy ------------------------------------------------------------------------------------------------

    @property
    def params(self) -> dict[str, Any]:
        return self.parameters.as_dict()

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Where unit quaternions begin in q."""
        return self.system.quaternions

    @property
    def derivative_sources(self) -> dict[str, str]:
        """Where each derivative came from: "given", "complex step" or "differences"."""
        self.core  # noqa: B018  (derivatives are chosen when the functions are compiled)
        return dict(self.differentiator.sources)

    @property
    def functions(self) -> list[UserFunction]:
        """All user functions that the loops call."""
        functions = [self.f_kinematics, self.f_mass, self.f_force, *self.gaps_of, *self.jacobians_of]
        functions += [*self.tangents_of, *self.surface_of, *self.joints_of, *self.joint_jacobians_of]
        functions += [*self.nonholonomic_of, *(limit for _, _, limit in self.bounds_of + self.friction_of)]
        return [f for f in functions if isinstance(f, UserFunction)]

    @property
    def callbacks(self) -> list[str]:
        """Names of functions that run as Python callbacks because Numba cannot compile them."""
        self.core  # noqa: B018
        names = [f.name for f in self.functions if f.compiled is False]
        return names + self._compiled.get("python_sets", [])

    def mass_matrix(self, t, q) -> np.ndarray:
        """M, shape (n_u, n_u)."""
        return self.f_mass.call(t, q, self._u0, self.parameters.flat)

    def forces(self, t, q, u) -> np.ndarray:
        """h, shape (n_u,)."""
        return self.f_force.call(t, q, u, self.parameters.flat)

    def gaps(self, t, q) -> np.ndarray:
        """g_N, shape (n_N,)."""
        values = [f.call(t, q, self._u0, self.parameters.flat) for f in self.gaps_of]
        return np.concatenate(values) if values else np.zeros(0)

    def directions(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """W^T, shape (n_rows, n_u), and zeta, shape (n_rows,)."""
        WT = np.zeros((max(self.laws.n_rows, 1), self.n_u))
        zeta = np.zeros(max(self.laws.n_rows, 1))
        q = np.ascontiguousarray(q, dtype=np.float64)
        core = self.core
        core.directions(float(t), q, self._u0, self.parameters.flat, WT)
        core.zeta(float(t), q, self._u0, self.parameters.flat, zeta)
        return WT[: self.laws.n_rows], zeta[: self.laws.n_rows]

    def bounds(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper force bounds by row (zero where a law has none of its own).

        Where friction of a contact is a function of the state: the coefficients -mu and mu of all contacts in their rows.
        """
        n = max(self.laws.n_rows, 1)
        both = np.zeros(2 * n)
        if self.bounds_of or self.friction_of:
            args = (float(t), np.ascontiguousarray(q, float), np.ascontiguousarray(u, float))
            self.core.bounds(*args, self.parameters.flat, both)
        return both[:n][: self.laws.n_rows], both[n:][: self.laws.n_rows]

    def kinematic_matrix(self, t, q) -> np.ndarray:
        """B, shape (n_q, n_u)."""
        if self.f_kinematics is None:
            return np.eye(self.n_q)
        return self.f_kinematics.call(t, q, self._u0, self.parameters.flat)

    def potential_energy(self, t, q) -> float | None:
        if self.f_potential is None:
            return None
        return float(self.f_potential.call(t, q, self._u0, self.parameters.flat)[0])

    def joint_residuals(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Position residual of joints and velocity residual of all bilateral constraints."""
        position = [f.call(t, q, u, self.parameters.flat) for f in self.joints_of]
        n_J = self.laws.n_J
        if n_J == 0:
            return np.zeros(0), np.zeros(0)
        WT, zeta = self.directions(t, q)
        velocity = WT[-n_J:] @ np.asarray(u) + zeta[-n_J:]
        return (np.concatenate(position) if position else np.zeros(0)), velocity

    def quadratic_term(self, t, q, u) -> np.ndarray:
        """kappa = d/dt(W^T) u + d zeta/dt along the motion at fixed u, shape (n_rows,); see `model.quadratic_term`."""
        q, u = np.ascontiguousarray(q, float), np.ascontiguousarray(u, float)
        return self._quadratic.call(float(t), q, u, self.parameters.flat)

    def tangents(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """dh/dq B, shape (n_u, n_u) (dh/dq where q' = u), and dh/du, shape (n_u, n_u)."""
        q, u = np.ascontiguousarray(q, float), np.ascontiguousarray(u, float)
        zero, la = np.zeros(self.n_u), np.zeros(self.laws.n_rows)
        found = []
        for cK, cD in ((-1.0, 0.0), (0.0, -1.0)):
            values = self.tangent_parts.values(float(t), q, u, zero, la, self.parameters.flat, cD=cD, cK=cK)
            found.append(self.tangent_parts.pattern.sparse(values).toarray())
        return found[0], found[1]

    def tangent(self, t, q, u, a, la, cM=0.0, cD=0.0, cK=0.0):
        """cM M + cD D + cK K as a sparse matrix, D = -dh/du, K = d(M a - h - W la)/d delta, delta the increments in q <- q + B delta."""
        q, u, a, la = (np.ascontiguousarray(x, float) for x in (q, u, a, la))
        values = self.tangent_parts.values(float(t), q, u, a, la, self.parameters.flat, cM, cD, cK)
        return self.tangent_parts.pattern.sparse(values)

    @property
    def tangent_parts(self):
        """Patterns and compiled parts of the tangents (made at the first use); see `model.tangents`."""
        if "tangents" not in self._compiled:
            from nonsmooth.model.tangents import Tangents  # its kernels compile where they are used

            self._compiled["tangents"] = Tangents(self)
        return self._compiled["tangents"]

    @property
    def mass_operator(self):
        """M as an operator that factorises and solves (made at the first use); see `model.mass_operator`."""
        if self._mass_operator is None:
            from nonsmooth.model.mass_operator import MassOperator

            self._mass_operator = MassOperator(self, self.pattern_M)
        return self._mass_operator

    @property
    def pattern_M(self):
        """Where M is not zero, at the start and elsewhere."""
        if "pattern_M" not in self._compiled:
            from nonsmooth.model.colouring import Pattern

            found = np.eye(self.n_u)
            for t, q, u in self.differentiator.points():
                found = found + np.abs(self.f_mass.call(t, q, u, self.parameters.flat))
            self._compiled["pattern_M"] = Pattern.of(found)
        return self._compiled["pattern_M"]

    @property
    def pattern_K(self):
        """Where the weighted tangent can have entries, shape (n_u, n_u)."""
        return self.tangent_parts.pattern

    @property
    def pattern_W(self):
        """Where W^T is not zero, shape (n_rows, n_u), at the start and elsewhere."""
        if "pattern_W" not in self._compiled:
            from nonsmooth.model.colouring import Pattern

            found = np.zeros((self.laws.n_rows, self.n_u))
            for t, q, _ in self.differentiator.points():
                found += np.abs(np.nan_to_num(self.directions(t, q)[0], nan=1.0))
            self._compiled["pattern_W"] = Pattern.of(found)
        return self._compiled["pattern_W"]

    @property
    def space(self):
        """Coordinates and how increments move them: R^n, or what `kinematics` says; see `model.space`."""
        if "space" not in self._compiled:
            from nonsmooth.model.space import Space

            kinematics = None if self.f_kinematics is None else self.core.kinematics
            made = Space.of_functions(self.n_q, self.n_u, kinematics, self.quaternions)
            self._compiled["space"] = made
        return self._compiled["space"]

    def laws_at(self, t, q) -> LawTable:
        """The laws of a step that starts at (t, q): always the same ones for a model of functions."""
        return self.laws

    @property
    def force_by_parameters(self):
        """Compiled writer ``(t, q, u, p, out)`` of dh/dp, shape (n_u, number of parameters in flat order)."""
        return self._by_parameters("h", lambda: self.core.force, self.n_u)

    @property
    def gap_by_parameters(self):
        """Compiled writer ``(t, q, u, p, out)`` of dg_N/dp, shape (n_N, number of parameters in flat order)."""
        return self._by_parameters("g", lambda: self.core.gap, self.laws.n_N)

    @property
    def inertia_by_parameters(self):
        """Compiled writer ``(t, q, a, p, out)`` of d(M a)/dp, shape (n_u, number of parameters in flat order)."""
        return self._by_parameters("M a", lambda: mass_times(self), self.n_u)

    @property
    def reactions_by_parameters(self):
        """Compiled writer ``(t, q, la, p, out)`` of d(W la)/dp, shape (n_u, number of parameters in flat order)."""
        m = self.n_u if self.laws.n_rows else 0
        return self._by_parameters("W la", lambda: directions_times(self), m)

    def _by_parameters(self, name, writer, m):
        key = f"{name} by parameters"
        if key not in self._compiled:
            from nonsmooth.model.parameter_derivatives import by_parameters

            empty = m == 0 or self.parameters.flat.size == 0
            self._compiled[key] = no_matrix if empty else by_parameters(writer(), m, self.differentiator)
        return self._compiled[key]

    @property
    def constant_mass(self) -> bool:
        """Whether M depends neither on t nor on q."""
        self.core  # noqa: B018
        return self._compiled["constant"][0]

    @property
    def constant_directions(self) -> bool:
        """Whether W depends neither on t nor on q."""
        self.core  # noqa: B018
        return self._compiled["constant"][1]

    @property
    def f_force_tangents(self) -> tuple[UserFunction | None, UserFunction | None]:
        """dh/dq and dh/du as the user gives them."""
        given = self.system.force_tangents
        if given is None:
            return None, None
        by_q = self._function(given[0], "dh/dq", (self.n_u, self.n_q), takes_u=True)
        return by_q, self._function(given[1], "dh/du", (self.n_u, self.n_u), takes_u=True)
