"""The scheme `theta`: Acary's theta-Moreau scheme with a constant step (equations in `nonsmooth._core.stepping.theta`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core.derivatives.weighted_tangent import TANGENT, weighted_tangent
from nonsmooth._core.jit import MATRIX, Reference, address_record
from nonsmooth._core.records.scene import STEP
from nonsmooth._core.stepping import sparse_theta as sparse
from nonsmooth._core.stepping import theta as core
from nonsmooth._core.stepping.saddle import SIDE, SOFT
from nonsmooth.contact.solvers import Exact, StepSolver, as_solver
from nonsmooth.errors import InputError
from nonsmooth.schemes.base import ConstantStep, Plan, checked_step
from nonsmooth.schemes.jointed import has_many_joints, has_own_forces, make_saddle
from nonsmooth.schemes.options import choice, share
from nonsmooth.schemes.projection import KeepingReference, checked_projection, projection_parts, remembered
from nonsmooth.schemes.run import ConstantStepRun

REACH = 1e-7  # steps of differences of directions, in terms of coordinates
ACTIVATIONS = {"forecast": core.FORECAST, "none": core.NOT_FORECAST, "midpoint": core.MIDPOINT}
DIRECTIONS = {"end": core.AT_END, "theta": core.AT_THETA, "enduring": core.ENDURING, "secant": core.SECANT}
LASTING = ("enduring", "secant")  # a rule of their own for constraints that last


@dataclass(frozen=True)
class Theta(ConstantStep):
    """The theta-Moreau scheme, eq. (16) of Acary 2012: implicit forces by Newton's method, laws on velocity level.

    Parameters
    ----------
    dt : float
        Step size; the last step before a breakpoint or the end is shortened to hit it.
    theta : float
        Between 0 (explicit) and 1 (implicit Euler); 1/2 is of second order in smooth motion.
    gamma : float
        Forecast of gaps in (16e): a contact acts in a step if ``g + gamma dt dg/dt <= 0`` at its begin.
    activation : {"forecast", "none", "midpoint"}
        (16e); no forecast (``g <= 0`` at the begin); or the gap half a step ahead, as `Moreau` does it.
    directions : {"end", "enduring", "secant", "theta"}, optional
        Where relative velocities are taken: at the end of the step; at q_theta, with the midpoint rule for constraints that last; along the
        chord of the step for these, which keeps their positions and, with theta = 1/2, the energy; or at q_theta as printed in (16c), of
        first order on curved contacts. If left out, "secant" with a projection and "end" without (and for theta = 0).
    projection : {"direct", "combined"}, optional
        Positions on contacts and joints, eq. (19): after the velocity step, or iterated with it until both hold. True means "direct".
    solver : Exact, PSOR, PJOR, ContactMethod or str
        Solver of the contact problem in each step: an object with its options, or a name such as "auto", "newton", "nsgs".
    """

    dt: float
    theta: float = 0.5
    gamma: float = 0.5
    activation: str = "forecast"
    directions: str | None = None
    projection: Any = None
    solver: StepSolver | str = field(default_factory=Exact)

    name = "theta"
    step = core.theta_step

    def __post_init__(self):
        object.__setattr__(self, "dt", checked_step(self.dt))
        object.__setattr__(self, "theta", share("theta", self.theta))
        object.__setattr__(self, "gamma", share("gamma", self.gamma))
        choice("activation", self.activation, ACTIVATIONS)
        object.__setattr__(self, "projection", checked_projection(self.projection))
        if self.directions is None:
            chords = self.projection is not None and self.theta > 0.0
            object.__setattr__(self, "directions", "secant" if chords else "end")
        choice("directions", self.directions, DIRECTIONS)
        if self.directions in LASTING and self.theta == 0.0:
            raise InputError(
                f'`directions` is "{self.directions}" with theta = 0: the rule divides by theta; use "end".'
            )
        object.__setattr__(self, "solver", as_solver(self.solver))

    @property
    def asks(self) -> tuple[str, ...]:
        return () if self.projection is None and self.directions != "secant" else ("joints",)

    def remembers(self, model) -> int:
        return remembered(self.projection, model)

    @property
    def order(self) -> int:
        """In smooth motion."""
        return 2 if self.theta == 0.5 else 1

    def options(self) -> dict[str, Any]:
        names = ("dt", "theta", "gamma", "activation", "directions", "projection")
        return {**{name: getattr(self, name) for name in names}, **as_solver(self.solver).describe()}

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> ConstantStepRun:
        return ConstantStepRun(self, model, t, q, u, plan)

    def is_sparse(self, model) -> bool:
        """Whether joints are eliminated with the masses, in one sparse matrix."""
        return self.projection is None and self.directions != "secant" and has_many_joints(model)

    def is_dense(self, model) -> bool:
        return not self.is_sparse(model)

    def parts(self, model) -> dict[str, Any]:
        """The record of the step, as `SchemeRun` takes it."""
        if self.is_sparse(model):
            return {"step": (sparse.sparse_theta_step, STEP), "own": sparse_record(self, model)}
        own = own_record(self, model)
        if self.projection is None:
            return {"own": own}
        return {"own": own, **projection_parts(self.projection, model, core.theta_step, own.record.shift)}

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit.theta import audit_theta

        return audit_theta(self, model, result, totals, plan, samples)


def own_record(scheme, model) -> Reference:
    """The record of the compiled step, with the tangent of the model; `scheme` has the options of `Theta`."""
    from nonsmooth.model.matrix_operator import MatrixOperator

    tangents, size = model.tangent_parts, model.size()
    factors = MatrixOperator(tangents.pattern, definite=False)
    at = address_record(tangent=tangents.reference, factors=factors.reference)
    scales, sizes = by_velocity(model, model.differentiator.scales["q"]), by_velocity(model, sizes_of(model))
    own = core.make_own(size, at, tangents.pattern.size, REACH * scales, sizes)
    set_options(own.options, scheme)
    return KeepingReference(own, factors)


def sizes_of(model) -> np.ndarray:
    """Sizes of coordinates at the start; of those at zero, the largest."""
    start = np.abs(model.differentiator.q0)
    return np.where(start > 0.0, start, np.max(start, initial=0.0) or 1.0)


def by_velocity(model, of_q) -> np.ndarray:
    """Sizes of q as velocities see them: the largest of all where q' = B u."""
    of_u = of_q if model.f_kinematics is None else np.full(model.n_u, np.max(of_q))
    return np.ascontiguousarray(of_u)


def set_options(options, scheme) -> None:
    """Options as the compiled step takes them."""
    options.theta, options.gamma = scheme.theta, scheme.gamma
    options.activation, options.directions = ACTIVATIONS[scheme.activation], DIRECTIONS[scheme.directions]


def sparse_record(scheme, model) -> Reference:
    """The record of the sparse step."""
    tangents, stiff = model.tangent_parts, not has_own_forces(model)
    model.mass_operator.factorise(
        model._t0, model._q0
    )  # a mass matrix that is not positive definite is named here
    saddle, kept = make_saddle(model, tangents.pattern, tangents.pattern if stiff else model.pattern_M, SOFT)
    moved = 0 if model.assembly.user_rows else (model.writers.paired_directions(SIDE, apart=True), MATRIX)
    at = address_record(
        tangent=tangents.reference,
        weigh=(weighted_tangent, TANGENT),
        space=model.space.reference,
        moved=moved,
    )
    own_velocity = np.zeros(model.n_u, dtype=np.int64)
    row, k = np.nonzero(saddle.column >= 0)
    own_velocity[saddle.column[row, k]] = k % SIDE
    reach = REACH * by_velocity(model, model.differentiator.scales["q"])
    own = sparse.make_sparse(at, saddle, model.size(), tangents.pattern.size, own_velocity, reach)
    own.stiff[0] = stiff
    set_options(own.options, scheme)
    return KeepingReference(own, *kept, moved, tangents, model.space)
