"""Factors of banded matrices in place, in plain loops: chains, beams, whatever is numbered along its length.

Row i of a matrix with `w` diagonals below the main one is kept as row i of an array, its entry (i, j) in column j - i + w.
"""

from nonsmooth._core.jit import f8_1, f8_2, i8_1, int64, kernel, phase, void


@kernel(int64(f8_2, int64), references=False)
def banded_cholesky(A, w):
    """Lower factor of a symmetric positive definite matrix, whose lower triangle is given; with the reciprocals of its diagonal.

    Returns 0, or k + 1 at a bad pivot k.
    """
    n = A.shape[0]
    for i in range(n):
        first = max(0, i - w)
        diagonal = A[i, w]
        for j in range(first, i):
            s = A[i, j - i + w]
            for k in range(max(first, j - w), j):
                s -= A[i, k - i + w] * A[j, k - j + w]
            A[i, j - i + w] = s * A[j, w]
        s = diagonal
        for k in range(first, i):
            s -= A[i, k - i + w] * A[i, k - i + w]
        if not s > 4e-16 * abs(diagonal):
            return i + 1
        A[i, w] = 1.0 / s**0.5
    return 0


@phase
def three_diagonals(L, b):
    """The same for one diagonal below the main one: bars and chains of points."""
    n = L.shape[0]
    x = b[0] * L[0, 1]
    b[0] = x
    for i in range(1, n):
        x = (b[i] - L[i, 0] * x) * L[i, 1]
        b[i] = x
    x *= L[n - 1, 1]
    b[n - 1] = x
    for i in range(n - 2, -1, -1):
        x = (b[i] - L[i + 1, 0] * x) * L[i, 1]
        b[i] = x


@kernel(void(f8_2, int64, f8_1), references=False)
def banded_cholesky_solve(L, w, b):
    """Solve with the factor of `banded_cholesky`; `b` becomes the solution."""
    if w == 1:
        three_diagonals(L, b)
        return
    n = L.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(max(0, i - w), i):
            s -= L[i, k - i + w] * b[k]
        b[i] = s * L[i, w]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, min(n, i + w + 1)):
            s -= L[k, i - k + w] * b[k]
        b[i] = s * L[i, w]


@kernel(int64(f8_2, int64, int64, i8_1), references=False)
def banded_lu(A, w, w_up, pivots):
    """LU factors with row pivoting; `w_up` diagonals above, and room for `w` more, which row exchanges fill.

    Returns 0, or k + 1 at a column k without pivot.
    """
    n = A.shape[0]
    reach = w + w_up
    for k in range(n):
        last = min(n, k + reach + 1)
        p, largest = k, abs(A[k, w])
        for i in range(k + 1, min(n, k + w + 1)):
            if abs(A[i, k - i + w]) > largest:
                p, largest = i, abs(A[i, k - i + w])
        pivots[k] = p
        if not largest > 0.0:
            return k + 1
        if p != k:
            for j in range(k, last):
                A[k, j - k + w], A[p, j - p + w] = A[p, j - p + w], A[k, j - k + w]
        for i in range(k + 1, min(n, k + w + 1)):
            f = A[i, k - i + w] / A[k, w]
            A[i, k - i + w] = f
            if f != 0.0:
                for j in range(k + 1, last):
                    A[i, j - i + w] -= f * A[k, j - k + w]
    return 0


@kernel(void(f8_2, int64, int64, i8_1, f8_1), references=False)
def banded_lu_solve(A, w, w_up, pivots, b):
    """Solve with the factors of `banded_lu`; `b` becomes the solution."""
    n = A.shape[0]
    for k in range(n):
        p = pivots[k]
        if p != k:
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, min(n, k + w + 1)):
            b[i] -= A[i, k - i + w] * b[k]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, min(n, i + w + w_up + 1)):
            s -= A[i, j - i + w] * b[j]
        b[i] = s / A[i, w]
