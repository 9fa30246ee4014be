"""Whether steps are held short by the stability of the explicit pair instead of by the error, and whether they would no longer be.

The last two evaluations of a step of DOP853 are made at the same instant, in two states that both approximate its end. Where the
motion is held back by what is stiff, their difference lies along it, and (Hairer, Wanner 1996, IV.2, eq. (2.26))

    |lambda| dt  ~  dt |f(y_1) - f(Y_s)| / |y_1 - Y_s|

settles at the edge of the domain of stability. Every component is measured by the size it has had, so that units do not matter.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.stepping.event_driven.sizes import KIND
from nonsmooth._core.stepping.event_driven.stage_state import slope

EDGE = 6.1  # of the stability of DOP853 on the negative real axis
LOOKED_AT = 8  # one step in so many is looked at, until one is at the edge
PATIENCE = 15  # steps at the edge, with less than `FORGIVEN` others in a row between them
FORGIVEN = 6
CALM = 0.5  # part of the edge at which explicit steps would be as long as implicit ones
CALM_STEPS = 20
ROUNDING = 1e-14  # two states that are no further apart tell nothing
VAIN_STEPS = 60  # implicit steps in a row that were too short for what they cost


@phase
def watch_stiffness(own, size, t, dt):
    """Ask for the other integrator (``control.change``) where this one does not serve, after a step that was accepted."""
    control = own.control
    if control.implicit:
        watch_implicit(control, dt)
        return
    if control.suspicious == 0:
        if control.t_final - t < control.worth * dt:
            return  # too little is left for another method to pay
        control.unseen += 1
        if control.unseen < LOOKED_AT:
            return
    control.unseen = 0
    if at_the_edge(own, size, dt):
        control.suspicious += 1
        control.calm = 0
        control.change = control.suspicious >= PATIENCE * control.backing
    else:
        control.calm += 1
        if control.calm >= FORGIVEN:
            control.suspicious = 0


@phase
def watch_implicit(control, dt):
    """Implicit steps are left where explicit ones would be as long, and where they gain nothing (the next time it takes longer
    to come back to them)."""
    control.calm = control.calm + 1 if control.fastest * dt < CALM * EDGE else 0
    control.vain = control.vain + 1 if dt < control.gain * control.dt_explicit else 0
    if control.vain >= VAIN_STEPS:
        control.backing *= 4
    control.change = control.calm >= CALM_STEPS or control.vain >= VAIN_STEPS


@phase
def at_the_edge(own, size, dt):
    """|lambda| dt >= `EDGE`"""
    s, n_q = own.control.stages, size.n_q
    largest_q, largest_u = 0.0, 0.0
    for i in range(n_q):
        largest_q = max(largest_q, own.scale[i])
    for i in range(n_q, n_q + size.n_u):
        largest_u = max(largest_u, own.scale[i])
    states, slopes = 0.0, 0.0
    for i in range(n_q + size.n_u):
        ruler = max(own.scale[i], KIND * (largest_q if i < n_q else largest_u))
        if ruler == 0.0:
            continue
        apart = 0.0
        for j in range(s):
            apart += (own.A[s, j] - own.A[s - 1, j]) * slope(own, size, j, i)
        states += (dt * apart / ruler) ** 2
        slopes += (dt * (slope(own, size, s, i) - slope(own, size, s - 1, i)) / ruler) ** 2
    return states > ROUNDING * ROUNDING and slopes >= EDGE * EDGE * states
