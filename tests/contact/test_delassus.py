"""One contact problem whatever is known of its Delassus operator: entries, blocks, bodies or products."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import nonsmooth as ns
from nonsmooth.contact.delassus import WRITTEN_OUT
from nonsmooth.contact.solve import FACETED, METHODS
from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError

EXACT = [m for m in METHODS if m not in FACETED]


def chain(n, dim, seed=0):
    """Contacts in a row, each coupled with its neighbours: ``(W in block rows, q)``."""
    rng = np.random.default_rng(seed)
    H = sp.lil_matrix((dim * (n + 1), dim * n))
    for i in range(n):
        H[dim * i : dim * (i + 1), dim * i : dim * (i + 1)] = np.eye(dim) + 0.2 * rng.normal(size=(dim, dim))
        H[dim * (i + 1) : dim * (i + 2), dim * i : dim * (i + 1)] = 0.3 * rng.normal(size=(dim, dim))
    W = sp.bsr_matrix(sp.csr_matrix(H.T @ H + 0.3 * sp.identity(dim * n)), blocksize=(dim, dim))
    q = rng.normal(size=dim * n)
    q[::dim] -= 0.5
    return W, q


def operator(W, diagonal=False):
    """Products with W and nothing else."""
    made = spl.LinearOperator(W.shape, matvec=lambda x: W @ x, dtype=float)
    if diagonal:
        made.diagonal = lambda: W.diagonal()
    return made


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("method", EXACT)
def test_every_method_finds_the_same_impulses_in_every_form(method, dim):
    W, q = chain(6, dim)
    forms = {"dense": W.toarray(), "blocks": W, "columns": W.tocsc(), "operator": operator(W)}
    found = {
        name: ns.solve_contact(ns.ContactProblem(G, q, 0.3, dim), method, tol=1e-8)
        for name, G in forms.items()
    }
    for name, result in found.items():
        assert result.success, f"{name}: {result}"
        np.testing.assert_allclose(result.r, found["dense"].r, atol=1e-7)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("method", ["auto", "apgd", "pjor"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_a_large_operator_is_solved_by_its_products(method, dim, diagonal):
    n = WRITTEN_OUT // dim + 30
    W, q = chain(n, dim, seed=1)
    problem = ns.ContactProblem(operator(W, diagonal), q, 0.3, dim)
    result = ns.solve_contact(problem, method, tol=1e-8)
    assert result.success, result
    assert problem.matrix_free
    np.testing.assert_allclose(result.r, ns.solve_contact(ns.ContactProblem(W, q, 0.3, dim)).r, atol=1e-6)


def test_products_and_blocks_make_the_same_steps():
    """The very same iterations, but for rounding."""
    W, q = chain(340, 3, seed=2)
    for method in ("apgd", "pjor"):
        one, other = (
            ns.solve_contact(ns.ContactProblem(G, q, 0.3), method, tol=1e-300, max_iter=40)
            for G in (W, operator(W))
        )
        np.testing.assert_allclose(one.r, other.r, atol=1e-11)
        assert one.iterations == other.iterations == 40


@pytest.mark.parametrize("method", [m for m in EXACT if m not in ("auto", "apgd", "pjor")])
def test_methods_that_need_entries_say_so(method):
    W, q = chain(WRITTEN_OUT // 2 + 1, 2)
    with pytest.raises(ModelError, match=r"W is a linear operator of 1002 rows.*'apgd', 'pjor'.*from_global"):
        ns.solve_contact(ns.ContactProblem(operator(W), q, 0.3, 2), method)


def test_operators_that_are_none():
    with pytest.raises(ShapeError, match=r"W has shape \(4, 4\)"):
        ns.ContactProblem(operator(sp.identity(4)), np.ones(6), 0.3, 2)
    with pytest.raises(InputError, match="complex128; a real one"):
        ns.ContactProblem(
            spl.LinearOperator((4, 4), matvec=lambda x: 1j * x, dtype=complex), np.ones(4), 0.3, 2
        )
    nothing = spl.LinearOperator((4, 4), matvec=lambda x: np.nan * x, dtype=float)
    with pytest.raises(NonFiniteError, match="NaN or infinite"):
        ns.solve_contact(ns.ContactProblem(nothing, -np.ones(4), 0.3, 2))
    huge = spl.LinearOperator((4, 4), matvec=lambda x: 1e200 * x, dtype=float)
    with pytest.raises(RangeError, match=r"1\.0e\+200"):
        ns.solve_contact(ns.ContactProblem(huge, -np.ones(4), 0.3, 2))
    short = operator(sp.identity(4))
    short.diagonal = lambda: np.ones(3)
    with pytest.raises(ShapeError, match=r"diagonal\(\) of the operator W has shape \(3,\)"):
        ns.solve_contact(ns.ContactProblem(short, -np.ones(4), 0.3, 2))
