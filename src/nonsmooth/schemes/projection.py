"""Projection of positions around any scheme with constant step (equations in `nonsmooth._core.stepping.projected_step`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.records.problem import make_problem
from nonsmooth._core.records.scene import STEP
from nonsmooth.contact.solvers import Exact
from nonsmooth.errors import InputError

PROJECTIONS = ("direct", "combined")


class KeepingReference(Reference):
    """A record that holds addresses of others, which are kept alive with it."""

    def __init__(self, record, *kept):
        super().__init__(record)
        self.kept = kept


def checked_projection(value: Any) -> str | None:
    """The option as a user gives it: True means "direct", False and None mean none."""
    if value is None or value is False:
        return None
    if value is True:
        return "direct"
    if not isinstance(value, str) or value not in PROJECTIONS:
        raise InputError(
            f'`projection` is {value!r}: "direct", "combined", True ("direct") or None is wanted.'
        )
    return value


def remembered(projection: str | None, model) -> int:
    """How many numbers a projection keeps from step to step: the largest coordinates so far."""
    return 0 if projection is None else model.n_q


def projection_parts(projection: str, model, step, shift: np.ndarray | None = None) -> dict[str, Any]:
    """A projected `step` in the place of the step, as `SchemeRun` takes its parts.

    `shift`, shape (n_q,): where a scheme reads how far the projection moves its end.
    """
    from nonsmooth._core.stepping import projected_step as core  # compiled where it is used

    size = model.size()
    n = size.n_N + size.n_joints
    problem = make_problem(
        solve_laws.addresses(model.core.project), n, n, Exact(tol=1e-13, max_iter=1000).options()
    )
    reference = Reference(problem)
    at = address_record(step=(step, STEP), problem=reference)
    own = core.make_projection(at, size, problem, np.zeros(model.n_q) if shift is None else shift)
    own.settings.mode = PROJECTIONS.index(projection)
    return {"step": (core.projected_step, STEP), "projection": KeepingReference(own, reference)}
