"""What becomes of the last rebounds of a contact that comes to rest: the impulses of the impacts that a run leaves out."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, FREE
from nonsmooth.results.audit.checks import Midpoint
from nonsmooth.results.audit.judged_run import JudgedRun
from nonsmooth.results.audit.laws import rows_of
from nonsmooth.results.audit.steps import Steps

# 2/(1 - r) with r = 0.9, the slowest decay of rebounds from impact to impact that is looked for
_FLIGHTS = 20.0


def left_out(run: JudgedRun, k: np.ndarray, m: Midpoint) -> np.ndarray:
    """Impulses of the impacts that contacts coming to rest in columns k would still have had, shape (n, n_rows).

    Together with the impulse that ends the rebound they are those of the force N that lasts, up to the instant at which the impacts
    accumulate, N 2 gamma / (|a| (1 - r)) with a the acceleration that brings it back (`brought_back`) and r the part of the velocity
    that is left after an impact: e of a contact that rebounds, what lifts the other side of a body that rocks. Only for rebounds lower
    than the accuracy asked for.
    """
    laws, lasts = run.batch.laws, np.append(np.flatnonzero(run.result.dt > 0.0), run.t.size - 1)
    # the next step that takes time
    after = lasts[np.minimum(np.searchsorted(lasts, k + 1), lasts.size - 1)]
    dt = np.where(after > k, run.result.dt[after], 0.0)
    P = Steps.from_columns(run.result, after).P
    force = np.divide(P, dt[:, None], out=np.zeros_like(P), where=dt[:, None] > 0.0)
    height, left = run.loose * run.length, np.zeros(k.size)
    gamma = (m.rate_B + m.zeta)[:, laws.row[: run.batch.n_N]]
    fastest, opening = np.max(np.maximum(-gamma, 0.0), axis=1, initial=0.0), opening_rates(run, k, m)
    closing = (run.modes[k, : run.batch.n_N] == CONSTRAINT) & (
        (run.modes[k - 1, : run.batch.n_N] != CONSTRAINT) | (opening > 0.0)
    )
    back, stored = brought_back(run, k, m, force, closing), Steps.from_columns(run.result, k).P
    for i in range(run.batch.n_N):
        e = float(laws.e[i])
        strikes = (gamma[:, i] < 0.0) & (run.modes[k - 1, i] != CONSTRAINT)
        rebound = np.where(strikes, -e * gamma[:, i], opening[:, i])
        part = np.divide(rebound, fastest, out=np.full(k.size, e), where=~strikes & (fastest > 0.0))
        a, row = back[:, i], int(laws.row[i])
        # (what pulls it while others strike is given back by its impacts)
        pull = np.divide(
            np.maximum(-stored[:, row], 0.0),
            force[:, row],
            out=np.zeros(k.size),
            where=force[:, row] > 0.0,
        )
        rebound = np.maximum(rebound, a * pull)
        rests = closing[:, i] & (a > 0.0) & (part < 1.0) & (rebound**2 <= 2.0 * a * height)
        time = np.divide(2.0 * rebound, a * (1.0 - part), out=np.zeros(k.size), where=rests)
        left = np.maximum(left, time)
    return force * np.maximum(left, until_all_rest(run, k, m, force, height))[:, None]


def brought_back(
    run: JudgedRun, k: np.ndarray, m: Midpoint, force: np.ndarray, closing: np.ndarray
) -> np.ndarray:
    """Accelerations that bring contacts back which close in columns k, were they open and the others held, shape (n, n_N):
    what their forces and those of their friction do, S la with S = G_RR - G_RK G_KK^-1 G_KR."""
    laws, n_N = run.batch.laws, run.batch.n_N
    a = np.zeros((k.size, n_N))
    for c in np.flatnonzero(closing.any(axis=1)):
        held = (run.modes[k[c]] == CONSTRAINT) | (laws.kind == FREE)
        own = np.zeros(laws.n_laws, dtype=bool)
        own[:n_N] = closing[c]
        own[n_N:] = (laws.link[n_N:] >= 0) & own[laws.link[n_N:]]
        R, K = (
            [
                i
                for j in np.flatnonzero(which).tolist()
                for i in range(rows_of(laws, j).start, rows_of(laws, j).stop)
            ]
            for which in (own, held & ~own)
        )
        G = m.WT[c] @ m.M_inv_W[c]
        S = (
            G[np.ix_(R, R)]
            - G[np.ix_(R, K)] @ np.linalg.lstsq(G[np.ix_(K, K)], G[np.ix_(K, R)], rcond=1e-10)[0]
        )
        pull = dict(zip(R, S @ force[c, R]))
        a[c, closing[c]] = [pull[int(laws.row[i])] for i in np.flatnonzero(closing[c])]
    return a


def until_all_rest(
    run: JudgedRun, k: np.ndarray, m: Midpoint, force: np.ndarray, height: float
) -> np.ndarray:
    """Time that is left where several contacts come to rest out of the air together and one of them is pulled, shape (n,).

    How their impacts would alternate is not known; the last of them ends within some flights, v/a with v the fastest of them and
    a the least acceleration that brings one back (`_FLIGHTS`). Only for flights lower than the accuracy asked for.
    """
    n_N, rows = run.batch.n_N, run.batch.laws.row[: run.batch.n_N]
    resting = (run.modes[k][:, :n_N] == CONSTRAINT) & (run.modes[k - 1][:, :n_N] != CONSTRAINT)
    v = np.max(np.where(resting, np.abs((m.rate_B + m.zeta)[:, rows]), 0.0), axis=1, initial=0.0)
    a = np.min(np.where(resting, m.G_diagonal[:, rows] * force[:, rows], np.inf), axis=1, initial=np.inf)
    pulled = np.any(resting & (Steps.from_columns(run.result, k).P[:, rows] < 0.0), axis=1)
    together = pulled & (np.count_nonzero(resting, axis=1) > 1) & (a > 0.0) & (v * v <= 2.0 * a * height)
    return np.divide(_FLIGHTS * v, a, out=np.zeros(k.size), where=together)


def opening_rates(run: JudgedRun, k: np.ndarray, m: Midpoint) -> np.ndarray:
    """Rate with which each contact would open, shape (n, n_N), did the impacts of columns k act on those alone that strike."""
    laws, n_N = run.batch.laws, run.batch.n_N
    gamma = m.rate_B + m.zeta
    rates = np.maximum(gamma[:, laws.row[:n_N]], 0.0)
    for c in range(k.size):
        now = run.modes[k[c]]
        closed = [i for i in range(n_N) if now[i] == CONSTRAINT]
        striking = [i for i in closed if gamma[c, laws.row[i]] < 0.0 and run.modes[k[c] - 1, i] != CONSTRAINT]
        others = [i for i in closed if i not in striking]
        if not striking or not others:
            continue
        stuck = [j for j in range(n_N, laws.n_laws) if laws.link[j] in striking and now[j] == CONSTRAINT]
        rows = [int(laws.row[j]) + d for j in striking + stuck for d in range(int(laws.dim[j]))]
        change = -gamma[c, rows]
        change[: len(striking)] *= 1.0 + laws.e[striking]
        G = m.WT[c] @ m.M_inv_W[c]
        impulse = np.linalg.lstsq(G[np.ix_(rows, rows)], change, rcond=None)[0]
        opening = laws.row[others]
        rates[c, others] = np.maximum(gamma[c, opening] + G[np.ix_(opening, rows)] @ impulse, 0.0)
    return rates
