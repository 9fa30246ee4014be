"""The scheme `moreau`: Moreau's midpoint rule with a constant step (equations in `nonsmooth._core.stepping.moreau`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nonsmooth._core.jit import VECTOR, Reference, address_record
from nonsmooth._core.records.scene import STEP
from nonsmooth._core.stepping.moreau import moreau_step, run_moreau
from nonsmooth._core.stepping.run_loop import run
from nonsmooth._core.stepping.saddle import SOFT
from nonsmooth._core.stepping.sparse_moreau import make_sparse, sparse_moreau_step
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.schemes.base import ConstantStep, Plan, checked_step
from nonsmooth.schemes.jointed import has_many_joints, make_saddle
from nonsmooth.schemes.projection import KeepingReference, checked_projection, projection_parts, remembered


@dataclass(frozen=True)
class Moreau(ConstantStep):
    """Moreau's midpoint rule with constant step size.

    Parameters
    ----------
    dt : float
        Step size; the last step before a breakpoint or the end is shortened to hit it.
    solver : Exact, PSOR, PJOR, ContactMethod or str
        Solver of the contact problem in each step: an object with its options, or a name such as "auto", "newton", "nsgs".
    projection : {"direct", "combined"}, optional
        Positions on contacts and joints at the end of each step (Acary 2012, eq. (19)): after the velocity step, or with contacts that
        turn out to be violated acting in it. True means "direct".
    """

    dt: float
    solver: StepSolver | str = field(default_factory=Exact)
    projection: Any = None

    name = "moreau"
    compile_seconds = 25
    order = 1
    step = moreau_step
    loop = run_moreau
    asks_at_end = False
    orders_laws = True

    def __post_init__(self):
        object.__setattr__(self, "dt", checked_step(self.dt))
        object.__setattr__(self, "solver", as_solver(self.solver))
        object.__setattr__(self, "projection", checked_projection(self.projection))

    @property
    def asks(self) -> tuple[str, ...]:
        return () if self.projection is None else ("joints",)

    def remembers(self, model) -> int:
        return remembered(self.projection, model)

    def is_sparse(self, model) -> bool:
        """Whether joints are eliminated with the masses, in one sparse matrix."""
        return self.projection is None and has_many_joints(model)

    def is_dense(self, model) -> bool:
        return not self.is_sparse(model)

    def chosen_loop(self, model) -> Any:
        return type(self).loop if self.projection is None and not self.is_sparse(model) else run

    def parts(self, model) -> dict[str, Any]:
        if self.is_sparse(model):
            return {"step": (sparse_moreau_step, STEP), "own": sparse_record(model)}
        return {} if self.projection is None else projection_parts(self.projection, model, moreau_step)

    def options(self) -> dict[str, Any]:
        own = {"dt": self.dt, **as_solver(self.solver).describe()}
        return own if self.projection is None else {**own, "projection": self.projection}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit import audit_moreau

        step_ends = plan.t_eval.size == 0 and plan.every == 1
        return audit_moreau(
            model,
            result,
            totals,
            samples=samples,
            max_checked=200 if step_ends else 0,
            projection=self.projection,
        )


def sparse_record(model) -> Reference:
    """The record of the sparse step."""
    saddle, kept = make_saddle(model, model.pattern_M, soft=SOFT)
    model.mass_operator.factorise(
        model._t0, model._q0
    )  # a mass matrix that is not positive definite is named here
    at = address_record(mass=(model.mass_values, VECTOR), space=model.space.reference)
    return KeepingReference(make_sparse(at, saddle, model.n_u, model.pattern_M.size), *kept, model.space)
