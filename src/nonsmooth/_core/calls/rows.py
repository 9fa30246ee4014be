"""Several model functions as one: each writes rows of its own."""

from nonsmooth._core.calls.model_functions import ModelFunction, call_matrix, call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, with_record, word

# record: code, number of parts, and for each of them function, first row, number of rows
PARTS, FIRST_PART = 1, 2
WHOLE = 1 << 40  # as number of rows: all there are


@kernel(with_record(VECTOR), part=True)
def vector_rows(t, q, u, p, out, record):
    """Entries of a vector."""
    for k in range(word(record, PARTS)):
        at = FIRST_PART + 3 * k
        first = word(record, at + 1)
        call_vector(word(record, at), t, q, u, p, out[first : first + word(record, at + 2)])


@kernel(with_record(MATRIX), part=True)
def matrix_rows(t, q, u, p, out, record):
    """Rows of a matrix."""
    for k in range(word(record, PARTS)):
        at = FIRST_PART + 3 * k
        first = word(record, at + 1)
        call_matrix(word(record, at), t, q, u, p, out[first : first + word(record, at + 2)])


def rows_of(parts, signature) -> ModelFunction:
    """One function of `parts`, triples (function, first row, number of rows)."""
    words = [len(parts)]
    for part in parts:
        words.extend(part)
    function = ModelFunction(vector_rows if signature == VECTOR else matrix_rows, signature, words)
    function.parts = parts
    return function
