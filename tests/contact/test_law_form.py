"""Laws of any kinds as a contact problem, with G dense, in blocks or as an operator, and the solvers of a step as methods."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import nonsmooth as ns
from nonsmooth._core.records import laws as L
from nonsmooth.contact.by_laws import step_of
from nonsmooth.contact.laws import LawTableBuilder
from nonsmooth.errors import ModelError, RangeError, ShapeError

sys.path.insert(0, str(Path(__file__).parents[1] / "_core" / "laws"))
from prox_problem import Prox, contact_matrix, coulomb, spd


def table(entries):
    """A `LawTable` of laws [(kind, dim, link, mu), ...]."""
    builder = LawTableBuilder()
    for kind, dim, link, mu in entries:
        builder.add(kind, dim, "", link=link, mu=mu)
    return builder.build(0, 0)


MIXED = [
    (L.HALF_LINE, 1, -1, 0.0),
    (L.HALF_LINE, 1, -1, 0.0),
    (L.COULOMB_2D, 2, 1, 0.4),
    (L.INTERVAL, 1, -1, 0.0),
]
MIXED += [(L.INTERVAL, 1, -1, 0.0), (L.INTERVAL, 1, -1, 0.0), (L.DISK, 2, -1, 0.0)]
LOWER = np.array([0.0, 0, 0, 0, -0.3, 0.1, -np.inf, 0, 0])
UPPER = np.array([0.0, 0, 0, 0, 0.5, np.inf, 0.2, 0.25, 0])


@pytest.mark.parametrize("constraints", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_laws_are_solved_with_every_kind_of_operator(seed, constraints):
    rng = np.random.default_rng(seed)
    laws = MIXED + [(L.FREE, 1, -1, 0.0)] * constraints
    lower, upper = (np.concatenate([b, np.zeros(constraints)]) for b in (LOWER, UPPER))
    n = len(lower)
    G, c = spd(rng, n) / n, rng.normal(size=n)
    judge = Prox(G, c, laws, lower, upper)
    for form in (G, sp.csr_matrix(G), spl.aslinearoperator(G)):
        problem = ns.ContactProblem.from_laws(form, c, table(laws), lower, upper)
        for method in ("auto", "newton", "exact", "psor"):
            result = ns.solve_contact(problem, method, tol=1e-10)
            assert result.success, result
            assert judge.violation(problem.impulses(result.r)) < 1e-8, method


def test_a_large_operator_of_laws_is_not_written_out():
    """Brakes and contacts in a row, coupled with their neighbours."""
    n = 600
    band = sp.diags(
        [np.full(2 * n - 1, -0.3), np.ones(2 * n), np.full(2 * n - 1, -0.3)], [-1, 0, 1], format="csr"
    )
    c = np.random.default_rng(n).normal(size=2 * n)
    laws = table([(L.INTERVAL, 1, -1, 0.0), (L.HALF_LINE, 1, -1, 0.0)] * n)
    bounds = np.full(2 * n, -0.2), np.full(2 * n, 0.3)
    P = []
    for form in (band, spl.LinearOperator(band.shape, matvec=lambda x: band @ x, dtype=float)):
        problem = ns.ContactProblem.from_laws(form, c, laws, *bounds)
        result = ns.solve_contact(problem, tol=1e-9)
        assert result.success, result
        P.append(problem.impulses(result.r))
    assert problem.matrix_free
    np.testing.assert_allclose(P[0], P[1], atol=1e-7)


@pytest.mark.parametrize("dim", [1, 2])
def test_there_and_back(dim):
    """A step's record, the problem it hands out, and the record of that problem."""
    laws = coulomb(4, dim, 0.4)
    n = 4 * (1 + dim)
    step = Prox(contact_matrix(np.random.default_rng(5), 4, dim), -np.ones(n), laws)
    step.problem.count.laws, step.problem.count.rows = len(laws), n
    problem = ns.ContactProblem.of_step(step.problem)
    again = step_of(problem, ns.Exact())
    np.testing.assert_array_equal(again.G, step.G)
    np.testing.assert_array_equal(again.laws.row, step.table.row)
    assert problem.law_form.plain and problem.dim == dim + 1
    P = step.solve()
    for method in ("exact", "psor", "auto", "nsgs"):
        result = ns.solve_contact(problem, method, tol=1e-10)
        assert result.success, result
        np.testing.assert_allclose(problem.impulses(result.r), P, atol=1e-9)
    # what a step hands out does not change with the next one
    step.G[:], step.rows.c[:], step.table.mu[:] = 0.0, 0.0, 9.0
    assert ns.solve_contact(problem).success and problem.law_form.laws.mu.max() == 0.4


@pytest.mark.parametrize("method", ["exact", "psor"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_solvers_of_a_step_solve_any_problem(method, dim):
    rng = np.random.default_rng(dim)
    A = rng.normal(size=(5 * dim, 5 * dim + 3))
    bilateral = np.array([False, True, False, False, False])
    problem = ns.ContactProblem(A @ A.T, rng.normal(size=5 * dim), 0.3, dim, bilateral)
    result = ns.solve_contact(problem, method)
    assert result.success and method in result.method, result
    np.testing.assert_allclose(result.r, ns.solve_contact(problem, "newton").r, atol=1e-6)
    np.testing.assert_array_equal(problem.impulses(result.r), result.r)


def test_a_budget_is_kept_and_declared():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 18))
    problem = ns.ContactProblem(A @ A.T, rng.normal(size=30), 0.5, 3)
    result = ns.solve_contact(problem, "psor", max_iter=3)
    assert not result.success and result.iterations == 3
    with pytest.raises(ModelError, match="3000 rows, the problem has 3003"):
        ns.solve_contact(ns.ContactProblem(sp.identity(3003), -np.ones(3003), 0.1, 3), "exact")


@pytest.mark.parametrize(
    "laws, bounds, error, text",
    [
        ([(L.USER_SET, 1, -1, 0.0)], (None, None), ModelError, "convex sets of the user"),
        ([(L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 0, np.inf)], (None, None), ModelError, "infinite friction"),
        ([(L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 1, 0.2)], (None, None), ModelError, "of its own"),
        ([(L.HALF_LINE, 1, -1, 0.0)] + [(L.COULOMB_1D, 1, 0, 0.2)] * 2, (None, None), ModelError, "of its own"),
        ([(9, 1, -1, 0.0)], (None, None), RangeError, r"kind\[0\] of the laws is 9"),
        ([(L.DISK, 1, -1, 0.0)], (None, None), ShapeError, r"dim\[0\]"),
        ([(L.INTERVAL, 1, -1, 0.0)], ([0.0, 1.0], None), ShapeError, "lower has shape"),
    ],
)  # fmt: skip
def test_laws_that_are_none(laws, bounds, error, text):
    n = sum(dim for _, dim, *_ in laws)
    with pytest.raises(error, match=text):
        ns.ContactProblem.from_laws(np.eye(n), -np.ones(n), table(laws), *bounds)


def test_rows_without_a_law():
    with pytest.raises(ShapeError, match="each of the 3 rows"):
        ns.ContactProblem.from_laws(np.eye(3), -np.ones(3), table([(L.HALF_LINE, 1, -1, 0.0)]))
