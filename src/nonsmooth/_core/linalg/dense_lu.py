"""Dense LU with partial pivoting for small systems, in plain loops (cheap to compile, faster than LAPACK to
n = 20).
"""

from __future__ import annotations

from nonsmooth._core.jit import kernel


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
        p = k
        best = abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > best:
                best = abs(A[i, k])
                p = i
        piv[k] = p
        if not best > 0.0:
            return 0.0
        if best > largest:
            largest = best
        if best < smallest:
            smallest = best
        if p != k:
            for j in range(n):
                tmp = A[k, j]
                A[k, j] = A[p, j]
                A[p, j] = tmp
        inv = 1.0 / A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] * inv
            A[i, k] = f
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
    if n == 0:
        return 1.0
    return smallest / largest


@kernel
def lu_solve(A, piv, n, b):
    """Solve with the factors of `lu_factor`; `b` is overwritten by the solution."""
    for k in range(n):
        p = piv[k]
        if p != k:
            tmp = b[k]
            b[k] = b[p]
            b[p] = tmp
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= A[i, j] * b[j]
        b[i] = s
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * b[j]
        b[i] = s / A[i, i]
