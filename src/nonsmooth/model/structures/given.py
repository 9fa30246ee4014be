"""Checks of what users give to bars and beams: nodes, numbers of elements, boundary conditions, velocities."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError
from nonsmooth.model.bodies.check import floats


def line_of_nodes(points: Any, elements: Any, owner: str) -> np.ndarray:
    """Nodes from two ends and a number of elements, or as they are given; shape (n + 1, dim)."""
    found = floats(points, "two ends, or all nodes, are", "points", owner)
    if found.ndim != 2 or found.shape[0] < 2 or found.shape[1] not in (2, 3):
        raise ShapeError(
            f"`points` of {owner} has shape {found.shape}: two or more points of the plane or of space are wanted."
        )
    if not np.all(np.isfinite(found)):
        raise NonFiniteError(f"`points` of {owner} contains NaN or infinite entries.")
    if elements is not None:
        if isinstance(elements, bool) or not isinstance(elements, int | np.integer) or elements < 1:
            raise RangeError(f"`elements` of {owner} is {elements!r}: a positive whole number is wanted.")
        if found.shape[0] == 2:
            share = np.linspace(0.0, 1.0, int(elements) + 1)[:, None]
            found = (1.0 - share) * found[0] + share * found[1]
        elif found.shape[0] != elements + 1:
            raise ShapeError(
                f"`points` of {owner} are {found.shape[0]} nodes, but `elements` is {elements}: give one of them."
            )
    lengths = np.linalg.norm(np.diff(found, axis=0), axis=1)
    if np.any(lengths == 0.0):
        raise ModelError(
            f"element {int(np.argmin(lengths))} of {owner} has no length: its two nodes coincide."
        )
    return found


def per_element(value: Any, n: int, name: str, owner: str, strict: bool = True) -> np.ndarray:
    """A number, or one for each element; positive (`strict`) or not negative."""
    try:
        given = np.array(value)
        found = given.astype(np.float64) if given.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise InputError(f"`{name}` of {owner} is {value!r}: a number is wanted, or one for each element.")
    if found.ndim > 1 or (found.ndim == 1 and found.size != n):
        raise ShapeError(
            f"`{name}` of {owner} has shape {found.shape}: a number is wanted, or {n} (one for each element)."
        )
    if not np.all(np.isfinite(found)):
        raise NonFiniteError(f"`{name}` of {owner} is {value!r}: it must be finite.")
    if np.any(found <= 0.0 if strict else found < 0.0):
        raise RangeError(
            f"`{name}` of {owner} is {np.min(found):g}: it must {'be positive' if strict else 'not be negative'}."
        )
    return np.broadcast_to(found, (n,)).astype(float)


def held_components(fixed: Any, number_of: Any, components: Sequence[str], owner: str) -> dict[int, set[str]]:
    """``fixed`` as users give it: a node, or a mapping from nodes to "all", "position" or names of components."""
    if fixed is None:
        return {}
    pairs = (
        fixed.items()
        if isinstance(fixed, dict)
        else ((node, "all") for node in (fixed if isinstance(fixed, list | tuple) else (fixed,)))
    )
    found: dict[int, set[str]] = {}
    for node, what in pairs:
        places = [c for c in components if c not in ("phi", "rotation")]
        names = {"all": components, "position": places}.get(what if isinstance(what, str) else "")
        try:
            chosen = set(names if names is not None else ([what] if isinstance(what, str) else what))
        except TypeError:  # not a collection, or one of what is no name
            chosen = {what if isinstance(what, Hashable) else repr(what)}
        wrong = chosen - set(components)
        if wrong:
            raise InputError(
                f'`fixed` of {owner} holds {sorted(map(str, wrong))} of node {node!r}: "all", "position" or some of '
                f"{list(components)} are wanted."
            )
        found.setdefault(number_of(node, "fixed"), set()).update(chosen)
    return found


def velocities_of(structure: Any, points: np.ndarray) -> np.ndarray:
    """Velocities of all nodes at the start, shape (nodes, dim)."""
    given = structure.velocity
    if given is None:
        return np.zeros(points.shape)
    v = floats(given, "a vector, or one for each node, is", "velocity", structure.owner)
    if v.shape not in ((points.shape[1],), points.shape):
        raise ShapeError(
            f"`velocity` of {structure.owner} has shape {v.shape}: shape ({points.shape[1]},) or {points.shape} is wanted."
        )
    if not np.all(np.isfinite(v)):
        raise NonFiniteError(f"`velocity` of {structure.owner} contains NaN or infinite entries.")
    return np.broadcast_to(v, points.shape).copy()


def checked_lumping(mass: Any, owner: str) -> bool:
    if not isinstance(mass, str) or mass not in ("consistent", "lumped"):
        raise InputError(f'`mass` of {owner} is {mass!r}: "consistent" or "lumped" is wanted.')
    return mass == "lumped"


def light_nodes(structure: Any) -> list[int]:
    """Numbers of nodes whose mass stands on their neighbours."""
    given = structure.light
    if given is None:
        return []
    owner = structure.owner
    found = sorted(
        {structure._number(node, "light") for node in (given if isinstance(given, list | tuple) else [given])}
    )
    if not checked_lumping(structure.mass, owner):
        raise InputError(f'`light` of {owner} is {given!r}, but its mass is "consistent": use mass="lumped".')
    if any(b - a == 1 for a, b in zip(found, found[1:])):
        raise ModelError(f"`light` of {owner} is {given!r}: neighbours cannot both be light.")
    return found
