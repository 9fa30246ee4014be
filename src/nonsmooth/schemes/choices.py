"""``result.ambiguous``: instants of a run at which the laws led on in several ways, with all solutions and the one that was taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE
from nonsmooth.errors import NonUniqueWarning
from nonsmooth.model.uniqueness import listed, solutions
from nonsmooth.warn import warn_user

OF = ("accelerations", "impulses")


def choices_of(model, choices) -> list[dict[str, Any]]:
    """What the record `choices` of a run holds, in the order of time."""
    found: list[dict[str, Any]] = []
    for k in range(min(int(choices.count[0]), choices.t.size)):
        t, of = float(choices.t[k]), int(choices.of[k])
        modes, taken = choices.open[k, : model.laws.n_laws], choices.taken[k, : model.laws.n_laws]
        several = solutions(model, t, choices.q[k], choices.u[k], modes, impact=of == 1)
        known = any(other["t"] == t and other["of"] == OF[of] for other in found)
        if known or (
            of == 1 and len(several) < 2
        ):  # (that friction is strong does not make impulses several)
            continue
        found.append(
            {"t": t, "of": OF[of], "solutions": several, "taken": _taken(model.laws, several, taken)}
        )
    return found


def _taken(laws, several: list[dict[str, Any]], modes: np.ndarray) -> int | None:
    """Number of the solution with these modes."""
    for number, solution in enumerate(several):
        if _shown(laws, modes) in [_shown(laws, way) for way in solution["alike"]]:
            return number
    return None


def _shown(laws, modes) -> list[int]:
    """Modes by law, none of contacts that are open and of their friction."""
    contact = [l if laws.kind[l] == HALF_LINE else int(laws.link[l]) for l in range(laws.n_laws)]
    return [int(modes[l]) if k < 0 or modes[k] == CONSTRAINT else INACTIVE for l, k in enumerate(contact)]


def warn_of_choices(found: list[dict[str, Any]]) -> None:
    """Say that the run had to choose."""
    if not found:
        return
    first = found[0]
    ways = listed(first["solutions"]) or "more than one"
    taken = (
        first["solutions"][first["taken"]]["text"] if first["taken"] is not None else "that of open contacts"
    )
    warn_user(
        f"{first['of']} at t = {first['t']:.9g} are not unique (such instants: {len(found)}): with so much friction the laws have several "
        f"solutions ({ways}); taken: {taken}. All of them stand in result.ambiguous; less friction excludes it.",
        NonUniqueWarning,
    )
