"""Functions that write nothing: what a loop gets for a question the model does not have."""

from nonsmooth._core.jit import MATRIX, PROJECT, VECTOR, kernel


@kernel(VECTOR)
def no_vector(t, q, u, p, out):
    """No values."""


@kernel(MATRIX)
def no_matrix(t, q, u, p, out):
    """No values."""


@kernel(PROJECT)
def no_projection(law, x, out):
    """No user-defined set."""
