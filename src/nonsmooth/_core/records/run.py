"""What a run loop reads and writes: the clock, the columns of the output, the log of mode changes."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import by_reference, scalars

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
    with_begin=int,  # keep the begin of each stored step
    evaluated=int,  # instants of t_eval stored so far
    stored=int,  # columns in the output
    logged=int,  # entries of the log
)


class Output(NamedTuple):
    """One row per stored instant; `q_B, u_B` is the begin of the step that ends there."""

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
    q_B: np.ndarray
    u_B: np.ndarray
    own: np.ndarray  # what the scheme remembers, where that is shown


class Log(NamedTuple):
    """Changes of structure: number of the step, law, modes; begin and end of the step, and the best estimate of the instant."""

    step: np.ndarray
    law: np.ndarray
    before: np.ndarray
    after: np.ndarray
    t_begin: np.ndarray
    t_end: np.ndarray
    t_best: np.ndarray


class RunRecord(NamedTuple):
    """A run: what the loop is handed besides the scene and the state."""

    clock: Any
    out: Output
    log: Log
    t_eval: np.ndarray


def make_output(n, n_q, n_u, n_rows, n_laws, with_begin, n_own=0):
    """Output for `n` instants."""
    m = n if with_begin else 1
    return Output(
        t=np.zeros(n), dt=np.zeros(n), residual=np.zeros(n), iterations=np.zeros(n, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64), error=np.zeros(n), q=np.zeros((n, n_q)), u=np.zeros((n, n_u)),
        P=np.zeros((n, n_rows)), modes=np.zeros((n, n_laws), dtype=np.int8), q_B=np.zeros((m, n_q)), u_B=np.zeros((m, n_u)),
        own=np.zeros((n, n_own)),
    )  # fmt: skip


def make_log(n):
    """A log of `n` entries."""
    ints = (np.zeros(n, dtype=np.int64) for _ in range(4))
    return Log(*ints, t_begin=np.zeros(n), t_end=np.zeros(n), t_best=np.full(n, np.nan))


_, run_at = by_reference(RunRecord(Clock(), make_output(1, 1, 1, 1, 1, True), make_log(1), np.zeros(1)))
