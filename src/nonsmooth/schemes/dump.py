"""The contact problem of a failed step as an FCLIB file, to be solved or studied elsewhere.

FCLIB holds u = W r + q with one normal and one or two tangential rows per contact, so that the step must consist of
frictional contacts with one kind of friction. Here W is the Delassus matrix G, q the vector c of eq. (18), u the shifted
relative velocity gamma_E + e gamma_B.
"""

from __future__ import annotations

from os import PathLike

from nonsmooth.contact.fclib import write_fclib
from nonsmooth.contact.in_step import StepForm


def dump_step(path: str | PathLike[str], step_problem) -> str:
    """Write the problem of the last step; returns a sentence for the error message."""
    form = StepForm(step_problem)
    refused = form.refused
    if not refused and not form.plain:
        refused = "it has elements or constraints besides contacts with one kind of friction"
    if refused:
        return f"The problem could not be written as an FCLIB file: {refused}."
    write_fclib(path, form.problem, guess=form.guess, overwrite=True)
    return f"The problem was written to {path}."
