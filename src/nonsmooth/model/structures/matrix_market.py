"""Matrices from Matrix Market files, which are not trusted: sizes are compared with the file before anything is made of them."""

from __future__ import annotations

import os
from typing import Any

from scipy import io, sparse

from nonsmooth.errors import InputError, ModelError, ShapeError

LARGEST = 2_000_000  # unknowns
SHORTEST = 2  # bytes of an entry in a file: a digit and what separates it from the next


def read_matrix(path: Any, what: str) -> sparse.csr_array:
    """A real square matrix from a Matrix Market file."""
    try:
        name = os.fspath(path)
        size = os.path.getsize(name)
    except (TypeError, OSError) as exc:
        raise InputError(
            f"`{what}` is {path!r}: the path of a Matrix Market file is wanted ({exc})."
        ) from exc
    try:
        rows, columns, entries, form, field, _ = io.mminfo(name)
    except Exception as exc:  # whatever a hostile header makes the reader raise
        raise ModelError(f"`{what}`: {name!r} is no Matrix Market file ({exc}).") from exc
    if field not in ("real", "integer", "unsigned-integer", "double"):
        raise ModelError(f"`{what}`: {name!r} holds {field} entries: real numbers are wanted.")
    if rows != columns or rows < 1:
        raise ShapeError(
            f"`{what}`: {name!r} is a matrix of shape ({rows}, {columns}): a square one is wanted."
        )
    if rows > LARGEST:
        raise ModelError(f"`{what}`: {name!r} declares {rows} rows: at most {LARGEST} are read.")
    least = SHORTEST * (3 * entries if form == "coordinate" else rows * (rows + 1) // 2)
    if least > size:
        raise ModelError(
            f"`{what}`: {name!r} declares {entries} entries, but its {size} bytes cannot hold them: it is cut off, or its header is wrong."
        )
    try:
        return sparse.csr_array(io.mmread(name))
    except Exception as exc:
        raise ModelError(f"`{what}`: {name!r} could not be read ({exc}).") from exc
