"""Where the energy went, law by law.

The impulse P of a law with direction W does in a step the work

    A = P^T W^T (u_B + u_E) / 2,                                                                                   (1)

exactly where the step solves M (u_E - u_B) = h dt + W P with one M and one W, and to second order in the step where W turns
inside it. W is taken in the middle of the step; at an instant that is stored twice, at the instant. -A is what the law took out of
the motion; a moving surface gives some, then it is negative. The sum over the laws is held against the balance of the audit: where
both do not agree, nothing is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.stacks import times

MOST = 100_000  # steps up to which laws are looked at one by one
_AGREE = 0.02  # of the largest loss


def losses_by_law(result: Any) -> list[tuple[str, float]]:
    """Name of a law and the energy it took out of the motion, largest first; empty where that is not known."""
    model = getattr(result, "_model", None)
    laws = getattr(model, "laws", None)
    if laws is None or hasattr(result, "_reader") or not 2 <= len(result) <= MOST:
        return []
    t, dt = result.t, result.dt
    rows = [result.P_N, result.P_T, *([result.extra["P_J"]] if "P_J" in result.extra else [])]
    P = np.vstack(rows)
    if dt.size != t.size or len(P) != int(laws.n_rows):
        return []
    if np.abs(np.diff(t) - dt[1:]).max() > 1e-9 * (t[-1] - t[0]):
        return []  # columns left out: the impulses between them are not stored
    work = _work_of_rows(Batch(model), result, P)
    found = [
        (str(name), -float(work[int(row) : int(row) + int(dim)].sum()))
        for name, row, dim in zip(laws.name, laws.row, laws.dim)
    ]
    wanted = _balance(result)
    largest = max((abs(loss) for _, loss in found), default=0.0)
    if wanted is None or abs(sum(loss for _, loss in found) - wanted) > _AGREE * largest:
        return []
    return sorted(((name, loss) for name, loss in found if loss != 0.0), key=lambda pair: -abs(pair[1]))


def _work_of_rows(batch: Batch, result: Any, P: np.ndarray) -> np.ndarray:
    """Work (1) of every row over the run; steps without impulses are not looked at."""
    at = 1 + np.flatnonzero(np.any(P[:, 1:] != 0.0, axis=0))
    most = max(batch.most(at.size), 1)
    total = np.zeros(len(P))
    for k in (at[begin : begin + most] for begin in range(0, at.size, most)):
        t, q = 0.5 * (result.t[k - 1] + result.t[k]), 0.5 * (result.q[:, k - 1] + result.q[:, k])
        mean = 0.5 * (result.u[:, k - 1] + result.u[:, k])
        WT, _ = batch.directions(t, np.ascontiguousarray(q.T))
        total += np.sum(P[:, k].T * times(WT, mean.T), axis=0)
    return total


def _balance(result: Any) -> float | None:
    """What the audit says that all laws together took."""
    balance = dict(getattr(getattr(result, "audit", None), "energy_balance", None) or {})
    if "loss_contacts" not in balance:
        return None
    return float(balance["loss_contacts"] + balance.get("loss_joints", 0.0))
