"""Instants at which the laws lead on in several ways: the state there, for a list of all solutions (`model.uniqueness`)."""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, INACTIVE

MOST = 16  # instants that are kept
FORCES, IMPULSES = 0, 1


class Choices(NamedTuple):
    """The first instants of a run, one per row."""

    count: np.ndarray  # how many there were, one number
    t: np.ndarray
    of: np.ndarray  # FORCES or IMPULSES
    q: np.ndarray
    u: np.ndarray
    open: np.ndarray  # by law: its mode, CONSTRAINT where it was to be found
    taken: np.ndarray  # by law: its mode in the solution that the run went on with


def make_choices(size):
    """The record for a model of that size."""
    n = max(size.n_laws, 1)
    return Choices(
        np.zeros(1, dtype=np.int64), np.zeros(MOST), np.zeros(MOST, dtype=np.int64), np.zeros((MOST, size.n_q)),
        np.zeros((MOST, size.n_u)), np.zeros((MOST, n), dtype=np.int64), np.zeros((MOST, n), dtype=np.int64),
    )  # fmt: skip


@phase
def keep_choice(scene, own, of, u, t):
    """Keep the state of an instant, with velocities u, and the modes of the problem that is listed and solved."""
    problem, choices = scene.problem, own.choices
    k = choices.count[0]
    choices.count[0] += 1
    if k >= MOST:
        return
    choices.t[k], choices.of[k] = t, of
    for j in range(scene.model.size.n_q):
        choices.q[k, j] = scene.end.q[j]
    for j in range(scene.model.size.n_u):
        choices.u[k, j] = u[j]
    for l in range(scene.model.size.n_laws):
        listed = problem.place[l] >= 0
        leaves = of == FORCES and own.fired[l] and own.touches[l]
        choices.open[k, l] = CONSTRAINT if listed or leaves else own.mode[l] if of == FORCES else INACTIVE
        mode = own.mode[l]
        if of == IMPULSES:
            mode = problem.laws.mode[problem.place[l]] if listed else INACTIVE
        choices.taken[k, l] = mode


@phase
def strong_friction(scene):
    """Whether friction may drive a contact of the problem that is listed into its surface: G_NN <= mu |G_NT|."""
    problem, active = scene.problem, scene.problem.laws
    for a in range(problem.count.laws):
        if active.link[a] < 0:
            continue
        i, s = active.row[active.link[a]], 0.0
        for k in range(active.row[a], active.row[a] + active.dim[a]):
            s += problem.G[i, k] ** 2
        if problem.G[i, i] <= active.mu[a] * s**0.5:
            return True
    return False
