"""The audit of runs of `sliding-mode`: steps again by another integrator, constraints at stored states, reaching times, adjustments.

While surfaces are being reached the motion is not the constrained one: the audit looks at the rest of the run, and compares the instants at
which surfaces arrive with |s(0)| / eta (Compere 2001, eq. (3.20)).
"""

from __future__ import annotations

from copy import copy

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth.results.audit.adaptive import audit_adaptive
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.figures import report_drift
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import evenly
from nonsmooth.results.events import count_kinds, kind_code

NOMINAL = 1e-6  # unit of errors where no tolerance was asked for
DRIFT = {2: 1e-11, 1: 1e-6}  # what passes of post-stabilisation promise, relative to the motion
ROUGH = 2e-2  # what Simpson's rule on cubics may miss of the momentum of a step
MET = 1e-9  # positions this close to their constraints, relative to the motion, have met them


def audit_sliding_mode(scheme, model, result, totals, reached) -> Audit:
    """Audit of a run of `scheme`, a `SlidingMode`; `reached` holds the surfaces at the start and their rates, by law."""
    batch = Batch(model)
    late = constrained_part(batch, result)
    controlled = scheme.rtol is not None
    if late is None or getattr(model, "inputs", None) is not None:
        audit = Audit(points_checked=int(result.t.size), steps_total=int(result.nsteps))
        if late is not None and totals["orders"].max() > 2:
            check_outputs(audit, model, late, totals["orders"])
        elif late is not None:
            repeat_driven_steps(audit, scheme, model, late)
        else:
            audit.notes.append("constraints were not met before the end")
    else:
        audit = audit_adaptive(
            model,
            late,
            totals,
            scheme.rtol if controlled else NOMINAL,
            0.0,
            controlled=controlled,
            midpoint_base=False,
        )
        audit.notes = [note for note in audit.notes if not note.startswith("fixed order")]
    audit.events = count_kinds(result.events)
    if late is not None and batch.n_J:
        size = float(np.max(np.abs(late.q), initial=0.0))
        report_drift(audit, batch, late.t, late.q.T, late.u.T, size)
        audit.limits["joint_drift_relative"] = (
            DRIFT[scheme.passes] if scheme.stabilisation == "post" else 1e-4
        )
    if late is not None and late.t.size < result.t.size:
        audit.notes.append(
            f"constraints are met from t = {late.t[0]:.6g} on; states before were reaching them"
        )
    reaching_times(audit, result, reached)
    if totals.get("largest_adjustment"):
        audit.notes.append(
            f"post-stabilisation moved the state by at most {totals['largest_adjustment']:.2e} of the motion in a step"
        )
    return audit


def repeat_driven_steps(audit, scheme, model, result) -> None:
    """Steps with inputs along directions of their own, by SciPy's DOP853 on W^T a = -kappa with M a = h + E tau in plain NumPy."""
    from scipy.integrate import solve_ivp

    n_q, errors = model.n_q, []
    rtol = scheme.rtol or NOMINAL
    fine = min(max(1e-2 * rtol, 2.5e-14), 1e-9)  # of the second route: well below what is being judged
    size = np.max(np.abs(np.vstack([result.q, result.u])), axis=1)

    def rates(t, y):
        q, u = y[:n_q], y[n_q:]
        WT, _ = model.directions(t, q)
        E = WT.copy()
        model.inputs(float(t), q, u, model.parameters.flat, E)
        solved = np.linalg.solve(model.mass_matrix(t, q), np.column_stack([model.forces(t, q, u), E.T]))
        tau = np.linalg.lstsq(
            WT @ solved[:, 1:], -(WT @ solved[:, 0]) - model.quadratic_term(t, q, u), rcond=1e-11
        )[0]
        return np.concatenate([model.kinematic_matrix(t, q) @ u, solved[:, 0] + solved[:, 1:] @ tau])

    for k in 1 + evenly(result.t.size - 1, 20):
        start = np.concatenate([result.q[:, k - 1], result.u[:, k - 1]])
        again = solve_ivp(
            rates,
            result.t[k - 1 : k + 1],
            start,
            "DOP853",
            rtol=fine,
            atol=1e-3 * fine * np.maximum(size, 1e-300),
        )
        difference = np.abs(again.y[:, -1] - np.concatenate([result.q[:, k], result.u[:, k]]))
        errors.append((float(np.max(difference / (rtol * np.maximum(size, 1e-300)))), float(result.t[k])))
    audit.steps_checked = len(errors)
    if errors:
        audit.step_error, audit.step_error_t = max(errors)
        if scheme.rtol is not None:
            audit.limits["step_error"] = 10.0


def check_outputs(audit, model, result, orders) -> None:
    """Runs with outputs of relative order above two, in plain NumPy: momentum of steps against forces and inputs (by Simpson's rule on
    cubics, roughly), and second derivatives W^T M^-1 h + kappa of outputs, in which no input appears (where no other constraint acts)."""
    picked = 1 + evenly(result.t.size - 1, 200)
    missed = [(momentum_missed(model, result, k), float(result.t[k])) for k in picked]
    audit.steps_checked = len(missed)
    if missed:
        audit.momentum_residual, audit.momentum_residual_t = max(missed)
        audit.limits["momentum_residual"] = ROUGH
    if np.any(orders <= 2):
        return
    worst = max(
        (acceleration_missed(model, result, k), float(result.t[k])) for k in evenly(result.t.size, 200)
    )
    audit.notes.append(
        f"second derivatives of outputs miss what is wanted by {worst[0]:.1e} of their terms at t = {worst[1]:.6g}"
    )


def momentum_missed(model, result, k) -> float:
    """M (u_E - u_B) - int h dt - E P of the step that ends at column k, relative to its terms."""
    (t_0, t_1), (q_0, q_1), (u_0, u_1) = (
        result.t[k - 1 : k + 1],
        result.q[:, k - 1 : k + 1].T,
        result.u[:, k - 1 : k + 1].T,
    )
    h, t = t_1 - t_0, 0.5 * (t_0 + t_1)
    v_0, v_1 = model.kinematic_matrix(t_0, q_0) @ u_0, model.kinematic_matrix(t_1, q_1) @ u_1
    q = 0.5 * (q_0 + q_1) + h / 8 * (v_0 - v_1)
    u = 0.5 * (u_0 + u_1)
    WT, _ = model.directions(t, q)
    E = WT.copy()
    model.inputs(float(t), q, u, model.parameters.flat, E)
    forces = [model.forces(*point) for point in ((t_0, q_0, u_0), (t, q, u), (t_1, q_1, u_1))]
    terms = [
        model.mass_matrix(t, q) @ (u_1 - u_0),
        -h / 6 * (forces[0] + 4 * forces[1] + forces[2]),
        -E.T @ result.extra["P_J"][:, k],
    ]
    size = max(float(np.max(np.abs(term), initial=0.0)) for term in terms)
    return float(np.max(np.abs(sum(terms)))) / size if size > 0.0 else 0.0


def acceleration_missed(model, result, k) -> float:
    """W^T M^-1 h + kappa at column k, relative to its terms."""
    t, q, u = float(result.t[k]), result.q[:, k], result.u[:, k]
    WT, _ = model.directions(t, q)
    a, kappa = np.linalg.solve(model.mass_matrix(t, q), model.forces(t, q, u)), model.quadratic_term(t, q, u)
    terms = np.abs(WT) @ np.abs(a) + np.abs(kappa)
    return float(np.max(np.abs(WT @ a + kappa) / np.where(terms > 0.0, terms, 1.0)))


def constrained_part(batch, result):
    """The columns of a result from where on all constraints are met; None if they never are."""
    if batch.n_J == 0:
        return result
    off = np.any(result.modes != CONSTRAINT, axis=0)
    if off.any():
        Phi = batch.joints(result.t, result.q.T, result.u.T)
        off |= np.max(np.abs(Phi), axis=1, initial=0.0) > MET * float(np.max(np.abs(result.q)))
    first = int(np.flatnonzero(off)[-1]) + 1 if off.any() else 0
    if first >= result.t.size:
        return None
    late = copy(result)
    for name in ("t", "q", "u", "y", "P_N", "P_T", "modes", "dt", "order", "residual", "iterations"):
        setattr(late, name, getattr(result, name)[..., first:])
    late.extra = {
        name: value[..., first:] if name == "P_J" else value for name, value in result.extra.items()
    }
    return late


def reaching_times(audit, result, reached) -> None:
    """Instants of arrival against |s(0)| / eta, relative."""
    table, errors = result.events, []
    for law, kind, t in zip(getattr(table, "law", ()), getattr(table, "kind", ()), getattr(table, "t", ())):
        if kind == kind_code("reach") and reached["eta"][law] > 0.0:
            wanted = abs(reached["s"][law]) / reached["eta"][law]
            errors.append((abs(t - reached["t"] - wanted) / wanted, t))
    if errors:
        audit.event_error, audit.event_error_t = max(errors)
        audit.limits["event_error"] = 1e-5
