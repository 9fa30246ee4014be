"""Instants from which the laws lead on in several ways: all solutions, by enumeration of the modes of what touches.

Forces la (or impulses) and relative accelerations a (or velocities after an impact plus e times those before) of all rows obey

    a = G la + c,     -a in N(la)

With strong friction there may be several: a sliding contact with la_T = -mu la_N gamma_T/|gamma_T| accelerates by a = A la_N + c_N,
A = G_NN - mu G_NT gamma_T/|gamma_T|; with A < 0 and c_N > 0 it may open or stay closed (Painleve). The modes of every law are tried,
each combination is a linear system, and those whose solution obeys all laws are listed. Small systems only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    DISK,
    FREE,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    LOWER,
    UPPER,
)
from nonsmooth.contact.laws import LawTable
from nonsmooth.errors import NonUniqueWarning
from nonsmooth.model.start import motion_scale, solved_with_mass
from nonsmooth.warn import warn_user

MOST = 729  # combinations of modes that are looked at
SAME = 1e-6
AT_REST = 1e-9  # part of the velocities that is none
TURNS = 50  # iterations for a direction of slip in a plane, from each of `DIRECTIONS`
DIRECTIONS = 8
FRICTION = (COULOMB_1D, COULOMB_2D)
WORDS = {
    HALF_LINE: {CONSTRAINT: "stays closed", INACTIVE: "opens"},
    None: {CONSTRAINT: "sticks", LOWER: "slips forward", UPPER: "slips backward", INACTIVE: "open"},
    DISK: {CONSTRAINT: "sticks", UPPER: "slips", INACTIVE: "open"},
}


@dataclass
class Laws:
    """What is known of the laws at an instant: relative rates, bounds, and modes; CONSTRAINT where it is to be found."""

    table: LawTable
    G: np.ndarray
    c: np.ndarray
    gamma: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    modes: np.ndarray

    def mu(self, l: int) -> float:
        """Friction coefficient."""
        known = float(self.table.mu[l])
        return float(self.upper[self.table.row[l]]) if np.isnan(known) else known

    def rows(self, l: int) -> slice:
        """Rows of a law."""
        first = int(self.table.row[l])
        return slice(first, first + int(self.table.dim[l]))


def solutions(
    model, t: float, q: np.ndarray, u: np.ndarray, modes: np.ndarray, impact: bool = False
) -> list[dict]:
    """All solutions at a state with given modes, CONSTRAINT where they are to be found; velocities after an impact, or accelerations.

    Each is a dictionary: `modes` (by law), `alike` (all modes in which the same happens), `text`, `rates` (of u, or u after the impact) and
    `forces` (or impulses) by row.
    """
    table = model.laws
    WT, zeta = model.directions(t, q)
    lower, upper = model.bounds(t, q, u)
    along, gamma = solved_with_mass(model, t, q, WT.T), WT @ u + zeta
    if impact:
        free, c = u, gamma + np.repeat(table.e[: table.n_laws], table.dim[: table.n_laws]) * gamma
    else:
        free = solved_with_mass(model, t, q, model.forces(t, q, u))
        c = WT @ free + model.quadratic_term(t, q, u)
    laws = Laws(table, WT @ along, c, gamma, lower, upper, modes)
    ways = [_options(laws, l, impact) for l in range(table.n_laws)]
    found: list[dict] = []
    if not np.all(np.isfinite(c)) or np.prod([float(len(way)) for way in ways]) > MOST:
        return found
    for way in product(*ways):
        for la in _forces(laws, np.array(way)):
            rates = free + along @ la
            same = SAME * max(np.max(np.abs(rates - free)), np.max(np.abs(rates)))
            known = [other for other in found if np.max(np.abs(rates - other["rates"])) <= same]
            if known:
                known[0]["alike"].append(list(way))
            else:
                found.append(
                    {
                        "modes": list(way),
                        "alike": [list(way)],
                        "text": _text(laws, way),
                        "rates": rates,
                        "forces": la,
                    }
                )
    return found


def _options(laws: Laws, l: int, impact: bool) -> tuple[int, ...]:
    """The modes that a law may have."""
    kind, mode = laws.table.kind[l], int(laws.modes[l])
    if (
        kind in FRICTION
        and not impact
        and mode in (LOWER, UPPER, INACTIVE)
        and laws.modes[laws.table.link[l]] == CONSTRAINT
    ):
        return (INACTIVE, _slipping(laws, l))
    if mode != CONSTRAINT or kind == FREE:
        return (mode,)
    if kind == HALF_LINE:
        return (INACTIVE, CONSTRAINT)
    if impact and kind not in FRICTION:
        return (INACTIVE,)  # forces that are bounded make no impulse
    slips = (UPPER,) if laws.table.dim[l] == 2 else (LOWER, UPPER)
    return (*((INACTIVE,) if kind in FRICTION else ()), CONSTRAINT, *slips)


def _slipping(laws: Laws, l: int) -> int:
    """Mode of friction that slips."""
    return LOWER if laws.table.dim[l] == 1 and laws.gamma[laws.table.row[l]] > 0.0 else UPPER


def _forces(laws: Laws, way: np.ndarray) -> list[np.ndarray]:
    """Forces in these modes that obey all laws; several where a slip in a plane may take several directions."""
    table = laws.table
    for l in range(table.n_laws):
        link = table.link[l]
        if link >= 0 and (way[l] == INACTIVE) != (way[link] != CONSTRAINT):
            return []
    turning = [
        l
        for l in range(table.n_laws)
        if table.dim[l] == 2 and way[l] == UPPER and laws.modes[l] == CONSTRAINT
    ]
    found = []
    for angle in np.arange(DIRECTIONS if turning else 1) * 2.0 * np.pi / DIRECTIONS:
        slip = _slips(laws, way, angle)
        for _ in range(TURNS if turning else 1):
            la = _solved(laws, way, slip)
            if la is None:
                break
            a, miss = laws.G @ la + laws.c, 0.0
            for l in turning:
                rows, size = laws.rows(l), np.linalg.norm(a[laws.rows(l)])
                if size > 0.0:
                    miss = max(miss, float(np.max(np.abs(a[rows] / size - slip[rows]))))
                    slip[rows] = a[rows] / size
            if miss <= SAME**2 and _obeyed(laws, way, la, a):
                found.append(la)
                break
    return found


def _slips(laws: Laws, way: np.ndarray, angle: float) -> np.ndarray:
    """Unit directions of slip, by row: of velocities, or in the mode tried; in a plane the angle is a first guess."""
    slip = np.zeros(laws.c.size)
    for l in range(laws.table.n_laws):
        rows = laws.rows(l)
        if laws.table.kind[l] in (HALF_LINE, FREE) or way[l] in (CONSTRAINT, INACTIVE):
            continue
        if laws.table.dim[l] == 1:
            slip[rows] = 1.0 if way[l] == LOWER else -1.0
        elif laws.modes[l] == CONSTRAINT:
            slip[rows] = np.cos(angle), np.sin(angle)
        else:
            slip[rows] = laws.gamma[rows] / np.linalg.norm(laws.gamma[rows])
    return slip


def _solved(laws: Laws, way: np.ndarray, slip: np.ndarray) -> np.ndarray | None:
    """Forces that hold what does not move in these modes; None if there are none."""
    table, held, pushes = laws.table, [], []
    known = np.zeros(laws.c.size)
    for l in range(table.n_laws):
        rows = laws.rows(l)
        if way[l] == CONSTRAINT:
            for i in range(rows.start, rows.stop):
                push = np.zeros(laws.c.size)
                push[i] = 1.0
                held.append(i)
                pushes.append(push)
        elif way[l] != INACTIVE and table.kind[l] == INTERVAL:
            known[rows] = laws.upper[rows] if way[l] == UPPER else laws.lower[rows]
        elif way[l] != INACTIVE and table.kind[l] == DISK:
            known[rows] = -laws.upper[rows.start] * slip[rows]
    for l in range(table.n_laws):
        if table.link[l] >= 0 and way[l] not in (
            CONSTRAINT,
            INACTIVE,
        ):  # the normal force carries its friction along
            normal = int(table.row[table.link[l]])
            pushes[held.index(normal)][laws.rows(l)] = -laws.mu(l) * slip[laws.rows(l)]
    if not held:
        return known
    S = np.array(pushes).T
    matrix, miss = (laws.G @ S)[held], -(laws.G @ known + laws.c)[held]
    x, _, rank, _ = np.linalg.lstsq(matrix, miss, rcond=1e-9)
    if np.max(np.abs(matrix @ x - miss)) > SAME * np.max(np.abs(miss)):
        return None
    la = known + S @ x
    return la if rank == len(held) else _inside(laws, way, la, S @ np.linalg.svd(matrix)[2][rank:].T)


def _inside(laws: Laws, way: np.ndarray, la: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Among forces la + free y, which do the same, those deepest in their sets (sets in a plane are left out)."""
    from scipy.optimize import linprog

    table = laws.table
    least: list[np.ndarray] = []
    bound: list[float] = []
    unit = np.eye(la.size)
    for l in np.flatnonzero((way == CONSTRAINT) & (laws.modes == CONSTRAINT) & (table.dim == 1)):
        kind, row = table.kind[l], unit[table.row[l]]
        if kind == HALF_LINE:
            least, bound = [*least, row], [*bound, 0.0]
        elif kind in FRICTION:
            most = laws.mu(int(l)) * unit[table.row[table.link[l]]]
            least, bound = [*least, most - row, most + row], [*bound, 0.0, 0.0]
        elif kind == INTERVAL:
            i = table.row[l]
            least, bound = [*least, row, -row], [*bound, laws.lower[i], -laws.upper[i]]
    if not least:
        return la
    A, size = np.array(least), max(np.max(np.abs(la)), 1e-300)
    # A (la + size free y) >= bound + size s, s as large as it may be
    found = linprog(
        np.append(np.zeros(free.shape[1]), -1.0),
        A_ub=np.column_stack([-A @ free, np.ones(len(least))]), b_ub=(A @ la - bound) / size,
        bounds=[(None, None)] * free.shape[1] + [(None, 1.0)],
    )  # fmt: skip
    return la + free @ found.x[:-1] * size if found.success else la


def _obeyed(laws: Laws, way: np.ndarray, la: np.ndarray, a: np.ndarray) -> bool:
    """Whether forces lie in their sets and what they do not hold moves away, but for rounding."""
    table = laws.table
    force = SAME * np.max(np.abs(la), initial=0.0)
    fast = SAME * max(np.max(np.abs(laws.c), initial=0.0), np.max(np.abs(a), initial=0.0))
    for l in range(table.n_laws):
        rows, kind, found = laws.rows(l), table.kind[l], laws.modes[l] == CONSTRAINT
        if not found or kind == FREE:
            continue
        if kind == HALF_LINE:
            if (la if way[l] == CONSTRAINT else a)[rows.start] < -(force if way[l] == CONSTRAINT else fast):
                return False
        elif way[l] == CONSTRAINT:
            if kind == INTERVAL:
                inside = min(la[rows.start] - laws.lower[rows.start], laws.upper[rows.start] - la[rows.start])
            else:
                most = (
                    laws.mu(l) * la[table.row[table.link[l]]] if kind in FRICTION else laws.upper[rows.start]
                )
                inside = most - np.linalg.norm(la[rows])
            if inside < -force:
                return False
        elif table.dim[l] == 1 and way[l] in (LOWER, UPPER):
            if a[rows.start] * (1.0 if way[l] == LOWER else -1.0) < -fast:
                return False
    return True


def _text(laws: Laws, way) -> str:
    """What the laws do whose modes were to be found."""
    table, parts = laws.table, []
    for l in range(table.n_laws):
        if (
            laws.modes[l] != CONSTRAINT
            or table.kind[l] == FREE
            or (table.link[l] >= 0 and way[l] == INACTIVE)
        ):
            continue
        words = WORDS[HALF_LINE if table.kind[l] == HALF_LINE else DISK if table.dim[l] == 2 else None]
        parts.append(f"{table.name[l]!r} {words[way[l]]}")
    return ", ".join(parts)


def listed(found: list[dict]) -> str:
    """Solutions in words, for a message."""
    more = f" | {len(found) - 4} more" if len(found) > 4 else ""
    return " | ".join(solution["text"] for solution in found[:4]) + more


# -- the start ---------------------------------------------------------------------------------------------------------


def check_unique(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> list[dict]:
    """Warn of a start with several continuations; they are returned as a record of ``result.ambiguous``, in a list."""
    modes = _modes_of_start(model, t, q, u, span)
    if modes is None:
        return []
    found = solutions(model, t, q, u, modes)
    if len(found) < 2:
        return []
    warn_user(
        f"the motion from the start is not unique ({listed(found)}): friction is so strong that a contact may open or not (Painleve's "
        "paradox), and methods may choose differently. event-driven lets it open; less friction or another start excludes it.",
        NonUniqueWarning,
    )
    return [{"t": t, "of": "accelerations", "solutions": found, "taken": None}]


def _modes_of_start(model, t, q, u, span) -> np.ndarray | None:
    """Modes of a start, CONSTRAINT where accelerations decide; None where friction is too weak for several of them, or nothing touches."""
    laws = model.laws
    if laws.n_N == 0 or not any(kind in FRICTION for kind in laws.kind):
        return None
    WT, zeta = model.directions(t, q)
    gamma, speed = WT @ u + zeta, np.abs(WT) @ np.abs(u) + np.abs(zeta)
    near = 1e-9 * motion_scale(model, t, q, u, span)
    still = [l for l in range(laws.n_N) if abs(gamma[laws.row[l]]) <= AT_REST * speed[laws.row[l]]]
    gaps, upper = model.gaps(t, q), model.bounds(t, q, u)[1]
    closed = [l for l in still if gaps[l] <= near]
    if not closed or 2 ** len(closed) > MOST:
        return None
    modes, jams = np.full(laws.n_laws, INACTIVE), False
    M = model.mass_matrix(t, q)
    held = WT[
        [
            i
            for l in range(laws.n_laws)
            if laws.kind[l] == FREE
            for i in range(int(laws.row[l]), int(laws.row[l] + laws.dim[l]))
        ]
    ]
    for l in range(laws.n_laws):
        kind, link, first = laws.kind[l], laws.link[l], int(laws.row[l])
        rows = slice(first, first + int(laws.dim[l]))
        if kind == HALF_LINE:
            modes[l] = CONSTRAINT if l in closed else INACTIVE
            continue
        if link >= 0 and link not in closed:
            continue
        slip = float(np.linalg.norm(gamma[rows]))
        slips = kind != FREE and slip > AT_REST * np.max(speed[rows])
        modes[l] = CONSTRAINT if not slips else LOWER if laws.dim[l] == 1 and gamma[first] > 0.0 else UPPER
        if kind in FRICTION:
            mu = float(upper[first]) if np.isnan(laws.mu[l]) else float(laws.mu[l])
            if not np.isfinite(mu):
                return None
            normal = WT[int(laws.row[link])]
            ways = [gamma[rows] / slip] if slips else [*np.eye(int(laws.dim[l])), *-np.eye(int(laws.dim[l]))]
            jams = jams or any(_held(M, held, normal, normal - mu * way @ WT[rows]) <= 0.0 for way in ways)
    return modes if jams else None


def _held(M, held: np.ndarray, row: np.ndarray, push: np.ndarray) -> float:
    """Acceleration along `row` that a force along `push` makes while the rows `held` do not move."""
    a = np.linalg.solve(M, push)
    if held.size:
        along = np.linalg.solve(M, held.T)
        a = a - along @ np.linalg.lstsq(held @ along, held @ a, rcond=None)[0]
    return float(row @ a)
