"""Lemke's method for contact: exact in the plane, for pyramids with `facets` in space (`nonsmooth.contact.pyramid`).

The matrix of the problem is copositive whenever W is positive semidefinite, so the pivots end at a solution or show that
there is none (Cottle, Pang, Stone 1992, sec. 4.4), however redundant the contacts are.
"""

from __future__ import annotations

import warnings

from nonsmooth.contact.lcp import solve_lcp
from nonsmooth.contact.pyramid import FACETS, Pyramid
from nonsmooth.errors import NonsmoothError, NonUniqueWarning


def by_lcp(problem, r, run, method, max_iter, facets):
    """Solve the problem with facets by the LCP method of that name; shared with `nonsmooth.contact.enumeration`."""
    pyramid = Pyramid(problem, facets)
    if problem.dim == 3:
        run.remarks.append(f"friction cones were replaced by pyramids with {facets} facets")
    max_iter = run.max_iter if max_iter is None else max_iter
    if max_iter == 0:
        return r, run.measure(r), 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonUniqueWarning)
            found = solve_lcp(
                pyramid.M,
                pyramid.q,
                method=method,
                max_iter=max_iter,
                free=pyramid.free if pyramid.free.any() else None,
            )
    except NonsmoothError as error:
        run.remarks.append(str(error))
        return r, run.measure(r), 0
    trial = pyramid.impulses(found.z)
    return trial, run.measure(trial), found.iterations


def lemke(problem, r, run, max_iter=None, facets=FACETS):
    """Complementary pivoting. Returns ``(r, residual, iterations)``; the residual is that of the exact cone.

    Parameters
    ----------
    facets : int
        Facets of the friction pyramid in space; without meaning in the plane, where (1) is exact.
    """
    return by_lcp(problem, r, run, "lemke", max_iter, facets)
