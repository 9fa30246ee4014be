"""The state at an instant inside a step that was just taken, for output: the way of first-order schemes."""

from nonsmooth._core.jit import kernel
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import BETWEEN, scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.phases import normalise


@kernel(BETWEEN, part=True)
def along_the_step(at_scene, at_state, t, dt, t_out):
    """Positions follow the mean velocity; velocities are linear, unless an impact acted: then the end velocity is the right
    limit."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    end, at_instant, size = scene.end, scene.between, scene.model.size
    s = (t_out - t) / dt
    if s > 1.0 - 1e-9:
        s = 1.0
    s_u = s
    for l in range(size.n_N):
        if end.modes[l] == CONSTRAINT and begin.modes[l] != CONSTRAINT:
            s_u = 1.0
    for i in range(size.n_q):
        at_instant.q[i] = end.q[i] if s == 1.0 else begin.q[i] + s * (end.q[i] - begin.q[i])
    normalise(scene.model, at_instant.q)
    for i in range(end.own.size):
        at_instant.own[i] = end.own[i]
    for i in range(size.n_u):
        at_instant.u[i] = end.u[i] if s_u == 1.0 else begin.u[i] + s_u * (end.u[i] - begin.u[i])
    return OK
