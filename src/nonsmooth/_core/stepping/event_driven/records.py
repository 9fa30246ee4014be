"""The record of motion in given modes, shared by `event-driven`, `event-capturing` and their derivatives: options, where the run stands,
the stages of a step, and the addresses of the parts that call each other.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, scalars
from nonsmooth._core.records.process import Process, make_process
from nonsmooth._core.records.scene import EXAMPLE, STEP, State, make_state
from nonsmooth._core.stepping.event_driven.choices import Choices, make_choices

AT_STATE = int64(int64, int64, float64)
AT_END = int64(int64, float64)
SETTLE = int64(int64, int64, int64)

Control = scalars(
    "EventDrivenControl",
    # asked for
    rtol=float,
    atol=float,
    dt_max=float,
    error_order=int,
    stages=int,
    restitution=int,  # NEWTON, POISSON or ENERGETIC (`records.process`)
    strict=int,  # a sliding contact that jams ends the run
    drifts=int,  # constraints are left to what the integration makes of them
    ledge=float,  # contacts may move the end of a step by so many tolerances, else their surface ended (0: as far as it takes)
    # where the run stands
    dt_next=float,
    dt_smooth=float,  # length of the last step that was not cut by an event
    begun=int,  # there was one (before it that length is a guess)
    jump=int,  # the state jumps, or modes change, where the run stands
    at_start=int,  # no modes are known yet
    at_border=int,  # a segment begins where the run stands: surfaces may have another velocity from here on
    rejected=int,  # in a row
    dependent=int,  # rows of laws that depend on others were met: their forces are known to `BLURRED` only
    wedged=int,  # forces of least size left their sets where the modes began
    repeated=int,  # transitions without a step between them
    searching=int,  # iterations of the search for the end of a mode (0: none is on)
    lo=float,  # it lies between these lengths of the step
    hi=float,
    f_lo=float,  # least of the laws' functions there, relative to the begin of the step
    f_hi=float,
    side=int,  # the end of the bracket that was kept last
    t_discontinuity=float,  # where an undeclared discontinuity was passed
    discontinuities=int,
    grazings=int,
    t_grazing=float,
    accumulations=int,
    t_accumulation=float,
    jams=int,  # impacts without collision (`paradox`)
    t_jam=float,
    law_jam=int,
    ambiguous=int,  # accelerations of the modes settled last were not unique
    # which integrator serves (`stiffness`)
    watched=int,  # the integrator may be changed
    implicit=int,  # the implicit one is at work
    change=int,  # the other one is asked for
    suspicious=int,  # steps at the edge of stability
    unseen=int,  # steps since one was looked at
    calm=int,  # steps in a row for which the explicit one would do
    vain=int,  # implicit steps in a row that gained nothing
    backing=int,  # how many times the usual evidence it takes
    t_final=float,  # end of the span
    worth=float,  # so many explicit steps must be left
    gain=float,  # so many explicit steps cost as much as an implicit one
    dt_explicit=float,  # length of the last explicit step
    fastest=float,  # rate of the motion at the begin of an implicit step: a norm of its Jacobian
)


class EventDriven(NamedTuple):
    """The scheme's own record."""

    at: Any  # addresses of its parts (see `PARTS`)
    control: Any
    A: np.ndarray  # Butcher's tableau; its row `stages` is b
    c: np.ndarray
    E: np.ndarray  # two error estimators, the last column multiplies the slope at the end
    K_q: np.ndarray  # q', u' of the stages and of the end
    K_u: np.ndarray
    La: np.ndarray  # forces of the stages, by row of the model
    power: np.ndarray  # of smooth forces and of laws, by stage
    trial: State  # end of the step being tried
    scale: np.ndarray  # largest size of each component so far
    gamma: np.ndarray  # relative velocities
    kappa: np.ndarray
    acceleration: np.ndarray  # of the relative motion: d gamma/dt
    force_scale: np.ndarray  # by row: largest force so far, of the law or needed to hold it
    push_scale: np.ndarray  # by row: largest acceleration c without forces of the laws so far
    pull: np.ndarray  # by velocity: largest acceleration so far that a single force makes
    noise: np.ndarray  # by velocity: accelerations of single forces in the trial, for its rounding
    slip: np.ndarray  # unit direction of slip of laws on a disk, by row
    slip_0: np.ndarray  # and at the begin of the step (zero: none is known)
    allowed: np.ndarray  # forces that the laws allowed when the modes began, by row
    joints: np.ndarray
    phi_0: np.ndarray  # the laws' functions at the begin of the step, its stages (by row), its end
    phi: np.ndarray
    gap_0: np.ndarray  # gaps and rates at the begin
    rate_0: np.ndarray
    rate: np.ndarray  # and at the last evaluation
    size: np.ndarray  # by law: what counts as zero in its function
    blur: np.ndarray  # and how many times that its function must exceed before it may end its mode
    fired: np.ndarray  # by law: its mode ends where the run stands
    rest_gap: np.ndarray  # overlap at which a contact closed or started: its surface, until it is above zero
    gap_max: np.ndarray  # largest gap so far: the length scale of a contact
    touches: np.ndarray  # by law: takes part in a transition
    mode: np.ndarray  # by law: modes being tried
    equation: np.ndarray  # by law: first of its equations for forces, or -1
    resting: np.ndarray  # by law: comes to rest in this transition
    jammed: np.ndarray  # by law: has an impulse in this transition without having closed
    process: Process  # an impact under another hypothesis than Newton's
    choices: Choices  # where there was more than one solution


def make_own(at, size, A, c, E, n_own=0):
    """The record for a model of that size and a tableau; `n_own` numbers are remembered with every state."""
    s = c.size + 1
    n_q, n_u, r, n = size.n_q, size.n_u, max(size.n_rows, 1), max(size.n_laws, 1)
    by_law = [np.zeros(n) for _ in range(4)]
    return EventDriven(
        at=at, control=Control(), A=A, c=c, E=E, K_q=np.zeros((s, n_q)), K_u=np.zeros((s, n_u)), La=np.zeros((s, r)),
        power=np.zeros((s, 2)), trial=make_state(size, n_own), scale=np.zeros(n_q + n_u), gamma=np.zeros(r), kappa=np.zeros(r),
        acceleration=np.zeros(r), force_scale=np.zeros(r), push_scale=np.zeros(r), pull=np.zeros(n_u), noise=np.zeros(n_u),
        slip=np.zeros(r), slip_0=np.zeros(r), allowed=np.zeros(r),
        joints=np.zeros(max(size.n_joints, 1)), phi_0=np.zeros(n), phi=np.zeros((s, n)),
        gap_0=np.zeros(n),
        rate_0=np.zeros(n), rate=by_law[0], size=by_law[1], blur=np.ones(n), fired=np.zeros(n, dtype=np.int64),
        rest_gap=by_law[2], gap_max=by_law[3],
        touches=np.zeros(n, dtype=np.int64), mode=np.zeros(n, dtype=np.int64),
        equation=np.zeros(n, dtype=np.int64),
        resting=np.zeros(n, dtype=np.int64), jammed=np.zeros(n, dtype=np.int64),
        process=make_process(size.n_laws, size.n_rows), choices=make_choices(size),
    )  # fmt: skip


# Parts call each other at their addresses: linked in, each would be compiled again with everything that calls it.
ACCELERATE = int64(int64, int64, int64, float64, int64)

PARTS = {
    "accelerate": ACCELERATE, "integrate": STEP, "begin_trial": AT_STATE, "hold": AT_STATE, "finish": STEP, "transition": AT_STATE,
    "look": AT_END, "settle": SETTLE, "rest": AT_STATE, "jam": AT_STATE,
}  # fmt: skip

call_accelerate, call_at_state, call_at_end, call_settle = (
    caller(ACCELERATE),
    caller(AT_STATE),
    caller(AT_END),
    caller(SETTLE),
)

_, own_at = by_reference(
    make_own(
        address_record(**dict.fromkeys(PARTS, 0), process=0, implicit=0),
        EXAMPLE.model.size,
        np.zeros((2, 2)),
        np.zeros(1),
        np.zeros((2, 2)),
    )
)
