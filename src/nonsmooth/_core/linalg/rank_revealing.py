"""Square systems whose rows may depend on each other: elimination with complete pivoting on a matrix scaled to size one."""

from nonsmooth._core.jit import f8_1, f8_2, float64, i8_1, int64, kernel, noinline


@kernel(int64(f8_2, f8_1, f8_1, i8_1, i8_1, int64, float64), references=False, forceinline=False)
def solve_by_rank(A, b, x, rows, columns, n, dependent):
    """Solve ``A x = b``; returns the rank.

    `A` is destroyed; its entries should be of size one at most. Where no pivot above `dependent` is left, the remaining unknowns
    are zero and the remaining entries of `b` are what the equations ``rows[rank:]`` miss: zero if they follow from the others.
    """
    noinline()
    for k in range(n):
        rows[k] = k
        columns[k] = k
        x[k] = 0.0
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
        for j in range(n):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        b[k], b[p] = b[p], b[k]
        rows[k], rows[p] = rows[p], rows[k]
        for i in range(n):
            A[i, k], A[i, r] = A[i, r], A[i, k]
        columns[k], columns[r] = columns[r], columns[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                b[i] -= f * b[k]
    for i in range(rank - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, rank):
            s -= A[i, j] * x[columns[j]]
        x[columns[i]] = s / A[i, i]
    return rank
