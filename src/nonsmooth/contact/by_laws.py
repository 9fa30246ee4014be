"""The solvers of a time step as methods of `solve_contact`: "exact" (Newton on the modes, proximal Newton, relaxation) and "psor".

They take the laws one by one (`_core.laws.solve_laws`), so a `ContactProblem` is written as the record they solve: a problem made of laws
(`ContactProblem.from_laws`) as the laws it was made of, any other with a unilateral law and a law of friction per contact, and a
bilateral constraint per row of a bilateral block.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from nonsmooth._core.jit import Reference
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.records import laws as kinds
from nonsmooth._core.records.problem import AUTO, NEWTON, make_problem
from nonsmooth._core.stepping.trivial import no_projection
from nonsmooth.contact.laws import LawTable, LawTableBuilder
from nonsmooth.contact.solvers import PSOR, Exact
from nonsmooth.errors import ModelError

#: G is dense in the record.
MOST_ROWS = 3000
#: The natural maps of `solve_contact` may want more than the residual of the laws: so many attempts, each ten times as exact.
ATTEMPTS = 4
#: Trying all modes takes up to so many solves; a smaller budget goes to proximal Newton alone.
ALL_MODES = 5000


def exact(problem, r, run, max_iter=None):
    """Newton on the modes, enumeration where modes are few, proximal Newton, relaxation. Returns ``(r, residual, iterations)``."""
    return _solve(problem, r, run, Exact, max_iter)


def psor(problem, r, run, max_iter=None, omega=1.0, r_factor="local"):
    """Projected Gauss-Seidel relaxation, law by law (Studer, Leine, Glocker 2008, eq. (23)).

    Parameters
    ----------
    omega, r_factor
        As in `nonsmooth.PSOR`.
    """
    return _solve(problem, r, run, PSOR, max_iter, omega=omega, r_factor=r_factor)


def laws_of(problem) -> LawTable:
    """The laws of a problem, in the order of its rows."""
    table = LawTableBuilder()
    for i in range(problem.n_contacts):
        if problem.bilateral[i]:
            for a in range(problem.dim):
                table.add(kinds.FREE, 1, f"{i}.{a}")
            continue
        table.add(kinds.HALF_LINE, 1, f"{i}")
        if problem.dim > 1:
            kind = kinds.COULOMB_1D if problem.dim == 2 else kinds.COULOMB_2D
            table.add(kind, problem.dim - 1, f"{i}, friction", link=len(table.entries) - 1, mu=problem.mu[i])
    return table.build(n_N=0, n_J=0)


def step_of(problem, solver):
    """The problem as the record that the solvers of a step take, without a guess."""
    m, form = problem.q.size, problem.law_form
    if m > MOST_ROWS:
        raise ModelError(
            f"the solvers of a step take up to {MOST_ROWS} rows, the problem has {m}; use 'auto' or another method."
        )
    if form is None:
        laws, G, c, lower, upper = laws_of(problem), problem.dense_W, problem.q, np.zeros(m), np.zeros(m)
    else:
        laws, G, c, lower, upper = form.laws, form.G.entries(), form.c, form.lower, form.upper
        G = G.toarray() if sp.issparse(G) else G
    n = len(laws.kind)
    step = make_problem(solve_laws.addresses(no_projection), n, c.size, solver.options())
    step.count.laws, step.count.rows = n, c.size
    step.laws.law[:n] = np.arange(n)
    for name in ("kind", "row", "dim", "link", "mu"):
        getattr(step.laws, name)[:n] = getattr(laws, name)
    step.G[:], step.rows.c[:], step.rows.lo[:], step.rows.hi[:] = G, c, lower, upper
    return step


def _solve(problem, r, run, kind, max_iter, **options):
    limit = run.limit(20_000) if max_iter is None else max_iter
    best_r, best, done = r, run.measure(r), 0
    step = reference = None
    tol = min(run.tol, 0.5)
    for _ in range(ATTEMPTS):
        if best <= run.tol or done >= limit or run.expired():
            break
        if step is None:
            step = step_of(problem, kind(tol=tol, max_iter=limit, **options))
            reference = Reference(step)
            step.rows.P[:] = problem.impulses(r)
        step.options.tol, step.options.max_iter = tol, limit - done
        if step.options.method == AUTO and limit - done < ALL_MODES:
            step.options.method = NEWTON
        solve_laws.solve(reference.address, 1.0, int(step.count.laws), int(step.count.rows))
        done += int(step.count.iterations)
        trial = problem.guess(step.rows.P)
        residual = run.measure(trial)
        if residual < best:
            best_r, best = trial, residual
        tol = max(0.1 * tol, 1e-15)
    return best_r, best, done
