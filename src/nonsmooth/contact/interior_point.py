"""Interior-point method for the convex problem inside a De Saxcé fixed point.

With the shift ``s_i = mu_i |u_T,i|`` held fixed, De Saxcé's formulation is a convex problem (for symmetric positive
semidefinite W; a monotone complementarity problem otherwise)::

    u = W r + q,    K ∋ r ⟂ u + (s, 0, 0) ∈ K*                                                            (1)

It is solved by a primal-dual method with the scaling of Nesterov and Todd and Mehrotra's predictor-corrector
(`_core.contact.interior_point`); each iteration factorises ``W + B`` with one positive definite block per contact, so that redundant
contacts need no regularisation. Outside, the shift is renewed until it agrees with the velocities: the fixed point of
De Saxcé and Feng (1998); Cadoux (2009) proves existence under mild conditions and Acary, Cadoux, Lemaréchal, Malick (2011)
use it as an algorithm. Anderson's acceleration makes the outer iteration two to ten times shorter; it need not converge.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth._core.contact.interior_point import (
    CONE,
    FREE,
    HALF_LINE,
    blocks,
    directions,
    right_side,
    scaling,
    to_boundary,
)
from nonsmooth._core.contact.nonsmooth_newton import assemble
from nonsmooth._core.contact.nsgs import multiply
from nonsmooth.contact.anderson import Combination
from nonsmooth.contact.bodies import bodies_of
from nonsmooth.contact.newton import BODY_ROWS, block_pattern, scale
from nonsmooth.contact.nsgs import nsgs
from nonsmooth.contact.residual import project

#: Interior-point iterations for one shift.
INNER = 60
#: Part of the way to the boundary that a step goes.
FRACTION = 0.995
#: Previous shifts that Anderson's acceleration of the outer iteration remembers.
MEMORY = 5
#: Outer iterations without progress before it gives up.
PATIENCE = 15
#: Within this factor of the tolerance so many sweeps finish what rounding of the factors leaves.
NEARLY, SWEEPS = 100.0, 200
#: Velocities of sliding, relative to those without impulses, below which a pile rests, and the accuracy (in both cases in the scaled
#: variables) from which on that is judged.
RESTING, ROUGH = 0.03, 0.01
#: How far a guess is moved into the cones: impulses, relative to their root mean square, and velocities, relative to the largest
#: without impulses. Ten iterations instead of twenty for piles whose impulses are known to 1e-3.
INWARDS_R, INWARDS_U = 0.05, 0.01
#: Keeps bilateral blocks with redundant rows regular.
TINY = 1e-13


class _Convex:
    """Problem (1) in scaled variables (mean diagonal of every block of W equal to 1)."""

    def __init__(self, problem):
        self.problem = problem
        self.w = scale(problem)
        dim, n = problem.dim, problem.n_contacts
        self.kind = np.full(n, CONE, dtype=np.int64)
        self.kind[problem.mu == 0.0] = HALF_LINE
        self.kind[problem.bilateral] = FREE
        self.bodies = None if problem.bilateral.any() else bodies_of(problem, self.w.s, BODY_ROWS)
        pattern = block_pattern(problem)
        size = problem.q.size
        self.J = sp.csc_matrix(
            (np.empty(self.w.data.size), pattern.indices, pattern.indptr), shape=(size, size)
        )
        self.slot = pattern.slot
        self.A, self.B, self.P = (np.empty((n, dim, dim)) for _ in range(3))
        # y = E u, x = F r
        self.E, self.F = np.ones((n, dim)), np.ones((n, dim))
        cone = self.kind == CONE
        self.E[cone, 1:] = problem.mu[cone, None]
        self.F[cone, 0] = problem.mu[cone]
        self.E[self.kind == HALF_LINE, 1:] = 0.0
        self.unheld = np.repeat(self.kind != FREE, dim)
        if dim > 1:
            slack = np.zeros((n, dim), dtype=bool)
            slack[self.kind == HALF_LINE, 1:] = True
            self.slack = slack.ravel()
        else:
            self.slack = np.zeros(size, dtype=bool)

    def velocity(self, r, q):
        u = np.empty(q.size)
        multiply(self.w.indptr, self.w.indices, self.w.data, r, u)
        return u + q

    def factor(self):
        """A function that solves with ``A W + B``."""
        if self.bodies is not None:
            return self.bodies.factor(self.A, self.B, TINY, symmetric=True)
        assemble(self.w.indptr, self.w.data, self.w.diagonal, self.A, self.B, TINY, self.slot, self.J.data)
        return spl.splu(self.J).solve

    def start(self, q, guess):
        """Impulses and velocities inside their cones to begin with: large ones, or a `guess` moved inwards a little."""
        dim, kind, mu = self.problem.dim, self.kind, self.problem.mu
        size = max(float(np.abs(q).max()), 1e-300)
        r, y = np.zeros(q.size), np.zeros(q.size)
        steep = np.where(kind == CONE, mu, 1.0)
        if guess is None:
            r[::dim] = np.where(kind == FREE, 0.0, size)
            y[::dim] = np.where(kind == FREE, 0.0, size * steep)
            return r, y
        R, U = guess.reshape(-1, dim).copy(), (self.E.ravel() * self.velocity(guess, q)).reshape(-1, dim)
        R[:, 0] += INWARDS_R * np.sqrt(np.mean(R[:, 0] ** 2))
        reach = np.sqrt(np.einsum("ij,ij->i", U[:, 1:], U[:, 1:]))
        U[:, 0] = np.maximum(U[:, 0], reach) + INWARDS_U * size * steep
        held = (kind == FREE)[:, None]
        return np.where(held, guess.reshape(-1, dim), R).ravel(), np.where(held, 0.0, U).ravel()

    def solve(self, q, stop, limit, expired, hopeless=None, guess=None):
        """Impulses of (1), in scaled variables, with the shift already in `q`; returns ``(r, iterations)``.

        `stop` bounds both the violation of ``u = W r + q`` and the root of the mean complementarity. A function
        ``hopeless(error, u)`` of that bound and of the velocities may end the iteration.
        """
        dim, kind, mu = self.problem.dim, self.kind, self.problem.mu
        E, F = self.E.ravel(), self.F.ravel()
        r, y = self.start(q, guess)
        lam, d, out, dx, dy, scaled_dy = (np.empty(q.size) for _ in range(6))
        cones = max(1, int(np.sum(kind != FREE)))
        done = 0
        while done < limit and not expired():
            x = F * r
            if not scaling(dim, kind, x, y, self.P, lam):
                break
            u = self.velocity(r, q)
            # what is missing in y = E u; rows without friction impulse do not count
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = np.where(self.unheld, u - np.where(self.slack, u, y / E), u)
            mean = float(np.sum(lam * lam)) / cones
            error = max(float(np.linalg.norm(gap)), np.sqrt(mean * cones))
            if error <= stop or (hopeless is not None and hopeless(error, u)):
                break
            done += 1
            blocks(dim, kind, mu, self.P, self.A, self.B)
            try:
                solve = self.factor()
            except (RuntimeError, np.linalg.LinAlgError):
                break
            # predictor
            right_side(dim, kind, mu, self.P, lam, 0.0, dx, scaled_dy, False, gap, d, out)
            dr = solve(out)
            directions(dim, kind, mu, self.P, d, dr, dx, dy, scaled_dy)
            t = min(to_boundary(dim, kind, x, dx), to_boundary(dim, kind, y, dy))
            cone_rows = self.unheld & ~self.slack
            after = float(np.sum(((x + t * dx) * (y + t * dy))[cone_rows])) / cones
            centre = min(1.0, max(0.0, after / mean)) ** 3
            # corrector
            right_side(
                dim, kind, mu, self.P, lam, centre * mean, dx.copy(), scaled_dy.copy(), True, gap, d, out
            )
            dr = solve(out)
            if not np.all(np.isfinite(dr)):
                break
            directions(dim, kind, mu, self.P, d, dr, dx, dy, scaled_dy)
            t = min(to_boundary(dim, kind, x, dx), to_boundary(dim, kind, y, dy))
            t = min(1.0, FRACTION * t) if t < 1.0 else 1.0
            r += t * dr
            y += t * dy
            if t < 1e-9:
                break
        return r, done


def _slip(problem, u):
    """``mu |u_T|`` per contact."""
    slip = u.reshape(-1, problem.dim)[:, 1:]
    return np.where(problem.bilateral, 0.0, problem.mu * np.sqrt(np.einsum("ij,ij->i", slip, slip)))


def rests(problem, r) -> bool:
    """Whether next to nothing slides with the impulses `r`."""
    s = scale(problem).s
    size = float(np.linalg.norm(np.repeat(s, problem.dim) * problem.q))
    return float(np.linalg.norm(s * _slip(problem, problem.velocity(r)))) <= RESTING * size


def interior_point(problem, r, run, max_iter=None, only_at_rest=False):
    """Solve by interior points inside a De Saxcé fixed point. Returns ``(r, residual, iterations)``.

    Parameters
    ----------
    problem : ContactProblem
    r : ndarray, shape (dim*n,)
        Start value; only the shift is taken from it.
    run : Run
    max_iter : int, optional
        Limit on factorisations, 2000 by default.
    only_at_rest : bool
        Solve once, without shift and from `r` (from large impulses if they are zero), and give up as soon as a rough solution shows that
        contacts slide. What is found is returned even if it is no better than `r`: it lies deep inside the cones, where sweeps do
        the rest quickly.
    """
    limit = run.limit(2000) if max_iter is None else max_iter
    convex = _Convex(problem)
    dim, mu, bilateral = problem.dim, problem.mu, problem.bilateral
    s = np.repeat(convex.w.s, dim)
    q = s * problem.q
    size = float(np.linalg.norm(q))

    def sliding(error, u):
        return error <= ROUGH * size and float(np.linalg.norm(_slip(problem, u))) > RESTING * size

    def trial(x):
        r = s * project(x.reshape(-1, dim), mu, bilateral).ravel()
        return r, run.measure(r)

    if only_at_rest:
        stop = max(1e-13, 0.3 * min(run.measure(r), 1e-3)) * run.closed * size
        guess = r / s if r.any() else None
        x, done = convex.solve(q, stop, min(INNER, limit), run.expired, sliding, guess)
        return *trial(x), max(1, done)

    def shift_at(x):
        return _slip(problem, convex.velocity(x, q))

    best_r, best = r.copy(), run.measure(r)
    shift = shift_at(r / s) if r.any() else np.zeros(problem.n_contacts)
    mixing = Combination(MEMORY)
    done, before, waiting = 0, best, 0
    while best > run.tol and done < limit and waiting < PATIENCE and not run.expired():
        shifted = q.copy()
        shifted[::dim] += shift
        stop = max(1e-13, 0.01 * min(best, 1e-3)) * run.closed * size
        x, count = convex.solve(shifted, stop, min(INNER, limit - done), run.expired)
        done += max(1, count)
        if not np.all(np.isfinite(x)):
            break
        found, residual = trial(x)
        waiting = 0 if residual < 0.9 * best else waiting + 1
        if residual < best:
            best_r, best = found, residual
        if residual > 2.0 * before:
            mixing.forget()
        before = residual
        shift = np.maximum(0.0, mixing.next(shift, shift_at(found / s)))
    if run.tol < best <= NEARLY * run.tol and not (problem.matrix_free or run.expired()):
        best_r, best, _ = nsgs(problem, best_r, run, max_iter=SWEEPS)
    return best_r, best, min(done, limit)
