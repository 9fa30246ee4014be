"""The contract every single-step method fulfils, for use inside compiled loops.

``try_step`` takes one step of given size (``solid`` does so and leaves the slope at its end as well), ``adapt`` repeats it
until the error is accepted, ``dense`` makes its interpolant, `accept` moves on. ``K[0]`` holds ``f(t, y)`` on entry of a
step, ``y_new`` and ``K[stages]`` the state and slope at its end. Nothing else is remembered, so that a step can be taken,
thrown away and repeated with another size.
"""

from __future__ import annotations

from nonsmooth._core.integrators.error_control import initial_step
from nonsmooth._core.integrators.explicit import adapt_explicit, dense_explicit, solid_explicit, try_explicit
from nonsmooth._core.integrators.radau import adapt_radau, collocation, dense_radau, solid_radau, try_radau
from nonsmooth._core.integrators.records import EXPLICIT, JAC_CONSTANT, RADAU, SDIRK, call_field, solver_at
from nonsmooth._core.integrators.sdirk import adapt_sdirk, dense_sdirk, solid_sdirk, try_sdirk
from nonsmooth._core.integrators.time_axis import end_of_step
from nonsmooth._core.jit import kernel, noinline, phase

#: The parts of each kind of method; compiled when first used.
STEPPERS = {
    EXPLICIT: {
        "try_step": try_explicit,
        "solid": solid_explicit,
        "adapt": adapt_explicit,
        "dense": dense_explicit,
    },
    SDIRK: {"try_step": try_sdirk, "solid": solid_sdirk, "adapt": adapt_sdirk, "dense": dense_sdirk},
    RADAU: {"try_step": try_radau, "solid": solid_radau, "adapt": adapt_radau, "dense": dense_radau},
}


@phase
def forget(s):
    """Forget what belongs to an earlier piece of the solution."""
    s.newton.have_old = 0
    s.newton.have_factors = 0
    s.newton.current = 0
    s.newton.have_jacobian = 1 if s.newton.jacobian == JAC_CONSTANT else 0
    s.now.error_old = -1.0


@kernel(references=False, forceinline=False)
def start(address, first_step):
    """Slope at the start and first step size (0: choose one)."""
    noinline()
    s = solver_at(address)
    call_field(s.at.field, s.at.context, s.now.t, s.y, s.step.K[0])
    s.count.nfev += 1
    forget(s)
    if first_step > 0.0:
        s.now.h_next = first_step
    else:
        s.now.h_next = initial_step(s)


@kernel(references=False, forceinline=False)
def accept(address, h):
    """Move on: (t, y) becomes the end of the step of size h."""
    noinline()
    s = solver_at(address)
    step, now = s.step, s.now
    if s.method.kind == RADAU:
        collocation(s)
        for k in range(s.y.size):
            s.implicit.y_old[k] = s.y[k]
            for j in range(3):
                s.implicit.Q_old[j, k] = step.Q[j, k]
        s.newton.t_old = now.t
        s.newton.h_old = h
        s.newton.have_old = 1
    for k in range(s.y.size):
        s.y[k] = step.y_new[k]
        step.K[0, k] = step.K[s.method.stages, k]
    if s.newton.jacobian != JAC_CONSTANT:
        s.newton.current = 0
    s.count.nsteps += 1
    now.t = end_of_step(now, h)
