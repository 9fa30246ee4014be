"""Sparse factors L D L^T of symmetric positive definite matrices, row by row along the elimination tree.

Row k of L solves a triangular system with the rows above it; which of its entries can be nonzero is read off the elimination tree
(Liu: The role of elimination trees in sparse factorization, 1990). The matrix is given by the columns of its upper triangle.
"""

from nonsmooth._core.jit import f8_1, i8_1, int64, kernel, void


@kernel(void(i8_1, i8_1, i8_1, i8_1, i8_1), references=False)
def elimination_tree(column_start, rows, parent, count, seen):
    """`parent` of every column in the tree (-1: none), and the `count` of entries of every column of L below the diagonal."""
    n = parent.size
    for k in range(n):
        parent[k], count[k], seen[k] = -1, 0, k
        for l in range(column_start[k], column_start[k + 1]):
            i = rows[l]
            while i < k and seen[i] != k:  # up the tree to what row k has reached already
                if parent[i] < 0:
                    parent[i] = k
                count[i] += 1
                seen[i] = k
                i = parent[i]


@kernel(int64(i8_1, i8_1, f8_1, i8_1, i8_1, i8_1, i8_1, f8_1, f8_1, f8_1, i8_1, i8_1), references=False)
def sparse_ldl(column_start, rows, values, parent, L_start, filled, L_rows, L, D, y, path, seen):
    """Fill the columns of L and D. Returns 0, or k + 1 at a bad pivot k.

    `filled`, `y`, `path` and `seen` are scratch space of size n; `y` is zero before and after.
    """
    n = parent.size
    for k in range(n):
        filled[k] = 0
        seen[k] = -1
    for k in range(n):
        # the entries of row k, and the columns it touches from the leaves of the tree towards its root
        top = n
        seen[k] = k
        for l in range(column_start[k], column_start[k + 1]):
            i = rows[l]
            y[i] += values[l]
            length = 0
            while seen[i] != k:
                path[length] = i
                length += 1
                seen[i] = k
                i = parent[i]
            while length > 0:
                top -= 1
                length -= 1
                path[top] = path[length]
        diagonal = y[k]
        D[k] = diagonal
        y[k] = 0.0
        for m in range(top, n):
            i = path[m]
            y_i = y[i]
            y[i] = 0.0
            for l in range(L_start[i], L_start[i] + filled[i]):
                y[L_rows[l]] -= L[l] * y_i
            L_ki = y_i / D[i]
            D[k] -= L_ki * y_i
            L_rows[L_start[i] + filled[i]] = k
            L[L_start[i] + filled[i]] = L_ki
            filled[i] += 1
        if not D[k] > 4e-16 * abs(diagonal):
            for j in range(n):
                y[j] = 0.0
            return k + 1
    return 0


@kernel(void(i8_1, i8_1, f8_1, f8_1, f8_1), references=False)
def sparse_ldl_solve(L_start, L_rows, L, D, b):
    """Solve with the factors of `sparse_ldl`; `b` becomes the solution."""
    n = D.size
    for j in range(n):
        for l in range(L_start[j], L_start[j + 1]):
            b[L_rows[l]] -= L[l] * b[j]
    for j in range(n - 1, -1, -1):
        s = b[j] / D[j]
        for l in range(L_start[j], L_start[j + 1]):
            s -= L[l] * b[L_rows[l]]
        b[j] = s
