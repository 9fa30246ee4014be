"""Names of the rows of a result, and words for its modes."""

from __future__ import annotations

from typing import Any


def state_names(result: Any, columns: Any) -> list[str]:
    """Names of the rows of q, or of y where there is no q."""
    rows = columns.q if columns.q.size else columns.y
    n, prefix = rows.shape[0], "q" if columns.q.size else "y"
    names = list(getattr(result, "coordinate_names", ()) or ())
    if names and n == 2 * len(names):  # a complex state: real parts above imaginary parts
        return [f"Re {name}" for name in names] + [f"Im {name}" for name in names]
    return names if len(names) == n else [f"{prefix}[{i}]" for i in range(n)]


def velocity_names(result: Any, columns: Any) -> list[str]:
    """Names of the rows of u, after those of q where they belong to each other."""
    n = columns.u.shape[0]
    names = list(getattr(result, "coordinate_names", ()) or ())
    if n < len(names) == columns.q.shape[0]:
        turning = _of_bodies(names)
        return turning if len(turning) == n else [f"u[{i}]" for i in range(n)]
    if len(names) != n or n != columns.q.shape[0] or names == [f"q[{i}]" for i in range(n)]:
        return [f"u[{i}]" for i in range(n)]
    return [f"{name}'" for name in names]


def _of_bodies(names: list[str]) -> list[str]:
    """Velocities of bodies in space: four numbers of a quaternion, box.qw ... box.qz, have three rates, box.wx ... box.wz."""
    rates = {".qx": ".wx", ".qy": ".wy", ".qz": ".wz"}
    return [
        name[:-3] + rates[name[-3:]] if name[-3:] in rates else f"{name}'"
        for name in names
        if name[-3:] != ".qw"
    ]


def impulse_names(result: Any, columns: Any, which: str) -> list[str]:
    """Names of the rows of P_N or P_T: those of the laws where each law has one row, else numbers."""
    n_N, n_T = columns.P_N.shape[0], columns.P_T.shape[0]
    names = list(getattr(result, "law_names", ()) or ())
    if which == "P_N" and len(names) >= n_N:
        return names[:n_N]
    if which == "P_T" and len(names) == n_N + n_T:
        return names[n_N:]
    return [f"{which}[{i}]" for i in range(n_N if which == "P_N" else n_T)]


# black constraint, as in Studer et al. 2008, Fig. 13; the bounds in two colours, since a reversal goes from one to the other
_MECHANICS = {
    0: ("open", "#eceff3"), 1: ("constraint (closed, sticking)", "#1d1f24"), 2: ("at the upper bound", "#f0a35e"),
    -2: ("at the lower bound", "#6fa8dc"),
}  # fmt: skip
_SWITCHES = {1: ("g ≥ 0", "#f0a35e"), -1: ("g < 0", "#6fa8dc"), 0: ("held on g = 0", "#1d1f24")}
_REGIONS = {
    0: ("inactive", "#eceff3"), 1: ("member of a sliding set", "#1d1f24"), 2: ("the only active region", "#6fa8dc")
}  # fmt: skip


def door(result: Any, columns: Any) -> str:
    """Which front door the result came from, as far as words depend on it."""
    if columns.q.size:
        return "mechanics"
    return "filippov" if "sliding_sets" in getattr(result, "extra", {}) else "ivp"


def mode_looks(result: Any, columns: Any) -> dict[int, tuple[str, str]]:
    """What the values of `modes` mean, and their colours."""
    return {"mechanics": _MECHANICS, "filippov": _REGIONS, "ivp": _SWITCHES}[door(result, columns)]


def mode_words(result: Any, columns: Any) -> dict[int, str]:
    """What the values of `modes` mean."""
    return {mode: word for mode, (word, _) in mode_looks(result, columns).items()}
