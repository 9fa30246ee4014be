"""Many steps of Moreau's midpoint rule with constant step size, compiled (the step itself is in `moreau`)."""

from nonsmooth._core.jit import f8_1, f8_2, i8_1, i8_2, int64, kernel
from nonsmooth._core.records.codes import KIND, S_NL, S_NQ, S_NR, S_NU, S_UNIT
from nonsmooth._core.stepping.moreau import (
    A_STEPS,
    A_STORE,
    ACCEPT,
    BOOK,
    C_ACCEPT,
    C_BEGIN,
    C_EVAL,
    C_EVENTS,
    C_EVERY,
    C_FIRST,
    C_NEXT,
    C_OUT,
    C_STEP,
    C_STEPS,
    C_TAIL,
    C_TOTAL,
    I_AHEAD,
    I_CHANGED,
    LENGTH,
    OK,
    Q_NEW,
    STOP,
    U_NEW,
    call_steps,
    call_store,
    output_at,
    scene_at,
    state_at,
    structure,
)


@kernel(
    int64(int64, int64, int64, int64, f8_1, i8_1, i8_2, f8_2, f8_1, int64),
    references=False,
    lean=True,
)
def run_moreau(at_scene, problem, at_state, at_output, clock, counters, events, event_times, t_eval, budget):
    """Take up to `budget` steps of the segment described by `clock` and `counters`; returns the status of the last one.

    ``clock`` = (begin of the segment, step size, size of the last step, end of the segment). Stops early when an output
    or event buffer is full. All progress is in the arrays, so a raised exception loses nothing.
    """
    t_0, dt_main, dt_last, t_end = clock[0], clock[1], clock[2], clock[3]
    scene, state, out = scene_at(at_scene), state_at(at_state), output_at(at_output)
    f, laws, size, w, info = scene.f, scene.laws, scene.size, scene.w, scene.info
    n_laws = size[S_NL]
    n_eval = t_eval.size
    capacity = out.q.shape[0]
    wishes = BOOK + STOP + (ACCEPT if counters[C_ACCEPT] != 0 else 0) + (LENGTH if size[S_UNIT] != 0 else 0)
    left = budget
    while left > 0:
        step = counters[C_STEP]
        if (
            step >= counters[C_STEPS]
            or counters[C_OUT] >= capacity
            or counters[C_EVENTS] + n_laws > events.shape[0]
        ):
            break
        # as many steps at once as have nothing to store, the last one of the segment alone
        last = step == counters[C_STEPS] - 1
        n = 1
        if not last and counters[C_FIRST] == 0:
            n = min(left, counters[C_STEPS] - 1 - step)
            if n_eval == 0:
                n = min(n, counters[C_NEXT] - counters[C_TOTAL])
            elif counters[C_EVAL] < n_eval:
                ahead = (t_eval[counters[C_EVAL]] - (t_0 + step * dt_main)) / dt_main - 1e-6
                n = min(n, int(min(ahead, 1e9)))
            n = max(n, 1)
        dt = dt_last if last else dt_main
        t = t_0 + step * dt_main
        if last:
            status = call_steps(f[A_STEPS], at_scene, problem, at_state, t, dt, 0, 1, wishes)
        else:
            status = call_steps(f[A_STEPS], at_scene, problem, at_state, t_0, dt, step, n, wishes)
        ahead = int(info[I_AHEAD])
        info[I_AHEAD] = 0.0
        step += ahead
        left -= ahead
        counters[C_STEP] = step
        counters[C_TOTAL] += ahead
        if status != OK:
            return status
        left -= 1
        t = t_0 + step * dt_main
        t_new = t_end if last else t_0 + (step + 1) * dt_main

        # switching incidents: a law that changes its structure (the first step only sets it)
        if counters[C_FIRST] == 0 and info[I_CHANGED] >= 0.0:
            for l in range(n_laws):
                kind = laws.ints[KIND, l]
                if structure(kind, w.modes_new[l]) != structure(kind, state.modes[l]):
                    e = counters[C_EVENTS]
                    events[e, 0] = counters[C_TOTAL]
                    events[e, 1] = l
                    events[e, 2] = state.modes[l]
                    events[e, 3] = w.modes_new[l]
                    event_times[e, 0] = t
                    event_times[e, 1] = t_new
                    counters[C_EVENTS] = e + 1
        elif (
            counters[C_FIRST] != 0 and counters[C_OUT] > 0
        ):  # the start column shows the modes of the first step
            for l in range(n_laws):
                out.modes[0, l] = w.modes_new[l]
        counters[C_FIRST] = 0
        counters[C_TOTAL] += 1

        # output: at every k-th step, or at the instants asked for (the buffer holds all of them)
        while counters[C_OUT] < capacity:
            if n_eval > 0:
                if counters[C_EVAL] >= n_eval or t_eval[counters[C_EVAL]] > t_new + 1e-12 * dt:
                    break
                t_out = t_eval[counters[C_EVAL]]
                counters[C_EVAL] += 1
            else:
                if counters[C_TOTAL] < counters[C_NEXT] and not (last and counters[C_TAIL] != 0):
                    break
                if counters[C_TOTAL] >= counters[C_NEXT]:
                    counters[C_NEXT] += counters[C_EVERY]
                t_out = t_new
            call_store(
                f[A_STORE], at_scene, at_state, at_output, counters[C_OUT], t_out, t, dt, counters[C_BEGIN]
            )
            counters[C_OUT] += 1
            if n_eval == 0:
                break

        # advance
        for i in range(size[S_NQ]):
            state.q[i] = w.coords[Q_NEW, i]
        for i in range(size[S_NU]):
            state.u[i] = w.speeds[U_NEW, i]
        for i in range(size[S_NR]):
            state.P[i] = w.P_new[i]
        for l in range(n_laws):
            state.modes[l] = w.modes_new[l]
        counters[C_STEP] = step + 1
    return OK
