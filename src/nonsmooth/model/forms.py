"""The one small function compiled around each user function: from ``(t, q, u, p, out)`` to the form the user has chosen.

It is written as text, because arguments and values have some thirty combinations, and because one function compiles in half the
time of two that call each other.
"""

from __future__ import annotations

import numpy as np


def source(takes_u, has_p, has_out, shape, transposed, sample) -> str:
    """Text of ``write(t, q, u, p, out)``, in which ``f`` is the user's function and ``unpack`` makes the named tuple of `p`.

    Parameters
    ----------
    shape : tuple
        Of `out`: (n,) or (n, m).
    transposed : bool
        Whether the user's array is the transposed one.
    sample : object
        What the user's function has returned, if it returns its value.
    """
    arguments = ", ".join(["t", "q", *["u"] * takes_u, *["unpack(p)"] * has_p])
    n, m = (*shape, 0)[:2]
    entry = "out[i]" if m == 0 else "out[i, j]"
    body = []
    if has_out:  # what is left out must not look like a value
        body += [*_each(n, m, f"{entry} = nan"), f"f({arguments}, out[:{n}]{'.T' * transposed})"]
    elif np.ndim(sample) == 0:
        body += [f"out[{'0, 0' if m else '0'}] = f({arguments})"]
    else:
        body += [f"value = f({arguments})", *_shape_check(n, m, transposed, sample)]
        body += _each(n, m, f"{entry} = value{_index(n, m, transposed, sample)}", isinstance(sample, tuple))
    return "def write(t, q, u, p, out):\n" + "\n".join("    " + line for line in body) + "\n"


def _index(n, m, transposed, sample):
    """Where entry i (or i, j) of `out` stands in the user's value."""
    if m == 0:
        return "[i]"
    if np.ndim(sample) == 1:  # one row, or one column, given as a plain vector
        return "[j]" if n == 1 else "[i]"
    first, second = ("j", "i") if transposed else ("i", "j")
    return f"[{first}, {second}]" if isinstance(sample, np.ndarray) else f"[{first}][{second}]"


def _shape_check(n, m, transposed, sample):
    rows, columns = (m, n) if transposed else (n, m)
    if m == 0:
        wrong = f"len(value) != {n}"
    elif np.ndim(sample) == 1:
        wrong = f"len(value) != {m if n == 1 else n}"
    elif isinstance(sample, np.ndarray):
        wrong = f"value.shape[0] != {rows} or value.shape[1] != {columns}"
    else:
        wrong = " or ".join(
            [f"len(value) != {rows}", *(f"len(value[{i}]) != {columns}" for i in range(rows))]
        )
    return [f"if {wrong}:", "    raise ShapeError('changed the shape of its value during the run')"]


def _each(n, m, statement, constant_indices=False):
    """`statement` for all i (and j); with constant indices where a tuple may hold values of several types."""
    if constant_indices:
        places = [(i, j) for i in range(n) for j in range(max(m, 1))]
        return [_at(statement, i, j) for i, j in places]
    if m == 0:
        return [f"for i in range({n}):", f"    {statement}"]
    return [f"for i in range({n}):", f"    for j in range({m}):", f"        {statement}"]


def _at(statement, i, j):
    for name, value in (
        ("[i, j]", f"[{i}, {j}]"),
        ("[j, i]", f"[{j}, {i}]"),
        ("[i]", f"[{i}]"),
        ("[j]", f"[{j}]"),
    ):
        statement = statement.replace(name, value)
    return statement
