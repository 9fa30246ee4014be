"""The contact problem of a failed step as an FCLIB file, to be solved or studied elsewhere.

FCLIB holds u = W r + q with one normal and one or two tangential rows per contact, and equality rows. Laws of other kinds are written as
contacts of that form (`nonsmooth.contact.law_form`). Where all are frictional contacts of one kind, W is the Delassus matrix G, q
the vector c of eq. (18), u the shifted relative velocity gamma_E + e gamma_B.
"""

from __future__ import annotations

from os import PathLike

from nonsmooth.contact.fclib import write_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.errors import ModelError


def dump_step(path: str | PathLike[str], step) -> str:
    """Write the problem of the last step; returns a sentence for the error message."""
    try:
        problem = ContactProblem.of_step(step)
    except ModelError as error:
        return f"The problem could not be written as an FCLIB file: {error}."
    write_fclib(path, problem, guess=problem.guess(step.rows.P[: step.count.rows]), overwrite=True)
    if problem.law_form.plain:
        return f"The problem was written to {path}."
    return f"The problem was written to {path}, its elements as contacts with a given normal impulse, its constraints as equality rows."
