"""The audit of generalized-alpha runs: eqs. (65) of Bruls, Acary and Cardona 2018 at stored steps, in plain NumPy."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.midpoint import audit_moreau
from nonsmooth.results.audit.report import Audit
from nonsmooth.results.audit.steps import evenly, get, whole_steps

EPS = np.finfo(np.float64).eps
MOST = 100  # steps recomputed
ROUNDING = 1e-12  # part of a displacement that Newton's method leaves open
BLUR = 2e-15  # of a time: on which side of a breakpoint it lies


def audit_alpha(scheme, model, result, totals, plan, samples=None) -> Audit:
    """Audit of a run of `scheme`, a `GeneralizedAlpha`: motion (65a, g, j, k), sets and impact law (65h, i), joints, energy.

    Where output is thinned, accelerations before a step are not known: (65j, k) are left out.
    """
    audit = audit_moreau(model, result, totals, max_checked=0)
    audit.notes = [note for note in audit.notes if not note.startswith("no step could be recomputed")]
    audit.unexplained_energy = None  # what forces and laws leave over is damping of the scheme
    if "unexplained" in audit.energy_balance:
        balance = audit.energy_balance
        balance.pop("unexplained")
        balance["loss_numerical"] = (
            balance["kinetic_start"] - balance["kinetic_end"] + balance.get("work_forces", 0.0) - balance.get("loss_contacts", 0.0)
        )  # fmt: skip
    steps = _steps(result, plan, samples)
    audit.steps_checked = len(steps)
    if not steps:
        if audit.steps_total:
            audit.notes.append("no step could be recomputed: store the steps (every=1, no t_eval)")
        return audit
    breaks = np.array([end for _, end in plan.segments[:-1]])
    fastest = np.max(np.abs(result.u), axis=1)  # what rounding is measured by
    found = np.array([_step(scheme, model, result, step, fastest, breaks) for step in steps])
    at = [float(result.t[k]) for k, *_ in steps]
    momentum, position, law, cone = found.max(axis=0)
    audit.momentum_residual, audit.momentum_residual_t = float(momentum), at[int(found[:, 0].argmax())]
    audit.position_residual = float(position)
    audit.complementarity, audit.complementarity_t = float(law), at[int(found[:, 2].argmax())]
    audit.cone_violation = float(cone)
    return audit


def _steps(result, plan, samples) -> list[tuple]:
    """Steps to look at: column; time, coordinates, velocities at the begin and at the end; column of the begin, if there is one."""
    if plan.every == 1 and plan.t_eval.size == 0:
        k = whole_steps(result.t, result.dt)
        k = k[k >= 2]
        k = k[evenly(k.size, MOST)] if k.size else k
        return [(int(i), *_state(result, i - 1), *_state(result, i), int(i - 1)) for i in k]
    if samples is None:
        return []
    column = np.searchsorted(result.t, samples["t_seen"])
    ends = [{name: samples[f"{name}_{end}"] for name in ("t", "q", "u")} for end in "BE"]
    return [
        (int(column[i]), *_state(ends[0], i), *_state(ends[1], i), None) for i in evenly(column.size, MOST)
    ]


def _state(columns, k) -> tuple:
    """Time, coordinates and velocities of a column."""
    return tuple(get(columns, name)[..., k] for name in ("t", "q", "u"))


def _step(scheme, model, result, step, fastest, breaks) -> tuple[float, float, float, float]:
    """Residuals of motion, positions, laws and sets of a step, relative to their terms."""
    k, t_0, q_0, u_0, t_1, q_1, u_1, before = step
    h, w = result.dt[k], result.acceleration[:, k]
    anew, t_0, t_1 = _inside(t_0, t_1, breaks)
    P = np.concatenate(
        [result.P_N[:, k], result.P_T[:, k], result.extra.get("P_J", np.zeros((0, k + 1)))[:, k]]
    )
    M = model.sparse_mass if hasattr(model, "sparse_mass") else model.mass_matrix(t_1, q_1)
    f, (WT, zeta) = model.forces(t_1, q_1, u_1), _directions(model, t_1, q_1)
    reach = np.maximum(
        fastest, h * np.abs(f) / M.diagonal()
    )  # at rest: what forces alone would make in the step
    terms = [M @ w, -WT.T @ result.la[:, k], -f]  # (65a)
    blur = _blur(model, t_1, q_1, u_1, q_1 - q_0, fastest, f)
    motion = _relative(np.maximum(np.abs(sum(terms)) - blur, 0.0), terms)
    if scheme.constraints in ("auto", "PVA", "PVV", "PVV-2014"):
        terms = [M @ result.W[:, k], -WT.T @ result.La[:, k]]  # (65g), beside the momentum of the step
        motion = max(motion, _relative(sum(terms), [*terms, abs(M) @ reach]))
    position = 0.0
    if before is not None and not scheme.restart and scheme.rtol is None and not anew:
        a_0, a_1 = result.shifted_acceleration[:, before], result.shifted_acceleration[:, k]
        if result.dt[before] > 0.0:  # a belongs to t + (alpha_m - alpha_f) h
            w_0 = result.acceleration[:, before]
            a_0 = w_0 + h / result.dt[before] * (a_0 - w_0)
        _, _, gamma, beta = scheme.weights()
        terms = [M @ u_1, -M @ u_0, -h * M @ ((1 - gamma) * a_0 + gamma * a_1), -M @ result.W[:, k]]  # (65k)
        motion = max(motion, _relative(sum(terms), [*terms, abs(M) @ reach]))
        if model.f_kinematics is None:
            terms = [
                q_1,
                -q_0,
                -h * u_0,
                -h * h * ((0.5 - beta) * a_0 + beta * a_1),
                -result.U[:, k],
            ]  # (65j)
            position = _relative(sum(terms), terms)
    law, cone = _laws(model, result.modes[:, k], P, (t_0, q_0, u_0), WT @ u_1 + zeta, reach)
    if scheme.constraints in ("P", "A"):  # laws that do not speak of velocities
        law = 0.0
    return motion, position, law, cone


def _directions(model, t, q) -> tuple:
    """W^T, sparse in large worlds of bodies, and zeta."""
    batch = Batch(model, sparse=True)
    if not batch.sparse:
        return model.directions(t, q)
    WT, zeta = batch.directions(np.array([t]), q[None])
    return WT.matrices[0], zeta[0]


def _inside(t_0, t_1, breaks) -> tuple[bool, float, float]:
    """Whether a step begins at a breakpoint, and both its ends as functions that jump at breakpoints see them."""
    blur = BLUR * (abs(t_0) + t_1 - t_0)
    begins, ends = (bool(np.any(np.abs(breaks - t) <= blur)) for t in (t_0, t_1))
    return begins, t_0 + blur * begins, t_1 - blur * ends


def _blur(model, t, q, u, way, fastest, f) -> np.ndarray:
    """How far forces move with what nobody knows of a state: rounding, and what Newton's method leaves open."""
    sides = lambda n: 1.0 - 2.0 * (np.arange(n) % 2)  # noqa: E731
    dq, du = 4 * EPS * np.abs(q) + ROUNDING * np.abs(way), ROUNDING * fastest
    shifted = [model.forces(t, q + s * dq * sides(q.size), u + s * du * sides(u.size)) for s in (-1.0, 1.0)]
    same = model.forces(t, q + dq, u + du)
    return 10.0 * np.max(np.abs(np.array([*shifted, same]) - f), axis=0)


def _laws(model, modes, P, begin, gamma_1, reach) -> tuple[float, float]:
    """Violation of the laws that acted, as velocities, and of their sets."""
    (t_0, q_0, u_0), laws = begin, model.laws
    WT, zeta = _directions(model, t_0, q_0)
    gamma_0 = WT @ u_0 + zeta
    speed = float(max(np.max(abs(WT) @ reach, initial=0.0), np.max(np.abs(zeta), initial=0.0)))
    law = cone = 0.0
    for l in range(laws.n_laws):
        rows, kind = slice(laws.row[l], laws.row[l] + laws.dim[l]), laws.kind[l]
        xi = gamma_1[rows] + laws.e[l] * gamma_0[rows]
        if modes[l] == CONSTRAINT and speed > 0.0:  # no relative velocity
            law = max(law, float(np.max(np.abs(xi))) / speed)
        size = float(np.max(np.abs(P), initial=0.0))
        if kind == HALF_LINE and size > 0.0:
            cone = max(cone, -float(P[rows][0]) / size)
        if laws.link[l] >= 0 and size > 0.0 and np.isfinite(laws.mu[l]):
            limit = laws.mu[l] * float(P[laws.row[laws.link[l]]])
            cone = max(cone, (float(np.linalg.norm(P[rows])) - limit) / size)
    return law, cone


def _relative(residual, terms) -> float:
    size = max(float(np.max(np.abs(term), initial=0.0)) for term in terms)
    return float(np.max(np.abs(residual), initial=0.0)) / size if size > 0.0 else 0.0
