"""The scheme `schatzman-paoli`: constraints on position level (equations in `nonsmooth._core.stepping.schatzman_paoli`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.stepping import schatzman_paoli as core
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.schemes.base import ConstantStep, Plan, checked_step
from nonsmooth.schemes.projection import KeepingReference


@dataclass(frozen=True)
class SchatzmanPaoli(ConstantStep):
    """The scheme of Schatzman and Paoli: contacts and joints on position level, explicit forces.

    Velocities of the result are those over the last step, (q_k - q_(k-1))/dt.

    Parameters
    ----------
    dt : float
        Step size; the last step before a breakpoint or the end is shortened to hit it.
    solver : Exact, PSOR, PJOR, ContactMethod or str
        Solver of the contact problem in each step: an object with its options, or a name such as "auto", "newton", "nsgs".
    """

    dt: float
    solver: StepSolver | str = field(default_factory=Exact)

    name = "schatzman-paoli"
    order = 1
    step = core.paoli_step
    asks = ("joints",)

    def __post_init__(self):
        object.__setattr__(self, "dt", checked_step(self.dt))
        object.__setattr__(self, "solver", as_solver(self.solver))

    def remembers(self, model) -> int:
        """The length of the last step."""
        return 1

    def options(self) -> dict[str, Any]:
        return {"dt": self.dt, **as_solver(self.solver).describe()}

    def parts(self, model) -> dict[str, Any]:
        from nonsmooth.model.matrix_operator import MatrixOperator

        tangents = model.tangent_parts
        factors = MatrixOperator(tangents.pattern, definite=False)
        at = address_record(tangent=tangents.reference, factors=factors.reference)
        own = core.make_own(model.size(), at, tangents.pattern.size)
        reference: Reference = KeepingReference(own, factors)
        return {"own": reference}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit.schatzman_paoli import audit_paoli

        return audit_paoli(model, result, totals, plan, samples)
