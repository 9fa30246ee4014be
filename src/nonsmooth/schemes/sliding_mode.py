"""The scheme `sliding-mode`: constrained motion as a control problem, kept on its constraints by post-stabilisation.

Equations in `_core.stepping.equivalent_control` (canonical form, surfaces, input), `post_stabilisation` and `sliding_mode` (the step).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.jit import MATRIX, Reference, address_record
from nonsmooth._core.records.laws import CONSTRAINT, FREE
from nonsmooth._core.records.scene import BETWEEN, STEP
from nonsmooth.errors import AdjustmentWarning, InputError, ModelError, NonFiniteError, RangeError, ShapeError
from nonsmooth.integrators.tableaus import ALIASES, METHODS
from nonsmooth.model.start import CONSISTENCY, length_scale
from nonsmooth.schemes.base import Plan, Scheme, checked_step
from nonsmooth.schemes.high_order import HighOrder, check_scheme, orders_of, refuse_start
from nonsmooth.schemes.run import ConstantStepRun, SchemeRun
from nonsmooth.warn import warn_user

FORMS = ("equivalent", "newton", None)
STABILISATIONS = ("post", None, "switching", "boundary-layer", "baumgarte", "springs")
POSITIONS = ("holonomic", "printed")
WEIGHTS = ("plain", "mass")
PART = 1e-2  # of what a motion will make of coordinates that are zero at the start, as their first size
NEWTON_RTOL = 1e-8  # what the implicit equations of a step of given length are solved to


@dataclass(frozen=True)
class SlidingMode(Scheme):
    """Mechanics with joints and nonholonomic constraints, index 3 and 2, by sliding-mode control (Compere 2001, chapter 3).

    Parameters
    ----------
    integrator : str
        Any single-step method of the library: "RK3" (Kutta), "RKF45", "RKF78", "RK23", "RK45", "DOP853"; "SDIRK4" and "Radau" for stiff
        forces.
    dt : float, optional
        Step size; the last step before a breakpoint or the end is shortened to hit it.
    rtol : float, optional
        Instead of `dt`: tolerance of the error of a step, each component measured against the largest size it has had.
    sigma : float or array of them
        Speed of the surfaces ``J_q u + sigma Phi_h`` of holonomic constraints, one for all or one per equation, in 1/time.
    eta : float or array of them, optional
        Rate at which the surfaces of a start that is not consistent are reached, one for all or one per equation (joints first).
    reach : float or array of them, optional
        Instead of `eta`: the time in which the surfaces are to be reached.
    acceleration : {"equivalent", "newton", None}
        Stabilisation on acceleration level at every stage: the equivalent control there, or one Newton correction of the input at the begin
        of the step (the same up to rounding); None keeps that input for the step.
    passes : {2, 1}
        Passes of post-stabilisation.
    positions : {"holonomic", "printed"}
        Positions moved by the holonomic constraints alone, or by all constraints as (3.27) is printed.
    weight : {"plain", "mass"}
        Post-stabilisation by the least change of coordinates as they are, or in the norm of the mass matrix (independent of units).
    bound : float
        Constant C of the bound on the adjustment of a step, ``C (dt/T)^(p-1)`` of the motion; an `AdjustmentWarning` tells what goes
        beyond.
    stabilisation : {"post", None, "switching", "boundary-layer", "baumgarte", "springs"}
        What keeps the constraints. All but "post" are there for comparison: nothing, ``eta sgn(S)`` kept on, the same in a layer of width
        `layer`, Baumgarte's terms ``2 alpha gamma + beta^2 Phi``, springs ``stiffness Phi + damping gamma`` instead of constraints.
    layer, alpha, beta, stiffness, damping : float
    """

    integrator: str = "RKF45"
    dt: float | None = None
    rtol: float | None = None
    sigma: Any = 10.0
    eta: Any = None
    reach: Any = None
    acceleration: str | None = "equivalent"
    passes: int = 2
    positions: str = "holonomic"
    weight: str = "plain"
    bound: float = 1.0
    stabilisation: str | None = "post"
    layer: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0

    name = "sliding-mode"
    drives = True
    contacts = False
    asks = ("kappa", "joints")

    def __post_init__(self):
        known = [*METHODS, *ALIASES]
        if not isinstance(self.integrator, str) or self.integrator not in known:
            raise InputError(f"`integrator` is {self.integrator!r}: one of {', '.join(known)} is wanted.")
        object.__setattr__(self, "integrator", ALIASES.get(self.integrator, self.integrator))
        if (self.dt is None) == (self.rtol is None):
            given = "both are given" if self.dt is not None else "neither is given"
            raise InputError(f"one of `dt` (constant step) and `rtol` (controlled step) is wanted; {given}.")
        if self.dt is not None:
            object.__setattr__(self, "dt", checked_step(self.dt))
        for name, allowed in (
            ("acceleration", FORMS), ("stabilisation", STABILISATIONS), ("positions", POSITIONS), ("weight", WEIGHTS), ("passes", (2, 1)),
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, bool) or value not in allowed:
                raise InputError(f"`{name}` is {value!r}: one of {', '.join(map(repr, allowed))} is wanted.")
        for name in ("sigma", "eta", "reach"):
            checked_numbers(name, getattr(self, name), zero=name == "sigma")
        for name in ("rtol", "bound", "layer", "alpha", "beta", "stiffness", "damping"):
            checked_numbers(name, getattr(self, name), zero=True, scalar=True)
        if self.rtol is not None and not 10 * np.finfo(float).eps <= self.rtol <= 1:
            raise RangeError(f"`rtol` is {self.rtol:g}: it must lie between 2.3e-15 and 1.")
        if self.eta is not None and self.reach is not None:
            raise InputError("`eta` and `reach` both say how surfaces are reached: give one of them.")
        self._check_controls()

    def _check_controls(self):
        """What the schemes that are there for comparison need."""
        needed = {
            "switching": ("eta",), "boundary-layer": ("eta", "layer"), "baumgarte": ("alpha",), "springs": ("stiffness",),
        }  # fmt: skip
        for name in needed.get(self.stabilisation or "", ()):
            if not np.all(np.asarray(getattr(self, name) or 0.0) > 0):
                raise InputError(f"stabilisation={self.stabilisation!r} needs a positive `{name}`.")

    @property
    def order(self) -> int:
        """Of the integrator."""
        from nonsmooth.integrators.tableaus import get_method

        return get_method(self.integrator).order

    @property
    def reaches(self) -> bool:
        """Whether it starts from states that violate the constraints."""
        kept = self.stabilisation in ("switching", "boundary-layer", "baumgarte", "springs")
        return self.eta is not None or self.reach is not None or kept

    def options(self) -> dict[str, Any]:
        plain = type(self)(dt=1.0)
        chosen = {name: getattr(self, name) for name in self.__dataclass_fields__}
        always = ("integrator", "sigma")
        return {
            name: np.asarray(value).tolist() for name, value in chosen.items()
            if value is not None and (name in always or name in ("dt", "rtol") or np.any(value != getattr(plain, name)))
        }  # fmt: skip

    def steps_in(self, t_begin: float, t_end: float) -> int:
        """Number of steps of length `dt` in a segment."""
        return max(int(math.ceil((t_end - t_begin) / float(self.dt or 1.0) - 1e-9)), 1)

    def estimate_steps(self, segments) -> int | None:
        return None if self.dt is None else sum(self.steps_in(a, b) for a, b in segments)

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> SchemeRun:
        kind = ControlledRun if self.dt is None else FixedRun
        return kind(self, model, t, q, u, plan)

    def audit(self, model, result, totals, plan: Plan, samples):
        from nonsmooth.results.audit.sliding_mode import audit_sliding_mode

        return audit_sliding_mode(self, model, result, totals, totals["reached"])


class SlidingModeRun(SchemeRun):
    """What runs with constant and with controlled step have in common."""

    def __init__(self, scheme: SlidingMode, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        from nonsmooth._core.integrators.records import EXPLICIT
        from nonsmooth._core.stepping import equivalent_control as core
        from nonsmooth._core.stepping import sliding_mode
        from nonsmooth.integrators.driver import Integration, get_method

        refuse_laws(model)
        self.span = float(plan.segments[-1][1] - plan.segments[0][0]) if plan.segments else 1.0
        size, method = model.size(), get_method(scheme.integrator)
        n, n_x = model.laws.n_rows, model.n_q + model.n_u
        self.integration = Integration(method, core.unknowns(size), 0, core.constrained_field)
        orders = orders_of(model)
        check_inputs(model, t, q, orders)
        inputs = getattr(model, "inputs", None)
        self.high = None
        if orders.max() > 2:
            check_scheme(scheme, model, t)
            self.high = HighOrder(orders, core.unknowns(size))
        more = self.high.parts() if self.high else {"find": 0, "outputs": 0}
        at = address_record(
            solver=self.integration.reference, inputs=0 if inputs is None else (inputs, MATRIX), **more
        )
        self.own, self._inputs = core.make_own(size, at), inputs
        super().__init__(
            scheme, model, t, q, u, plan,
            parts={
                "step": (sliding_mode.sliding_mode_step, STEP), "between": (sliding_mode.sliding_mode_between, BETWEEN),
                "own": Reference(self.own),
            },
            n_own=1 + n + n_x + model.n_u,
        )  # fmt: skip
        solver = self.integration.solver
        solver.at.context = self.at_scene
        rtol = scheme.rtol if scheme.rtol is not None else NEWTON_RTOL
        # impulses and work come along without being controlled; the mean over all unknowns is one over (q, u)
        scale = np.maximum(np.abs(np.concatenate([q, u])), 1e-300)
        part = math.sqrt(n_x / core.unknowns(size))
        self.integration.prepare((t, t), np.concatenate([q, u, np.zeros(n + 2)]), rtol * part, np.inf)
        solver.atol[:n_x] = rtol * part * scale
        if method.kind != EXPLICIT and scheme.rtol is None:
            solver.atol[:n_x] = rtol * np.maximum(scale, self._kind_scale(q, u))
        self._set_control(scheme, core, method, inputs)
        self._set_surfaces(scheme, t, q, u)
        if self.high is not None:
            self._set_outputs(scheme, t, q, u)
        self.info.order = method.order

    def _kind_scale(self, q, u):
        """Largest coordinate and largest velocity, by component."""
        q_max, u_max = (max(float(np.max(np.abs(x), initial=0.0)), 1e-300) for x in (q, u))
        return np.concatenate([np.full(q.size, q_max), np.full(u.size, max(u_max, q_max * 1e-6))])

    def _set_control(self, scheme, core, method, inputs):
        control = self.own.control
        control.form = FORMS.index(scheme.acceleration)
        control.stabilisation = STABILISATIONS.index(scheme.stabilisation)
        control.passes, control.printed = scheme.passes, scheme.positions == "printed"
        control.mass_weighted, control.controlled = scheme.weight == "mass", scheme.dt is None
        control.has_inputs, control.order = inputs is not None, method.order
        control.rtol, control.bound, control.first = scheme.rtol or 0.0, scheme.bound, 1
        for name in ("layer", "alpha", "beta", "stiffness", "damping"):
            setattr(control, name, getattr(scheme, name))

    def _set_surfaces(self, scheme, t, q, u):
        """Which surfaces the start has still to reach, and at which rate."""
        own, state = self.own, self.state
        self.reached = {"t": t, "s": np.zeros(0), "eta": own.eta}
        n, n_h = self.model.laws.n_rows, int(self.model.size().n_joints)
        own.sigma[:n_h] = spread("sigma", scheme.sigma, n_h)
        if n:
            s, away, off = start_surfaces(self.model, t, q, u, own.sigma[:n_h])
            if scheme.reach is not None:
                own.eta[:n] = np.abs(s) / spread("reach", scheme.reach, n)
            elif scheme.eta is not None:
                own.eta[:n] = spread("eta", scheme.eta, n)
            self.reached["s"] = s
            away &= scheme.stabilisation == "post"
            state.modes[:n] = np.where(away, np.where(s > 0, 2, -2), 1)
            state.own[1 : 1 + n] = ~off
        state.own[1 + n : 1 + n + q.size + u.size] = self._start_sizes(t, q, u)
        self.clock.first = 0 if n else 1

    def _set_outputs(self, scheme, t, q, u):
        """Outputs of high order are not switched to their surfaces: they come there by themselves."""
        orders, n = self.high.orders, self.model.laws.n_rows
        self.own.order[:] = orders
        there = (
            self.high.begin(self, t, q, u)
            & (self.state.modes[:n] == CONSTRAINT)
            & (self.state.own[1 : 1 + n] > 0.5)
        )
        refuse_start(self.model.laws.name, orders, there, scheme.reaches)
        self.own.control.highest, self.own.control.status = int(orders.max()), 0
        self.state.modes[:n][orders > 2] = 1
        self.state.own[1 : 1 + n][orders > 2] = there[orders > 2]

    def _start_sizes(self, t, q, u):
        """Sizes of the components to begin with: their own; where all of a kind are zero, a part of what the motion will make of them."""
        a = np.linalg.solve(self.model.mass_matrix(t, q), self.model.forces(t, q, u))
        q_max, u_max, a_max = (float(np.max(np.abs(x), initial=0.0)) for x in (q, u, a))
        time = self.span
        if a_max > 0.0:
            time = min(time, u_max / a_max if u_max > 0.0 else math.sqrt(q_max / a_max) or time)
        sizes = np.abs(np.concatenate([q, u]))
        if q_max == 0.0:
            sizes[: q.size] = PART * max(u_max * time, a_max * time**2)
        if u_max == 0.0:
            sizes[q.size :] = PART * a_max * time
        return sizes

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        if t_begin > self.reached["t"]:
            self.own.control.border = t_begin

    def store_start(self, t: float) -> None:
        super().store_start(t)
        self.out.modes[0] = self.state.modes[: self.model.laws.n_laws]

    def warn(self) -> None:
        """What a user should know of the run."""
        control = self.own.control
        if control.beyond:
            cure = (
                'the input is kept for a whole step, take acceleration="equivalent"' if self.scheme.acceleration is None
                else "take smaller steps, declare discontinuities of forces as breakpoints=[...], or allow more with bound=...; "
                'a drive whose velocity jumps takes an impulse, which method="event-driven" finds'
            )  # fmt: skip
            warn_user(
                f"post-stabilisation moved the state by more than a step is uncertain in {int(control.beyond)} of {self.steps} steps, "
                f"first at t = {control.t_beyond:.9g}, most at t = {control.t_worst:.9g} ({control.worst:.3g} times the bound): the "
                f"constraints hold, but the motion may be a wrong one; {cure}.",
                AdjustmentWarning,
            )

    @property
    def base_steps(self) -> int:
        return int(self.integration.solver.count.nfev)

    def totals(self) -> dict[str, Any]:
        control = self.own.control
        work = {
            "work_forces": float(self.books.work_forces),
            "work_contacts": float(self.books.work_contacts),
        }
        found = {
            "largest_adjustment": float(control.largest), "beyond_bound": int(control.beyond), "beyond_bound_t": float(control.t_beyond),
            "reached": self.reached, "orders": orders_of(self.model),
        }  # fmt: skip
        return super().totals() | work | found


class FixedRun(SlidingModeRun, ConstantStepRun):
    """A run with constant step."""

    controlled = False


class ControlledRun(SlidingModeRun):
    """A run with steps chosen by their error."""


def refuse_laws(model) -> None:
    """Contacts and friction are not constraints that always act."""
    other = [name for name, kind in zip(model.laws.name, model.laws.kind) if kind != FREE]
    if other:
        raise InputError(
            f'law {other[0]!r} is a contact or friction: "sliding-mode" carries joints and nonholonomic constraints, which always act; use '
            'method="event-driven" for contacts and friction beside joints.'
        )


def check_inputs(model, t, q, orders) -> None:
    """Every output needs inputs that reach it: W^T M^-1 E must be regular where the constraints are independent. (Outputs of `orders` above
    two are looked at later.)"""
    if getattr(model, "inputs", None) is None or np.all(orders > 2):
        return
    WT, _ = model.directions(t, q)
    E = WT.copy()
    model.inputs(float(t), np.ascontiguousarray(q), np.zeros(model.n_u), model.parameters.flat, E)
    rows = np.flatnonzero(orders <= 2)
    WT, E = WT[rows], E[rows]
    GB = WT @ np.linalg.solve(model.mass_matrix(t, q), E.T)
    size = np.linalg.norm(WT, axis=1)[:, None] * np.linalg.norm(E, axis=1)[None, :]
    GB = GB / np.where(size > 0.0, size, 1.0)
    scale = np.max(np.abs(GB), initial=0.0)
    values = np.linalg.svd(GB, compute_uv=False)
    if scale == 0.0 or values[-1] <= 1e-10 * values[0]:
        worst = int(rows[np.argmin(np.max(np.abs(GB), axis=1))])
        raise ModelError(
            f"the relative order of output {model.laws.name[worst]!r} is not defined: its inputs do not reach it in two derivatives "
            f"(smallest singular value of W^T M^-1 E {values[-1]:.3g}, largest {values[0]:.3g}); Servo(..., order=3) or more, or "
            "choose other inputs or another output."
        )


def start_surfaces(model, t, q, u, sigma):
    """S at the start, which surfaces are not zero there, and which positions are off (beyond what a start may be)."""
    position, velocity = model.joint_residuals(t, q, u)
    n_h, length = position.size, length_scale(q)
    WT, zeta = model.directions(t, q)
    s = velocity.copy()
    s[:n_h] += sigma * position
    terms = np.abs(WT) @ np.abs(u) + np.abs(zeta)
    terms[:n_h] += sigma * (np.abs(position) + length * np.linalg.norm(WT[:n_h], axis=1))
    off = np.zeros(s.size, dtype=bool)
    off[:n_h] = np.abs(position) > CONSISTENCY * length
    return s, np.abs(s) > CONSISTENCY * terms, off


def checked_numbers(name: str, value, zero: bool, scalar: bool = False) -> None:
    """Numbers that are positive (or zero), one or several."""
    if value is None:
        return
    try:
        if isinstance(value, bool | str):
            raise TypeError("not a number")
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`{name}` is {value!r}: a number{'' if scalar else ' or an array of numbers'} is wanted."
        ) from exc
    if array.ndim > (0 if scalar else 1):
        raise ShapeError(
            f"`{name}` has shape {array.shape}: {'one number' if scalar else 'a number or a vector'} is wanted."
        )
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{name}` is {value!r}: it must be finite.")
    if np.any(array < 0) or (not zero and np.any(array == 0)):
        raise RangeError(f"`{name}` is {value!r}: it must {'not be negative' if zero else 'be positive'}.")


def spread(name: str, value, n: int) -> np.ndarray:
    """One number for all rows, or one for each."""
    array = np.asarray(value, dtype=float)
    if array.ndim == 1 and array.size != n:
        rows = "holonomic constraint equations" if name == "sigma" else "constraint equations"
        raise ShapeError(f"`{name}` has {array.size} entries for {n} {rows}.")
    return np.broadcast_to(array, (n,))
