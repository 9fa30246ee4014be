"""`equilibrium`: where a system rests; joints included.

Equilibrium: forces of joints balance all others,

    h(t, q, 0) + W_J la = 0,     g_J(t, q) = 0.

Newton's method with pseudo-transient continuation (Kelley, Keyes 1998): with K = -d(h + W la)/d delta

    | K + nu M   -W_J | | delta |   |  h + W_J la |
    | W_J^T        0  | | d la  | = | -g_J        |          q <- retract(q, delta)

nu falls with the residual: at first the iteration moves like the system itself would in syrup, towards stable states, at the end it is
Newton's. Where the start of a load step is stable (K positive definite on the motions that joints allow: structures), nu = 0 is tried
first and its solution taken if it is stable, too: stiff and soft directions together make residuals jump, which nu cannot follow.
Rows of joints that others imply are left out, forces of all are the smallest that do the same (`model.redundancy`); of systems of
functions, the solution of smallest norm. A state of rest that is not stable (a straight column under too large a load, a pendulum that
starts upside down) is left along the motion that gains most, and the search goes on from there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from nonsmooth.errors import ConvergenceError, InputError, ModelError
from nonsmooth.model.independence import RANK, lengths_one
from nonsmooth.model.redundancy import independent_for_rest, rows_kept, smallest_forces
from nonsmooth.model.start import as_state, length_scale

MAX_ITER = 500
MAX_NEWTON = 60
MAX_POLISH = 12
TOL = 1e-12
#: How many states that are not stable are left, how far (in terms of lengths, or radians), and from which share of stiffness on one is.
MAX_SADDLES, AWAY, UNSTABLE = 5, 1e-3, 1e-12
#: Ways of Newton's iteration, and how far a step of each may go.
DOWNHILL = 2
STRIDE = {False: math.inf, True: 0.5, DOWNHILL: 0.1}
#: What of a matrix is rounding: differences from its transpose, entries of the diagonal.
SYMMETRY, NO_STIFFNESS = 1e-9, 1e-15


class Equilibrium(NamedTuple):
    """Where a system rests.

    Attributes
    ----------
    q : ndarray, shape (n_q,)
    forces : ndarray, shape (n_J,)
        Of the rows of joints.
    residual : float
        Unbalanced force, relative to the forces that act.
    iterations : int
    """

    q: np.ndarray
    forces: np.ndarray
    residual: float
    iterations: int


def bound_model(system: Any, q0: Any, u0: Any, t: float) -> tuple[Any, np.ndarray, np.ndarray]:
    """The model of a system at a state; worlds have a start of their own."""
    if not hasattr(system, "bind"):
        raise InputError(
            f"`system` is of class {type(system).__name__}: a MechanicalSystem or World is wanted."
        )
    if hasattr(system, "start"):
        own = system.start()
        q0, u0 = own[0] if q0 is None else q0, own[1] if u0 is None else u0
    q = as_state(q0, "q0")
    model = system.bind(t, q, np.zeros(_n_u(system, q)) if u0 is None else as_state(u0, "u0"))
    return model, q, np.zeros(model.n_u) if u0 is None else as_state(u0, "u0")


def _n_u(system, q):
    return q.size - len(system.quaternions)


def equilibrium(
    system: Any, q0: Any = None, t: float = 0.0, load_steps: int = 1, stable: bool = True
) -> Equilibrium:
    """State of rest near a start, with all joints, without contacts and dry friction.

    Parameters
    ----------
    system : World or MechanicalSystem
    q0 : array_like, optional
        Where to look from; default: the start of a world.
    t : float
        Instant at which forces are taken.
    load_steps : int
        What is applied from outside (in a world: gravity and loads; of a system of functions: all forces) grows to its full size in so
        many steps.
    stable : bool
        Whether to look on until the state is stable; else the nearest one that Newton's method finds is returned, stable or not.

    Raises
    ------
    ConvergenceError
        If no state of rest is found (a system that can fall freely has none).
    ModelError
        If a contact is closed or violated there: let the system come to rest with `simulate`.
    """
    if isinstance(load_steps, bool) or not isinstance(load_steps, int) or load_steps < 1:
        raise InputError(f"`load_steps` is {load_steps!r}: a positive whole number is wanted.")
    complete, q, _ = bound_model(system, q0, None, t)
    model = independent_for_rest(system, complete, t, q, np.zeros(complete.n_u))
    la, residual, iterations = np.zeros(model.laws.n_J), math.inf, 0
    if model.n_u == 0:  # nothing can move
        return Equilibrium(q, la, 0.0, 0)
    for step in range(1, load_steps + 1):
        load = step / load_steps
        found = _newton(model, t, q, la, load) if stable else _relaxed(model, t, q, la, load, False)
        q, la, residual, count = found or _relaxed(model, t, q, la, load, True)
        iterations += count
    if stable:
        q, la, residual, count = _off_saddles(model, t, q, la, residual)
        iterations += count
    gaps = model.gaps(t, q)
    if gaps.size and np.min(gaps) <= 1e-9 * length_scale(q):
        name = model.laws.name[int(np.argmin(gaps))]
        raise ModelError(
            f"contact {name!r} has the gap {np.min(gaps):.3g} at the state of rest that was found without contacts: let the system come "
            "to rest with simulate(...)."
        )
    return Equilibrium(q, _of_all_rows(complete, model, t, q, la), residual, iterations)


def _of_all_rows(complete, model, t, q, la):
    """Forces in all rows of joints from those of the rows that were kept."""
    if model is complete:
        return la
    laws, roots = complete.laws, 1.0 / np.sqrt(np.diag(complete.mass_matrix(t, q)))
    WT = complete.directions(t, q)[0][laws.n_rows - laws.n_J :] * roots
    return smallest_forces(WT[None], rows_kept(laws, model.laws.name), la[:, None])[:, 0]


def _off_saddles(model, t, q, la, residual):
    """On from a state of rest that is not stable: along the motion that gains most, until one is."""
    iterations, scale = 0, length_scale(q)
    for _ in range(MAX_SADDLES):
        motion = _gaining(model, t, q, la)
        if motion is None:
            break
        moved = model.space.retract(q, AWAY * scale * motion, t, model.parameters.flat)
        try:
            moved, la, residual, count = _relaxed(model, t, moved, la, 1.0, DOWNHILL)
        except ConvergenceError as exc:
            raise ConvergenceError(
                f"the state of rest that was found is not stable, and none was found beside it ({exc}); `stable=False` returns it."
            ) from exc
        q, iterations = moved, iterations + count
    return q, la, residual, iterations


def _gaining(model, t, q, la):
    """The motion that joints allow along which forces with a potential do most work, largest entry one; None where none is found."""
    Z, K_all = allowed_motions(model, t, q), _at_rest(model, t, q, la, 1.0)
    if np.max(np.abs(K_all - K_all.T), initial=0.0) > SYMMETRY * np.max(np.abs(K_all), initial=0.0):
        return None  # follower forces: K says nothing of stability
    K = Z.T @ (K_all + K_all.T) @ Z / 2
    size = np.sqrt(np.maximum(np.abs(np.diag(K)), NO_STIFFNESS * np.max(np.abs(K), initial=0.0)))
    if not K.size or np.min(size) == 0.0:
        return None
    values, vectors = np.linalg.eigh(K / np.outer(size, size))
    if values[0] > -UNSTABLE:
        return None
    motion = _gain(model, t, q, K_all, model.mass_matrix(t, q))[1]
    return motion / np.max(np.abs(motion))


def _gain(model, t, q, K, M):
    """-s^2 of the motion that joints allow and that gains most, and the motion; 0 where all are held back."""
    Z = allowed_motions(model, t, q)
    values, vectors = linalg.eigh(*(Z.T @ (X + X.T) @ Z / 2 for X in (K, M)), subset_by_index=(0, 0))
    return max(-float(values[0]), 0.0), Z @ vectors[:, 0]


def allowed_motions(model, t, q):
    """Motions that joints allow, shape (n_u, k)."""
    n_J = model.laws.n_J
    if not n_J:
        return np.eye(model.n_u)
    return linalg.null_space(lengths_one(model.directions(t, q)[0][model.laws.n_rows - n_J :]), rcond=RANK)


def _at_rest(model, t, q, la, load):
    """-d(h + W la)/d delta for forces of joints alone."""
    rows = np.zeros(model.laws.n_rows)
    rows[rows.size - model.laws.n_J :] = la
    return _stiffness(model, t, q, rows, load)


def _newton(model, t, q, la, load):
    """What Newton's method finds from a stable start, if that is stable; else None."""
    if not _stable(model, t, q, la, load):
        return None
    try:
        found = _relaxed(model, t, q, la, load, False)
    except ConvergenceError:
        return None
    return found if _stable(model, t, found[0], found[1], load) else None


def _stable(model, t, q, la, load) -> bool:
    """Whether small motions that joints allow are held back by the forces."""
    K, Z = _at_rest(model, t, q, la, load), allowed_motions(model, t, q)
    K = Z.T @ (K + K.T) @ Z
    size = np.sqrt(np.abs(np.diag(K)))
    if Z.shape[1] == 0 or np.any(size == 0.0):
        return False
    return bool(np.min(np.linalg.eigvalsh(K / np.outer(size, size))) > 1e-14)


def _relaxed(model, t, q, la, load, syrup):
    """Newton's iteration for a share of the load: without `syrup`, in it, or in as much as makes K + nu M positive (DOWNHILL)."""
    n, n_J, first = model.n_u, model.laws.n_J, model.laws.n_rows - model.laws.n_J
    zero, rows = np.zeros(n), np.zeros(model.laws.n_rows)
    M, L = model.mass_matrix(t, q), length_scale(q)
    K, residual, largest, before, nu = np.zeros((n, n)), math.inf, 0.0, 0.0, 0.0
    limit = MAX_ITER if syrup else MAX_NEWTON
    best, polished = None, 0
    for iteration in range(limit):
        h, WT = _loaded(model, t, q, zero, load), model.directions(t, q)[0][first:]
        g = np.zeros(n_J)
        position = model.joint_residuals(t, q, zero)[0]
        g[: position.size] = position
        if iteration == 0 and n_J:
            la = np.linalg.lstsq(WT.T, -h, rcond=None)[0]
        force = h + WT.T @ la
        largest = max(largest, float(np.linalg.norm(h)), float(np.linalg.norm(WT.T @ la)))
        rounding = 4.0 * np.finfo(float).eps * float(np.linalg.norm(K)) * L
        unbalanced = float(np.linalg.norm(force))
        residual = unbalanced / max(largest, 1e-300)
        balanced = residual <= TOL or unbalanced <= rounding
        closed = np.max(np.abs(g), initial=0.0) <= 1e-12 * L
        # nu falls with what joints cannot balance
        free = force - WT.T @ np.linalg.lstsq(WT.T, force, rcond=None)[0] if n_J else force
        size = float(np.linalg.norm(free))
        rows[first:] = la
        K = _stiffness(model, t, q, rows, load)
        if not syrup:
            nu = 0.0
        elif syrup == DOWNHILL:
            nu = max(2.0 * _gain(model, t, q, K, M)[0], 0.1 * nu)
        elif iteration == 0:
            nu = 10.0 * float(np.max(np.abs(np.linalg.solve(M, force)))) / L
        elif before > 0.0:
            nu *= min(max(size / before, 0.1), 3.0)
        before = size
        A = np.block([[K + nu * M, -WT.T], [WT, np.zeros((n_J, n_J))]])
        step = _solved(A, np.concatenate([force, -g]), WT)
        if balanced and closed:
            # forces on the way may have been far larger than those that act: what the next step would gain must be small, too
            acting = _acting(model, t, q, load, WT.T @ la) or largest
            gain = abs(float(force @ step[:n]))
            if best is None or gain < best.gain:
                best = _Rest(q, la, unbalanced / max(acting, 1e-300), gain)
        if best is not None:
            polished += 1
            if best.gain <= TOL**2 * acting * L or polished > MAX_POLISH:
                return best.q, best.la, best.residual, iteration
        reach = float(np.max(np.abs(step[:n]), initial=0.0))
        share = min(1.0, STRIDE[syrup] * L / reach) if reach > 0.0 else 1.0
        q = model.space.retract(q, share * step[:n], t, model.parameters.flat)
        la = la + share * step[n:]
        if not np.all(np.isfinite(q)):
            break
    raise ConvergenceError(
        f"no state of rest was found near the start (unbalanced force {residual:.3g} of the forces that act, {MAX_ITER} iterations): the "
        "system may fall freely; else start nearer, or use load_steps."
    )


class _Rest(NamedTuple):
    """A state whose forces balance."""

    q: np.ndarray
    la: np.ndarray
    residual: float
    gain: float  # twice the energy that Newton's next step would set free


def _acting(model, t, q, load, of_joints):
    """Size of what is applied and of what joints do; 0 where a model does not tell them from its other forces."""
    zero = np.zeros(model.n_u)
    applied = load * model.applied_forces(t, q, zero) if hasattr(model, "applied_forces") else zero
    return max(float(np.linalg.norm(applied)), float(np.linalg.norm(of_joints)))


def _solved(A, b, WT):
    """A^-1 b; of smallest norm where rows of joints are redundant or motions free.

    Thin structures are 1e13 times stiffer in one direction than in another, which says nothing of the rank: elimination does not mind.
    """
    if WT.shape[0] == 0 or np.linalg.matrix_rank(lengths_one(WT)) == WT.shape[0]:
        size = np.max(np.abs(A), axis=1)
        if np.all(size > 0.0):
            d = 1.0 / np.sqrt(size)
            scaled = d[:, None] * A * d
            values = np.linalg.svd(scaled, compute_uv=False)
            if values[-1] > 4.0 * np.finfo(float).eps * b.size * values[0]:
                return d * np.linalg.solve(scaled, d * b)
    return np.linalg.lstsq(A, b, rcond=1e-13)[0]


def _loaded(model, t, q, u, load):
    """Forces with only a share of what is applied from outside."""
    if load == 1.0:
        return model.forces(t, q, u)
    if hasattr(model, "applied_forces"):
        return model.forces(t, q, u) - (1.0 - load) * model.applied_forces(t, q, u)
    return load * model.forces(t, q, u)


def _stiffness(model, t, q, la, load):
    """-d(h + W la)/d delta; applied forces of a world change little with q."""
    zero = np.zeros(model.n_u)
    if load == 1.0 or hasattr(model, "applied_forces"):
        return model.tangent(t, q, zero, zero, la, cK=1.0).toarray()
    of_h = model.tangent(t, q, zero, zero, 0.0 * la, cK=1.0).toarray()
    return model.tangent(t, q, zero, zero, la, cK=1.0).toarray() - (1.0 - load) * of_h


def joint_forces(
    model: Any, t: float, q: np.ndarray, u: np.ndarray, held: tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and multipliers of joints at a state: M a = h + W_J la, W_J^T a + kappa = 0; smallest norm if redundant.

    Contacts that are `held` (by number) act as joints; their multipliers come first.
    """
    rows = [*held, *range(model.laws.n_rows - model.laws.n_J, model.laws.n_rows)]
    M, h = model.mass_matrix(t, q), model.forces(t, q, u)
    if not rows:
        return np.linalg.solve(M, h), np.zeros(0)
    WT, kappa = model.directions(t, q)[0][rows], model.quadratic_term(t, q, u)[rows]
    M_inv_h, M_inv_W = np.linalg.solve(M, h), np.linalg.solve(M, WT.T)
    la = np.linalg.lstsq(WT @ M_inv_W, -(WT @ M_inv_h + kappa), rcond=1e-12)[0]
    return M_inv_h + M_inv_W @ la, la
