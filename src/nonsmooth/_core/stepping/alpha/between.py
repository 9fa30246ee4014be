"""The state inside a generalized-alpha step that was just taken, for output, events and dense solutions.

Cubics through both ends, s = (t - t_0)/h: displacements by velocities, velocities by accelerations,

    delta(s) = (3 s^2 - 2 s^3) delta + h s (1 - s) ((1 - s) u_0 - s u_1),     q(s) = retract(q_0, delta(s))
    u(s) = u_0 + (3 s^2 - 2 s^3) (u_1 - u_0) + h s (1 - s) ((1 - s) w_0 - s w_1)

which is two orders more than the step has. Where the structure changed in the step (nobody knows when) lines serve.
"""

from nonsmooth._core.jit import kernel
from nonsmooth._core.records.scene import BETWEEN, call_between, scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.alpha.motion import move
from nonsmooth._core.stepping.alpha.records import STEADY, alpha_at, memory


@kernel(BETWEEN, part=True)
def alpha_between(at_scene, at_state, t, dt, t_out):
    """The state at `t_out`."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    end, there, size, it = scene.end, scene.between, scene.model.size, own.it
    new = memory(end.own, size.n_u, size.n_rows)
    s = (t_out - t) / dt
    if new.jumped[0] != STEADY or s > 1.0 - 1e-9:
        return call_between(own.at.line, at_scene, at_state, t, dt, t_out)
    for j in range(size.n_u):
        part, bend = s * s * (3.0 - 2.0 * s), dt * s * (1.0 - s)
        it.ahead[j] = part * it.delta[j] + bend * ((1.0 - s) * begin.u[j] - s * end.u[j])
        there.u[j] = (
            begin.u[j] + part * (end.u[j] - begin.u[j]) + bend * ((1.0 - s) * it.w_0[j] - s * new.w[j])
        )
    move(
        own.at,
        scene.model.at.kinematics,
        scene.model.p,
        begin.q,
        it.ahead,
        t,
        own.q_mid,
        own.B,
        it.tmp,
        there.q,
    )
    for i in range(end.own.size):
        there.own[i] = end.own[i]
    return OK
