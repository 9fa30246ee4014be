"""Which entries of a Jacobian can be nonzero, and which of its columns can be found together.

Columns that share no row have one colour: a single step along all of them gives the entries of each (Curtis, Powell, Reid: On the
estimation of sparse Jacobian matrices, 1974). A chain of any length needs three colours.
"""

from nonsmooth._core.jit import (
    VECTOR,
    b1_1,
    caller,
    f8_1,
    f8_ro,
    float64,
    i8_1,
    int8,
    int64,
    kernel,
    types,
    void,
)

call_vector = caller(VECTOR)
mask_2 = types.Array(int8, 2, "C")


@kernel(
    void(int64, int64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_1, f8_1, f8_1, f8_1, mask_2), references=False
)
def probe(f, by_u, t, q, u, p, changes, q_s, u_s, before, after, found):
    """Mark in `found` (rows, columns) which values of the function at `f` change with which entry of q, or of u.

    Parameters
    ----------
    changes : ndarray
        Every entry is moved by each of its column's changes, ``changes[k * n + j]``.
    q_s, u_s, before, after : ndarray
        Scratch space, of the sizes of q, u and twice the function.
    """
    for j in range(q.size):
        q_s[j] = q[j]
    for j in range(u.size):
        u_s[j] = u[j]
    call_vector(f, t, q, u, p, before)
    x = u_s if by_u else q_s
    n = x.size
    for j in range(n):
        x_j = x[j]
        for k in range(changes.size // n):
            x[j] = x_j + changes[k * n + j]
            call_vector(f, t, q_s, u_s, p, after)
            for i in range(before.size):
                if before[i] != after[i] and before[i] == before[i]:
                    found[i, j] = 1
        x[j] = x_j


@kernel(int64(i8_1, i8_1, i8_1, i8_1, i8_1, b1_1), references=False)
def colour_columns(column_start, rows, row_start, columns, colour, taken):
    """A colour for every column so that columns of one colour share no row; returns the number of colours.

    The pattern is given by columns and by rows; `taken` is scratch space of the number of columns plus one.
    """
    n = colour.size
    for j in range(n):
        colour[j] = -1
    n_colours = 0
    for j in range(n):
        for c in range(n_colours + 1):
            taken[c] = 0
        for k in range(column_start[j], column_start[j + 1]):
            for l in range(row_start[rows[k]], row_start[rows[k] + 1]):
                if colour[columns[l]] >= 0:
                    taken[colour[columns[l]]] = 1
        c = 0
        while taken[c]:
            c += 1
        colour[j] = c
        n_colours = max(n_colours, c + 1)
    return n_colours
