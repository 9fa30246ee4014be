"""The contact problem of a failed step as an FCLIB file, to be solved or studied elsewhere.

FCLIB holds u = W r + q with one normal and one or two tangential rows per contact, so that the step must consist of
frictional contacts with one kind of friction. Here W is the Delassus matrix G, q the vector c of eq. (18), u the shifted
relative velocity gamma_E + e gamma_B.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from nonsmooth._core.records.laws import COULOMB_1D, COULOMB_2D, HALF_LINE
from nonsmooth.contact.fclib import write_fclib
from nonsmooth.contact.problem import ContactProblem


def contact_problem(problem) -> tuple[ContactProblem, np.ndarray] | str:
    """Problem and impulses of the last step, or the reason why it is no FCLIB problem."""
    n_active, n_rows = int(problem.count.laws), int(problem.count.rows)
    laws, rows = problem.laws, problem.rows
    kind, link = laws.kind[:n_active], laws.link[:n_active]
    kinds = set(kind.tolist())
    if kinds - {HALF_LINE, COULOMB_1D, COULOMB_2D}:
        return "it has elements or constraints besides frictional contacts"
    if {COULOMB_1D, COULOMB_2D} <= kinds:
        return "it mixes contacts with one and with two sliding directions"
    order, mu = [], []
    for law in np.flatnonzero(kind == HALF_LINE):
        friction = np.flatnonzero((link == law) & (kind != HALF_LINE))
        if friction.size != 1:
            return "some of its contacts have no friction"
        k = friction[0]
        order += [laws.row[law], *range(laws.row[k], laws.row[k] + laws.dim[k])]
        mu.append(laws.mu[k])
    G = problem.G[:n_rows, :n_rows][np.ix_(order, order)]
    dim = 2 if COULOMB_1D in kinds else 3
    return ContactProblem(G, rows.c[order].copy(), np.array(mu), dim), rows.P[order].copy()


def dump_step(path: str | PathLike[str], step_problem) -> str:
    """Write the problem of the last step; returns a sentence for the error message."""
    found = contact_problem(step_problem)
    if isinstance(found, str):
        return f"The problem could not be written as an FCLIB file: {found}."
    problem, impulses = found
    write_fclib(path, problem, guess=impulses, overwrite=True)
    return f"The problem was written to {path}."
