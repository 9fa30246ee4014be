"""What a simulation leaves behind: columns, events and audit made into a `Result`; output closed, warnings said."""

from __future__ import annotations

import numpy as np

from nonsmooth.control.driver import INTERRUPTED
from nonsmooth.errors import EnergyGainWarning, IntegrationError, ModelError, StorageError, ZenoWarning
from nonsmooth.model.redundancy import contradiction
from nonsmooth.results.audit.lazy import LazyAudit
from nonsmooth.results.dense import DenseSolution
from nonsmooth.results.result import Result
from nonsmooth.schemes.audits import Asked, audit_of, can_wait, waiting
from nonsmooth.schemes.choices import warn_of_choices
from nonsmooth.schemes.incidents import accumulation_points, event_table, merged
from nonsmooth.schemes.prepare import origin
from nonsmooth.schemes.request import Request
from nonsmooth.schemes.run import ENDS
from nonsmooth.schemes.simulation import STREAMED
from nonsmooth.schemes.spare import keep
from nonsmooth.schemes.user_events import with_user_events
from nonsmooth.warn import warn_user


def finish(model, scheme, simulation, request: Request, said: list[str], status: int, message: str) -> Result:
    """The result of what a simulation has collected, at its end or where it was broken off; `said` of how it was made."""
    run, plan = simulation.run, simulation.plan
    if status == 0 and simulation.ended:
        status, message = 1, "stopped by a terminal event"
    events, unwritten = _events(model, scheme, simulation, status)
    ambiguous = run.ambiguous()
    if status >= 0:
        run.warn()
        warn_of_choices(ambiguous)
    totals = run.totals() | {"t_span": (plan.segments[0][0] if plan.segments else run.t, run.t)}
    columns = simulation.columns()
    if status >= 0 and keep(run):
        columns = {name: array.copy() for name, array in columns.items()}
    ends, nodes = (_taken(columns, names) for names in (ENDS, ("q_nodes", "u_nodes")))
    result = _result(model, scheme, simulation, request, columns, events, status, message)
    result.extra |= {"ambiguous": ambiguous} if ambiguous else {}
    remarks = said + run.remarks()
    result.message += "".join(f"; {remark}" for remark in remarks)
    if request.audit and status != INTERRUPTED:  # who interrupts does not want to wait
        samples = _samples(columns, ends, result.extra["P_J"]) if ends else None
        asked = Asked(model, scheme, totals, plan, samples, request, remarks)
        result.audit = waiting(asked, result) if can_wait(asked, result) else audit_of(asked, result)
    if plan.watched:
        result.events, unwritten = (with_user_events(table, plan.watched) for table in (events, unwritten))
        result.extra |= plan.watched.fields()
    if plan.controllers:
        result.extra["outputs"] = plan.controllers.outputs()
    if request.dense_output:
        result.extra["sol"] = _solution(result, nodes, plan.nodes)
    if totals["unconverged"]:
        result.message += f"; {totals['unconverged']} steps with an unconverged contact problem were accepted"
    if simulation.writer is not None:
        result = _written(model, simulation, result, unwritten, origin(model, scheme, request))
    elif not model.laws.n_J:
        del result.extra["P_J"]
    result._model = model  # for what is asked of the result later: scene, gaps, energy
    if status >= 0:
        _refuse_contradiction(model, result, plan)
        _say_gains(result, totals, request.on_energy_gain)
    return result


def _events(model, scheme, simulation, status):
    """All events, and those that a writer does not have yet; accumulation points are said."""
    laws, run, plan = model.laws, simulation.run, simulation.plan
    none = set(simulation.cuts) | set(plan.controllers.instants() if plan.controllers else ())
    passed = [end for _, end in plan.segments[:-1] if end <= run.t and end not in none]
    raw, times = simulation.events()
    events = unwritten = event_table(raw, times, laws, passed)
    if simulation.writer:
        unwritten = event_table(raw[simulation.written :], times[simulation.written :], laws, passed)
    zeno = accumulation_points(events, laws) if scheme.locates else ()
    if not len(zeno):
        return events, unwritten
    if status >= 0:
        first = zeno[0]
        warn_user(
            f"the impacts of {first.name!r} accumulate at t = {first.t:.9g}"
            + (f" (and {len(zeno) - 1} more such points)" if len(zeno) > 1 else "")
            + "; rebounds that the accuracy asked for cannot tell from rest are left out.",
            ZenoWarning,
        )
    return merged(events, zeno), merged(unwritten, zeno)


def _taken(columns, names):
    """Some columns, taken out of all."""
    return {name: columns.pop(name) for name in names if name in columns}


def _result(model, scheme, simulation, request, columns, events, status, message) -> Result:
    """Columns as a result, with what the scheme remembers as fields of its own."""
    run, own = simulation.run, columns.pop("own", None)
    extra = {"P_J": columns.pop("P_J")}
    if own is not None:
        extra |= scheme.fields(model, own)
    result = Result(
        **columns, events=events, status=status, message=message, extra=extra, nsteps=run.steps, nbase=run.base_steps,
        nfev=run.base_steps, nrejected=run.rejected, **origin(model, scheme, request),
    )  # fmt: skip
    if own is not None:
        result.extra |= run.fields(result, own)
    return result


def _written(model, simulation, result: Result, unwritten, made) -> Result:
    """The last columns in the file of a streamed run, and the whole run, read from there where it is looked at."""
    writer = simulation.writer
    counters = {name: getattr(result, name) for name in ("nsteps", "nbase", "nfev", "nrejected")}
    try:
        writer.append({name: getattr(result, name) for name in STREAMED}, unwritten)
        writer.finish(
            status=result.status, message=result.message, events=result.events, audit=result.audit, extra=result.extra, **counters,
        )  # fmt: skip
    except StorageError as exc:  # e.g. the disk is full: what there is stays in memory
        kept = writer.columns()
        failed = result.status < 0
        exc.partial = Result(
            events=result.events, status=min(result.status, -1), extra=result.extra | {"P_J": kept.pop("P_J")}, audit=result.audit,
            message=result.message if failed else f"stopped at t = {simulation.run.t:.9g}: {exc}", **kept, **counters, **made,
        )  # fmt: skip
        exc.partial._model = model
        if failed:
            return exc.partial
        raise
    return Result.load(writer.path, lazy=True)


def _refuse_contradiction(model, result: Result, plan) -> None:
    """Joints that were left out because others implied them at the start, and are not kept: there is no motion to be told."""
    if getattr(model, "complete", None) is None or plan.controllers is not None:
        return
    text = contradiction(model, np.asarray(result.t), np.asarray(result.q).T)
    if text:
        error = ModelError(text)
        error.partial = result
        raise error


def _say_gains(result: Result, totals, on_energy_gain: str) -> None:
    """Impacts that made energy: a warning, or an error. The audit, where there is one, tells gains from answers to forces; the totals of
    the loop do not."""
    counted = _gains_of(totals)
    waits = isinstance(vars(result)["audit"], LazyAudit)  # (only where none were counted)
    gains = counted if waits or result.audit is None else result.audit.energy_gains
    if not gains["count"] or on_energy_gain == "ignore":
        return
    text = (
        f"an impact raised the kinetic energy at t = {gains['t']:.6g} (law {gains['law']!r}, "
        f"T from {gains['T_before']:.6g} to {gains['T_after']:.6g}; {gains['count']} such steps): Newton's "
        "law with friction or unequal restitution can do that; use tangential_restitution = restitution or e = 0 to "
        "exclude it."
    )
    if on_energy_gain == "raise":
        error = IntegrationError(text)
        error.partial = result
        raise error
    warn_user(text, EnergyGainWarning)


def _solution(result, nodes, places):
    """``sol(t)`` from columns and the states inside steps."""
    inside = np.zeros((0, *result.y.shape))
    if nodes:
        inside = np.concatenate([nodes["q_nodes"], nodes["u_nodes"]], axis=1)
    return DenseSolution(result.t, result.y, inside, places)


def _gains_of(totals):
    """Energy gains as the loop has counted them."""
    gains = {name: totals[f"energy_gain_{name}"] for name in ("t", "law", "T_before", "T_after")}
    return {"count": totals["energy_gain_count"], **gains}


def _samples(columns, ends, P_J):
    """At most 200 steps of a run whose output is thinned, for the audit: both their ends, and the state seen in each."""
    n = columns["t"].size
    pick = np.unique(np.linspace(0, n - 1, 200).astype(int)) if n else np.zeros(0, dtype=int)
    pick = pick[columns["dt"][pick] > 0]
    P = np.vstack([columns["P_N"][:, pick], columns["P_T"][:, pick], P_J[:, pick]])
    seen = {f"{name}_seen": columns[name][..., pick] for name in ("t", "q", "u")}
    kept = {name: columns[name][..., pick] for name in ("dt", "modes")}
    return {name: array[..., pick] for name, array in ends.items()} | seen | kept | {"P": P}
