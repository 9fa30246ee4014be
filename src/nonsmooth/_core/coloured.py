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

from nonsmooth._core.cone import local2, local3, project_cone2, project_cone3, solve_block3
from nonsmooth._core.jit import atomic_add, atomic_load, atomic_replace, call_plain, kernel

ONE, TWO = np.uint64(1), np.uint64(2)

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


@kernel(error_model="numpy", nogil=True, references=False)
def range3(first, last, order, indptr, indices, flat, diagonal, q, mu, bilateral, rho, r, alpha, square):
    """Update the 3-D contacts ``order[first:last]``; arrays but `r` and `alpha` are in coloured order.

    The numbers of a block are consecutive in `flat`. The squared change of a contact, as a velocity, goes to `square`.
    """
    for place in range(first, last):
        # unsigned places: the compiler then drops the test for negative indices
        c = np.uint64(place)
        own = np.uint64(order[c])
        row = np.uint64(3) * own
        start = np.uint64(3 * place)
        home = np.uint64(diagonal[c])
        block = np.uint64(9) * home
        friction = mu[c]
        b0 = q[start]
        b1 = q[start + ONE]
        b2 = q[start + TWO]
        for entry in range(indptr[c], indptr[c + ONE]):
            k = np.uint64(entry)
            if k == home:
                continue
            j = np.uint64(3 * indices[k])
            w = np.uint64(9) * k
            x0 = r[j]
            x1 = r[j + ONE]
            x2 = r[j + TWO]
            b0 += flat[w] * x0 + flat[w + np.uint64(1)] * x1 + flat[w + np.uint64(2)] * x2
            b1 += flat[w + np.uint64(3)] * x0 + flat[w + np.uint64(4)] * x1 + flat[w + np.uint64(5)] * x2
            b2 += flat[w + np.uint64(6)] * x0 + flat[w + np.uint64(7)] * x1 + flat[w + np.uint64(8)] * x2
        r0 = r[row]
        r1 = r[row + ONE]
        r2 = r[row + TWO]
        if bilateral[c]:
            n0, n1, n2 = solve_block3(flat, block, b0, b1, b2)
        else:
            n0, n1, n2, alpha[own], status = local3(flat, block, b0, b1, b2, friction, alpha[own])
            if status != 0:
                # no exact solution: one projection step of the natural map
                u0 = b0 + flat[block] * r0 + flat[block + ONE] * r1 + flat[block + TWO] * r2
                u1 = b1 + flat[block + np.uint64(3)] * r0 + flat[block + np.uint64(4)] * r1
                u1 += flat[block + np.uint64(5)] * r2
                u2 = b2 + flat[block + np.uint64(6)] * r0 + flat[block + np.uint64(7)] * r1
                u2 += flat[block + np.uint64(8)] * r2
                u0 += friction * math.sqrt(u1 * u1 + u2 * u2)
                n0, n1, n2 = project_cone3(r0 - rho[c] * u0, r1 - rho[c] * u1, r2 - rho[c] * u2, friction)
        d0 = n0 - r0
        d1 = n1 - r1
        d2 = n2 - r2
        square[c] = (d0 * d0 + d1 * d1 + d2 * d2) / (rho[c] * rho[c])
        r[row] = n0
        r[row + ONE] = n1
        r[row + TWO] = n2


@kernel(error_model="numpy", nogil=True, references=False)
def range2(first, last, order, indptr, indices, data, diagonal, q, mu, bilateral, rho, r, square):
    """The same in the plane; blocks are ``data[k]``."""
    for place in range(first, last):
        c = np.uint64(place)
        start = np.uint64(2 * place)
        b0 = q[start]
        b1 = q[start + ONE]
        home = np.uint64(diagonal[c])
        row = np.uint64(2 * order[c])
        for entry in range(indptr[c], indptr[c + ONE]):
            k = np.uint64(entry)
            if k == home:
                continue
            j = np.uint64(2 * indices[k])
            b0 += data[k, 0, 0] * r[j] + data[k, 0, 1] * r[j + ONE]
            b1 += data[k, 1, 0] * r[j] + data[k, 1, 1] * r[j + ONE]
        r0 = r[row]
        r1 = r[row + ONE]
        if bilateral[c]:
            det = data[home, 0, 0] * data[home, 1, 1] - data[home, 0, 1] * data[home, 1, 0]
            n0 = n1 = 0.0
            if det != 0.0:
                n0 = (data[home, 0, 1] * b1 - data[home, 1, 1] * b0) / det
                n1 = (data[home, 1, 0] * b0 - data[home, 0, 0] * b1) / det
        else:
            n0, n1, status = local2(data, home, b0, b1, mu[c])
            if status != 0:
                u0 = b0 + data[home, 0, 0] * r0 + data[home, 0, 1] * r1
                u1 = b1 + data[home, 1, 0] * r0 + data[home, 1, 1] * r1
                n0, n1 = project_cone2(r0 - rho[c] * (u0 + mu[c] * abs(u1)), r1 - rho[c] * u1, mu[c])
        d0 = n0 - r0
        d1 = n1 - r1
        square[c] = (d0 * d0 + d1 * d1) / (rho[c] * rho[c])
        r[row] = n0
        r[row + ONE] = n1


@kernel(error_model="numpy", nogil=True, references=False)
def range1(first, last, order, indptr, indices, data, diagonal, q, bilateral, rho, r, square):
    """The same for frictionless rows."""
    for place in range(first, last):
        c = np.uint64(place)
        b = q[c]
        home = np.uint64(diagonal[c])
        row = np.uint64(order[c])
        for entry in range(indptr[c], indptr[c + ONE]):
            k = np.uint64(entry)
            if k != home:
                b += data[k, 0, 0] * r[np.uint64(indices[k])]
        a = data[home, 0, 0]
        new = -b / a if a > 0.0 else r[row] - rho[c] * (b + a * r[row])
        if new < 0.0 and not bilateral[c]:
            new = 0.0
        d = (new - r[row]) / rho[c]
        square[c] = d * d
        r[row] = new


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
    rho, r, alpha, square, sweeps, stop, result,
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
            range3(a, b, order, indptr, indices, flat, diagonal, q, mu, bilateral, rho, r, alpha, square)
        elif dim == 2:
            range2(a, b, order, indptr, indices, data, diagonal, q, mu, bilateral, rho, r, square)
        else:
            range1(a, b, order, indptr, indices, data, diagonal, q, bilateral, rho, r, square)
        atomic_add(control, DONE, 1)


@kernel
def dismiss(control):
    """Tell all threads to stop as soon as they have done what they have begun."""
    atomic_add(control, VERDICT, 1)
