"""Proximal Newton: a semismooth Newton method made safe for redundant contacts.

Redundant contacts make W rank-deficient and the impulses non-unique, and Newton's matrix singular. The outer
iteration is the proximal-point method (Rockafellar 1976; for contact Acary, Brémond, Huber 2018)::

    r_{k+1} = solution of the problem with  W + eps_k I,  q - eps_k r_k                                   (1)

whose fixed points are exactly the solutions of the given problem: nothing is regularised away. Each of these
problems is solved by Newton's method on Alart and Curnier's equations (`_core.contact.nonsmooth_newton`). `eps`
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

from nonsmooth._core.contact.nonsmooth_newton import (
    ALART_CURNIER,
    FISCHER_BURMEISTER,
    NATURAL,
    assemble,
    equations,
    line_search,
    newton_dense,
)
from nonsmooth._core.contact.nsgs import multiply
from nonsmooth.contact.bodies import bodies_of
from nonsmooth.contact.residual import project

#: Up to this many rows Newton's matrix is dense and the inner iteration runs compiled as a whole.
DENSE_ROWS = 96
#: Above this many rows a global problem is factorised in the velocities of its bodies.
BODY_ROWS = 2000
#: Accept the best of this many previous values of the merit function (non-monotone line search).
MEMORY = 4
#: The proximal term stays above this while it does well: rounding in redundant directions grows with its inverse.
EPS_FLOOR = 3e-6
#: Variants of the regularised step: equations, regularisation, memory of the line search (0: full steps).
POLISH = (
    (ALART_CURNIER, 3e-6, 0),
    (ALART_CURNIER, 1e-4, 0),
    (NATURAL, 3e-6, 0),
    (ALART_CURNIER, 3e-6, 1),
    (NATURAL, 3e-6, 10),
    (ALART_CURNIER, 1e-5, 1),
    (FISCHER_BURMEISTER, 3e-6, 5),
    (ALART_CURNIER, 1e-7, 5),
)


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


class Pattern(NamedTuple):
    """Compressed columns of a matrix with the block pattern of W, and where each block entry goes."""

    indptr: np.ndarray
    indices: np.ndarray
    slot: np.ndarray


def block_pattern(problem) -> Pattern:
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
        cached = Pattern(C.indptr.astype(np.int32), C.indices.astype(np.int32), slot)
        problem.__dict__["_pattern"] = cached
    return cached


def _contact_direction(problem, w):
    """A function that solves Newton's system ``(A (W + eps I) + B) d = -phi``, factorising in the
    impulses."""
    pattern, n = block_pattern(problem), problem.q.size
    J = sp.csc_matrix((np.empty(w.data.size), pattern.indices, pattern.indptr), shape=(n, n))

    def solve(A, B, eps, phi):
        assemble(w.indptr, w.data, w.diagonal, A, B, eps, pattern.slot, J.data)
        return -spl.splu(J).solve(phi)

    return solve


def _body_direction(bodies):
    """The same system of a global problem, factorised in the velocities, where many bodies leave fewer entries."""

    def solve(A, B, eps, phi):
        return -bodies.factor(A, B, eps)(phi)

    return solve


def _newton_sparse(problem, w, form, q, eps, pull, centre, r, max_iter, stop, memory, expired):
    """The iteration of `newton_dense` with a sparse factorisation; same arguments and results."""
    dim, n, mu, bilateral = problem.dim, q.size, problem.mu, problem.bilateral
    u, u_step, r_new, u_new, phi = (np.empty(n) for _ in range(5))
    A, B = np.empty((mu.size, dim, dim)), np.empty((mu.size, dim, dim))
    bodies = bodies_of(problem, w.s, BODY_ROWS)
    direction = _contact_direction(problem, w) if bodies is None else _body_direction(bodies)
    multiply(w.indptr, w.indices, w.data, r, u)
    u += q + pull * (r - centre)
    value = equations(form, dim, r, u, mu, bilateral, phi, A, B)
    recent = [value] * max(1, memory)
    best, r_best, bad, done = value, r.copy(), 0, 0
    while done < max_iter and best > stop and not expired():
        done += 1
        try:
            step = direction(A, B, eps, phi)
        except (RuntimeError, np.linalg.LinAlgError):  # exactly singular
            break
        multiply(w.indptr, w.indices, w.data, step, u_step)
        u_step += pull * step
        limit = max(recent) if memory else np.inf
        t, value = line_search(form, dim, r, u, step, u_step, mu, bilateral, limit, phi, A, B, r_new, u_new)
        if not value < np.inf:
            break
        if memory:
            recent[done % memory] = value
        if value < best:
            best = value
            r_best[:] = r
        bad = bad + 1 if t < 0.1 else max(0, bad - 1)
        if bad >= 4 and pull > 0.0:
            break
    r[:] = r_best
    return done, best


class Iteration:
    """Newton iterations on one problem in scaled variables, and the best impulses they met."""

    def __init__(self, problem, r, run, limit, form=ALART_CURNIER, variants=POLISH):
        self.problem, self.run, self.left = problem, run, limit
        self.form, self.variants = form, variants
        self.w = scale(problem)
        self.s = np.repeat(self.w.s, problem.dim)
        self.q = self.s * problem.q
        self.size = float(np.linalg.norm(self.q))
        self.best_r, self.best = r.copy(), run.measure(r)
        # the residual holds mu |u_T|, Newton's equations hold |u_T|
        self.amplified = max(1.0, float(problem.mu.max(initial=0.0)))
        self.done = 0

    def finished(self) -> bool:
        return self.best <= self.run.tol or self.done >= self.left or self.run.expired()

    def newton(self, form, eps, pull, centre, max_iter, stop, memory):
        """One run of Newton's method from `centre`; returns ``(x, iterations, |phi|)``."""
        p, x = self.problem, centre.copy()
        max_iter = min(max_iter, self.left - self.done)
        if self.w.dense is not None:
            args = (form, p.dim, self.w.dense, self.q, p.mu, p.bilateral, eps, pull, centre, x, max_iter)
            count, value = newton_dense(*args, stop, memory)
        else:
            args = (p, self.w, form, self.q, eps, pull, centre, x, max_iter)
            count, value = _newton_sparse(*args, stop, memory, self.run.expired)
        self.done += max(1, count)
        return x, count, value

    def offer(self, x):
        """Project `x` onto the cones and keep it if it is the best so far; returns
        ``(projected x, improved)``."""
        if not np.all(np.isfinite(x)):
            return None, False
        p = self.problem
        trial = self.s * project(x.reshape(-1, p.dim), p.mu, p.bilateral).ravel()
        residual = self.run.measure(trial)
        improved = residual < self.best
        if improved:
            self.best_r, self.best = trial, residual
        return trial / self.s, improved

    def proximal(self, eps, eps_min, patience):
        """Proximal steps (1) until solved or `patience` of them in a row brought nothing."""
        centre = self.best_r / self.s
        waiting = 0
        floor = max(eps_min, EPS_FLOOR)
        while not self.finished() and waiting < patience:
            before = self.best
            stop = max(1e-13, 1e-3 * self.best) * self.run.closed * self.size / self.amplified
            x, count, value = self.newton(self.form, eps, eps, centre, 30, stop, MEMORY)
            solved = value <= stop
            x, improved = self.offer(x)
            waiting = 0 if improved else waiting + 1
            if x is not None and (improved or solved):
                centre = x
            if solved:
                fast = 0.1 if count <= 4 else 0.3 if count < 10 else 0.6 if count < 20 else 1.0
                if eps <= floor and self.best > 0.3 * before:
                    floor = max(eps_min, 0.1 * floor)
                eps = max(floor, fast * eps)
            else:
                eps = min(1.0, 4.0 * eps)

    def polish(self) -> bool:
        """Regularised steps on the problem itself, in several variants; returns whether one of them
        helped."""
        for form, eps, memory in self.variants:
            if self.finished():
                return False
            before = self.best
            stop = 0.1 * self.run.tol * self.run.closed * self.size / self.amplified
            x, _, _ = self.newton(form, eps, 0.0, self.best_r / self.s, 60, stop, memory)
            self.offer(x)
            if self.best < 0.7 * before:
                return True
        return False

    def alternate(self, eps, eps_min, patience):
        """Proximal and regularised steps in turn; returns ``(r, residual, iterations)``."""
        going = True
        while going and not self.finished():
            self.proximal(eps, eps_min, patience)
            going = not self.finished() and self.polish()
        return self.best_r, self.best, self.done


def newton(problem, r, run, max_iter=None, eps=1e-3, eps_min=1e-10, patience=25):
    """Improve the impulses `r` by proximal Newton steps (1) and regularised Newton steps in turn.

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
        Proximal steps in a row without a better residual before the other kind of step is tried.

    Returns
    -------
    r : ndarray
        Best impulses met, inside the cones.
    residual : float
    iterations : int
        Newton iterations done.
    """
    work = Iteration(problem, r, run, run.limit(3000) if max_iter is None else max_iter)
    return work.alternate(eps, eps_min, patience)
