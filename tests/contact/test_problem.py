"""ContactProblem: shapes, forms, typed refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonsmooth.contact.problem import ContactProblem
from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError

W3 = np.array([[2.0, 0.1, 0.0], [0.1, 1.0, 0.2], [0.0, 0.2, 1.5]])
Q3 = np.array([-1.0, 0.3, 0.2])


def random_sparse(n, dim, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(dim * n + 2, dim * n)) * (rng.random((dim * n + 2, dim * n)) < 0.15)
    return H.T @ H, rng.normal(size=dim * n)


@pytest.mark.parametrize("n, dim", [(3, 3), (12, 3), (30, 2), (40, 1)])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix, sp.csr_matrix, "bsr", sp.coo_matrix])
def test_blocks_hold_the_matrix(n, dim, form):
    W, q = random_sparse(n, dim)
    given = sp.bsr_matrix(W, blocksize=(dim, dim)) if form == "bsr" else form(W)
    problem = ContactProblem(given, q, 0.5, dim)
    b = problem.blocks
    back = np.zeros((n * dim, n * dim))
    for i in range(n):
        for k in range(b.indptr[i], b.indptr[i + 1]):
            j = b.indices[k]
            back[dim * i : dim * i + dim, dim * j : dim * j + dim] = b.data[k]
        assert b.indices[b.diagonal[i]] == i and b.indptr[i] <= b.diagonal[i] < b.indptr[i + 1]
    np.testing.assert_array_equal(back, W)
    x = np.arange(n * dim, dtype=float)
    np.testing.assert_allclose(problem.velocity(x), W @ x + q, rtol=1e-13)
    np.testing.assert_allclose(
        1 / problem.rho, np.where(d := np.diag(W).reshape(n, dim).mean(axis=1), d, d.mean())
    )


def test_missing_diagonal_block_is_kept_as_zero():
    W = sp.csc_matrix(([1.0, 1.0], ([0, 2], [2, 0])), shape=(4, 4))
    b = ContactProblem(W, np.zeros(4), 0.1, 2).blocks
    assert list(b.indices) == [0, 1, 0, 1]


@pytest.mark.parametrize("joints", [False, True])
def test_global_form_is_the_local_one(joints):
    rng = np.random.default_rng(3)
    M = np.diag(rng.uniform(1, 2, 10)) + 0.01
    H = rng.normal(size=(10, 6))
    f, w = rng.normal(size=10), rng.normal(size=6)
    G = rng.normal(size=(10, 2)) if joints else None
    b = np.array([0.3, -0.1]) if joints else None
    problem = ContactProblem.from_global(M, sp.csr_matrix(H), f, w, 0.4, 3, G=G, b=b)
    r = rng.normal(size=6)
    if joints:
        K = np.block([[M, -G], [G.T, np.zeros((2, 2))]])
        v = np.linalg.solve(K, np.concatenate([H @ r + f, -b]))[:10]
        np.testing.assert_allclose(G.T @ v + b, 0, atol=1e-12)
    else:
        v = np.linalg.solve(M, H @ r + f)
    assert "W" not in vars(problem)
    np.testing.assert_allclose(problem.velocity(r), H.T @ v + w, rtol=1e-11)
    assert problem.W.shape == (6, 6)
    np.testing.assert_allclose(problem.velocity(r), H.T @ v + w, rtol=1e-11)


@pytest.mark.parametrize(
    "kwargs, error",
    [
        (dict(W=W3[:2], q=Q3), ShapeError),
        (dict(W=W3[:, :2], q=Q3), ShapeError),
        (dict(W=W3, q=Q3[:2]), ShapeError),
        (dict(W=W3, q=Q3, mu=[0.1, 0.2]), ShapeError),
        (dict(W=np.eye(4), q=np.ones(4), dim=3), ShapeError),
        (dict(W=W3, q=[Q3]), ShapeError),
        (dict(W=W3 * np.nan, q=Q3), NonFiniteError),
        (dict(W=sp.csc_matrix(W3 + np.inf), q=Q3), NonFiniteError),
        (dict(W=W3, q=Q3 + np.nan), NonFiniteError),
        (dict(W=W3, q=Q3, mu=np.nan), NonFiniteError),
        (dict(W=W3, q=Q3, mu=np.inf), NonFiniteError),
        (dict(W=W3, q=Q3, mu=-0.1), RangeError),
        (dict(W=W3, q=Q3, mu=0.1, dim=4), RangeError),
        (dict(W=W3, q=Q3, mu=0.1, dim=True), RangeError),
        (dict(W=W3, q=Q3, bilateral=[1]), ShapeError),
        (dict(W=W3, q=Q3, bilateral=[True, False]), ShapeError),
        (dict(W="abc", q=Q3), InputError),
        (dict(W=W3 * 1e-150, q=Q3), RangeError),
        (dict(W=W3, q=Q3 * 1e-200), RangeError),
        (dict(W=W3, q=Q3 * 1e200), RangeError),
        (dict(W=W3.astype(complex), q=Q3), InputError),
        (dict(W=W3, q=None), InputError),
    ],
)
def test_bad_input_is_refused(kwargs, error):
    with pytest.raises(error) as caught:
        ContactProblem(**{"mu": 0.5, "dim": 3, **kwargs})
    assert isinstance(caught.value, ValueError) and len(str(caught.value)) > 10


def test_singular_mass_is_refused():
    with pytest.raises(ModelError):
        ContactProblem.from_global(np.diag([1.0, 0.0, 1.0]), np.eye(3), np.zeros(3), np.zeros(3), 0.1, 3)


def test_data_are_not_modified():
    W, q = W3.copy(), Q3.copy()
    problem = ContactProblem(W, q, 0.5)
    problem.blocks.data[:] = 7.0
    np.testing.assert_array_equal(W, W3)
