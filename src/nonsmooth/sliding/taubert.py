"""Taubert I and II (Stewart 1996, sec. 5) as comparison methods: fixed steps, a selected field, no location
of switching points.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.sliding.taubert import taubert
from nonsmooth.errors import InputError, NonFiniteStateError, RangeError
from nonsmooth.results.result import Result

from .run import CompiledRun

_STAGES = {"taubert-euler": 1, "taubert-rk4": 4}


def solve_taubert(compiled, system, t_span, x0, method, dt, times):
    """Run one of Taubert's methods; `dt` is required. Arguments as in `solve_filippov`, checked there."""
    t0, t1 = t_span
    if dt is None:
        raise InputError(f"solve_filippov: method {method!r} needs a step size, pass dt=...")
    if times is None:
        if (t1 - t0) / dt > 1e8:
            raise RangeError(f"solve_filippov: dt = {dt} makes more than 1e8 steps on ({t0}, {t1})")
        times = np.append(np.arange(t0 + dt, t1, dt), t1)[: 10**7]
    run = CompiledRun("RK45", compiled.n, compiled.parameters.flat.size, tuple(compiled.starts.tolist()))
    run.use(compiled)
    run.integration.prepare((t0, t1), x0)
    y_out = np.empty((times.size, compiled.n))
    modes = np.empty((times.size, compiled.n_regions), dtype=np.int8)
    steps = taubert(run.address, float(dt), _STAGES[method], times, y_out, modes)
    counts = {"f": int(run.record.counts.f), "h": int(run.record.counts.h), "grad_h": 0}
    counts["total"] = counts["f"] + counts["h"]
    ok = steps >= 0
    result = Result(
        times, y=y_out.T, modes=2 * modes.T, dt=np.full(times.size, dt), order=np.ones(times.size),
        status=0 if ok else -1, message="" if ok else "the state became infinite", nfev=abs(steps) *
        _STAGES[method], nsteps=abs(steps), method=method, method_options={"dt": dt}, params=system.params,
        coordinate_names=system.names or (), extra={"evaluations": counts, "t_switch": np.zeros(0), "notes":
        []},
    )  # fmt: skip
    if not ok:
        error = NonFiniteStateError(
            f"solve_filippov: the state is not finite after {-steps} steps of {method}; reduce dt"
        )
        error.partial = result
        raise error
    return result
