"""The laws of a model of functions: contacts, friction and other elements, joints in one table, and the user's functions by rows.

The order of rows: unilateral contacts, their friction, friction elements, other set-valued elements, joints, nonholonomic constraints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.records import laws as codes
from nonsmooth.contact.laws import LawTable, LawTableBuilder
from nonsmooth.errors import InputError, ModelError, ShapeError
from nonsmooth.model.elements import (
    Ball,
    Contact,
    ConvexSet,
    Interval,
    arguments_of,
    check_coefficient,
    without_underflow,
)
from nonsmooth.model.functions import UserFunction


class Group(NamedTuple):
    """The unilateral contacts of one `Contact`, whose friction comes later in the table."""

    contact: Contact
    label: str
    names: list[str]
    first: int  # law
    m: int  # contacts
    mu: np.ndarray
    e_T: np.ndarray
    of_state: bool  # whether its friction is a function of the state


class ModelLaws:
    """What `Model` knows of its laws; lists run over the elements of the system.

    Attributes
    ----------
    laws : LawTable
    gaps_of, jacobians_of, normal_rows, normal_rates_of : of contacts
    tangents_of, surface_of, tangent_rows, tangent_rates_of : of friction and other elements
    joints_of, joint_jacobians_of, joint_rows, joint_names, joint_rates_of : of joints
    nonholonomic_of, nonholonomic_rows, nonholonomic_rates_of : of nonholonomic constraints
    bounds_of : list of (row, dim, "limit" function or (lower, upper))
    friction_of : list of (first row, directions of a contact, function or number of the law)
        All friction of contacts, if some has a function of the state.
    sets : dict from law to ConvexSet
    """

    system: Any
    parameters: Any
    n_q: int
    n_u: int
    _t0: float
    _q0: np.ndarray
    _u0: np.ndarray
    gaps_of: list[UserFunction]
    jacobians_of: list[UserFunction | None]
    normal_rates_of: list[UserFunction | None]
    tangents_of: list[UserFunction]
    surface_of: list[UserFunction | None]
    tangent_rates_of: list[UserFunction | None]
    joints_of: list[UserFunction]
    joint_jacobians_of: list[UserFunction | None]
    joint_rates_of: list[UserFunction | None]
    joint_names: list[str]
    nonholonomic_of: list[UserFunction]
    nonholonomic_rates_of: list[UserFunction | None]
    normal_rows: list[slice]
    tangent_rows: list[slice]
    joint_rows: list[slice]
    nonholonomic_rows: list[slice]
    bounds_of: list[tuple]
    friction_of: list[tuple]
    sets: dict[int, ConvexSet]
    laws: LawTable
    _of_p: list[tuple]  # coefficients that are functions of the parameters

    def _function(self, function, name, shape, takes_u=False, transposed=False):
        return UserFunction(function, name, shape, takes_u, self.parameters, transposed)

    def _optional(self, function, name, shape, takes_u=False):
        """A function the user may leave out, or None."""
        return None if function is None else self._function(function, name, shape, takes_u)

    def _collect_laws(self) -> None:
        """Count contacts and rows, and put all laws in one table."""
        table = LawTableBuilder()
        self.gaps_of, self.jacobians_of, self.normal_rows, self.normal_rates_of = [], [], [], []
        self.tangents_of, self.surface_of, self.tangent_rows, self.tangent_rates_of = [], [], [], []
        self.joints_of, self.joint_jacobians_of, self.joint_rows, self.joint_names = [], [], [], []
        self.joint_rates_of = []
        self.nonholonomic_of, self.nonholonomic_rows, self.nonholonomic_rates_of = [], [], []
        self.bounds_of = []
        self.friction_of = []
        self._of_p = []
        self.sets = {}
        given = [contact.friction for contact in self.system.contacts]
        varying = any(callable(friction) and arguments_of(friction) > 1 for friction in given)
        groups = [
            self._add_contact(table, index, contact, varying)
            for index, contact in enumerate(self.system.contacts)
        ]
        n_N = table.row
        for group in groups:
            if group.contact.has_friction:
                self._add_contact_friction(table, group, varying)
        for index, element in enumerate(self.system.friction):
            self._add_friction_element(table, element, element.name or f"friction {index}")
        for index, element in enumerate(self.system.elements):
            self._add_element(table, element, element.name or f"element {index}")
        first_row = table.row
        for index, joint in enumerate(self.system.joints):
            self._add_joint(table, joint, joint.name or f"joint {index}")
        for index, constraint in enumerate(self.system.nonholonomic):
            self._add_nonholonomic(table, constraint, constraint.name or f"nonholonomic {index}")
        self.laws = table.build(n_N, table.row - first_row)
        _refuse_equal_names(self.laws.name)

    # -- elements ---------------------------------------------------------------------------------------------------

    def _add_contact(self, table, index, contact, varying) -> Group:
        """The unilateral laws of a `Contact`."""
        label = f"contact {contact.name!r}" if contact.name else f"contact {index}"
        m = contact.size or self._count(contact.gap, f"gap of {label}", False)
        names = _names(contact.name, f"contact {index}", m, label)
        e = self._coefficient(contact.restitution, m, "restitution", label, 1.0)
        e_T = self._coefficient(contact.tangential_restitution, m, "tangential_restitution", label, 1.0)
        of_state = callable(contact.friction) and varying
        # the coefficients of a function of the state are known in a step only
        mu = np.full(m, np.nan) if of_state else self._coefficient(contact.friction, m, "friction", label)
        first, row = len(table.entries), table.row
        for i in range(m):
            table.add(codes.HALF_LINE, 1, names[i], e=e[i])
        self._changes_with_p(contact.restitution, first, m, "e", "restitution", label, 1.0)
        self.gaps_of.append(self._function(contact.gap, f"gap of {label}", (m,)))
        self.jacobians_of.append(self._optional(contact.jacobian, f"jacobian of {label}", (m, self.n_q)))
        self.normal_rows.append(slice(row, row + m))
        self.normal_rates_of.append(self._rate(contact.jacobian_rate, f"jacobian_rate of {label}", m))
        return Group(contact, label, names, first, m, mu, e_T, of_state)

    def _add_contact_friction(self, table, group, varying) -> None:
        """Friction of the contacts of one `Contact`."""
        contact, label, names, first, m, mu, e_T, of_state = group
        columns = self._columns(contact.tangent, m, f"tangent of {label}")
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

    def _add_friction_element(self, table, element, name) -> None:
        k = self._columns(element.direction, 1, f"direction of {name!r}")
        if k not in (1, 2):
            raise ShapeError(f"direction of friction element {name!r} has {k} columns: 1 or 2 are wanted.")
        row = table.add(codes.INTERVAL if k == 1 else codes.DISK, k, name)
        self._add_directions(
            element.direction, element.surface_velocity, element.direction_rate, name, slice(row, row + k)
        )
        limit = element.limit
        if callable(limit):
            limit = self._function(limit, f"limit of {name!r}", (1,), takes_u=True)
        self.bounds_of.append((row, k, limit))

    def _add_element(self, table, element, name) -> None:
        """A set-valued element with a set of forces."""
        k = self._columns(element.direction, 1, f"direction of {name!r}")
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

    def _add_joint(self, table, joint, name) -> None:
        self._check_servo(joint, name, False)
        m = self._count(joint.constraint, f"constraint of {name!r}", False)
        self.joint_rows.append(_free_rows(table, m, name))
        self.joints_of.append(self._function(joint.constraint, f"constraint of joint {name!r}", (m,)))
        self.joint_jacobians_of.append(
            self._optional(joint.jacobian, f"jacobian of joint {name!r}", (m, self.n_q))
        )
        self.joint_rates_of.append(self._rate(joint.jacobian_rate, f"jacobian_rate of joint {name!r}", m))
        self.joint_names.append(name)

    def _add_nonholonomic(self, table, constraint, name) -> None:
        self._check_servo(constraint, name, True)
        m = self._count(constraint.constraint, f"constraint of {name!r}", True)
        self.nonholonomic_rows.append(_free_rows(table, m, name))
        self.nonholonomic_of.append(
            self._function(constraint.constraint, f"constraint {name!r}", (m,), takes_u=True)
        )
        self.nonholonomic_rates_of.append(self._rate(constraint.rate, f"rate of {name!r}", m))

    def _check_servo(self, constraint, name, takes_u) -> None:
        """A wanted course has as many values as its output: more would be spread over it as other outputs."""
        output = getattr(constraint, "output", None)
        if output is None:
            return
        outputs = self._count(output, f"output of {name!r}", takes_u)
        values = self._count(constraint.constraint, f"constraint of {name!r}", takes_u)
        if values != outputs:
            raise ShapeError(
                f"`wanted` of servo {name!r} has {values} values for an output of {outputs}: one for each is wanted."
            )

    def _add_directions(self, direction, surface_velocity, rate, label, rows) -> None:
        m = rows.stop - rows.start
        self.tangents_of.append(
            self._function(direction, f"tangent of {label}", (m, self.n_u), transposed=True)
        )
        self.surface_of.append(self._optional(surface_velocity, f"surface_velocity of {label}", (m,)))
        self.tangent_rows.append(rows)
        self.tangent_rates_of.append(self._rate(rate, f"rate of the tangent of {label}", m))

    def _rate(self, function, name, m):
        """A quadratic term given by the user, or None."""
        return self._optional(function, name, (m,), takes_u=True)

    # -- coefficients -----------------------------------------------------------------------------------------------

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

    # -- sizes ------------------------------------------------------------------------------------------------------

    def _count(self, function, name, takes_u):
        """Number of values of a user function: the length of what it returns, or the shortest `out` it can fill."""
        probe = UserFunction(function, name, (1,), takes_u, self.parameters)
        if not probe.has_out:
            value = probe.raw(float(self._t0), self._q0.copy(), self._u0.copy())
            if value is None:
                raise InputError(
                    f"{name} returned None: return its value, or take a trailing `out` and fill it."
                )
            return int(np.size(value))
        for m in range(1, 1025):
            probe.shape = (m,)
            try:
                probe.raw(float(self._t0), self._q0.copy(), self._u0.copy())
            except (IndexError, ValueError):
                continue
            return m
        raise ShapeError(f"{name}: the number of values could not be found; give it as `size`.")

    def _columns(self, function, m, name):
        """Number of direction columns of a tangent function."""
        probe = UserFunction(function, name, (m, self.n_u), False, self.parameters, transposed=True)
        if not probe.has_out:
            value = probe.raw(float(self._t0), self._q0.copy(), self._u0.copy())
            array = np.asarray(value, dtype=np.float64) if value is not None else np.zeros(0)
            if array.ndim <= 1 and array.size == self.n_u:  # one coordinate: a number is enough
                return 1
            if array.ndim == 2 and array.shape[0] == self.n_u:
                return array.shape[1]
            raise ShapeError(
                f"{name} returned shape {array.shape}; ({self.n_u},) or ({self.n_u}, k) is wanted."
            )
        for k in (1, 2, 3):
            probe.shape = (m * k, self.n_u)
            try:
                probe.raw(float(self._t0), self._q0.copy(), self._u0.copy())
            except (IndexError, ValueError):
                continue
            return m * k
        raise ShapeError(f"{name} does not fit an `out` of shape ({self.n_u}, {m}) or ({self.n_u}, {2 * m}).")


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


def _free_rows(table, m, name) -> slice:
    """Rows of `m` bilateral constraints, added to the table."""
    rows = slice(table.row, table.row + m)
    for i in range(m):
        table.add(codes.FREE, 1, name if m == 1 else f"{name} [{i}]")
    return rows


def _refuse_equal_names(names) -> None:
    seen: dict[str, int] = {}
    for law, name in enumerate(names):
        if name in seen:
            raise ModelError(
                f"the name {name!r} belongs to laws {seen[name]} and {law}: give contacts distinct names."
            )
        seen[name] = law
