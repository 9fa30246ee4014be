"""What a model answers to schemes that need derivatives: weighted tangents on fixed patterns, the mass as an operator, how increments move
q, derivatives by parameters. Each is made when it is first asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.stepping.trivial import no_matrix
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.products import directions_times, mass_times


class DerivativeAnswers:
    """Derivatives of a `Model` and what they are made of."""

    n_q: int
    n_u: int
    laws: Any
    system: Any
    parameters: Any
    core: Any
    differentiator: Any
    quaternions: Any
    directions: Any
    f_mass: Any
    f_kinematics: Any
    _compiled: dict[str, Any]
    _mass_operator: Any
    _function: Any

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
    def f_force_tangents(self) -> tuple[UserFunction | None, UserFunction | None]:
        """dh/dq and dh/du as the user gives them."""
        given = self.system.force_tangents
        if given is None:
            return None, None
        by_q = self._function(given[0], "dh/dq", (self.n_u, self.n_q), takes_u=True)
        return by_q, self._function(given[1], "dh/du", (self.n_u, self.n_u), takes_u=True)
