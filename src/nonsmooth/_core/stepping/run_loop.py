"""The run loop of every scheme: steps, mode changes, output, breakpoints. It knows a scheme only as a step at an address.

A segment is the part of the span between two breakpoints. With constant step size the last step of a segment is shortened to
end on it; a scheme that chooses its own step is handed what is left of the segment and says in ``info.t_new`` how far it
came. All progress is in the records, so that an exception raised in a user function, or a slice that ends, loses nothing.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.run import call_look, run_at
from nonsmooth._core.records.scene import call_step, scene_at, state_at
from nonsmooth._core.records.status import OK, REJECTED, WAITING
from nonsmooth._core.stepping.output import is_wanted
from nonsmooth._core.stepping.phases import copy_state


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
        elif info.changed >= 0:
            call_look(record.watch.at.log, at_run, at_scene, at_state, t, dt, t_new)
        clock.total += 1
        if not only_modes and is_wanted(record, info, dt, t_new):  # else the start stands there already
            status = call_look(record.watch.at.write, at_run, at_scene, at_state, t, dt, t_new)
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
def advance(clock, t_new):
    """The clock after a step."""
    clock.t = t_new
    clock.step += 1
    clock.finished = t_new >= clock.t_end if clock.controlled else clock.step >= clock.steps
