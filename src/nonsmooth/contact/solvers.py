"""Solvers for the contact problem of a time step, as a user chooses them.

====================  =====================================================================================
`Exact`, "auto"       default: Newton on the modes, enumeration where modes are few, proximal Newton, the stages of
                      `solve_contact`, relaxation as a last resort
`PSOR`, "psor"        projected Gauss-Seidel relaxation, Studer, Leine, Glocker 2008, eq. (23)
`PJOR`, "pjor"        projected Jacobi relaxation, eq. (22)
`ContactMethod`       a method of `solve_contact` by its name: "newton" (compiled), "nsgs", "interior-point", ...
====================  =====================================================================================

All stop on the same residual (`nonsmooth._core.laws.projections.residual`), which is that of `solve_contact`, relative, and does not
depend on units.
`max_iter` is the budget of one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.records import problem as codes
from nonsmooth.errors import InputError, NonFiniteError, NonsmoothWarning, RangeError
from nonsmooth.warn import warn_user

NEWTON_BUDGET = 3000  # Newton iterations of a step, as in `nonsmooth.contact.newton`
R_FACTORS = {"local": 0, "row-sum": 1, "common": 2}


class StepSolver:
    """Base of all solvers of a step: it owes ``options()`` and ``describe()``."""

    tol: float
    max_iter: int | None

    def options(self):
        """The options as the compiled loops take them."""
        raise NotImplementedError(f"the solver {type(self).__name__} must give its options")

    def describe(self) -> dict[str, Any]:
        """Options by name, for the result."""
        return {"solver": type(self).__name__, "tol": self.tol, "max_iter": self.max_iter}


@dataclass(frozen=True)
class _Solver(StepSolver):
    tol: float = 1e-10
    max_iter: int = 10_000
    omega: float = 1.0
    r_factor: str = "local"

    method = codes.AUTO

    def __post_init__(self):
        name = type(self).__name__
        check_tolerance(self, name)
        if not isinstance(self.omega, int | float) or not math.isfinite(self.omega):
            raise NonFiniteError(f"`omega` of {name} is {self.omega!r}: it must be a finite number.")
        if not 0 < self.omega < 2:
            raise RangeError(f"`omega` of {name} is {self.omega:g}: relaxation needs 0 < omega < 2.")
        check_budget(self.max_iter, name)
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
    """Exact to rounding where the modes can be found; proximal Newton, `solve_contact` and `PSOR` with polishing otherwise.

    Parameters
    ----------
    tol : float
        Residual that counts as solved.
    max_iter : int
        Iterations of proximal Newton, and sweeps of the relaxation, if Newton and enumeration fail.
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


@dataclass(frozen=True)
class ContactMethod(StepSolver):
    """A method of `solve_contact` for every step.

    Parameters
    ----------
    name : str or callable
        A name of `nonsmooth.contact.solve.METHODS`, or a function of that form. "newton" is compiled into the step, the others are
        called in Python with the step's impulses as their guess.
    tol : float
        Residual that counts as solved.
    max_iter : int, optional
        Budget of one step; the default depends on the method.
    """

    name: str | Callable
    tol: float = 1e-10
    max_iter: int | None = None

    def __post_init__(self):
        if not callable(self.name):
            from nonsmooth.contact.solve import METHODS

            if self.name not in METHODS:
                raise InputError(
                    f"`name` of ContactMethod is {self.name!r}: one of {', '.join(METHODS)}, or a function, is wanted."
                )
        check_tolerance(self, "ContactMethod")
        if self.max_iter is not None:
            check_budget(self.max_iter, "ContactMethod")

    def options(self):
        options = Exact(tol=self.tol, max_iter=self.max_iter or NEWTON_BUDGET).options()
        options.method = codes.NEWTON if self.name == "newton" else codes.OUTSIDE
        return options

    def describe(self) -> dict[str, Any]:
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", repr(self.name))
        return {"solver": name, "tol": self.tol} | ({"max_iter": self.max_iter} if self.max_iter else {})


#: Solvers of a step with a class of their own; every other name is a method of `solve_contact`.
BY_NAME: dict[str, type[_Solver]] = {"auto": Exact, "exact": Exact, "psor": PSOR, "pjor": PJOR}


def as_solver(value: Any) -> StepSolver:
    """What a user gives as `solver`: an object of this module, or a name."""
    if isinstance(value, StepSolver):
        return value
    if isinstance(value, str):
        from nonsmooth.contact.solve import METHODS

        if value in BY_NAME:
            return BY_NAME[value]()
        if value in METHODS:
            return ContactMethod(value)
        names = ", ".join(dict.fromkeys([*BY_NAME, *METHODS]))
        raise InputError(f"`solver` is {value!r}: one of {names} is wanted.")
    raise InputError(
        f"`solver` is {value!r}: give Exact(...), PSOR(...), PJOR(...), ContactMethod(...) or a name."
    )


def check_tolerance(solver, name):
    """`tol` as it can be used: between rounding, to which it is raised, and 1."""
    tol = solver.tol
    if not isinstance(tol, int | float) or not math.isfinite(tol):
        raise NonFiniteError(f"`tol` of {name} is {tol!r}: it must be a finite number.")
    if not 0 < tol < 1:
        raise RangeError(f"`tol` of {name} is {tol:g}: it must lie between 0 and 1 (default 1e-10).")
    smallest = 10 * float(np.finfo(float).eps)
    if tol < smallest:
        warn_user(
            f"`tol` of {name} is {tol:g}, below what rounding allows; it is raised to {smallest:.2g}.",
            NonsmoothWarning,
        )
        object.__setattr__(solver, "tol", smallest)


def check_budget(max_iter, name):
    """A number of iterations."""
    if not isinstance(max_iter, int | np.integer) or isinstance(max_iter, bool):
        raise InputError(f"`max_iter` of {name} is {max_iter!r}: a whole number is wanted.")
    if max_iter < 1:
        raise RangeError(f"`max_iter` of {name} is {max_iter}: at least 1 is wanted.")
