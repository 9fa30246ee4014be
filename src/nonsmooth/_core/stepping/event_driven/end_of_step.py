"""The trial becomes the end of a smooth step: impulses and works by the weights of the method, scales, and constraints held.

Positions g = 0 (twice: what is left after the first is its square) and velocities W^T u + zeta = 0 of what is closed, sticks or is a joint
are put back by the least change in the metric of the mass (`projection`), by no more than the error of the step.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.small import cholesky
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE
from nonsmooth._core.records.scene import STEP, scene_at, state_at, state_reference
from nonsmooth._core.records.status import MASS_SINGULAR, OK, SURFACE_ENDED
from nonsmooth._core.stepping.event_driven.law_functions import is_held
from nonsmooth._core.stepping.event_driven.records import AT_STATE, call_at_state, own_at
from nonsmooth._core.stepping.event_driven.sizes import KIND
from nonsmooth._core.stepping.phases import copy_state, normalise, within_segment
from nonsmooth._core.stepping.projection import correction, hold_row, shift


@kernel(STEP, part=True)
def finish(at_scene, at_begin, t, dt):
    """The trial becomes the end of the step, at ``info.t_new``: impulses, books, constraints held."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, model, info, end, books = own_at(scene.at.own), scene.model, scene.info, scene.end, scene.books
    t_new = info.t_new
    s, size = own.control.stages, model.size
    copy_state(own.trial, end)
    for l in range(size.n_laws):
        end.modes[l] = begin.modes[l]
        scene.work.struck[l] = 0
    for i in range(size.n_rows):
        end.P[i] = 0.0
        for k in range(s):
            end.P[i] += dt * own.A[s, k] * own.La[k, i]
    for k in range(s):
        books.work_forces += dt * own.A[s, k] * own.power[k, 0]
        books.work_contacts += dt * own.A[s, k] * own.power[k, 1]
    normalise(model, end.q)
    if surface_ended(scene, own, begin, dt):
        return SURFACE_ENDED
    t_held = within_segment(scene, t, dt, t_new)
    status = call_at_state(own.at.hold, at_scene, state_reference(end), t_held)
    if status != OK:
        return status
    for l in range(size.n_N):
        gap = scene.work.g[l] if begin.modes[l] != CONSTRAINT else own.rest_gap[l]
        if gap < books.gap:
            books.gap, books.gap_t = gap, t_new
        if gap > 0.0:
            own.rest_gap[l] = 0.0
    for k in range(size.n_q):
        own.scale[k] = max(own.scale[k], abs(end.q[k]))
    for k in range(size.n_u):
        own.scale[size.n_q + k] = max(own.scale[size.n_q + k], abs(end.u[k]))
    own.control.repeated = 0
    info.dt, info.changed, info.residual, info.iterations = dt, -1, 0.0, 0
    return OK


@phase
def surface_ended(scene, own, begin, dt):
    """Whether the gap of a closed contact left zero by more than the error of the step: one that does not follow its directions jumps."""
    work, size, control, largest = scene.work, scene.model.size, own.control, 0.0
    if control.ledge == 0.0:
        return False
    for k in range(size.n_q):
        largest = max(largest, own.scale[k], abs(own.trial.q[k]))
    for l in range(size.n_N):
        if begin.modes[l] != CONSTRAINT:
            continue
        ruler, direction = own.gap_max[l], 0.0
        for k in range(size.n_u):
            # what rests at zero is measured by how far a force, or the speed it has had, would have moved it (q' = B u: any coordinate
            # may move with this velocity)
            moved = largest if size.has_B else max(own.scale[k], abs(own.trial.q[k]), KIND * largest)
            moved = max(moved, own.scale[size.n_q + k] * dt, own.pull[k] * dt * dt)
            ruler = max(ruler, abs(work.WT[l, k]) * moved)
            direction = max(direction, abs(work.WT[l, k]))
        allowed = control.ledge * (control.rtol * ruler + control.atol * direction)
        if abs(work.g[l] - own.rest_gap[l]) > allowed:
            return True
    return False


@kernel(AT_STATE, part=True)
def hold(at_scene, at_state, t):
    """Positions (twice: what is left after the first is its square) and velocities on the constraints."""
    scene, state = scene_at(at_scene), state_at(at_state)
    own, model, work = own_at(scene.at.own), scene.model, scene.work
    held = False
    for l in range(model.size.n_laws):
        held = held or is_held(model, state, l)
    if not held or own.control.drifts:
        return OK
    for stage in range(3):
        if stage < 2:
            status = at_constraints(scene, own, state, t)
            if status != OK:
                return status
        residuals(scene, own, state, stage == 2)
        correction(scene)
        if stage < 2:
            shift(model, work, state.q)
        else:
            for k in range(model.size.n_u):
                state.u[k] -= work.du[k]
    return OK


@phase
def at_constraints(scene, own, state, t):
    """Gaps, joints, mass and directions at a state."""
    model, work, p = scene.model, scene.work, scene.model.p
    size, at = model.size, model.at
    if not size.constant_M:
        call_matrix(at.mass, t, state.q, state.u, p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            return MASS_SINGULAR
    if size.n_N > 0:
        call_vector(at.gap, t, state.q, state.u, p, work.g)
    if size.n_joints > 0:
        call_vector(at.joints, t, state.q, state.u, p, own.joints)
    if size.has_B:
        call_matrix(at.kinematics, t, state.q, state.u, p, work.B)
    if not size.constant_W:
        call_matrix(at.directions, t, state.q, state.u, p, work.WT)
    if size.has_zeta:
        call_vector(at.zeta, t, state.q, state.u, p, work.zeta)
    return OK


@phase
def residuals(scene, own, state, velocity):
    """What the rows of constraints miss, in `rows.b`; and their matrix."""
    model, work, b = scene.model, scene.work, scene.problem.rows.b
    laws, size = model.laws, model.size
    first_joint = size.n_rows - size.n_J
    for l in range(size.n_laws):
        keep = is_held(model, state, l)
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            b[i] = 0.0
            if keep and velocity:
                b[i] = work.zeta[i]
                for k in range(size.n_u):
                    b[i] += work.WT[i, k] * state.u[k]
            elif keep and laws.kind[l] == HALF_LINE:
                b[i] = work.g[l] - own.rest_gap[l]
            elif keep and laws.kind[l] == FREE and i - first_joint < size.n_joints:
                b[i] = own.joints[i - first_joint]
            hold_row(scene, i, keep)


@phase
def trial_between(scene, own, begin, at_scene, t_out):
    """The trial, taken up to an instant inside the step, becomes the state between, constraints held."""
    copy_state(own.trial, scene.between)
    for l in range(scene.model.size.n_laws):
        scene.between.modes[l] = begin.modes[l]
    normalise(scene.model, scene.between.q)
    return call_at_state(own.at.hold, at_scene, state_reference(scene.between), t_out)
