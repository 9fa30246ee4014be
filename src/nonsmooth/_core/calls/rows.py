"""Several model functions as one: each writes rows of its own."""

from nonsmooth._core.calls.model_functions import ModelFunction, call_matrix, call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, own, with_record, word

#: A record is the code, the number of parts and, from FIRST_PART on, three words for each of them.
FIRST_PART, FUNCTION, FIRST_ROW, ROWS, WORDS = 2, 0, 1, 2, 3
WHOLE = 1 << 40  # as number of rows: all there are


@kernel(with_record(VECTOR), part=True)
def vector_rows(t, q, u, p, out, record):
    """Entries of a vector."""
    for k in range(own(record)):
        at = FIRST_PART + WORDS * k
        first = word(record, at + FIRST_ROW)
        call_vector(word(record, at + FUNCTION), t, q, u, p, out[first : first + word(record, at + ROWS)])


@kernel(with_record(MATRIX), part=True)
def matrix_rows(t, q, u, p, out, record):
    """Rows of a matrix."""
    for k in range(own(record)):
        at = FIRST_PART + WORDS * k
        first = word(record, at + FIRST_ROW)
        call_matrix(word(record, at + FUNCTION), t, q, u, p, out[first : first + word(record, at + ROWS)])


def rows_of(parts, signature) -> ModelFunction:
    """One function of `parts`, triples (function, first row, number of rows)."""
    words = [len(parts)]
    for part in parts:
        words.extend(part)
    function = ModelFunction(vector_rows if signature == VECTOR else matrix_rows, signature, words)
    function.parts = parts
    return function
