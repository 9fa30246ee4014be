"""Dense systems by elimination with pivots, in plain loops: cheap to compile, and faster than LAPACK up to about n = 20.

Three ways, because different things are asked of them; columns, rows and the triangle that is left are treated alike:

    eliminate               one right-hand side at once, the matrix is lost: neither pivots nor factors are kept, which is what inner
                            loops want (the modes of a step, the forces of a stage); `eliminate_near` where entries stand near the diagonal
    lu_factor, lu_solve     the factors are kept for several right-hand sides, real or complex
    solve_by_rank           rows may depend on each other: complete pivoting tells which
"""

import math

from nonsmooth._core.jit import f8_1, f8_2, float64, i8_1, int64, kernel, noinline, phase

#: Pivot that counts as none where rows are scaled to size one: what cancellation leaves.
SINGULAR = 1e-13


@phase
def pivot_of_column(A, k, n):
    """The row from k on with the largest entry in column k, and the size of that entry."""
    p, largest = k, abs(A[k, k])
    for i in range(k + 1, n):
        if abs(A[i, k]) > largest:
            largest, p = abs(A[i, k]), i
    return p, largest


@phase
def exchange_rows(A, k, p, first, n):
    """Rows k and p, from column `first` on."""
    for j in range(first, n):
        A[k, j], A[p, j] = A[p, j], A[k, j]


@phase
def subtract_row(A, i, k, f, n):
    """Row i less f times row k, behind column k."""
    for j in range(k + 1, n):
        A[i, j] -= f * A[k, j]


@phase
def back_substitute(A, b, n, reach):
    """Solve with the upper triangle of the leading n x n block of `A`, entries at most `reach` from the diagonal; `b` becomes the
    solution."""
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, min(n, i + reach + 1)):
            s -= A[i, j] * b[j]
        b[i] = s / A[i, i]


@kernel(int64(f8_2, f8_1, int64, float64), forceinline=True, references=False)
def eliminate(A, b, n, least):
    """Solve ``A x = b``; `A` is destroyed, `b` becomes x. Returns 0, or 1 where no pivot is larger than `least` (or one is infinite)."""
    return eliminate_near(A, b, n, n, least)


@kernel(int64(f8_2, f8_1, int64, int64, float64), forceinline=True, references=False)
def eliminate_near(A, b, n, reach, least):
    """The same where no entry stands further than `reach` from the diagonal; exchanged rows reach twice as far to the right."""
    for k in range(n):
        last, end = min(n, k + reach + 1), min(n, k + 2 * reach + 1)
        p, largest = pivot_of_column(A, k, last)
        if not least < largest < math.inf:
            return 1
        if p != k:
            exchange_rows(A, k, p, k, end)
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, last):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                subtract_row(A, i, k, f, end)
                b[i] -= f * b[k]
    back_substitute(A, b, n, 2 * reach)
    return 0


@kernel
def lu_factor(A, piv, n):
    """Factor the leading n x n block of `A` in place, rows exchanged as recorded in `piv`.

    Returns
    -------
    ratio : float
        Smallest over largest pivot in magnitude; 0.0 means that the matrix is singular (the factors are
        unusable).
    """
    largest = 0.0
    smallest = 1e300
    for k in range(n):
        p, best = pivot_of_column(A, k, n)
        piv[k] = p
        if not best > 0.0:
            return 0.0
        largest, smallest = max(largest, best), min(smallest, best)
        if p != k:
            exchange_rows(A, k, p, 0, n)
        inv = 1.0 / A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] * inv
            A[i, k] = f
            if f != 0.0:
                subtract_row(A, i, k, f, n)
    return smallest / largest if n > 0 else 1.0


@kernel
def lu_solve(A, piv, n, b):
    """Solve with the factors of `lu_factor`; `b` is overwritten by the solution."""
    for k in range(n):
        p = piv[k]
        if p != k:
            b[k], b[p] = b[p], b[k]
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= A[i, j] * b[j]
        b[i] = s
    back_substitute(A, b, n, n)


@kernel(int64(f8_2, f8_1, f8_1, i8_1, i8_1, int64, float64), references=False, forceinline=False)
def solve_by_rank(A, b, x, rows, columns, n, dependent):
    """Solve ``A x = b`` with rows that may depend on each other; returns the rank.

    `A` is destroyed; its entries should be of size one at most. Where no pivot above `dependent` is left, the remaining unknowns
    are zero and the remaining entries of `b` are what the equations ``rows[rank:]`` miss: zero if they follow from the others.
    """
    noinline()
    for k in range(n):
        rows[k], columns[k], x[k] = k, k, 0.0
    rank = n
    for k in range(n):
        p, r, largest = k, k, 0.0
        for i in range(k, n):
            for j in range(k, n):
                if abs(A[i, j]) > largest:
                    largest, p, r = abs(A[i, j]), i, j
        if not largest > dependent:
            rank = k
            break
        exchange_rows(A, k, p, 0, n)
        b[k], b[p] = b[p], b[k]
        rows[k], rows[p] = rows[p], rows[k]
        for i in range(n):
            A[i, k], A[i, r] = A[i, r], A[i, k]
        columns[k], columns[r] = columns[r], columns[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                subtract_row(A, i, k, f, n)
                b[i] -= f * b[k]
    back_substitute(A, b, rank, rank)
    for i in range(rank):
        x[columns[i]] = b[i]
    return rank
