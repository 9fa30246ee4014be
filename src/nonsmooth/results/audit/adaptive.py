"""The audit of runs with a tolerance (`extrapolated-moreau`, `event-driven`): steps between events repeated by another integrator, events
against the states on both sides, gaps and velocities of closed contacts, cones, joints, energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nonsmooth.results.audit import books
from nonsmooth.results.audit.checks import relative
from nonsmooth.results.audit.figures import directions_against_gaps, report_drift, solver_figures
from nonsmooth.results.audit.impacts import crossings, jumps
from nonsmooth.results.audit.judged_run import JudgedRun, Work, loose
from nonsmooth.results.audit.repeated_steps import repeat_steps
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import Steps, evenly, get, whole_steps
from nonsmooth.results.audit.stored_states import closed_contacts, events, gaps
from nonsmooth.results.events import count_kinds


def limits_for(rtol: float) -> dict[str, float]:
    """What a run with `rtol` has promised; steps in tolerances, the others relative to the motion."""
    states = loose(rtol)
    return {
        "step_error": 10.0, "closed_gap": states, "closed_velocity": states, "event_error": max(10.0 * states, 1e-5), "penetration": states,
        "joint_drift_relative": states, "unexplained_energy": states, "derivative_error": 1e-4, "momentum_residual": 1e-5,
        "complementarity": max(states, 1e-5), "cone_violation": 1e-8,
    }  # fmt: skip


def audit_adaptive(
    system: Any,
    result: Any,
    totals: Mapping[str, Any] | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    controlled: bool = True,
    midpoint_base: bool = True,
    max_checked: int = 250,
    accept_gains: bool = False,
    breaks: Any = None,
    newton: bool = True,
) -> Audit:
    """Audit of a run with error control.

    Parameters
    ----------
    system : object
        Follows the model protocol.
    result : Result
    totals : Mapping, optional
        Running totals over all steps.
    rtol, atol : float
        What was asked for; with ``atol = 0`` a component is measured by its largest size in the run.
    controlled : bool
        Whether steps were chosen by the error (not with a fixed order): only then are they judged by the tolerance.
    midpoint_base : bool
        Whether steps of order 1 are single steps of the midpoint rule.
    max_checked : int
        Steps to repeat, and as many crossings of events.
    accept_gains : bool
        Whether impacts may create energy.
    breaks : sequence of float, optional
        For runs that store the states on both sides of an impact: instants at which a state may jump without one (resets). Their
        impulses are checked, and the energy of all steps looked at.
    newton : bool
        Whether impacts obey Newton's law. If not, only their momentum, cones, energy and that contacts and joints do not close behind them
        can be told from both ends.

    Returns
    -------
    Audit
    """
    audit = Audit(limits=limits_for(rtol), points_checked=int(result.t.size), steps_total=int(result.nsteps))
    audit.events = count_kinds(result.events)
    audit.derivatives = dict(getattr(system, "derivative_sources", {}) or {})
    if accept_gains:
        audit.energy_gains["accepted"] = True
    if not controlled:
        del audit.limits["step_error"]
        audit.notes.append("fixed order: errors of steps are not measured by the tolerance")
    solver_figures(audit, totals or {}, get(result, "nbase", 0))
    if result.t.size:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            run = JudgedRun(system, result, totals or {}, rtol, atol, max_checked)
            judge(run, audit, midpoint_base, breaks, newton)
    return audit


def judge(run: JudgedRun, audit: Audit, midpoint_base: bool, breaks: Any, newton: bool) -> None:
    """Steps, impacts, energy, states, events, joints."""
    k = whole_steps(run.t, run.result.dt)
    crossing = k[run.order[k] <= 1] if run.complete and midpoint_base else k[:0]
    work = repeat_steps(run, audit) | crossings(run, audit, crossing)
    if breaks is not None:
        work |= jumps(run, audit, np.asarray(breaks, dtype=float), newton)
    balance(run, audit, work, partly=breaks is not None)
    closed_contacts(run, audit)
    gaps(run, audit)
    if breaks is not None:
        directions_against_gaps(audit, run.batch, Steps.from_columns(run.result, run.intervals()))
    events(run, audit)
    k = evenly(run.t.size, run.batch.most(64))
    report_drift(audit, run.batch, run.t[k], run.q[k], run.u[k], run.length)


def balance(run: JudgedRun, audit: Audit, work: Work, partly: bool = False) -> None:
    """Energies at both ends, and the work between them where every step was looked at (or, `partly`, of those that were)."""
    ends = np.array([0, -1])
    T = run.batch.kinetic(run.t[ends], run.q[ends], run.u[ends])
    found = {"kinetic_start": float(T[0]), "kinetic_end": float(T[1])}
    some, span = evenly(run.t.size, 8), float(run.t[-1] - run.t[0])
    # where nothing moves, sums that are nothing but rounding are not measured against themselves
    least = 1e-10 * books.energy_of_forces(
        run.batch, run.t[some], run.q[some], run.u[some], span, run.t.size - 1
    )
    if len(work) == run.t.size - 1 and len(work):
        forces, laws = (float(sum(pair[i] for pair in work.values())) for i in (0, 1))
        found |= {"work_forces": forces, "loss_contacts": 0.0 - laws}
        way = evenly(run.t.size, 64)  # (a motion that begins and ends at rest has its energy between)
        largest = float(np.max(run.batch.kinetic(run.t[way], run.q[way], run.u[way])))
        scale = max(T[0], T[1], largest, abs(forces), abs(laws), least)
        audit.unexplained_energy = float(relative(abs(T[1] - T[0] - forces - laws), scale))
        found["unexplained"] = audit.unexplained_energy
    elif partly and work:
        k = np.fromiter(work, dtype=int)
        T_B, T_E = (run.batch.kinetic(run.t[j], run.q[j], run.u[j]) for j in (k - 1, k))
        by_forces, by_laws = (np.array([pair[i] for pair in work.values()]) for i in (0, 1))
        scale = max(np.max(T_B), np.max(T_E), abs(by_forces.sum()), abs(by_laws.sum()), least)
        audit.unexplained_energy = float(relative(abs(np.sum(T_E - T_B - by_forces - by_laws)), scale))
        found["unexplained"] = audit.unexplained_energy
    if partly:  # errors of steps add up
        limits = audit.limits
        limits["unexplained_energy"] = max(limits["unexplained_energy"], run.rtol * len(work))
    books.add_potential(found, run.batch, run.t, run.q)
    audit.energy_balance = found
