"""A simulation before its first step: what is stored and where it goes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.dense import NODES
from nonsmooth.schemes.base import Plan
from nonsmooth.schemes.request import Request
from nonsmooth.schemes.simulation import Simulation

STREAM_ROWS = 16384
MOST_STEPS = 10**7  # of a scheme that chooses its steps, unless a user says otherwise


def prepare(model, scheme, request: Request, segments, q, u, watched=None, controllers=None) -> Simulation:
    """A run of a scheme over `segments` that has taken no step; the output exists, or is refused, before the first."""
    plan = _plan(model, scheme, request, segments)
    plan.watched, plan.controllers = watched, controllers
    writer = _writer(model, scheme, request)
    t_0, instants = request.t_span[0], request.t_eval
    run = scheme.start(model, t_0, q, u, plan)
    if instants is None or (instants.size and instants[0] == t_0):
        run.store_start(t_0)
    return Simulation(run, plan, request.on_failure, writer, request.dump_path, request.memory_limit)


def origin(model, scheme, request: Request) -> dict[str, Any]:
    """Where a result comes from, as it is kept with it."""
    return {
        "method": scheme.name, "method_options": scheme.options(), "problem_name": request.problem_name, "params": model.params,
        "law_names": model.laws.name, "coordinate_names": tuple(request.coordinate_names),
    }  # fmt: skip


def most_steps(plan: Plan, request: Request) -> int | None:
    """Steps after which a run is stopped."""
    return MOST_STEPS if request.max_steps is None and plan.adaptive else request.max_steps


def _plan(model, scheme, request: Request, segments) -> Plan:
    instants, every, streamed = request.t_eval, request.every, request.output is not None
    steps = scheme.estimate_steps(segments) if segments else 0
    adaptive = steps is None
    columns = instants.size if instants is not None else STREAM_ROWS if adaptive else steps // every + 2
    if not streamed:
        _refuse_too_large(model, columns, request.memory_limit)
    capacity = columns + 1
    if streamed and instants is None:
        capacity = min(columns, STREAM_ROWS)
    # the last entry of t_eval is never reached: the loop stores what is asked for and nothing else
    return Plan(
        segments=segments,
        t_eval=np.zeros(0)
        if instants is None
        else np.append(instants[instants > request.t_span[0]], math.inf),
        every=every,
        capacity=max(capacity, 4),
        accept=request.on_failure == "accept",
        keep_ends=(instants is not None or every > 1) and scheme.audits_steps,
        nodes=NODES if request.dense_output and adaptive else (),
        adaptive=adaptive,
        jumps_at_end=bool(np.any(request.breakpoints == request.t_span[1])),
    )


def _refuse_too_large(model, columns: int, memory_limit: float) -> None:
    laws = model.laws
    size = columns * (8 * (6 + model.n_q + model.n_u + laws.n_rows) + laws.n_laws)
    if size > memory_limit:
        raise InputError(
            f"{columns} columns of output would take {size / 2**30:.1f} GiB of memory: store every k-th "
            "step (every=k), give t_eval, stream to a file (output=path), or raise memory_limit (bytes)."
        )


def _writer(model, scheme, request: Request):
    """Where columns are streamed to; None keeps them in memory."""
    if request.output is None:
        return None
    from nonsmooth.results.stream import StreamWriter

    laws = model.laws
    layout = {
        "t": None, "q": model.n_q, "u": model.n_u, "P_N": laws.n_N, "P_T": laws.n_rows - laws.n_N - laws.n_J,
        "P_J": laws.n_J, "modes": laws.n_laws, "dt": None, "order": None, "residual": None, "iterations": None,
    }  # fmt: skip
    return StreamWriter(request.output, layout, overwrite=request.overwrite, **origin(model, scheme, request))
