"""Checks of a start state before any step is taken, and its repair where the user asks for it.

No repair happens unasked. With ``project=True`` (joints) or ``resolve=True`` (overlapping contacts) the state is moved
by the smallest change in the mass norm, delta = M^-1 J^T (J M^-1 J^T)^+ (-residual), repeated until the residual is
rounding.
"""

from __future__ import annotations

import logging

import numpy as np

from nonsmooth._core.records.laws import FREE
from nonsmooth.errors import (
    InconsistentStateError,
    InputError,
    ModelError,
    NonFiniteError,
    PenetrationWarning,
    RangeError,
    ShapeError,
)
from nonsmooth.model.rotations import normalised
from nonsmooth.warn import warn_user

logger = logging.getLogger("nonsmooth")

SLIGHT_OVERLAP = 1e-3  # of the length scale
CONSISTENCY = 1e-8


def as_state(value, name: str) -> np.ndarray:
    """A start vector as a fresh contiguous float64 array (integers, float32, views, read-only arrays are fine)."""
    if value is None:
        raise InputError(
            f"`{name}` is missing: give the start, q0 and u0 (a `World` has its own; u0=[0.0, ...] is at rest)."
        )
    try:
        if np.ma.is_masked(value):
            raise InputError(f"`{name}` has masked entries: every coordinate and velocity needs a value.")
        array = np.asarray(value)
        if array.dtype.kind == "c" or array.dtype == object:
            raise InputError(f"`{name}` has type {array.dtype}: real numbers are wanted.")
        if array.dtype.kind == "f" and array.dtype.itemsize < 8:
            logger.info("`%s` has type %s; it is converted to float64.", name, array.dtype)
        array = np.array(array, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as exc:
        if isinstance(exc, InputError):
            raise
        raise InputError(f"`{name}` is {value!r}: an array of real numbers is wanted.") from exc
    if array.ndim != 1:
        raise ShapeError(f"`{name}` has shape {array.shape}: a vector is wanted.")
    if not np.all(np.isfinite(array)):
        k = int(np.flatnonzero(~np.isfinite(array))[0])
        raise NonFiniteError(f"`{name}[{k}]` is {array[k]}: the start state must be finite.")
    return array


def length_scale(q: np.ndarray) -> float:
    """Length scale of coordinates: the largest one, or 1."""
    largest = float(np.max(np.abs(q), initial=0.0))
    return largest if largest > 0 else 1.0


def motion_scale(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> float:
    """Length scale of the motion: the largest coordinate at the start, and how far velocities and forces move it in the span.

    A body at rest on the origin of its coordinates has coordinates of rounding size only: they tell no length.
    """
    start = start_key(model, t, q, u), span
    checked = getattr(model, "checked", {})
    if checked.get("scale", (None,))[0] != start:
        largest = float(np.max(np.abs(q), initial=0.0))
        reach = span * (float(np.max(np.abs(u), initial=0.0)) + 0.5 * span * _acceleration(model, t, q, u))
        scale = max(largest, reach)
        checked["scale"] = start, scale if scale > 0 and np.isfinite(scale) else 1.0
    return checked["scale"][1]


def start_key(model, t: float, q: np.ndarray, u: np.ndarray) -> tuple:
    """What tells a start of a model from another."""
    return t, q.tobytes(), u.tobytes(), model.parameters.flat.tobytes()


def resting(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> np.ndarray:
    """Which contacts rest at the start, (n_N,): gaps that are rounding beside the motion to come, and no velocity."""
    n_N = model.laws.n_N
    WT, zeta = model.directions(t, q)
    rate = WT[:n_N] @ u + zeta[:n_N]
    closed = np.abs(model.gaps(t, q)) <= 16 * np.finfo(float).eps * motion_scale(model, t, q, u, span)
    return closed & (np.abs(rate) <= 1e-9 * np.max(np.abs(u), initial=0.0))


def _acceleration(model, t: float, q: np.ndarray, u: np.ndarray) -> float:
    """Largest acceleration that the forces make at the start."""
    return float(np.max(np.abs(solved_with_mass(model, t, q, model.forces(t, q, u))), initial=0.0))


#: From this many velocities on the mass matrix of a world is kept sparse, and its eigenvalues are not asked for.
LARGE = 60


def solved_with_mass(model, t: float, q: np.ndarray, b: np.ndarray) -> np.ndarray:
    """M^-1 b."""
    if model.n_u > LARGE and hasattr(model, "sparse_mass"):
        from scipy.sparse.linalg import splu

        return splu(model.sparse_mass).solve(b)
    M = model.mass_matrix(t, q)
    return b / M[0, 0] if model.n_u == 1 else np.linalg.solve(M, b)


def depth_of_step(model, t: float, q: np.ndarray, u: np.ndarray, dt: float | None) -> float:
    """How deep a step of constant length may leave a contact that rests: a state of such a run is a start, too."""
    if dt is None:
        return 0.0
    return dt * (float(np.max(np.abs(u), initial=0.0)) + dt * _acceleration(model, t, q, u))


def check_functions(model, t: float, q: np.ndarray, u: np.ndarray) -> None:
    """Call every user function once: shapes, types and finite values."""
    for f in [*model.functions, model.f_potential]:
        if f is not None:
            f.parameters = model.parameters
            f.check_finite(t, q, u)
    for _, _, limit in model.bounds_of + model.friction_of:
        if hasattr(limit, "check_finite"):
            limit.parameters = model.parameters
            value = np.min(limit.check_finite(t, q, u))
            if value < 0:
                raise RangeError(f"{limit.name} is {value:g} at the start: friction must not be negative.")
    for f, seen_q, seen_u in constraints_of_velocities(model, q, u):
        check_linear(f, t, seen_q, seen_u)
    for law, convex_set in model.sets.items():
        check_projection(convex_set.project, int(model.laws.dim[law]), model.laws.name[law])


def constraints_of_velocities(model, q: np.ndarray, u: np.ndarray):
    """Functions of nonholonomic constraints, with what they see of the state."""
    for f in getattr(model, "nonholonomic_of", ()):
        yield f, q, u
    if hasattr(model, "assembly"):
        for rows in model.assembly.user_rows:
            for f in rows.model.nonholonomic_of:
                yield f, q[rows.from_q], u[rows.from_u]


def check_linear(f, t: float, q: np.ndarray, u: np.ndarray) -> None:
    """A constraint of velocities must be linear in them: what is not would be replaced by its derivative at the start."""
    size = max(float(np.max(np.abs(u), initial=0.0)), 1.0)
    turns = np.arange(1.0, u.size + 1.0)
    one, other = size * np.cos(turns), size * np.sin(1.7 * turns)
    at_rest, *values = (f.call(t, q, v) for v in (0.0 * u, one, other, one + other, -one))
    a, b, both, back = (value - at_rest for value in values)
    off = np.maximum(np.abs(a + b - both), np.abs(a + back))
    if not np.all(off <= 1e-9 * (np.abs(a) + np.abs(b) + np.abs(at_rest))):  # (also where one is not finite)
        raise ModelError(
            f"{f.name} is not linear in the velocities: W^T(t,q) u + zeta(t,q) = 0 is wanted; what is not linear needs a force of its own."
        )


def check_projection(project, dim: int, name: str) -> None:
    """A projection must return finite points of the right shape and leave them where they are when applied again."""
    for x in (np.zeros(dim), np.ones(dim), -1e3 * np.arange(1.0, dim + 1.0)):
        value = project(x.copy())
        y = np.asarray(value) if value is not None else np.zeros(0)
        if y.shape != (dim,) or y.dtype.kind not in "fiu":
            raise ShapeError(
                f"the projection of {name!r} returned {value!r} for {x}: an array of {dim} real number(s) is wanted."
            )
        if not np.all(np.isfinite(y)):
            raise NonFiniteError(f"the projection of {name!r} is {y} at {x}: it must be finite.")
        again = np.asarray(project(np.array(y, dtype=np.float64)))
        if np.max(np.abs(again - y)) > 1e-6 * max(1.0, float(np.max(np.abs(y)))):
            raise ModelError(
                f"the projection of {name!r} sends {x} to {y} and that to {again}: a projection leaves points of the "
                "set where they are; check its formula."
            )


def check_mass(model, t: float, q: np.ndarray) -> None:
    """The mass matrix must be symmetric and positive definite."""
    if model.n_u > LARGE and hasattr(model, "sparse_mass"):
        return  # bodies and structures have checked theirs
    M = model.mass_matrix(t, q)
    scale = np.max(np.abs(M), initial=0.0)
    skew = np.abs(M - M.T)
    if np.max(skew, initial=0.0) > 1e-10 * scale:
        i, j = np.unravel_index(np.argmax(skew), skew.shape)
        raise ModelError(
            f"mass is not symmetric: M[{i},{j}] = {M[i, j]:.6g} but M[{j},{i}] = {M[j, i]:.6g}; check its formula."
        )
    if M.size == 0:
        return
    diagonal = np.diag(M)
    if np.any(diagonal <= 0):
        k = int(np.argmin(diagonal))
        kind = RangeError if M.size == 1 or np.count_nonzero(M - np.diag(diagonal)) == 0 else ModelError
        raise kind(f"mass M[{k},{k}] = {diagonal[k]:.6g}: masses and inertias must be positive.")
    # eigenvalues of the matrix scaled to unit diagonal, so that units do not matter
    d = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(d[:, None] * M * d[None, :])
    if values[0] <= 1e-14 * M.shape[0]:
        null = np.abs(d * vectors[:, 0])
        main = [int(k) for k in np.flatnonzero(null > 0.1 * null.max())]
        what = "singular" if values[0] > -1e-12 else "indefinite"
        raise ModelError(
            f"mass is {what} (smallest eigenvalue {values[0]:.3g} after scaling to unit diagonal); the velocities "
            f"{main} carry no inertia in some combination: every direction of motion needs mass."
        )


def check_normals(model, t: float, q: np.ndarray) -> None:
    """Every law that can act at the start needs a direction; a contact that is open there may find one later."""
    WT, _ = model.directions(t, q)
    opened = model.gaps(t, q) > 0.0
    for law in range(model.laws.n_laws):
        row, dim, normal = model.laws.row[law], model.laws.dim[law], model.laws.link[law]
        contact = law if law < model.laws.n_N else int(normal)
        for k in range(row, row + dim):
            if not np.all(np.isfinite(WT[k])):
                raise NonFiniteError(f"the direction of {model.laws.name[law]!r} is {WT[k]} at the start.")
            if not np.any(WT[k]) and not (contact >= 0 and opened[contact]):
                raise ModelError(
                    f"the direction of {model.laws.name[law]!r} is zero at the start: its gap or tangent does not depend "
                    "on q there (coincident points?); move the start or change the gap function."
                )


def consistent_start(
    model,
    t,
    q,
    u,
    project: bool,
    resolve: bool,
    span: float = 0.0,
    reaches: bool = False,
    dt: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Check gaps and joints of the start; repair them only if asked. A scheme that `reaches` constraints may start off them; `dt` is
    the step of a scheme with constant step."""
    L = motion_scale(model, t, q, u, span)
    q = with_gaps(model, t, q.copy(), L, max(SLIGHT_OVERLAP * L, depth_of_step(model, t, q, u, dt)), resolve)
    if reaches and not project:
        return q, u.copy()
    q = on_joints(model, t, q, u, L, project)
    return q, with_joint_velocities(model, t, q, u.copy(), project)


def with_gaps(model, t, q, L, slight, resolve: bool) -> np.ndarray:
    """The start without deep overlap; one of less than `slight` is accepted."""
    gaps, names = model.gaps(t, q), model.laws.name
    overlap = [k for k in range(model.laws.n_N) if gaps[k] < -1e-12 * L]
    deep = [k for k in overlap if gaps[k] < -slight]
    if deep and resolve:
        q = moved_onto(
            model, t, q, lambda t, q: np.minimum(model.gaps(t, q), 0.0), slice(0, model.laws.n_N), L
        )
        still = model.gaps(t, q)
        if np.min(still) < -1e-9 * L:
            raise InconsistentStateError(
                f"the overlapping start could not be resolved (worst gap {np.min(still):.3g})."
            )
    elif deep:
        listed = ", ".join(f"{names[k]!r}: {gaps[k]:.6g}" for k in deep[:5])
        raise InconsistentStateError(
            f"contacts overlap deeply at the start ({listed}; length scale {L:.3g}): correct `q0`, or pass resolve=True to "
            "move the state out."
        )
    elif overlap:
        k = min(overlap, key=lambda k: gaps[k])
        warn_user(
            f"contact {names[k]!r} overlaps by {-gaps[k]:.3g} at the start; it is accepted as closed, not pushed out.",
            PenetrationWarning,
        )
    return q


def on_joints(model, t, q, u, L, project: bool) -> np.ndarray:
    """The start with the joints closed."""

    def residual(t, q):
        return model.joint_residuals(t, q, u)[0]

    position = residual(t, q)
    if np.max(np.abs(position), initial=0.0) <= CONSISTENCY * L:
        return q
    k = int(np.argmax(np.abs(position)))
    if not project:
        raise InconsistentStateError(
            f"joint equation {_row_name(model, k)!r} is violated by {position[k]:.6g} at the start: correct `q0`, or "
            "pass project=True."
        )
    first = model.laws.n_rows - model.laws.n_J
    q = moved_onto(model, t, q, residual, slice(first, first + position.size), L)
    position = residual(t, q)
    if np.max(np.abs(position)) > CONSISTENCY * L:
        worst = sorted(range(position.size), key=lambda k: -abs(position[k]))[:2]
        raise ModelError(
            "the joints contradict each other: no position near the start satisfies them all (left over: "
            + ", ".join(f"{_row_name(model, k)!r} by {position[k]:.3g}" for k in sorted(worst))
            + "); take one of them away or correct it."
        )
    return q


def with_joint_velocities(model, t, q, u, project: bool) -> np.ndarray:
    """The velocities of the start, as joints and nonholonomic constraints want them."""
    velocity = model.joint_residuals(t, q, u)[1]
    allowed = CONSISTENCY * max(float(np.max(np.abs(u), initial=0.0)), 1e-8)
    if np.max(np.abs(velocity), initial=0.0) <= allowed:
        return u
    if not project:
        k = int(np.argmax(np.abs(velocity)))
        raise InconsistentStateError(
            f"constraint {_row_name(model, k)!r} is violated on velocity level by {velocity[k]:.6g} at the start: "
            "correct `u0`, or pass project=True."
        )
    WT, _ = model.directions(t, q)
    J = WT[model.laws.n_rows - model.laws.n_J :]
    M_inv_JT = solved_with_mass(model, t, q, J.T)
    u = u - M_inv_JT @ (np.linalg.pinv(J @ M_inv_JT) @ velocity)
    moved = max(
        float(np.max(np.abs(u))), float(np.max(np.abs(velocity)))
    )  # a drive may start what was at rest
    velocity = model.joint_residuals(t, q, u)[1]
    if np.max(np.abs(velocity)) > CONSISTENCY * moved:
        k = int(np.argmax(np.abs(velocity)))
        raise ModelError(
            f"the constraints contradict each other on velocity level: {_row_name(model, k)!r} stays violated by "
            f"{velocity[k]:.3g}; take one of them away or correct it."
        )
    return u


def _row_name(model, k):
    rows = [name for name, kind in zip(model.laws.name, model.laws.kind) if kind == FREE]
    return rows[k] if k < len(rows) else f"constraint {k}"


def moved_onto(model, t, q, residual, rows, L):
    """Gauss-Newton in the mass norm."""
    for _ in range(50):
        r = residual(t, q)
        if np.max(np.abs(r), initial=0.0) <= 1e-13 * L:
            break
        WT, _ = model.directions(t, q)
        active = r != 0
        J = WT[rows][active]
        M_inv_JT = solved_with_mass(model, t, q, J.T)
        delta = M_inv_JT @ (np.linalg.pinv(J @ M_inv_JT) @ -r[active])
        q = normalised(q + model.kinematic_matrix(t, q) @ delta, model.quaternions)
    return q
