"""What a run loop reads and writes: the clock, the columns of the output, the log of mode changes."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, caller, float64, int64, scalars
from nonsmooth._core.records.scene import EXAMPLE as SCENE

Clock = scalars(
    "Clock",
    controlled=int,  # the scheme chooses its own step; else steps have length dt
    t=float,  # where the run is
    t_begin=float,  # of the segment
    t_end=float,
    dt=float,
    dt_last=float,  # length of the last step of the segment
    step=int,  # steps taken in this segment ...
    steps=int,  # ... of so many (constant step)
    finished=int,  # the segment is at its end
    tail=int,  # the segment is the last one: its end is stored
    first=int,  # no step has been taken: the first one only sets the modes
    total=int,  # steps of the run
    rejected=int,
    every=int,  # store every k-th step ...
    next_store=int,  # ... next at this number
    with_ends=int,  # keep both ends of the step of each stored instant
    evaluated=int,  # instants of t_eval stored so far
    stored=int,  # columns in the output
    logged=int,  # entries of the log
)


class Output(NamedTuple):
    """One row per stored instant; `t_B, q_B, u_B` and `t_E, q_E, u_E` are the ends of the step that it lies in."""

    t: np.ndarray
    dt: np.ndarray
    residual: np.ndarray
    iterations: np.ndarray
    order: np.ndarray
    error: np.ndarray
    q: np.ndarray
    u: np.ndarray
    P: np.ndarray
    modes: np.ndarray
    t_B: np.ndarray
    q_B: np.ndarray
    u_B: np.ndarray
    t_E: np.ndarray
    q_E: np.ndarray
    u_E: np.ndarray
    own: np.ndarray  # what the scheme remembers, where that is shown
    q_nodes: np.ndarray  # states inside the step, for dense output
    u_nodes: np.ndarray


class Log(NamedTuple):
    """Changes of structure: number of the step, law, modes; begin and end of the step, and the best estimate of the instant."""

    step: np.ndarray
    law: np.ndarray
    before: np.ndarray
    after: np.ndarray
    t_begin: np.ndarray
    t_end: np.ndarray
    t_best: np.ndarray


WatchControl = scalars(
    "WatchControl",
    count=int,  # event functions of the user; 0: none are watched
    known=int,  # their values at the begin of the step are known
    logged=int,  # entries of the log
    stopped=int,  # the function at whose zero the run must stop, or -1; the step that passed it was not taken
    t_stopped=float,
    t_step=float,  # where the step that was not taken would have ended
    calls=int,  # steps tried so far
    longest=float,  # the longest step so far
    nodes=int,  # instants inside each step that are kept for dense output; 0: none
)


class Watch(NamedTuple):
    """Events asked for by the user (see `stepping.watch`), and what is kept of the inside of steps."""

    control: Any
    at: Any  # addresses: `values`, a model function that writes all of them; `look`, zeros in a step; `log`, `write`, the output
    g_0: np.ndarray  # values at the begin of the step, inside, at its end
    g_m: np.ndarray
    g_1: np.ndarray
    direction: np.ndarray  # sign of the crossings that count, 0 for both
    stops: np.ndarray  # so many events more stop the run (terminal, reset); 0: never
    fresh: np.ndarray  # the run was stopped here: the sign is the one a little later
    resting: np.ndarray  # it has arrived at zero and not left it yet: no sign of it counts
    struck: np.ndarray  # it arrives there because a contact strikes in this step
    found: np.ndarray  # it vanishes in this step ...
    root: np.ndarray  # ... at this instant
    arrived: np.ndarray  # value where it arrived at zero (a scheme may be a little off it)
    noise: np.ndarray  # what rounding of the state makes of them
    kept: np.ndarray  # values beside which noise is measured
    q_max: np.ndarray  # sizes of the state so far
    u_max: np.ndarray
    dq: np.ndarray  # q' of the velocities in question
    B: np.ndarray
    gap: np.ndarray
    event: np.ndarray  # log: number, instant, state
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    node: np.ndarray  # instants inside a step, as parts of it


# What is looked at or kept of a step: (run, scene, state, t, dt, t_new) -> status.
LOOK = int64(int64, int64, int64, float64, float64, float64)
call_look = caller(LOOK)


class RunRecord(NamedTuple):
    """A run: what the loop is handed besides the scene and the state."""

    clock: Any
    out: Output
    log: Log
    t_eval: np.ndarray
    watch: Watch


def make_output(n, n_q, n_u, n_rows, n_laws, with_ends, n_own=0, nodes=0):
    """Output for `n` instants."""
    m, k = n if with_ends else 1, n if nodes else 1
    return Output(
        t=np.zeros(n), dt=np.zeros(n), residual=np.zeros(n), iterations=np.zeros(n, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64), error=np.zeros(n), q=np.zeros((n, n_q)), u=np.zeros((n, n_u)),
        P=np.zeros((n, n_rows)), modes=np.zeros((n, n_laws), dtype=np.int8), own=np.zeros((n, n_own)),
        t_B=np.zeros(m), q_B=np.zeros((m, n_q)), u_B=np.zeros((m, n_u)),
        t_E=np.zeros(m), q_E=np.zeros((m, n_q)), u_E=np.zeros((m, n_u)),
        q_nodes=np.zeros((k, max(nodes, 1), n_q)), u_nodes=np.zeros((k, max(nodes, 1), n_u)),
    )  # fmt: skip


def make_log(n):
    """A log of `n` entries."""
    ints = (np.zeros(n, dtype=np.int64) for _ in range(4))
    return Log(*ints, t_begin=np.zeros(n), t_end=np.zeros(n), t_best=np.full(n, np.nan))


def make_watch(n, size, node, values=0, look=0, log=0, write=0, rows=256):
    """A watch on `n` functions, with room for `rows` events; `values`, `look`, `log`, `write` with their signatures."""
    m, n_q, n_u = max(n, 1), size.n_q, size.n_u
    rows = max(rows, 4 * m) if n else 1
    floats = [np.zeros(m) for _ in range(3)]
    whole = [np.zeros(m, dtype=np.int64) for _ in range(6)]
    more = [np.zeros(m) for _ in range(4)]
    control = WatchControl()
    control.count, control.stopped, control.nodes = n, -1, len(node)
    return Watch(
        control, address_record(values=values, look=look, log=log, write=write), *floats, *whole, *more,
        q_max=np.zeros(n_q), u_max=np.zeros(n_u), dq=np.zeros(n_q), B=np.zeros((n_q, n_u) if n and size.has_B else (1, 1)),
        gap=np.zeros(max(size.n_N, 1)), event=np.zeros(rows, dtype=np.int64), t=np.zeros(rows),
        q=np.zeros((rows, n_q)), u=np.zeros((rows, n_u)), node=np.array([*node, 0.0]),
    )  # fmt: skip


EXAMPLE = RunRecord(
    Clock(), make_output(1, 1, 1, 1, 1, True), make_log(1), np.zeros(1), make_watch(1, SCENE.model.size, ())
)
_, run_at = by_reference(EXAMPLE)
