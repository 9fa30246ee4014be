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

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    JIT_ENABLED,
    MATRIX,
    VECTOR,
    address_record,
)
from nonsmooth._core.records import laws as codes
from nonsmooth._core.records.scene import MODEL_FUNCTIONS, ON_REQUEST, ModelRecord, Size
from nonsmooth._core.stepping.trivial import no_matrix, no_projection, no_vector
from nonsmooth.contact.laws import LawTable, LawTableBuilder
from nonsmooth.errors import InputError, ModelError, ShapeError
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.elements import (
    Ball,
    ConvexSet,
    Interval,
    arguments_of,
    check_coefficient,
    without_underflow,
)
from nonsmooth.model.functions import UserFunction, chain
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


class Model:
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

    # -- building ---------------------------------------------------------------------------------------------------

    def _function(self, function, name, shape, takes_u=False, transposed=False):
        return UserFunction(function, name, shape, takes_u, self.parameters, transposed)

    def _collect_laws(self):
        """Count contacts and rows, and put all laws in one table."""
        table = LawTableBuilder()
        t, q, u = self._t0, self._q0, self._u0
        self.gaps_of, self.jacobians_of, self.normal_rows, self.normal_rates_of = [], [], [], []
        self.tangents_of, self.surface_of, self.tangent_rows, self.tangent_rates_of = [], [], [], []
        self.bounds_of: list[tuple] = []  # (row, dim, "limit" function or (lower, upper))
        # (first row, directions of a contact, function or number of the law): all friction of contacts, if some has a function of the state
        self.friction_of: list[tuple] = []
        self._of_p: list[tuple] = []  # coefficients that are functions of the parameters
        self.sets: dict[int, ConvexSet] = {}
        groups = []
        given = [contact.friction for contact in self.system.contacts]
        varying = any(callable(friction) and arguments_of(friction) > 1 for friction in given)
        for index, contact in enumerate(self.system.contacts):
            label = f"contact {contact.name!r}" if contact.name else f"contact {index}"
            m = contact.size or _count(contact.gap, self.parameters, t, q, u, f"gap of {label}", False)
            names = _names(contact.name, f"contact {index}", m, label)
            e = self._coefficient(contact.restitution, m, "restitution", label, 1.0)
            e_T = self._coefficient(contact.tangential_restitution, m, "tangential_restitution", label, 1.0)
            of_state = callable(contact.friction) and varying
            # the coefficients of a function of the state are known in a step only
            mu = np.full(m, np.nan) if of_state else self._coefficient(contact.friction, m, "friction", label)
            first = len(table.entries)
            row = table.row
            for i in range(m):
                table.add(codes.HALF_LINE, 1, names[i], e=e[i])
            self._changes_with_p(contact.restitution, first, m, "e", "restitution", label, 1.0)
            rows = slice(row, row + m)
            self.gaps_of.append(self._function(contact.gap, f"gap of {label}", (m,)))
            self.jacobians_of.append(
                None
                if contact.jacobian is None
                else self._function(contact.jacobian, f"jacobian of {label}", (m, self.n_q))
            )
            self.normal_rows.append(rows)
            self.normal_rates_of.append(self._rate(contact.jacobian_rate, f"jacobian_rate of {label}", m))
            groups.append((contact, label, names, mu, e_T, first, m, of_state))
        n_N = table.row
        for contact, label, names, mu, e_T, first, m, of_state in groups:
            if not contact.has_friction:
                continue
            columns = _columns(contact.tangent, self.parameters, t, q, u, self.n_u, m, f"tangent of {label}")
            k = columns // m
            if columns != k * m or k not in (1, 2):
                raise ShapeError(
                    f"tangent of {label} has {columns} columns for {m} contact(s): 1 or 2 directions per contact are wanted."
                )
            row, law = table.row, len(table.entries)
            for i in range(m):
                kind = codes.COULOMB_1D if k == 1 else codes.COULOMB_2D
                table.add(kind, k, f"{names[i]} friction", link=first + i, mu=mu[i], e=e_T[i])
            self._changes_with_p(
                contact.tangential_restitution, law, m, "e", "tangential_restitution", label, 1.0
            )
            if of_state:
                function = _of_state(contact.friction)
                coefficients = self._function(function, f"friction of {label}", (m,), takes_u=True)
                self.friction_of.append((row, k, coefficients))
            else:
                self._changes_with_p(contact.friction, law, m, "mu", "friction", label)
                if varying:
                    self.friction_of += [(row + k * i, k, law + i) for i in range(m)]
            rows = slice(row, row + columns)
            self._add_directions(contact.tangent, contact.surface_velocity, contact.tangent_rate, label, rows)
        for index, element in enumerate(self.system.friction):
            name = element.name or f"friction {index}"
            k = _columns(element.direction, self.parameters, t, q, u, self.n_u, 1, f"direction of {name!r}")
            if k not in (1, 2):
                raise ShapeError(
                    f"direction of friction element {name!r} has {k} columns: 1 or 2 are wanted."
                )
            row = table.add(codes.INTERVAL if k == 1 else codes.DISK, k, name)
            rows = slice(row, row + k)
            self._add_directions(
                element.direction, element.surface_velocity, element.direction_rate, name, rows
            )
            limit = element.limit
            if callable(limit):
                limit = self._function(limit, f"limit of {name!r}", (1,), takes_u=True)
            self.bounds_of.append((row, k, limit))
        for index, element in enumerate(self.system.elements):
            name = element.name or f"element {index}"
            k = _columns(element.direction, self.parameters, t, q, u, self.n_u, 1, f"direction of {name!r}")
            law = len(table.entries)
            if isinstance(element.set, Interval):
                if k != 1:
                    raise ShapeError(f"element {name!r} has an Interval and {k} directions: one is wanted.")
                row = table.add(codes.INTERVAL, 1, name, e=element.restitution)
                self.bounds_of.append((row, 1, (float(element.set.lower), float(element.set.upper))))
            elif isinstance(element.set, Ball):
                if k not in (1, 2):
                    raise ShapeError(f"element {name!r} has a Ball and {k} directions: 1 or 2 are wanted.")
                row = table.add(codes.INTERVAL if k == 1 else codes.DISK, k, name, e=element.restitution)
                self.bounds_of.append((row, k, (-float(element.set.radius), float(element.set.radius))))
            else:
                if k > 3:
                    raise ShapeError(f"element {name!r} has {k} directions: a ConvexSet takes at most 3.")
                row = table.add(codes.USER_SET, k, name, e=element.restitution)
                self.sets[law] = element.set
            self._add_directions(element.direction, None, element.direction_rate, name, slice(row, row + k))
        self._collect_constraints(table, t, q, u, n_N)

    def _collect_constraints(self, table, t, q, u, n_N):
        self.joints_of, self.joint_jacobians_of, self.joint_rows, self.joint_names = [], [], [], []
        self.joint_rates_of: list[UserFunction | None] = []
        self.nonholonomic_of, self.nonholonomic_rows, self.nonholonomic_rates_of = [], [], []
        first_row = table.row
        for index, joint in enumerate(self.system.joints):
            name = joint.name or f"joint {index}"
            m = _count(joint.constraint, self.parameters, t, q, u, f"constraint of {name!r}", False)
            rows = slice(table.row, table.row + m)
            for i in range(m):
                table.add(codes.FREE, 1, name if m == 1 else f"{name} [{i}]")
            self.joints_of.append(self._function(joint.constraint, f"constraint of joint {name!r}", (m,)))
            self.joint_jacobians_of.append(
                None
                if joint.jacobian is None
                else self._function(joint.jacobian, f"jacobian of joint {name!r}", (m, self.n_q))
            )
            self.joint_rows.append(rows)
            self.joint_rates_of.append(self._rate(joint.jacobian_rate, f"jacobian_rate of joint {name!r}", m))
            self.joint_names.append(name)
        for index, constraint in enumerate(self.system.nonholonomic):
            name = constraint.name or f"nonholonomic {index}"
            m = _count(constraint.constraint, self.parameters, t, q, u, f"constraint of {name!r}", True)
            rows = slice(table.row, table.row + m)
            for i in range(m):
                table.add(codes.FREE, 1, name if m == 1 else f"{name} [{i}]")
            self.nonholonomic_of.append(
                self._function(constraint.constraint, f"constraint {name!r}", (m,), takes_u=True)
            )
            self.nonholonomic_rows.append(rows)
            self.nonholonomic_rates_of.append(self._rate(constraint.rate, f"rate of {name!r}", m))
        self.laws: LawTable = table.build(n_N, table.row - first_row)
        seen: dict[str, int] = {}
        for law, name in enumerate(self.laws.name):
            if name in seen:
                raise ModelError(
                    f"the name {name!r} belongs to laws {seen[name]} and {law}: give contacts distinct names."
                )
            seen[name] = law

    def _coefficient(self, given, m, name, label, upper=None):
        """Coefficients of `m` contacts, of the values the parameters have now."""
        if callable(given):
            values = check_coefficient(
                given(self.parameters.record()), name, label, upper, allow_infinite=upper is None
            )
            given = without_underflow(values) if name == "friction" else values
        return _spread(given, m, name, label)

    def _changes_with_p(self, given, first, m, column, name, label, upper=None):
        """Remember that `column` of the laws from `first` on follows the parameters."""
        if callable(given):
            self._of_p.append((given, slice(first, first + m), column, name, label, upper))

    def _laws_of_parameters(self) -> LawTable:
        """The table of laws with the coefficients of these parameters."""
        laws = replace(self.laws, mu=self.laws.mu.copy(), e=self.laws.e.copy())
        for given, where, column, name, label, upper in self._of_p:
            m = where.stop - where.start
            getattr(laws, column)[where] = self._coefficient(given, m, name, label, upper)
        return laws

    def _rate(self, function, name, m):
        """A quadratic term given by the user, or None."""
        return None if function is None else self._function(function, name, (m,), takes_u=True)

    def _add_directions(self, direction, surface_velocity, rate, label, rows):
        m = rows.stop - rows.start
        self.tangents_of.append(
            self._function(direction, f"tangent of {label}", (m, self.n_u), transposed=True)
        )
        self.surface_of.append(
            None
            if surface_velocity is None
            else self._function(surface_velocity, f"surface_velocity of {label}", (m,))
        )
        self.tangent_rows.append(rows)
        self.tangent_rates_of.append(self._rate(rate, f"rate of the tangent of {label}", m))

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
            self._compiled["differentiator"].rescale(t0, q0, u0)
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
        return self._by_parameters("force", self.n_u)

    @property
    def gap_by_parameters(self):
        """Compiled writer ``(t, q, u, p, out)`` of dg_N/dp, shape (n_N, number of parameters in flat order)."""
        return self._by_parameters("gap", self.laws.n_N)

    def _by_parameters(self, name, m):
        key = f"{name} by parameters"
        if key not in self._compiled:
            from nonsmooth.model.parameter_derivatives import by_parameters

            writer = getattr(self.core, name)
            empty = m == 0 or self.parameters.flat.size == 0
            self._compiled[key] = no_matrix if empty else by_parameters(writer, m, self.differentiator)
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


# -- helpers ----------------------------------------------------------------------------------------------------------


def _of_state(friction):
    """A friction coefficient as a function of the state, also where it depends on the parameters only."""
    if arguments_of(friction) > 1:
        return friction

    def coefficient(t, q, u, p):
        return friction(p)

    return coefficient


def _spread(values, m, name, label):
    if values.size == 1:
        return np.full(m, values[0])
    if values.size != m:
        raise ShapeError(f"`{name}` of {label} has {values.size} entries for {m} contact(s).")
    return values


def _names(name, default, m, label):
    if name is None:
        return [default] if m == 1 else [f"{default} [{i}]" for i in range(m)]
    if isinstance(name, str):
        return [name] if m == 1 else [f"{name} [{i}]" for i in range(m)]
    if len(name) != m:
        raise ShapeError(f"`name` of {label} has {len(name)} entries for {m} contact(s).")
    return list(name)


def _count(function, parameters, t, q, u, name, takes_u):
    """Number of values of a user function: the length of what it returns, or the shortest `out` it can fill."""
    probe = UserFunction(function, name, (1,), takes_u, parameters)
    if not probe.has_out:
        value = probe.raw(float(t), q.copy(), u.copy())
        if value is None:
            raise InputError(f"{name} returned None: return its value, or take a trailing `out` and fill it.")
        return int(np.size(value))
    for m in range(1, 1025):
        probe.shape = (m,)
        try:
            probe.raw(float(t), q.copy(), u.copy())
        except (IndexError, ValueError):
            continue
        return m
    raise ShapeError(f"{name}: the number of values could not be found; give it as `size`.")


def _columns(function, parameters, t, q, u, n_u, m, name):
    """Number of direction columns of a tangent function."""
    probe = UserFunction(function, name, (m, n_u), False, parameters, transposed=True)
    if not probe.has_out:
        value = probe.raw(float(t), q.copy(), u.copy())
        array = np.asarray(value, dtype=np.float64) if value is not None else np.zeros(0)
        if array.ndim == 1 and array.size == n_u:
            return 1
        if array.ndim == 2 and array.shape[0] == n_u:
            return array.shape[1]
        raise ShapeError(f"{name} returned shape {array.shape}; ({n_u},) or ({n_u}, k) is wanted.")
    for k in (1, 2, 3):
        probe.shape = (m * k, n_u)
        try:
            probe.raw(float(t), q.copy(), u.copy())
        except (IndexError, ValueError):
            continue
        return m * k
    raise ShapeError(f"{name} does not fit an `out` of shape ({n_u}, {m}) or ({n_u}, {2 * m}).")
