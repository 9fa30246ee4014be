"""What follows from the stored motion and the model: gaps, contact forces, energies at every stored instant."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.audit.batch import Batch

_CHUNK = 20_000  # instants at a time


class Energies(NamedTuple):
    """Energies at the stored instants, shape (n_t,) each; `potential` and `total` are None where the model has no potential."""

    kinetic: np.ndarray
    potential: np.ndarray | None
    total: np.ndarray | None


def model_of(result: Any, system: Any, asked: str) -> Any:
    """The model of a run: the one it was made with, or `system` bound to its start."""
    if system is not None:
        return system.bind(float(result.t[0]), result.q[:, 0].copy(), result.u[:, 0].copy())
    model = getattr(result, "_model", None)
    if model is None or not hasattr(model, "mass_matrix"):
        raise InputError(
            f"`{asked}` needs the mechanical model of the run, which files do not hold: pass the system, {asked}(system)."
        )
    return model


def gaps(result: Any, model: Any) -> np.ndarray:
    """Gaps of all contacts, shape (n_N, n_t)."""
    batch = Batch(model)
    return _by_chunks(result, lambda t, q, u: batch.gaps(t, q), batch.n_N)


def forces(result: Any) -> np.ndarray:
    """Mean forces P/dt of all laws over the step that ends at each instant, shape (n_rows, n_t).

    NaN where no force is known: at the start, and for a contact in the step in which it closes (that is an impulse).
    """
    rows = [result.P_N, result.P_T, *([result.extra["P_J"]] if "P_J" in result.extra else [])]
    if result.dt.size != result.t.size:
        raise InputError("`forces` needs the impulses of steps: this result has none.")
    P, dt = np.vstack(rows), result.dt
    out = np.full(P.shape, np.nan)
    np.divide(P, dt, out=out, where=np.broadcast_to(dt > 0, P.shape))
    for event in result.events:
        if event.kind in ("impact", "close") and event.law >= 0 and event.bracket is not None:
            low, high = np.searchsorted(result.t, event.bracket, side="left")
            out[:, low : high + 1] = np.where(P[:, low : high + 1] != 0.0, np.nan, out[:, low : high + 1])
    return out


def energies(result: Any, model: Any) -> Energies:
    """Kinetic, potential and total energy."""
    batch = Batch(model)
    kinetic = _by_chunks(result, lambda t, q, u: batch.kinetic(t, q, u)[:, None], 1)[0]
    if len(result) == 0 or model.potential_energy(float(result.t[0]), result.q[:, 0]) is None:
        return Energies(kinetic, None, None)
    potential = np.array([model.potential_energy(float(t), q) for t, q in zip(result.t, result.q.T)])
    return Energies(kinetic, potential, kinetic + potential)


def _by_chunks(result: Any, values: Any, n: int) -> np.ndarray:
    out = np.zeros((n, result.t.size))
    for begin in range(0, result.t.size, _CHUNK):
        part = slice(begin, begin + _CHUNK)
        out[:, part] = values(result.t[part], result.q[:, part].T, result.u[:, part].T).T
    return out
