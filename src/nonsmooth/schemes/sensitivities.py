"""Runs of `event-driven` with derivatives by start and parameters (equations in `_core.stepping.variation`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from nonsmooth._core.calls.plain import PlainCall
from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.records.problem import make_problem
from nonsmooth._core.records.scene import BETWEEN, PARTS, STEP, Ask, Books, Info, Scene, make_state, make_work
from nonsmooth.errors import InputError, SensitivityWarning
from nonsmooth.results.sensitivity import Sensitivity
from nonsmooth.schemes.base import Plan
from nonsmooth.schemes.event_driven import (
    STIFF,
    EventDriven,
    EventDrivenRun,
    ask_restitution,
    parts_of_motion,
)
from nonsmooth.schemes.projection import KeepingReference
from nonsmooth.schemes.run import LOG_ROWS, _solve_outside
from nonsmooth.warn import warn_user

#: Why derivatives end, by the codes of `_core.stepping.directional`.
REASONS = {
    1: "a contact is touched without speed",
    2: "events that are independent of each other fall together",
    3: "impacts accumulate",
    4: "neighbouring runs part (an impact or a force at the edge between two modes)",
}


@dataclass(frozen=True)
class VariedEventDriven(EventDriven):
    """`EventDriven` that carries derivatives by `by` along."""

    by: tuple[str, ...] = ()

    shows_own = True
    serves_again = False

    @classmethod
    def of(cls, scheme: EventDriven, by: tuple[str, ...]) -> VariedEventDriven:
        """(Derivatives are those of explicit steps.)"""
        if scheme.integrator == STIFF:
            raise InputError(f"`sensitivities` need an explicit integrator, not {STIFF!r}.")
        options = {entry.name: getattr(scheme, entry.name) for entry in fields(EventDriven)}
        return cls(**options | {"integrator": scheme.first_integrator()}, by=by)

    def start(self, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> VariedRun:
        return VariedRun(self, model, t, q, u, plan)


@dataclass(frozen=True)
class Columns:
    """What derivatives are taken by, one column each: names, dq0, du0 and dp of each, shapes (columns, n)."""

    names: tuple[str, ...]
    by_q: np.ndarray
    by_u: np.ndarray
    by_p: np.ndarray


def columns_of(by, model) -> Columns:
    """The columns that names such as "q0", "u0[1]" or "c" stand for."""
    places: dict[str, tuple[int, int]] = {"q0": (0, model.n_q), "u0": (model.n_q, model.n_u)}
    first = model.n_q + model.n_u
    for name, shape in zip(model.parameters.names, model.parameters.shapes):
        count = int(np.prod(shape, dtype=int))
        places.setdefault(name, (first, count))
        first += count
    scalars = {name for name, shape in zip(model.parameters.names, model.parameters.shapes) if shape == ()}
    names: list[str] = []
    chosen: list[int] = []
    for asked in by:
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", asked) if isinstance(asked, str) else None
        name, index = match.groups() if match else (None, None)
        if name not in places or (index is not None and int(index) >= places[name][1]):
            raise InputError(
                f"`sensitivities` names {asked!r}: one of {', '.join(places)} is wanted, or a component such as 'q0[0]'."
            )
        start, count = places[name]
        wanted = range(count) if index is None else (int(index),)
        names += [name if name in scalars else f"{name}[{k}]" for k in wanted]
        chosen += [start + k for k in wanted]
    n_q, n_x = model.n_q, model.n_q + model.n_u
    unit = np.eye(n_x + model.parameters.flat.size)[chosen]  # (a world keeps numbers of its own behind them)
    return Columns(
        tuple(names), unit[:, :n_q].copy(), unit[:, n_q:n_x].copy(), np.ascontiguousarray(unit[:, n_x:])
    )


def checked_names(by: Any) -> tuple[str, ...]:
    """The argument `sensitivities` as a user gives it."""
    if isinstance(by, str):
        return (by,)
    try:
        return tuple(by)
    except TypeError as exc:
        raise InputError(
            f"`sensitivities` is {by!r}: a list of names is wanted, such as ['q0', 'u0', 'c']."
        ) from exc


class VariedRun(EventDrivenRun):
    """A run of `EventDriven` with derivatives in progress: ``state.own`` holds S_j, column after column."""

    def __init__(self, scheme: VariedEventDriven, model, t: float, q: np.ndarray, u: np.ndarray, plan: Plan):
        self.columns = columns_of(scheme.by, model)
        n, n_x = len(self.columns.names), model.n_q + model.n_u
        super().__init__(scheme, model, t, q, u, plan, n_own=n * n_x)
        S = self.state.own.reshape(n, n_x)
        S[:, : model.n_q], S[:, model.n_q :] = self.columns.by_q, self.columns.by_u
        self._logged: list[tuple[np.ndarray, np.ndarray]] = []

    def parts_of_run(self, scheme, model) -> dict[str, Any]:
        """The step of `event-driven` in the place of the base, and the record of the derivatives around it."""
        from nonsmooth._core.stepping import directional, variation
        from nonsmooth._core.stepping.event_driven.records import make_own

        parts = super().parts_of_run(scheme, model)
        record = model.record(scheme.asks)
        size = record.size
        laws = type(record.laws)(*(column.copy() for column in record.laws))
        by_mu, by_e = _coefficients_by_parameters(model, self.columns.by_p, max(size.n_laws, 1))
        functions = {
            "between": parts["between"][0], "moved": directional.moved, "derive": directional.derive,
            "vary_step": variation.vary_step, "vary_transition": variation.vary_transition,
        }  # fmt: skip
        at = address_record(
            varied=0, **{name: (functions[name], signature) for name, signature in directional.PARTS.items()}
        )
        p = record.p.copy()
        own = self.own
        self.varied_own = make_own(parts_of_motion(), size, own.A, own.c, own.E)
        ask_restitution(self.varied_own, scheme.restitution)
        self.varied = _scene_beside(scheme, model, record._replace(laws=laws, p=p), self.varied_own)
        at.varied = self.varied.address
        self.variation = directional.make_variation(
            at, size, self.columns.by_p, by_mu, by_e, p, _typical(p), laws, LOG_ROWS + 2 * size.n_laws
        )
        return parts | {
            "step": (variation.varied_step, STEP), "base": parts["step"], "between": (variation.varied_between, BETWEEN),
            "control": KeepingReference(self.variation, self.varied),
        }  # fmt: skip

    def begin_segment(self, t_begin: float, t_end: float) -> None:
        super().begin_segment(t_begin, t_end)
        for name in ("rtol", "atol", "stages", "error_order", "dt_max"):
            setattr(self.varied_own.control, name, getattr(self.own.control, name))

    def store_start(self, t: float) -> None:
        super().store_start(t)
        self.out.own[0] = self.state.own

    def store_now(self, t: float) -> None:
        super().store_now(t)
        self.out.own[int(self.clock.stored) - 1] = self.state.own

    def take_events(self):
        control = self.variation.control
        n = int(control.logged)
        self._logged.append((self.variation.log_t[:n].copy(), self.variation.log_tau[:n].copy()))
        control.logged = 0
        return super().take_events()

    def fields(self, result, own) -> dict[str, Any]:
        n, n_q, n_x = len(self.columns.names), self.model.n_q, self.model.n_q + self.model.n_u
        S = own.reshape(n, n_x, -1).transpose(1, 0, 2)
        t = np.concatenate([entry[0] for entry in self._logged] or [np.zeros(0)])
        tau = np.concatenate([entry[1] for entry in self._logged] or [np.zeros((0, n))])
        control = self.variation.control
        reason, law = REASONS.get(int(control.lost), ""), int(control.law_lost)
        if reason and law >= 0:
            reason += f" ({self.model.laws.name[law]!r})"
        return {
            "sensitivity": Sensitivity(
                self.columns.names, S[:n_q], S[n_q:], _at_events(result.events, t, tau), not control.lost,
                reason, float(control.t_lost) if control.lost else None,
            )
        }  # fmt: skip

    def warn(self) -> None:
        super().warn()
        control = self.variation.control
        if control.lost:
            warn_user(
                f"derivatives by {', '.join(self.columns.names[:4])}{'...' if len(self.columns.names) > 4 else ''} end at "
                f"t = {control.t_lost:.9g}: {REASONS[int(control.lost)]}, and they do not exist behind it "
                "(NaN there; end the span before, or change the start a little).",
                SensitivityWarning,
            )


def _scene_beside(scheme, model, record, own) -> KeepingReference:
    """A scene of its own for evaluations beside the run."""
    laws, size = model.laws, record.size
    problem = make_problem(
        solve_laws.addresses(model.core.project), laws.n_laws, laws.n_rows, scheme.solver.options()
    )
    outside = PlainCall(partial(_solve_outside, problem, scheme.solver))
    problem.at.outside = outside.address
    references = [Reference(problem), Reference(own)]
    at = address_record(**{**dict.fromkeys(PARTS, 0), "problem": references[0], "own": references[1]})
    scene = Scene(
        at, record, make_work(size), problem, make_state(size), make_state(size), Info(), Ask(), Books()
    )
    return KeepingReference(scene, *references, outside)


def _typical(p: np.ndarray) -> np.ndarray:
    """Sizes of parameters, for differences: their own; for those that are zero, what is usual among the others."""
    sizes = np.abs(p)
    other = float(np.exp(np.mean(np.log(sizes[sizes > 0])))) if np.any(sizes > 0) else 1.0
    return np.where(sizes > 0, sizes, min(other, 1.0))


def _coefficients_by_parameters(model, by_p, n_laws):
    """d mu/ds_j and d e/ds_j of laws whose coefficients are functions of the parameters, shape (columns, laws)."""
    found = {"mu": np.zeros((by_p.shape[0], n_laws)), "e": np.zeros((by_p.shape[0], n_laws))}
    p, sizes = model.parameters.flat, _typical(model.parameters.flat)
    for given, where, column, *_ in getattr(model, "_of_p", ()):
        for j, way in enumerate(by_p):
            if not np.any(way):
                continue
            h = 1e-3 * float(np.min(sizes[way != 0]))
            ends = {
                c: np.asarray(given(model.parameters.record(p + c * h * way)), float) for c in (-2, -1, 1, 2)
            }
            slope = (8.0 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (12.0 * h)
            found[column][j, where] = slope
    return found["mu"], found["e"]


def _at_events(events, t, tau) -> np.ndarray:
    """Derivatives of the instants of `events`, shape (events, columns): those of the transitions that happened there."""
    found = np.full((len(events), tau.shape[1]), np.nan)
    for k, event in enumerate(events):
        if event.kind == "breakpoint":
            found[k] = 0.0
        elif t.size:
            near = int(np.argmin(np.abs(t - event.t)))
            if abs(t[near] - event.t) <= 1e-14 * max(abs(event.t), abs(float(t[-1]))):
                found[k] = tau[near]
    return found
