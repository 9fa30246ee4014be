"""Solvers for the prox problem of a time step, as a user chooses them.

====================  =====================================================================================
`Exact`               default: Newton on the modes, enumeration where modes are few, relaxation as a last resort
`PSOR`                projected Gauss-Seidel relaxation, Studer, Leine, Glocker 2008, eq. (23)
`PJOR`                projected Jacobi relaxation, eq. (22)
====================  =====================================================================================

All stop on the same residual (`nonsmooth._core.laws.projections.residual`), which is relative and does not depend on units.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from nonsmooth._core.records import problem as codes
from nonsmooth.errors import InputError, NonFiniteError, NonsmoothWarning, RangeError

R_FACTORS = {"local": 0, "row-sum": 1, "common": 2}


@dataclass(frozen=True)
class _Solver:
    tol: float = 1e-10
    max_iter: int = 10_000
    omega: float = 1.0
    r_factor: str = "local"

    method = codes.AUTO

    def __post_init__(self):
        name = type(self).__name__
        for field in ("tol", "omega"):
            value = getattr(self, field)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise NonFiniteError(f"`{field}` of {name} is {value!r}: it must be a finite number.")
        if not 0 < self.tol < 1:
            raise RangeError(f"`tol` of {name} is {self.tol:g}: it must lie between 0 and 1 (default 1e-10).")
        smallest = 10 * float(np.finfo(float).eps)
        if self.tol < smallest:
            warnings.warn(
                f"`tol` of {name} is {self.tol:g}, below what rounding allows; it is raised to {smallest:.2g}.",
                NonsmoothWarning,
                stacklevel=4,
            )
            object.__setattr__(self, "tol", smallest)
        if not 0 < self.omega < 2:
            raise RangeError(f"`omega` of {name} is {self.omega:g}: relaxation needs 0 < omega < 2.")
        if not isinstance(self.max_iter, int | np.integer) or isinstance(self.max_iter, bool):
            raise InputError(f"`max_iter` of {name} is {self.max_iter!r}: a whole number is wanted.")
        if self.max_iter < 1:
            raise RangeError(f"`max_iter` of {name} is {self.max_iter}: at least 1 is wanted.")
        if self.r_factor not in R_FACTORS:
            raise InputError(
                f"`r_factor` of {name} is {self.r_factor!r}: one of {', '.join(R_FACTORS)} is wanted."
            )

    def options(self):
        """The options as the compiled loops take them."""
        options = codes.SolverOptions()
        options.method, options.tol, options.max_iter = self.method, self.tol, self.max_iter
        options.omega, options.strategy, options.newton = self.omega, R_FACTORS[self.r_factor], 12
        return options


@dataclass(frozen=True)
class Exact(_Solver):
    """Exact to rounding where the modes can be found, `PSOR` with polishing otherwise.

    Parameters
    ----------
    tol : float
        Residual that counts as solved.
    max_iter : int
        Sweeps of the relaxation that follows if Newton and enumeration fail.
    omega, r_factor
        As in `PSOR`.
    """

    method = codes.AUTO


@dataclass(frozen=True)
class PSOR(_Solver):
    """Projected Gauss-Seidel relaxation.

    Parameters
    ----------
    tol : float
        Residual to reach.
    max_iter : int
    omega : float
        Relaxation parameter, r_i = omega / G_ii.
    r_factor : {"local", "row-sum", "common"}
        What stands for G_ii: the law's own diagonal entry, its row sum, or the largest row sum of all.
    """

    method = codes.PSOR


@dataclass(frozen=True)
class PJOR(_Solver):
    """Projected Jacobi relaxation; `r_factor` defaults to "row-sum", with which it contracts."""

    r_factor: str = "row-sum"

    method = codes.PJOR
