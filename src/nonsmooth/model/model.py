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

The whole list stands in `model.assembled`. `core` holds the first ones compiled, the rest is compiled when a scheme asks for it
(`derivative_answers`); `plain_answers` come from the user's own Python functions, which is the independent route the audit takes.
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
from nonsmooth.model.derivative_answers import DerivativeAnswers
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction, chain
from nonsmooth.model.model_laws import ModelLaws
from nonsmooth.model.plain_answers import PlainAnswers
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


class Model(PlainAnswers, DerivativeAnswers, ModelLaws):
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
        other.go_back()
        return other

    #: Whether it can be asked as from its start although other runs came between.
    goes_back = True

    def go_back(self) -> None:
        """What is shared with models of other starts, as it is for this one."""
        if "differentiator" in self._compiled:
            self._compiled["differentiator"].rescale(self._t0, self._q0, self._u0, self.parameters.flat)

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
            made = Differentiator(self._t0, self._q0, self._u0, self.parameters.flat, self.system.pieces)
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

    def laws_at(self, t, q) -> LawTable:
        """The laws of a step that starts at (t, q): always the same ones for a model of functions."""
        return self.laws

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
