"""The contact problem of a failed step as an FCLIB file, to be solved or studied elsewhere.

FCLIB holds u = W r + q with one normal and one or two tangential rows per contact, so that the step must consist of
frictional contacts with one kind of friction. Here W is the Delassus matrix G, q the vector c of eq. (18), u the shifted
relative velocity gamma_E + e gamma_B.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from nonsmooth._core.records.codes import COULOMB_1D, COULOMB_2D, DIM, HALF_LINE, KIND, LINK, MU, ROW, C, P
from nonsmooth._core.stepping.moreau import I_ACTIVE, I_ROWS
from nonsmooth.contact.fclib import write_fclib
from nonsmooth.contact.problem import ContactProblem


def contact_problem(prox, info) -> tuple[ContactProblem, np.ndarray] | str:
    """Problem and impulses of the last step from a run's work space, or the reason why it is no FCLIB problem."""
    n_active, n_rows = int(info[I_ACTIVE]), int(info[I_ROWS])
    ints, reals, rows = prox.ints[:, :n_active], prox.reals[:, :n_active], prox.rows[:, :n_rows]
    kinds = set(ints[KIND].tolist())
    if kinds - {HALF_LINE, COULOMB_1D, COULOMB_2D}:
        return "it has elements or constraints besides frictional contacts"
    if {COULOMB_1D, COULOMB_2D} <= kinds:
        return "it mixes contacts with one and with two sliding directions"
    order, mu = [], []
    for law in np.flatnonzero(ints[KIND] == HALF_LINE):
        friction = np.flatnonzero((ints[LINK] == law) & (ints[KIND] != HALF_LINE))
        if friction.size != 1:
            return "some of its contacts have no friction"
        k = friction[0]
        order += [ints[ROW, law], *range(ints[ROW, k], ints[ROW, k] + ints[DIM, k])]
        mu.append(reals[MU, k])
    G = prox.G[:n_rows, :n_rows][np.ix_(order, order)]
    dim = 2 if COULOMB_1D in kinds else 3
    return ContactProblem(G, rows[C, order].copy(), np.array(mu), dim), rows[P, order].copy()


def dump_step(path: str | PathLike[str], prox, info) -> str:
    """Write the problem of the last step; returns a sentence for the error message."""
    found = contact_problem(prox, info)
    if isinstance(found, str):
        return f"The problem could not be written as an FCLIB file: {found}."
    problem, impulses = found
    write_fclib(path, problem, guess=impulses, overwrite=True)
    return f"The problem was written to {path}."
