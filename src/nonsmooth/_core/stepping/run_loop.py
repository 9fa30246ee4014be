"""The run loop of every scheme: steps, mode changes, output, breakpoints. It knows a scheme only as a step at an address.

A segment is the part of the span between two breakpoints. With constant step size the last step of a segment is shortened to
end on it; a scheme that chooses its own step is handed what is left of the segment and says in ``info.t_new`` how far it
came. All progress is in the records, so that an exception raised in a user function, or a slice that ends, loses nothing.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, LOWER
from nonsmooth._core.records.run import call_look, run_at
from nonsmooth._core.records.scene import STAYS_CLOSED, call_between, call_step, scene_at, state_at
from nonsmooth._core.records.status import OK, REJECTED, WAITING
from nonsmooth._core.stepping.phases import copy_state, structure

# an instant asked for this close behind the end of a step belongs to it
ROUNDING = 1e-12


@kernel(references=False)
def run(at_scene, at_state, at_run, budget):
    """The loop of any scheme: its step is called at its address."""
    return loop(step_at_address, at_scene, at_state, at_run, budget)


@phase
def step_at_address(scene, state, at_scene, at_state, t, dt):
    """The step of the scheme, which the loop does not know."""
    return call_step(scene.at.step, at_scene, at_state, t, dt)


@phase
def loop(step, at_scene, at_state, at_run, budget):
    """Up to `budget` steps of the segment described by the clock; returns the status of the last one.

    Stops early when the output or the log is full. A scheme whose steps take less time than a call hands its step over as a
    phase and gets a loop of its own with the step inside (see `moreau.run_moreau`).
    """
    scene, state, record = scene_at(at_scene), state_at(at_state), run_at(at_run)
    clock, info = record.clock, scene.info
    for _ in range(budget):
        if clock.finished or not has_room(record, scene.model.size.n_laws):
            break
        t, dt = next_step(clock)
        record.watch.control.calls += 1
        status = step(scene, state, at_scene, at_state, t, dt)
        if status == REJECTED or status == WAITING:
            clock.rejected += status == REJECTED
            continue
        if status != OK:
            return status
        t_new = end_of_step(clock, info)
        dt = info.dt if clock.controlled else dt
        if record.watch.control.count > 0:
            status = call_look(record.watch.at.look, at_run, at_scene, at_state, t, dt, t_new)
            if status != OK:
                return status
        only_modes = clock.first and clock.controlled and dt == 0.0
        if clock.first:
            show_first_modes(record, scene)
        else:
            log_changes(record, scene, state, t, t_new)
        clock.total += 1
        if not only_modes:  # the start stands there already
            status = write_columns(record, scene, state, at_scene, at_state, t, dt, t_new)
            if status != OK:
                return status
        copy_state(scene.end, state)
        advance(clock, t_new)
    return OK


@phase
def has_room(record, n_laws):
    """Whether the output and the log can take another step."""
    clock, out = record.clock, record.out
    if clock.logged + 2 * n_laws > record.log.step.size:
        return False
    watch = record.watch
    if watch.control.count > 0 and watch.control.logged + watch.control.count > watch.t.size:
        return False
    return clock.stored < out.t.size


@phase
def next_step(clock):
    """Begin and length of the next step."""
    if clock.controlled:
        return clock.t, clock.t_end - clock.t
    last = clock.step == clock.steps - 1
    return clock.t_begin + clock.step * clock.dt, clock.dt_last if last else clock.dt


@phase
def end_of_step(clock, info):
    """Where the step that was just taken ends."""
    if clock.controlled:
        return info.t_new
    if clock.step == clock.steps - 1:
        return clock.t_end
    return clock.t_begin + (clock.step + 1) * clock.dt


@phase
def show_first_modes(record, scene):
    """The start column shows the modes of the first step, which only sets them."""
    if record.clock.stored > 0:
        for l in range(scene.model.size.n_laws):
            record.out.modes[0, l] = scene.end.modes[l]
    record.clock.first = 0


@phase
def log_changes(record, scene, state, t, t_new):
    """Switching incidents: laws that change their structure in the step, or do so twice (an impact)."""
    end, work, clock = scene.end, scene.work, record.clock
    if scene.info.changed < 0:
        return
    for l in range(scene.model.size.n_laws):
        kind = scene.model.laws.kind[l]
        if work.struck[l] == STAYS_CLOSED:
            log(record, work, clock.total, l, CONSTRAINT, CONSTRAINT, t, t_new)
        if work.struck[l] == 1:
            log(record, work, clock.total, l, state.modes[l], CONSTRAINT, t, t_new)
            log(record, work, clock.total + 1, l, CONSTRAINT, LOWER, t, t_new)
        elif structure(kind, end.modes[l]) != structure(kind, state.modes[l]):
            log(record, work, clock.total, l, state.modes[l], end.modes[l], t, t_new)


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


@phase
def write_columns(record, scene, state, at_scene, at_state, t, dt, t_new):
    """Output at every k-th step, or at the instants asked for (the buffer holds all of them)."""
    clock, t_eval = record.clock, record.t_eval
    if t_eval.size == 0:
        store = clock.total >= clock.next_store
        if store:
            clock.next_store += clock.every
        if store or (t_new == clock.t_end and clock.tail):
            status = write_nodes(record, scene, at_scene, at_state, t, dt, t_new)
            if status != OK:
                return status
            write(record, scene, state, scene.end, t_new, dt)
        return OK
    while clock.stored < record.out.t.size and clock.evaluated < t_eval.size:
        t_out = t_eval[clock.evaluated]
        if t_out > t_new + ROUNDING * dt or (scene.info.jump_next and t_out >= t_new):
            break
        status = call_between(scene.at.between, at_scene, at_state, t, dt, t_out)
        if status != OK:
            return status
        clock.evaluated += 1
        write(record, scene, state, scene.between, t_out, dt)
    return OK


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
def write(record, scene, state, point, t, dt):
    """Put `point` into the next column."""
    clock, out, end, info, size = record.clock, record.out, scene.end, scene.info, scene.model.size
    k = clock.stored
    out.t[k] = t
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
    if clock.with_begin:
        for i in range(size.n_q):
            out.q_B[k, i] = state.q[i]
        for i in range(size.n_u):
            out.u_B[k, i] = state.u[i]
    clock.stored = k + 1


@phase
def advance(clock, t_new):
    """The clock after a step."""
    clock.t = t_new
    clock.step += 1
    clock.finished = t_new >= clock.t_end if clock.controlled else clock.step >= clock.steps
