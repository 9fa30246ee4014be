"""The record of `event-capturing` besides that of motion in given modes (`event_driven.records`)."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import by_reference, scalars
from nonsmooth._core.records.scene import EXAMPLE, State, make_state

CaptureControl = scalars(
    "CaptureControl",
    # asked for
    dt=float,  # of the grid (0: chosen by the error)
    order=int,  # p
    implicit=int,
    complementary=int,
    index_2=int,
    critical_order=int,
    constant=float,  # C of the critical step
    time_scale=float,
    newton=float,  # change at which the iterations stop
    filter=float,  # gamma of the error estimate
    unloaded=int,  # no law can carry a force in the step: stages need no more than smooth forces
    # where the run stands
    grid_begin=float,
    grid_step=int,
    have_tangent=int,
    rate=float,  # at which the last iterations with this tangent converged
    dt_factored=float,  # length of the step whose matrix stands factored (0: none)
    dt_before=float,  # length of the step before, whose slopes are kept (0: none)
    ratio=float,  # of the lengths of the steps that `continued` stands for
    ended=int,  # the slope at the end of the step is known
    known=int,  # what is known where the run stands: nothing, all that stage 0 asks for, or stage 0 itself (`begin`)
    error=float,  # that a critical step may leave of an instant
    width=float,  # of the critical step that is being located
    f_lo=float,  # least of the laws' functions at the ends of the bracket
    f_hi=float,
    polishing=int,  # one more trial, inside the bracket
    closing=int,  # a contact closes in the critical step
    strikes=int,  # ... by Moreau's step
    last_trial=float,  # the length of the smooth step that ends at the critical one (0: not known yet)
    crossing=int,  # Moreau's step over the critical step comes next
    crossed=int,  # the step just taken was that one
    t_critical=float,  # its end
    t_event=float,  # the instant inside it
    # what happened
    critical_steps=int,
    forecast_right=int,
    forecast_wrong=int,
    t_wrong=float,
)


class Capture(NamedTuple):
    """What `event-capturing` has besides the record of motion in given modes (`event_driven.records.EventDriven`)."""

    control: Any
    A2: np.ndarray  # A^2 of the stages
    E: np.ndarray  # error estimator of an implicit method
    X_q: np.ndarray  # q', u' of the stages that are being solved for
    X_u: np.ndarray
    J_q: np.ndarray  # du'/dq, du'/du
    J_u: np.ndarray
    J_qB: np.ndarray
    LU: np.ndarray
    pivots: np.ndarray
    rhs: np.ndarray
    reach: np.ndarray  # size of each coordinate for differences, where it has no other
    shift: np.ndarray  # of the index-2 form, by stage and row
    gamma: np.ndarray  # relative velocities of the stages
    inverse: np.ndarray  # A~^-1
    before_q: np.ndarray  # q', u' of the stages of the step before
    before_u: np.ndarray
    continued: np.ndarray  # takes them to the stages of this step
    predicted: np.ndarray  # by law: closes in the critical step
    free: State  # end of the free motion of a critical step


def make_capture(size, stages, A2, E, inverse, reach):
    """The record for a model of that size and a method with so many stages."""
    s, n_q, n_u, r = stages + 1, size.n_q, size.n_u, max(size.n_rows, 1)
    n = stages * n_u
    return Capture(
        control=CaptureControl(), A2=A2, E=E, X_q=np.zeros((s, n_q)), X_u=np.zeros((s, n_u)), J_q=np.zeros((n_u, n_q)),
        J_u=np.zeros((n_u, n_u)), J_qB=np.zeros((n_u, n_u)), LU=np.zeros((n, n)), pivots=np.zeros(n, dtype=np.int64),
        rhs=np.zeros(n), reach=reach, shift=np.zeros((s, r)), gamma=np.zeros((s, r)), inverse=inverse,
        before_q=np.zeros((s, n_q)), before_u=np.zeros((s, n_u)), continued=np.zeros((s, s)),
        predicted=np.zeros(max(size.n_laws, 1), dtype=np.int64), free=make_state(size),
    )  # fmt: skip


_, capture_at = by_reference(
    make_capture(EXAMPLE.model.size, 1, np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), np.zeros(1))
)
