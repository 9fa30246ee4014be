"""Small symmetric systems by Cholesky factors, in place and without allocation (own loops beat LAPACK up to about n = 20)."""

from nonsmooth._core.jit import f8_1, f8_2, i8_1, int64, kernel, void


@kernel(int64(f8_2, f8_2, int64), forceinline=True, references=False)
def cholesky(A, L, n):
    """Lower factor of the symmetric positive definite `A`, written into `L` with the *reciprocals* of its diagonal (the
    solves multiply instead of dividing). Returns 0, or k + 1 at a bad pivot k."""
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= L[j, k] * L[j, k]
        # relative test: a pivot lost to cancellation means a numerically singular matrix
        if not s > 4e-16 * abs(A[j, j]):
            return j + 1
        d = 1.0 / s**0.5
        L[j, j] = d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s * d
    return 0


@kernel(void(f8_2, f8_1, f8_1, int64), forceinline=True, references=False)
def solve_lower(L, b, x, n):
    """Solve ``L x = b`` with a factor from `cholesky` (x may be b)."""
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s * L[i, i]


@kernel(void(f8_2, i8_1, int64), forceinline=True, references=False)
def profile(L, first, n):
    """The first column of each row of the factor that is not zero: many bodies are many small systems."""
    for i in range(n):
        k = 0
        while k < i and L[i, k] == 0.0:
            k += 1
        first[i] = k


@kernel(int64(f8_2, i8_1, f8_1, f8_1, int64), forceinline=True, references=False)
def solve_lower_near(L, first, b, x, n):
    """`solve_lower` within the `profile` of the factor; returns where x begins not to be zero."""
    begin = 0
    while begin < n and b[begin] == 0.0:
        x[begin] = 0.0
        begin += 1
    for i in range(begin, n):
        s = b[i]
        for k in range(max(first[i], begin), i):
            s -= L[i, k] * x[k]
        x[i] = s * L[i, i]
    return begin


@kernel(void(f8_2, f8_1, f8_1, int64), forceinline=True, references=False)
def solve_lower_transposed(L, b, x, n):
    """Solve ``L^T x = b`` with a factor from `cholesky` (x may be b)."""
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s * L[i, i]
