"""The record of extrapolation: options and where the run stands, the tableau, the three steps that are kept."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, scalars
from nonsmooth._core.records.scene import EXAMPLE, State, make_state

SMOOTH, NOT_ACCURATE, DETECTED, RESOLVED, FAILED = range(5)
Span = scalars("Span", t_B=float, t_E=float, dt=float, order=int, error=float)

Control = scalars(
    "Control",
    # asked for
    max_order=int,
    fixed_order=int,  # 0: the order follows the tolerances
    locate=int,  # find switching points on the laws' own functions, else by bisection
    modified_e=int,
    implicit=int,  # the base scheme evaluates at the end of its step
    dt_min=float,
    dt_max=float,
    rtol=float,
    atol=float,
    gap_tol=float,  # gaps down to minus this are no penetration
    stay=float,  # closed contacts stay active up to this gap in short steps ...
    stay_long=float,  # ... and in extrapolated ones
    # where the search stands
    first=int,  # no step is final yet: the first one sets the modes
    pending=int,  # a second final step waits to be handed out
    law=int,  # the law looked for
    alarms=int,  # shortest steps since something was found
    dt_next=float,
    dt_cross=float,  # steps up to this length may cross a switching point
    dt_crossed=float,  # the same for the step just taken
    dt_smooth=float,  # the last step that was not one of them
    dt_guess=float,  # length of the step whose impulses are the guess
    t_no_increase=float,  # no step grows before this instant (bisection)
    t_right=float,  # a switching point lies before this instant
    t_phi=float,  # instants of the last two values of the laws' functions
    t_phi_old=float,
    t_tried=float,
    t_root=float,
    t_old=float,  # instant of `old_gap`
    shift=float,  # forces of a probe are those so much after its begin
)

Note = scalars(
    "Note",
    status=int,  # of the base step that failed
    law=int,  # the first law whose structure changed, or -1
    t_fail=float,
    order=int,
    error=float,  # relative to the tolerance
    last_h=float,
    dt_best=float,  # step size of least work
)


class Point(NamedTuple):
    """The end of a main step."""

    state: State
    gap: np.ndarray
    rate: np.ndarray
    span: Any


class Tableau(NamedTuple):
    """Work space of a main step."""

    row: np.ndarray  # T_{i,.} of eq. (42)
    sub: State  # the substeps
    end: State
    scale: np.ndarray  # largest size of each component so far
    noise: np.ndarray  # rounding of each component in the substeps of a level
    e_0: np.ndarray
    substeps: np.ndarray


class Extrapolation(NamedTuple):
    """The scheme's own record: three steps are kept, accepted (final), previous (waits for its successor) and actual."""

    at: Any  # addresses: main, hold; states sub, previous, actual, between
    control: Any
    note: Any
    tableau: Tableau
    accepted: Point
    previous: Point
    actual: Point
    old_gap: np.ndarray  # gaps and rates one step before the accepted one
    old_rate: np.ndarray
    phi: np.ndarray  # the laws' functions at the last two certified instants


def make_own(at, size, max_order, substeps):
    """The record for a model of that size."""
    n_q, n_u, n_N, n_laws = size.n_q, size.n_u, max(size.n_N, 1), max(size.n_laws, 1)

    def point():
        return Point(make_state(size), np.zeros(n_N), np.zeros(n_N), Span())

    tableau = Tableau(
        row=np.zeros((max(max_order, 1), n_q + n_u)), sub=make_state(size), end=make_state(size), scale=np.zeros(n_q + n_u),
        noise=np.zeros(n_q + n_u), e_0=np.zeros(n_laws), substeps=np.array(substeps, dtype=np.int64),
    )  # fmt: skip
    return Extrapolation(
        at,
        Control(),
        Note(),
        tableau,
        point(),
        point(),
        point(),
        np.zeros(n_N),
        np.zeros(n_N),
        np.zeros((2, n_laws)),
    )


ADDRESSES = ("main", "hold", "sub", "previous", "actual", "between")
_, own_at = by_reference(make_own(address_record(**dict.fromkeys(ADDRESSES, 0)), EXAMPLE.model.size, 1, [1]))

# main(scene, begin, accepted, t, dt, order, any_modes, books): the states are addresses, `accepted` gives the structure
MAIN = int64(int64, int64, int64, float64, float64, int64, int64, int64)
call_main = caller(MAIN)
