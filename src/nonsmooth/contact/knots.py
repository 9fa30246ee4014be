"""Sweeps that untie knots: where a few contacts hold up thousands, they are solved together.

Sweeps on thousands of contacts often converge everywhere but around a few contacts that keep passing an error to each other.
The contacts ``J`` around the largest residuals, with all other impulses held, are a small problem of the same kind::

    u_J = W_JJ r_J + (q_J + W_JK r_K)                                                                     (1)

which Newton's method solves; the sweeps that follow spread what has changed. This is Gauss-Seidel with large blocks in the few
places that need them. It is tried only while the largest residuals hold most of the total.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from nonsmooth.contact.anderson import AcceleratedSweeps
from nonsmooth.contact.newton import newton
from nonsmooth.contact.nsgs import Progress, nsgs
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import natural_map
from nonsmooth.contact.run import Run

#: Sweeps before the residuals are looked at, and the factor by which a round grows after an attempt that brought nothing.
ROUND, GROWTH = 300, 2
#: Contacts with the largest residuals a knot is made of, and the share of the squared residual they have to hold.
WORST, SHARE = 20, 0.5
#: Neighbours of neighbours ... that are solved with them.
RINGS = 3
#: Sweeps and Newton iterations on one knot.
KNOT_SWEEPS, KNOT_STEPS = 300, 200


def nsgs_knots(problem, r, run, max_iter=None, budget=math.inf, trial=0.25, enough=None):
    """Sweep with acceleration and untie knots until `run.tol` is met; arguments and results as in `nonsmooth.contact.nsgs.nsgs`.

    Parameters
    ----------
    enough : callable, optional
        ``enough(progress)``, asked between rounds of sweeps, ends them where it is true.
    """
    limit = run.limit(100_000) if max_iter is None else max_iter
    progress = Progress(run, r, budget, trial)
    sweeping = AcceleratedSweeps(problem, r, run, progress)
    length = ROUND
    while progress.going() and progress.done < limit and not run.expired() and not sweeping.broken:
        before = progress.best
        sweeping.advance(min(progress.done + length, limit))
        if progress.best > 0.5 * before:
            length *= GROWTH
        if enough is not None and enough(progress):
            break
        if progress.going() and not run.expired():
            loose = untie(problem, sweeping.r, run)
            if loose is not sweeping.r:
                sweeping.restart(loose)
    return progress.best_r, progress.best, progress.done


def untie(problem, r, run) -> np.ndarray:
    """Impulses after solving (1) around the largest residuals; `r` itself where these hold too small a share."""
    dim, n = problem.dim, problem.n_contacts
    u = problem.velocity(r).reshape(n, dim)
    error = (
        natural_map(r.reshape(n, dim), u, problem.mu, problem.rho, problem.bilateral) / problem.rho[:, None]
    )
    square = np.einsum("ij,ij->i", error, error)
    worst = np.argsort(-square, kind="stable")[:WORST]
    if not square[worst].sum() > SHARE * square.sum():
        return r
    b = problem.blocks
    graph = sp.csr_matrix((np.ones(b.indices.size), b.indices, b.indptr), shape=(n, n))
    near = np.zeros(n)
    near[worst] = 1.0
    for _ in range(RINGS):
        near = ((graph @ near) > 0.0).astype(float)
    members = np.flatnonzero(near)
    count, label = csgraph.connected_components(graph[members][:, members], directed=False)
    r = r.copy()
    for k in range(count):
        if run.expired():
            break
        _solve_knot(problem, r, members[label == k], run)
    return r


def _solve_knot(problem, r, J, run):
    """Replace the impulses of the contacts `J` in `r` by a solution of (1), if one is found."""
    b, dim = problem.blocks, problem.dim
    W = sp.bsr_matrix(
        (b.data, b.indices, b.indptr), shape=(problem.q.size,) * 2, blocksize=(dim, dim)
    ).tocsr()
    rows = (dim * J[:, None] + np.arange(dim)).ravel()
    across = W[rows]
    W_JJ = across[:, rows]
    q = problem.q[rows] + across @ r - W_JJ @ r[rows]
    knot = ContactProblem(W_JJ, q, problem.mu[J], dim, problem.bilateral[J])
    if knot.q_norm == 0.0:
        return
    # an error of the knot is one of the whole, which is measured in another norm
    inner = Run(knot, min(1e-3, max(1e-12, 0.1 * run.tol * run.closed * problem.q_norm / knot.q_norm)))
    inner.deadline = run.deadline
    x, residual, _ = nsgs(knot, r[rows], inner, KNOT_SWEEPS)
    if residual > inner.tol:
        x, residual, _ = newton(knot, x, inner, KNOT_STEPS, eps=1e-4)
    if residual <= inner.tol:
        r[rows] = x
