"""Proximal Newton: a semismooth Newton method made safe for redundant contacts.

Redundant contacts make W rank-deficient and the impulses non-unique, and Newton's matrix singular. The outer
iteration is the proximal-point method (Rockafellar 1976; for contact Acary, Brémond, Huber 2018)::

    r_{k+1} = solution of the problem with  W + eps_k I,  q - eps_k r_k                                   (1)

whose fixed points are exactly the solutions of the given problem: nothing is regularised away. Each of these
problems is solved by Newton's method on Alart and Curnier's equations (`_core.nonsmooth_newton`). `eps`
shrinks as long as Newton's method converges, which makes the outer iteration superlinear, and grows when it
does not.

Variables are scaled by ``s_i = sqrt(rho_i)`` per contact, ``r = s r'``, ``u' = s u``, ``W' = s W s``. A
scaling that is the same in all directions of a contact leaves the cones as they are, and makes every number
below independent of the units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth._core.nonsmooth_newton import alart_curnier, assemble, line_search, newton_dense
from nonsmooth._core.nsgs import multiply
from nonsmooth.contact.residual import project

#: Up to this many rows Newton's matrix is dense and the inner iteration runs compiled as a whole.
DENSE_ROWS = 72
#: Accept the best of this many previous values of the merit function (non-monotone line search).
MEMORY = 4


class Scaled(NamedTuple):
    """The problem in scaled variables: ``W' = s W s`` in block rows, and the places of its entries in a CSC
    matrix."""

    s: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    diagonal: np.ndarray
    dense: np.ndarray | None


def scale(problem) -> Scaled:
    """Scaled form of `problem`, kept with it."""
    cached = problem.__dict__.get("_scaled")
    if cached is None:
        blocks = problem.blocks
        s = np.sqrt(problem.rho)
        rows = np.repeat(np.arange(problem.n_contacts), np.diff(blocks.indptr))
        data = blocks.data * (s[rows] * s[blocks.indices])[:, None, None]
        dense = None
        if problem.q.size <= DENSE_ROWS:
            long = np.repeat(s, problem.dim)
            dense = np.ascontiguousarray(problem.dense_W * long[:, None] * long)
        cached = Scaled(s, blocks.indptr, blocks.indices, data, blocks.diagonal, dense)
        problem.__dict__["_scaled"] = cached
    return cached


class _Pattern(NamedTuple):
    """Compressed columns of a matrix with the block pattern of W, and where each block entry goes."""

    indptr: np.ndarray
    indices: np.ndarray
    slot: np.ndarray


def _pattern(problem) -> _Pattern:
    cached = problem.__dict__.get("_pattern")
    if cached is None:
        d, blocks = problem.dim, problem.blocks
        numbers = np.arange(1, blocks.data.size + 1, dtype=np.float64).reshape(blocks.data.shape)
        B = sp.bsr_matrix(
            (numbers, blocks.indices, blocks.indptr), shape=(problem.q.size,) * 2, blocksize=(d, d)
        )
        C = sp.csc_matrix(B)
        C.sort_indices()
        slot = np.empty(blocks.data.size, dtype=np.int64)
        slot[C.data.astype(np.int64) - 1] = np.arange(blocks.data.size)
        cached = _Pattern(C.indptr.astype(np.int32), C.indices.astype(np.int32), slot)
        problem.__dict__["_pattern"] = cached
    return cached


def _newton_sparse(problem, w, q, mu, bilateral, eps, centre, r, max_iter, stop):
    """The iteration of `newton_dense` with a sparse factorisation; same arguments and results."""
    dim, n = problem.dim, q.size
    pattern = _pattern(problem)
    u, u_step, r_new, u_new, phi = (np.empty(n) for _ in range(5))
    A, B = np.empty((mu.size, dim, dim)), np.empty((mu.size, dim, dim))
    J = sp.csc_matrix((np.empty(w.data.size), pattern.indices, pattern.indptr), shape=(n, n))
    multiply(w.indptr, w.indices, w.data, r, u)
    u += q + eps * (r - centre)
    value = alart_curnier(dim, r, u, mu, bilateral, phi, A, B)
    recent = [value] * MEMORY
    bad = 0
    for iteration in range(max_iter):
        if value <= stop:
            return iteration, value
        assemble(w.indptr, w.data, w.diagonal, A, B, eps, pattern.slot, J.data)
        try:
            step = -spl.splu(J).solve(phi)
        except RuntimeError:  # exactly singular
            return iteration + 1, np.inf
        multiply(w.indptr, w.indices, w.data, step, u_step)
        u_step += eps * step
        t, value = line_search(dim, r, u, step, u_step, mu, bilateral, max(recent), phi, A, B, r_new, u_new)
        recent[iteration % MEMORY] = value
        bad = bad + 1 if t < 0.1 else max(0, bad - 1)
        if bad >= 4 or not value < np.inf:
            return iteration + 1, value
    return max_iter, value


def newton(problem, r, run, max_iter=None, eps=1e-3, eps_min=1e-10, patience=40):
    """Improve the impulses `r` by proximal Newton steps (1).

    Parameters
    ----------
    problem : ContactProblem
    r : ndarray, shape (dim*n,)
        Start value, not modified.
    run : Run
        Tolerance, limits and the residual that has to fall.
    max_iter : int
        Limit on the sum of Newton iterations.
    eps, eps_min : float
        First and smallest proximal term, relative to the mean diagonal of W.
    patience : int
        Give up after this many outer steps without a better residual.

    Returns
    -------
    r : ndarray
        Best impulses met, inside the cones.
    residual : float
    iterations : int
        Newton iterations done.
    """
    limit = run.limit(2000) if max_iter is None else max_iter
    w = scale(problem)
    s = np.repeat(w.s, problem.dim)
    q = s * problem.q
    size = float(np.linalg.norm(q))
    mu, bilateral = problem.mu, problem.bilateral
    best_r, best = r.copy(), run.measure(r)
    centre = r / s
    done = waiting = 0
    while best > run.tol and done < limit and waiting < patience and not run.expired():
        x = centre.copy()
        stop = max(1e-13, 1e-3 * best) * size
        inner = min(30, limit - done)
        if w.dense is not None:
            count, value = newton_dense(
                problem.dim, w.dense, q, mu, bilateral, eps, centre, x, inner, stop, MEMORY
            )
        else:
            count, value = _newton_sparse(problem, w, q, mu, bilateral, eps, centre, x, inner, stop)
        done += max(1, count)
        waiting += 1
        solved = value <= stop
        if np.all(np.isfinite(x)):
            trial = s * project(x.reshape(-1, problem.dim), mu, bilateral).ravel()
            residual = run.measure(trial)
            if residual < best:
                best_r, best = trial, residual
                centre = trial / s
                waiting = 0
            elif solved:
                centre = trial / s
        if solved:
            eps = max(
                eps_min, eps * (0.1 if count <= 4 else 0.3 if count < 10 else 0.6 if count < 20 else 1.0)
            )
        else:
            eps = min(1.0, 4.0 * eps)
    return best_r, best, done
