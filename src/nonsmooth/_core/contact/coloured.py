"""Gauss-Seidel sweeps in coloured order, by several threads.

Contacts of one colour do not act on each other, so that threads may update them at the same time and the result depends neither on
how many threads there are nor on which is faster (`nonsmooth.contact.colours` makes the order). What a contact adds to the
change of a sweep is stored and summed in one fixed order.

Every thread calls `coloured_sweeps` with the same arrays. The contacts of a colour are cut into items, which threads claim one by
one; the next colour begins when all are done. A thread that comes late, or that the system has put aside, holds up the others
by one item at most. Counters stand in `control`, each on a cache line of its own.
"""

import math

import numpy as np

from nonsmooth._core.contact.nsgs import update1, update2, update3
from nonsmooth._core.jit import atomic_add, atomic_load, atomic_replace, call_plain, kernel

#: Places in `control`: items done, a flag that the sweeps are over, one that helpers are not wanted any more, and items claimed from
#: the list of each thread.
LINE = 8
DONE, VERDICT, ALONE, CLAIMED = 0, LINE, 2 * LINE, 3 * LINE
#: Attempts to find work before a thread offers its core to others (about 20 microseconds), and offers by the first thread after
#: which it goes on alone: then other programs need the cores, and helpers that are put aside in the middle of an item hold it up.
SPINS, PATIENCE = 1000, 300


@kernel
def columns(indptr, indices):
    """The same pattern by columns: rows of the entries of column `j` are ``rows[starts[j] : starts[j + 1]]``, ascending."""
    n = indptr.size - 1
    starts = np.zeros(n + 1, dtype=np.int64)
    rows = np.empty(indices.size, dtype=np.int64)
    for k in range(indices.size):
        starts[indices[k] + 1] += 1
    for j in range(n):
        starts[j + 1] += starts[j]
    free = starts.copy()
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            rows[free[indices[k]]] = i
            free[indices[k]] += 1
    return starts, rows


@kernel
def first_fit(indptr, indices, starts, rows, group, colour):
    """Greedy colouring of groups of `group` consecutive vertices, in their order; returns the number of colours.

    The pattern is given by rows and by `columns`. `colour`, shape (groups,), is written: each group gets the smallest colour that
    no group before it has to which one of its vertices is joined, in either direction.
    """
    n = indptr.size - 1
    taken = np.full(colour.size + 1, -1)
    count = 0
    for own in range(colour.size):
        for i in range(own * group, min(n, (own + 1) * group)):
            for k in range(indptr[i], indptr[i + 1]):
                other = indices[k] // group
                if other < own:
                    taken[colour[other]] = own
            for k in range(starts[i], starts[i + 1]):
                other = rows[k] // group
                if other < own:
                    taken[colour[other]] = own
        c = 0
        while taken[c] == own:
            c += 1
        colour[own] = c
        count = max(count, c + 1)
    return count


# The contacts ``order[first:last]``; arrays but `r` and `alpha` are in coloured order. Squared changes go to `square`.


@kernel(error_model="numpy", nogil=True, references=False)
def range3(
    first, last, order, indptr, indices, flat, diagonal, q, mu, bilateral, rho, weight, r, alpha, omega, square
):  # fmt: skip
    for place in range(first, last):
        c = np.uint64(place)
        own = np.uint64(order[c])
        square[c] = update3(
            c, own, indptr, indices, flat, diagonal, q, mu, bilateral, rho, weight, r, alpha, omega
        )


@kernel(error_model="numpy", nogil=True, references=False)
def range2(first, last, order, indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, square):
    for place in range(first, last):
        c = np.uint64(place)
        own = np.uint64(order[c])
        square[c] = update2(c, own, indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r)


@kernel(error_model="numpy", nogil=True, references=False)
def range1(first, last, order, indptr, indices, data, diagonal, q, bilateral, rho, weight, r, square):
    for place in range(first, last):
        c = np.uint64(place)
        own = np.uint64(order[c])
        square[c] = update1(c, own, indptr, indices, data, diagonal, q, bilateral, rho, weight, r)


@kernel(error_model="numpy", nogil=True, references=False)
def _total(square):
    """Sum in one fixed order, four entries at a time so that additions do not wait for each other."""
    s0 = s1 = s2 = s3 = 0.0
    whole = square.size - square.size % 4
    for k in range(0, whole, 4):
        s0 += square[k]
        s1 += square[k + 1]
        s2 += square[k + 2]
        s3 += square[k + 3]
    for k in range(whole, square.size):
        s0 += square[k]
    return (s0 + s1) + (s2 + s3)


@kernel(error_model="numpy", nogil=True, references=False)
def _claim(thread, control, lengths, opens, items, sweeps):
    """The next item that may begin: ``(whose list, number counted over all sweeps)``; -1 if there is none at the moment, -2 if
    there will be none.

    A thread looks into its own list first, then helps the others.
    """
    if atomic_load(control, VERDICT) != 0 or (thread != 0 and atomic_load(control, ALONE) != 0):
        return -2, 0
    threads = lengths.size
    over = True
    for k in range(threads):
        owner = (thread + k) % threads
        length = lengths[owner]
        claimed = atomic_load(control, CLAIMED + LINE * owner)
        while claimed < sweeps * length:
            over = False
            sweep = claimed // length
            # items are counted when they are done: all that have to come before are, if there are enough of them
            if atomic_load(control, DONE) < sweep * items + opens[owner, claimed - sweep * length]:
                break
            # the sum may have been among them: its verdict is given before it counts as done
            if atomic_load(control, VERDICT) != 0:
                return -2, 0
            if atomic_replace(control, CLAIMED + LINE * owner, claimed, claimed + 1):
                return owner, claimed
            claimed = atomic_load(control, CLAIMED + LINE * owner)
    return -2 if over else -1, 0


@kernel(error_model="numpy", nogil=True, references=False)
def coloured_sweeps(
    thread, control, yielder, lengths, first, last, opens, order, indptr, indices, data, flat, diagonal, q, mu, bilateral,
    rho, weight, r, alpha, omega, square, sweeps, stop, result,
):  # fmt: skip
    """Up to `sweeps` sweeps on `r` and `alpha` (modified in place) together with all threads that make the same call.

    Item `k` of the list of thread `t` are the contacts ``order[first[t, k] : last[t, k]]``; it may begin when ``opens[t, k]`` items of
    the sweep are done. The last item of a sweep, with a negative `first`, sums up. When the first thread comes back, which waits for all
    items, `result` holds the sweeps done, the change of the last one, and how often it had to offer its core.
    """
    dim = data.shape[1]
    items = 0
    for k in range(lengths.size):
        items += lengths[k]
    turns = 0
    while True:
        owner, number = _claim(thread, control, lengths, opens, items, sweeps)
        if owner < 0:
            if owner == -2 and (thread != 0 or atomic_load(control, VERDICT) != 0):
                return
            if thread == 0 and atomic_load(control, DONE) == sweeps * items:
                return
            turns += 1
            if turns > SPINS:
                if yielder != 0:
                    call_plain(yielder)
                if thread == 0:
                    result[2] += 1.0
                    if result[2] == PATIENCE:
                        atomic_add(control, ALONE, 1)
            continue
        turns = 0
        sweep = number // lengths[owner]
        item = number - sweep * lengths[owner]
        a = first[owner, item]
        b = last[owner, item]
        if a < 0:
            change = math.sqrt(_total(square))
            result[0] = sweep + 1
            result[1] = change
            if change <= stop:
                atomic_add(control, VERDICT, 1)
        elif dim == 3:
            range3(
                a, b, order, indptr, indices, flat, diagonal, q, mu, bilateral, rho, weight, r, alpha, omega, square
            )  # fmt: skip
        elif dim == 2:
            range2(a, b, order, indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, square)
        else:
            range1(a, b, order, indptr, indices, data, diagonal, q, bilateral, rho, weight, r, square)
        atomic_add(control, DONE, 1)


@kernel
def dismiss(control):
    """Tell all threads to stop as soon as they have done what they have begun."""
    atomic_add(control, VERDICT, 1)
