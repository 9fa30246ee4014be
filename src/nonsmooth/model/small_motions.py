"""`modes`: how a system moves about a state; joints included.

Modes: M delta'' + D delta' + K delta = W_J la,  W_J^T delta = 0, reduced to the null space Z of W_J^T,

    (s^2 Z^T M Z + s Z^T D Z + Z^T K Z) y = 0,     shape = Z y.

Where D = 0 and K is symmetric s^2 are real: symmetric eigenvalues, one s for each motion that is free or swings.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from nonsmooth.errors import NonsmoothWarning
from nonsmooth.model.start import as_state
from nonsmooth.model.statics import SYMMETRY, Equilibrium, allowed_motions, bound_model, joint_forces


class Modes(NamedTuple):
    """Small motions about a state, slowest first.

    Attributes
    ----------
    eigenvalues : ndarray of complex, shape (k,)
        s; one of each pair of conjugates.
    frequencies : ndarray, shape (k,)
        In Hz: |Im s| / 2 pi.
    damping : ndarray, shape (k,)
        -Re s / |s|; negative where the motion grows.
    shapes : ndarray of complex, shape (n_u, k)
        Increments of the coordinates, the largest entry one.
    """

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray


def modes(system: Any, state: Any = None, t: float = 0.0) -> Modes:
    """Frequencies, damping and shapes of small motions about a state, constraints included.

    Parameters
    ----------
    system : World or MechanicalSystem
    state : array_like (n_q,), or a pair (q, u), or an `Equilibrium`
        Default: the start of a world. Without u it is at rest. Contacts and dry friction do not act. Of a state that moves,
        coefficients are those of the instant; where joints or rotations in space move with it, eigenvalues of such coefficients say
        little, and a warning says so.
    t : float
    """
    q0, u0 = _state(system, state)
    model, q, u = bound_model(system, q0, u0, t)
    if np.any(u != 0.0) and (model.n_q != model.n_u or model.laws.n_J):
        warnings.warn(
            "the state moves, and directions of joints or axes of bodies with it: modes are those of coefficients frozen at this instant. "
            "Give q alone for modes of a system at rest.",
            NonsmoothWarning,
            stacklevel=2,
        )
    n, first = model.n_u, model.laws.n_rows - model.laws.n_J
    a, la = joint_forces(model, t, q, u)
    rows = np.zeros(model.laws.n_rows)
    rows[first:] = la
    M = model.mass_matrix(t, q)
    K = model.tangent(t, q, u, a, rows, cK=1.0).toarray()
    D = model.tangent(t, q, u, a, rows, cD=1.0).toarray()
    Z = allowed_motions(model, t, q)
    if Z.shape[1] == 0:
        return Modes(np.zeros(0, complex), np.zeros(0), np.zeros(0), np.zeros((n, 0), complex))
    M, D, K = (Z.T @ X @ Z for X in (M, D, K))
    largest = np.max(np.abs(K))
    undamped = np.all(D == 0.0) and np.max(np.abs(K - K.T)) <= SYMMETRY * largest
    values, vectors, tiny = (_swinging if undamped else _with_damping)(M, D, K)
    shapes = Z @ vectors
    shapes = shapes / np.array([column[np.argmax(np.abs(column))] or 1.0 for column in shapes.T])
    size = np.where(np.abs(values) > tiny, np.abs(values), 1.0)
    damping = np.where(np.abs(values) > tiny, -values.real / size, 0.0)
    return Modes(values, np.abs(values.imag) / (2 * np.pi), damping, shapes)


def _swinging(M, D, K):
    """s and shapes where s^2 are the eigenvalues of symmetric matrices, and the size of s from which on it is not rounding.

    Eigenvalues are off by roundings of the largest one, 1e14 times that of slow motions of thin structures; those of (K + sigma M)^-1 M,
    sigma just large enough, by roundings of lambda^2 / sigma: of both what is nearer.
    """
    K, M = 0.5 * (K + K.T), 0.5 * (M + M.T)
    stiffness, vectors = linalg.eigh(K, M)
    rounding = 4.0 * np.finfo(float).eps * stiffness.size * np.max(np.abs(stiffness))
    sigma = 100.0 * rounding + 2.0 * max(-float(stiffness[0]), 0.0)
    if sigma == 0.0:  # nothing acts
        return np.zeros(stiffness.size, complex), np.eye(stiffness.size), 0.0
    compliance, others = linalg.eigh(M, K + sigma * M)
    slow = stiffness**2 < sigma * np.max(np.abs(stiffness))
    stiffness[slow] = (1.0 / compliance[::-1] - sigma)[slow]
    vectors[:, slow] = others[:, ::-1][:, slow]
    work = np.sum(vectors * (K @ vectors), axis=0)
    size = np.sum(np.abs(vectors) * (np.abs(K) @ np.abs(vectors)), axis=0)
    stiffness[np.abs(work) <= 16.0 * np.finfo(float).eps * size] = 0.0
    s = np.sqrt(-stiffness.astype(complex) + 0.0)
    both = np.flatnonzero(stiffness < 0.0)  # one motion grows, one dies out
    values, vectors = np.concatenate([s, -s[both]]), np.hstack([vectors, vectors[:, both]])
    values = np.where(values.imag < 0.0, values.conj(), values)
    order = np.argsort(np.abs(values), kind="stable")
    return values[order], vectors[:, order], 0.0


def _with_damping(M, D, K):
    """The same for any matrices; one of each pair of conjugates."""
    k = M.shape[0]
    A = np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    values, vectors = np.linalg.eig(A)
    tiny = 1e-9 * np.max(np.abs(values), initial=0.0)
    keep = [i for i in np.lexsort((values.imag, np.abs(values))) if values[i].imag >= -tiny]
    return values[keep], vectors[:k, keep], tiny


def _state(system, state):
    """q and u, None where the start of a world is meant."""
    if state is None or (isinstance(state, tuple) and len(state) == 2):
        return state or (None, None)
    q = as_state(state.q if isinstance(state, Equilibrium) else state, "state")
    return q, np.zeros(q.size - len(getattr(system, "quaternions", ())))
