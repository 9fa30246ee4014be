"""Enumeration of modes: every contact open, sticking or sliding, all combinations tried.

In the plane each combination is one linear system (`_core.contact.modes`); the first whose inequalities hold is the solution.
With a few contacts this is exact and cannot fail where a solution exists, whatever W is. In space the pyramid with `facets`
(`nonsmooth.contact.pyramid`) is enumerated instead, which remains small only for one or two contacts.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.contact.modes import best_mode
from nonsmooth.contact.pivoting import by_lcp
from nonsmooth.errors import InputError

#: Largest number of combinations of modes that are tried.
MAX_MODES = 1 << 20
#: Pyramid of the enumeration in space.
FACETS = 4


def enumeration(problem, r, run, max_iter=None, facets=FACETS):
    """Try all modes. Returns ``(r, residual, iterations)``, the iterations being combinations tried."""
    if problem.dim == 3 and np.any((problem.mu > 0.0) & ~problem.bilateral):
        return by_lcp(problem, r, run, "enumerate", max_iter, facets)
    choices = np.where(problem.bilateral, 1, np.where((problem.mu > 0.0) & (problem.dim > 1), 4, 2))
    total = float(np.prod(choices.astype(float)))
    if total > MAX_MODES:
        raise InputError(
            f"enumeration: {problem.n_contacts} contacts have {total:.0f} combinations of modes, and at most {MAX_MODES} are "
            "tried; choose another method (`auto`)."
        )
    limit = (
        int(total) if max_iter is None and run.max_iter is None else min(int(total), run.limit(max_iter or 0))
    )
    found = np.zeros(problem.q.size)
    count = best_mode(
        problem.dense_W * 1.0, problem.q, problem.mu, choices, problem.dim, problem.rho, run.tol * problem.q_norm, limit, found
    )  # fmt: skip
    residual, start = run.measure(found), run.measure(r)
    return (found, residual, count) if residual <= start else (r, start, count)
