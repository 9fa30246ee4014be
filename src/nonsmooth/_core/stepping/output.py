"""What a run keeps of its steps: changes of modes and columns of the output.

The run loop calls both at their addresses where there is something to keep. Linked in, they would take the registers of the steps: a loop
with them inside had 3 KiB of variables on its stack, and a step of a ball took 76 to 149 ns, as stack and arrays happened to lie.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, LOWER
from nonsmooth._core.records.run import LOOK, run_at
from nonsmooth._core.records.scene import STAYS_CLOSED, call_between, scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.phases import structure

# an instant asked for this close behind the end of a step belongs to it
ROUNDING = 1e-12


@kernel(LOOK, part=True)
def log_changes(at_run, at_scene, at_state, t, dt, t_new):
    """Switching incidents: laws that change their structure in the step, or do so twice (an impact)."""
    record, scene, state = run_at(at_run), scene_at(at_scene), state_at(at_state)
    end, work, clock = scene.end, scene.work, record.clock
    for l in range(scene.model.size.n_laws):
        kind = scene.model.laws.kind[l]
        if work.struck[l] == STAYS_CLOSED:
            log(record, work, clock.total, l, CONSTRAINT, CONSTRAINT, t, t_new)
        if work.struck[l] == 1:
            log(record, work, clock.total, l, state.modes[l], CONSTRAINT, t, t_new)
            log(record, work, clock.total + 1, l, CONSTRAINT, LOWER, t, t_new)
        elif structure(kind, end.modes[l]) != structure(kind, state.modes[l]):
            log(record, work, clock.total, l, state.modes[l], end.modes[l], t, t_new)
    return OK


@phase
def log(record, work, step, l, before, after, t, t_new):
    """One entry of the log."""
    log, k = record.log, record.clock.logged
    log.step[k] = step
    log.law[k] = l
    log.before[k] = before
    log.after[k] = after
    log.t_begin[k] = t
    log.t_end[k] = t_new
    log.t_best[k] = work.t_best[l]
    record.clock.logged = k + 1


@kernel(LOOK, part=True)
def write_columns(at_run, at_scene, at_state, t, dt, t_new):
    """Output of a step that is wanted: its end, or the instants asked for (the buffer holds all of them)."""
    record, scene, state = run_at(at_run), scene_at(at_scene), state_at(at_state)
    clock, t_eval = record.clock, record.t_eval
    if t_eval.size == 0:
        if clock.total >= clock.next_store:
            clock.next_store += clock.every
        status = write_nodes(record, scene, at_scene, at_state, t, dt, t_new)
        if status == OK:
            write(record, scene, state, scene.end, t_new, t, dt, t_new)
        return status
    while clock.stored < record.out.t.size and clock.evaluated < t_eval.size:
        t_out = t_eval[clock.evaluated]
        if not is_reached(t_out, scene.info, dt, t_new):
            break
        status = call_between(scene.at.between, at_scene, at_state, t, dt, t_out)
        if status != OK:
            return status
        clock.evaluated += 1
        write(record, scene, state, scene.between, t_out, t, dt, t_new)
    return OK


@phase
def is_wanted(record, info, dt, t_new):
    """Whether the output has a column for the step that ends at t_new: it is a k-th one or the last, or holds an instant asked for."""
    clock, t_eval = record.clock, record.t_eval
    if t_eval.size == 0:
        return clock.total >= clock.next_store or (t_new == clock.t_end and clock.tail != 0)
    return clock.evaluated < t_eval.size and is_reached(t_eval[clock.evaluated], info, dt, t_new)


@phase
def is_reached(t_out, info, dt, t_new):
    """Whether an instant belongs to the step that ends at t_new; at a jump it belongs to the next one, which begins after it."""
    return t_out <= t_new + ROUNDING * dt and not (info.jump_next and t_out >= t_new)


@phase
def write_nodes(record, scene, at_scene, at_state, t, dt, t_new):
    """States inside the step, beside the column of its end."""
    watch, out, k, size = record.watch, record.out, record.clock.stored, scene.model.size
    for j in range(watch.control.nodes):
        t_node = t + watch.node[j] * (t_new - t)
        point = scene.end
        if t < t_node < t_new:
            status = call_between(scene.at.between, at_scene, at_state, t, dt, t_node)
            if status != OK:
                return status
            point = scene.between
        for i in range(size.n_q):
            out.q_nodes[k, j, i] = point.q[i]
        for i in range(size.n_u):
            out.u_nodes[k, j, i] = point.u[i]
    return OK


@phase
def write(record, scene, state, point, t_out, t, dt, t_new):
    """Put `point`, in the step from t to t_new, into the next column."""
    clock, out, end, info, size = record.clock, record.out, scene.end, scene.info, scene.model.size
    k = clock.stored
    out.t[k] = t_out
    out.dt[k] = dt
    out.residual[k] = info.residual
    out.iterations[k] = info.iterations
    out.order[k] = info.order
    out.error[k] = info.error
    for i in range(size.n_q):
        out.q[k, i] = point.q[i]
    for i in range(size.n_u):
        out.u[k, i] = point.u[i]
    for i in range(size.n_rows):
        out.P[k, i] = end.P[i]
    for l in range(size.n_laws):
        out.modes[k, l] = end.modes[l]
    for i in range(out.own.shape[1]):
        out.own[k, i] = point.own[i]
    if clock.with_ends:
        out.t_B[k], out.t_E[k] = t, t_new
        for i in range(size.n_q):
            out.q_B[k, i], out.q_E[k, i] = state.q[i], end.q[i]
        for i in range(size.n_u):
            out.u_B[k, i], out.u_E[k, i] = state.u[i], end.u[i]
    clock.stored = k + 1
