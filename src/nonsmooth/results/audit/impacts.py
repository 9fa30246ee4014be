"""Impacts again, in runs with a tolerance: steps that cross them, and columns without length in which they happen at an instant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, DISK, FREE, HALF_LINE, INTERVAL
from nonsmooth.results.audit.checks import (
    Midpoint,
    dot,
    energy_gains,
    largest,
    law_residuals,
    left_closing,
    midpoint,
    momentum_residual,
    relative,
)
from nonsmooth.results.audit.figures import directions_against_gaps, worst
from nonsmooth.results.audit.judged_run import MANY, JudgedRun, Work, sizes
from nonsmooth.results.audit.last_rebounds import left_out
from nonsmooth.results.audit.laws import rows_of
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import Steps, evenly


def crossings(run: JudgedRun, audit: Audit, k: np.ndarray) -> Work:
    """Single steps of the base rule, which cross events: impulse balance, laws, energy."""
    batch, k = run.batch, k[evenly(k.size, run.most)]
    if k.size == 0:
        return {}
    s = Steps.from_columns(run.result, k)
    m = midpoint(batch, s)
    complementarity, cone, _ = law_residuals(batch, s, m, sizes(run.u))
    hit = np.flatnonzero(np.any(np.abs(m.rate_E - m.rate_B) > 1e-6 * run.speed, axis=1))
    audit.momentum_residual, audit.momentum_residual_t = worst(momentum_residual(s, m), s.t_E)
    if hit.size:  # at the others forces act, which a step of this length cannot tell from rounding
        audit.complementarity, audit.complementarity_t = worst(complementarity[hit], s.t_E[hit])
        audit.cone_violation = worst(cone[hit], s.t_E[hit])[0]
    audit.steps_checked += int(k.size)
    directions_against_gaps(audit, batch, s)
    report_gains(run, audit, s, energy_gains(batch, s, m))
    forces = 0.5 * dot(s.u_B + s.u_E, m.impulse_h)
    laws = 0.5 * dot(m.rate_B + m.rate_E, s.P)
    return {int(c): (float(a), float(b)) for c, a, b in zip(k, forces, laws)}


def jumps(run: JudgedRun, audit: Audit, breaks: np.ndarray, newton: bool) -> Work:
    """Columns without length, impacts and changes of mode: impulse balance, laws, energy."""
    batch = run.batch
    k = 1 + np.flatnonzero((np.diff(run.t) == 0.0) & (run.result.dt[1:] == 0.0))
    if k.size == 0 or not run.complete or run.t.size < run.result.nsteps:
        return {}
    s = Steps.from_columns(run.result, k)
    acts = np.any(s.P != 0.0, axis=1)
    usable = acts | ~np.isin(s.t_E, breaks)
    k, s, acts = k[usable], s.pick(usable), acts[usable]
    work: Work = dict.fromkeys((int(c) for c in k), (0.0, 0.0))
    moved = np.any(s.u_E != s.u_B, axis=1)
    hit = np.flatnonzero(acts | moved)
    hit = hit[evenly(hit.size, MANY if run.t.size <= MANY else run.most)]
    if hit.size == 0:
        return work
    k, s = k[hit], struck_modes(batch.laws, s.pick(hit))
    m = midpoint(batch, s)
    complementarity, cone = with_last_rebounds(run, k, s, m)
    if not newton:
        complementarity = left_closing(batch, s, m)
        audit.notes.append("impacts are a process: its ends were checked, not its course")
    audit.momentum_residual, audit.momentum_residual_t = worst(momentum_residual(s, m), s.t_E)
    audit.complementarity, audit.complementarity_t = worst(complementarity, s.t_E)
    audit.cone_violation = worst(cone, s.t_E)[0]
    audit.steps_checked += int(k.size)
    if batch.n_N:  # what strikes touches
        struck = np.where(s.P[:, : batch.n_N] > 0.0, batch.gaps(s.t_E, s.q_E), 0.0)
        audit.closed_gap = float(relative(np.max(struck, initial=0.0), run.length))
    report_gains(run, audit, s, energy_gains(batch, s, m))
    laws = 0.5 * dot(m.rate_B + m.rate_E, s.P)
    work.update({int(c): (0.0, float(w)) for c, w in zip(k, laws)})
    return work


def with_last_rebounds(run: JudgedRun, k: np.ndarray, s: Steps, m: Midpoint) -> tuple[np.ndarray, np.ndarray]:
    """Violation of laws and of their sets, where a contact that comes to rest does so without its last rebounds.

    What the impacts left out sum up to is known to the accuracy of the run only, and their friction may have turned meanwhile: a part of
    the size of those impulses says nothing, neither of the velocities nor of the cone.
    """
    left = left_out(run, k, m)
    complementarity, cone, _ = law_residuals(
        run.batch, replace(s, P=s.P + left), m, sizes(run.u), lasting=0.0
    )
    ends = np.any(left != 0.0, axis=1)
    turned = relative(np.max(m.G_diagonal * np.abs(left), axis=1, initial=0.0), m.velocity)
    beyond = cone - relative(largest(left), largest(s.P + left))
    doubted = np.maximum(np.maximum(complementarity - turned, beyond), 0.0)
    return np.where(ends, doubted, complementarity), np.where(ends, 0.0, cone)


def report_gains(run: JudgedRun, audit: Audit, s: Steps, gains: Any) -> None:
    """The worst impact that created energy."""
    mine = np.flatnonzero(gains.gain > max(1e-9, run.rtol))
    if mine.size == 0:
        return
    k = mine[int(np.argmax(gains.gain[mine]))]
    audit.energy_gains |= {
        "count": int(mine.size), "worst": float(gains.gain[k]), "t": float(s.t_E[k]), "T_before": float(gains.T_before[k]),
        "T_after": float(gains.T_after[k]), "law": str(run.batch.laws.name[int(gains.law[k])]),
    }  # fmt: skip


def struck_modes(laws: Any, s: Steps) -> Steps:
    """Steps without length with the modes of their impulses: what carries one is struck, forces under a bound carry none."""
    modes = np.zeros_like(s.modes)
    for i in range(laws.n_laws):
        if int(laws.kind[i]) in (INTERVAL, DISK):
            continue
        closed = s.modes[:, i] == CONSTRAINT if int(laws.kind[i]) in (HALF_LINE, FREE) else False
        modes[:, i] = closed | np.any(s.P[:, rows_of(laws, i)] != 0.0, axis=1)
        if int(laws.link[i]) >= 0:
            modes[:, i] |= s.P[:, int(laws.row[int(laws.link[i])])] > 0.0
    return replace(s, modes=modes)
