"""NSGS on several threads: contacts coloured so that those of one colour do not act on each other.

Contacts ``i`` and ``j`` are neighbours if a block ``W_ij`` or ``W_ji`` is stored. Groups of consecutive contacts are coloured such
that neighbours in different groups have different colours (block multi-colour ordering, Iwashita, Nakashima and Takahashi
2012); a sweep goes from colour to colour, and through a group in the order given. Groups of one colour are shared out among
threads (`_core.contact.coloured`). This is Gauss-Seidel in another order, which needs about as many sweeps; impulses are the same to the
last bit whatever the number of threads.

Measured on two cores: a sweep of 3,000 contacts and more takes 0.5 to 0.6 of the time, one of 1,000 to 2,000 takes 0.7, and below
that there is nothing to share. With one thread it takes as long as in natural order, but a quarter longer for dense rows that do
not fit the cache, because impulses are fetched from farther away.
"""

from __future__ import annotations

import ctypes
import math
import os
import queue
import threading
from typing import NamedTuple

import numpy as np

from nonsmooth._core.contact.coloured import (
    CLAIMED,
    LINE,
    PATIENCE,
    coloured_sweeps,
    columns,
    dismiss,
    first_fit,
)
from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.contact.nsgs import sweep_on
from nonsmooth.errors import RangeError

#: Sizes of groups: large ones use the cache better. The first is taken of which there are this many per colour; where contacts are
#: numbered without regard to their places that is the last one.
GROUPS, PER_COLOUR = (128, 32, 8, 1), 8
#: Work of the items that threads claim (a few microseconds), and of solving one contact, in products with a block.
ITEM, SOLVING = 600, 4
#: Threads that are used unless more are asked for.
THREADS = 4
#: Most calls without helpers after one that had to wait for them.
LONGEST_PAUSE = 64


class Coloured(NamedTuple):
    """A problem in coloured order: contact ``order[c]`` is at place `c`, blocks as in `ContactProblem.blocks`.

    `bounds` are the places where groups begin, `colours` those in `bounds` where colours begin (both with the end). The blocks
    name their columns as the problem does.
    """

    bounds: np.ndarray
    colours: np.ndarray
    order: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    flat: np.ndarray
    diagonal: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    bilateral: np.ndarray
    rho: np.ndarray
    weight: np.ndarray


def colour(indptr, indices, groups=GROUPS):
    """Colour the vertices of a graph in groups of consecutive ones; the pattern need not be symmetric.

    Parameters
    ----------
    indptr, indices : ndarray of int
        Pattern by rows.
    groups : tuple of int
        Sizes of groups that are tried, see `GROUPS`.

    Returns
    -------
    colours : ndarray of int, shape (number of groups,)
        Vertices joined by an entry lie in one group or in groups of different colour.
    group : int
        Size of a group (the last one may be smaller).
    """
    starts, rows = columns(indptr, indices)
    for group in groups:
        colours = np.empty(-(-(indptr.size - 1) // group), dtype=np.int64)
        count = first_fit(indptr, indices, starts, rows, group, colours)
        if colours.size >= PER_COLOUR * count:
            break
    return colours, group


def coloured(problem, groups=GROUPS) -> Coloured:
    """`problem` in coloured order, kept with it."""
    kept = problem.__dict__.setdefault("_coloured", {})
    form = kept.get(groups)
    if form is None:
        b, n = problem.blocks, problem.n_contacts
        colours, group = colour(b.indptr, b.indices, groups)
        sizes = np.minimum(group, n - group * np.argsort(colours, kind="stable"))
        order = np.argsort(colours[np.arange(n) // group], kind="stable")
        lengths = np.diff(b.indptr)[order]
        indptr = _ends(lengths)
        source = np.arange(indptr[-1]) + np.repeat(b.indptr[order] - indptr[:-1], lengths)
        data = b.data[source]
        form = kept[groups] = Coloured(
            _ends(sizes),
            _ends(np.bincount(colours)),
            order,
            indptr,
            b.indices[source],
            data,
            data.reshape(-1),
            b.diagonal[order] - b.indptr[order] + indptr[:-1],
            problem.q.reshape(n, problem.dim)[order].reshape(-1),
            problem.mu[order],
            problem.bilateral[order],
            problem.rho[order],
            problem.weight[order],
        )
    return form


def _ends(lengths) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])


class Plan(NamedTuple):
    """Who updates what: item `k` of thread `t` are the places ``first[t, k]`` to ``last[t, k]``, to begin when ``opens[t, k]`` items
    are done; thread `t` has ``lengths[t]`` items. The last item of a sweep, with a negative `first`, sums up."""

    lengths: np.ndarray
    first: np.ndarray
    last: np.ndarray
    opens: np.ndarray


def plan(form: Coloured, threads) -> Plan:
    """Items for `threads` threads: groups of every colour shared out by their work, small colours to the first thread."""
    work = form.indptr[form.bounds] + SOLVING * form.bounds
    lists: list[list[tuple]] = [[] for _ in range(threads)]
    total, small = 0, False
    for a, b in zip(form.colours[:-1], form.colours[1:]):
        if threads == 1 or work[b] - work[a] < 2 * ITEM or b - a == 1:
            if small:  # follows another one: no need to wait in between
                begin, _, opens = lists[0].pop()
                lists[0].append((begin, form.bounds[b], opens))
            else:
                lists[0].append((form.bounds[a], form.bounds[b], total))
                total, small = total + 1, True
            continue
        count = -(-((work[b] - work[a]) // ITEM) // threads) * threads
        goal = work[a] + np.arange(1, count) * ((work[b] - work[a]) / count)
        # the boundaries of groups nearest to equal parts
        place = a + np.searchsorted(0.5 * (work[a:b] + work[a + 1 : b + 1]), goal)
        ends = form.bounds[np.unique(np.concatenate([[a], place, [b]]))]
        count = ends.size - 1
        for k in range(count):
            lists[k * threads // count].append((ends[k], ends[k + 1], total))
        total, small = total + count, False
    lists[0].append((-1, -1, total))
    lengths = np.array([len(entries) for entries in lists], dtype=np.int64)
    table = np.zeros((3, threads, lengths.max()), dtype=np.int64)
    for t, entries in enumerate(lists):
        table[:, t, : len(entries)] = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return Plan(lengths, table[0], table[1], table[2])


class _Worker:
    """A thread that does one call of `coloured_sweeps` after the other and waits in between."""

    def __init__(self):
        self.calls = queue.SimpleQueue()
        threading.Thread(target=self._work, name="nonsmooth-worker", daemon=True).start()

    def _work(self):
        while True:
            call = self.calls.get()
            if call is None:
                return
            coloured_sweeps(*call)
            del call  # a worker that waits keeps nobody's matrices


#: Workers nobody uses at the moment. A call takes what it needs and brings it back, so that calls from several threads do not
#: wait for each other. A child process starts without.
_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def _hire(count, team):
    """Add up to `count` workers to `team` (fewer where the system starts no more threads)."""
    while len(team) < count:
        try:
            team.append(_idle.pop())
        except IndexError:
            try:
                team.append(_Worker())
            except RuntimeError:
                return


def _release(team):
    """Bring workers back; those beyond what calls usually need end."""
    for worker in team:
        if len(_idle) < 2 * THREADS:
            _idle.append(worker)
        else:
            worker.calls.put(None)


class _Crowd:
    """Whether other programs want the cores: after a call that had to wait for its helpers, some calls go without them, more of
    them every time it happens. This steers how fast results come, never what they are."""

    def __init__(self):
        self.rest, self.pause = 0, 1

    def room(self) -> bool:
        self.rest -= 1
        return self.rest < 0

    def met(self, crowded):
        self.pause = min(2 * self.pause, LONGEST_PAUSE) if crowded else max(1, self.pause // 2)
        self.rest = self.pause if crowded else 0


_crowd = _Crowd()


def _yielder() -> int:
    """Address of the system's function that offers the core to other threads; 0 where there is none."""
    try:
        library = ctypes.CDLL("kernel32" if os.name == "nt" else None)
        function = library.SwitchToThread if os.name == "nt" else library.sched_yield
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


_YIELDER = _yielder()


def usable_threads() -> int:
    """Threads used by default: one per core this process may use, at most `THREADS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(THREADS, cores)


def coloured_order(problem, r, alpha, count, stop, threads=None, groups=GROUPS, omega=1.0):
    """Up to `count` sweeps in coloured order on `r` and `alpha` (modified in place), in space over-relaxed by `omega`.

    Returns ``(sweeps done, change of the last one)``, like `nonsmooth.contact.nsgs.sweeps`.
    """
    threads = (usable_threads() if threads is None else int(threads)) if JIT_ENABLED else 1
    form = coloured(problem, groups)
    plans = problem.__dict__.setdefault("_coloured_plans", {})
    if (groups, threads) not in plans:
        plans[groups, threads] = plan(form, threads)
    items = plans[groups, threads]
    control = np.zeros(CLAIMED + LINE * threads, dtype=np.int64)
    result = np.array([0.0, math.inf, 0.0])
    square = np.empty(problem.n_contacts)
    limits = int(count), float(stop)
    call = (control, _YIELDER, *items, *form[2:], r, alpha, float(omega), square, *limits, result)
    team: list[_Worker] = []
    finished = False
    try:
        helpers = int(np.count_nonzero(items.lengths[1:]))
        if helpers and _crowd.room():
            # what one that cannot be had would have done is done by the others
            _hire(helpers, team)
        for number, worker in enumerate(team, start=1):
            worker.calls.put((number, *call))
        coloured_sweeps(0, *call)
        finished = True
        if team:
            _crowd.met(result[2] >= PATIENCE)
    finally:
        if not finished:
            dismiss(control)
        _release(team)
    return int(result[0]), float(result[1])


def nsgs_coloured(problem, r, run, max_iter=None, budget=math.inf, trial=0.25, threads=None):
    """Sweep in coloured order until `run.tol` is met; arguments and results as in `nonsmooth.contact.nsgs.nsgs`.

    Parameters
    ----------
    threads : int, optional
        Threads that share a sweep; by default one per usable core, at most `THREADS`. Results do not depend on it.
    """
    integer = isinstance(threads, (int, np.integer)) and not isinstance(threads, bool)
    if threads is not None and not (integer and 1 <= threads <= 256):
        raise RangeError(f"solve_contact: threads = {threads!r}; a number from 1 to 256 is wanted.")

    def sweeping(problem, r, alpha, count, stop):
        return coloured_order(problem, r, alpha, count, stop, threads)

    return sweep_on(sweeping, problem, r, run, max_iter, budget, trial)
