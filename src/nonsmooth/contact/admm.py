"""ADMM on De Saxcé's formulation with a cached factorisation (Acary, Maurel, Carpentier, Tasora 2020, for
contact).

In scaled variables, with the shift ``mu |u_T|`` refreshed in every iteration::

    (W + rho I) x = rho z - y - q - shift,     z = P_K(x + y / rho),     y = y + rho (x - z)              (1)

At a fixed point ``x = z`` is the impulse and ``-y`` the shifted velocity. `rho` follows the balance of
primal and dual residuals; each change costs one factorisation, so it is changed by factors of at least two
and at growing intervals.

A global problem is solved without W: by Woodbury's identity (1) needs only ``M + H S^2 H^T / rho``.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth._core.contact.admm import project_and_update, right_hand_side
from nonsmooth.contact.newton import block_pattern, scale

RELAX = 1.6


def _local_solver(problem, w, rho):
    """Apply ``(W' + rho I)^-1``."""
    n = problem.q.size
    pattern = block_pattern(problem)
    entries = np.empty(w.data.size)
    entries[pattern.slot] = w.data.ravel()
    A = sp.csc_matrix((entries, pattern.indices, pattern.indptr), shape=(n, n)) + rho * sp.identity(
        n, format="csc"
    )
    return spl.splu(sp.csc_matrix(A)).solve


def _global_solver(problem, s, rho):
    """Apply ``(S H^T M^-1 H S + rho I)^-1`` by Woodbury: a factorisation in the velocities."""
    g = problem.global_form
    HS = sp.csc_matrix(g.H) @ sp.diags(s)
    solve = spl.splu(sp.csc_matrix(sp.csc_matrix(g.M) + HS @ HS.T / rho)).solve
    HSt = sp.csr_matrix(HS.T)

    def apply(b):
        return (b - HSt @ solve(HS @ b) / rho) / rho

    return apply


def admm(problem, r, run, max_iter=None, rho=None, patience=math.inf):
    """Iterate (1) until `run.tol` is met. Returns ``(r, residual, iterations)``.

    Parameters
    ----------
    rho : float, optional
        First penalty, in units of the mean diagonal of W.
    patience : int
        Give up after this many iterations without halving the residual.
    """
    limit = run.limit(20_000) if max_iter is None else max_iter
    if problem.matrix_free and problem.global_form is not None:
        s = np.repeat(np.sqrt(problem.rho), problem.dim)

        def factor(rho):
            return _global_solver(problem, s, rho)
    else:
        w = scale(problem)
        s = np.repeat(w.s, problem.dim)

        def factor(rho):
            return _local_solver(problem, w, rho)

    dim, mu, bilateral = problem.dim, problem.mu, problem.bilateral
    q = s * problem.q
    size = float(np.linalg.norm(q))
    best_r, best = r.copy(), run.measure(r)
    z = r / s
    y = np.zeros(q.size)
    if np.any(r):
        u = problem.velocity(r).reshape(-1, dim)
        y = -s * u.ravel()
        y[::dim] -= np.where(
            bilateral, 0.0, s[::dim] * mu * np.sqrt(np.einsum("ij,ij->i", u[:, 1:], u[:, 1:]))
        )
    rho = 1.0 if rho is None else rho
    solve = factor(rho)
    rhs = np.empty(q.size)
    done, changes, next_change, target, since = 0, 0, 10, 0.5 * best, 0
    while best > run.tol and done < limit and since < patience and not run.expired():
        for _ in range(min(10, limit - done)):
            right_hand_side(dim, q, z, y, rho, mu, bilateral, rhs)
            x = solve(rhs)
            primal, dual = project_and_update(dim, x, z, y, rho, RELAX, mu, bilateral)
            done += 1
            since += 1
        trial = s * z
        residual = run.measure(trial)
        if not residual < math.inf:
            break
        if residual < best:
            best_r, best = trial, residual
        if best <= target:
            target, since = 0.5 * best, 0
        if done >= next_change and changes < 30:
            relative_primal = primal / max(float(np.linalg.norm(z)), 1e-300)
            ratio = math.sqrt(max(relative_primal, 1e-300) * size / max(dual, 1e-300))
            if not 0.5 < ratio < 2.0:
                rho = min(1e6, max(1e-6, rho * min(10.0, max(0.1, ratio))))
                solve = factor(rho)
                changes += 1
                next_change = done + 10 * (1 + changes) ** 2
    return best_r, best, done
