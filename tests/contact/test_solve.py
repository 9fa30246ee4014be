"""solve_contact: closed forms, real problems, and results that must never lie."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import FACETED, METHODS, solve_contact
from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError

DATA = Path(__file__).parents[1] / "data" / "contact"
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "contact_problems"
SHIPPED = sorted(DATA.glob("*.hdf5"))


def box(mass=2.0, weight=6.0, push=(5.0, 0.0), mu=0.4, dim=3):
    """A block on a plane: slides if the push exceeds mu times the weight."""
    q = np.array([-weight, *push[: dim - 1]]) / mass
    return ContactProblem(np.eye(dim) / mass, q, mu, dim)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3])
def test_sliding_and_sticking_block(method, dim):
    # pushed along one of their directions, pyramids are exact too
    slide = solve_contact(box(dim=dim), method)
    assert slide.success, slide
    np.testing.assert_allclose(slide.r, [6.0, -2.4, 0.0][:dim], atol=1e-7)
    np.testing.assert_allclose(slide.u, [0.0, 1.3, 0.0][:dim], atol=1e-7)
    stick = solve_contact(box(push=(2.0, 0.0), dim=dim), method)
    np.testing.assert_allclose(stick.r, [6.0, -2.0, 0.0][:dim], atol=1e-7)
    assert stick.success and np.abs(stick.u).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_separating_contact_gets_nothing(method):
    result = solve_contact(box(weight=-1.0), method)
    assert result.success and not result.r.any()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_bilateral_block_is_held(dim):
    rng = np.random.default_rng(dim)
    H = rng.normal(size=(4 * dim, 3 * dim))
    q = rng.normal(size=3 * dim)
    problem = ContactProblem(H.T @ H, q, 0.3, dim, bilateral=[True, False, False])
    for method in METHODS if dim < 3 else EXACT:
        result = solve_contact(problem, method)
        assert result.success, (method, result)
        assert np.abs(result.u[:dim]).max() < 1e-7


#: Methods for the exact cone in space.
EXACT = [m for m in METHODS if m not in FACETED]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3])
def test_frictionless_is_the_linear_complementarity_problem(method, dim):
    rng = np.random.default_rng(5)
    H = rng.normal(size=(9 * dim, 6 * dim))
    problem = ContactProblem(H.T @ H, rng.normal(size=6 * dim), 0.0, dim)
    result = solve_contact(problem, method, tol=1e-9)
    assert result.success
    r, u = result.r.reshape(-1, dim), result.u.reshape(-1, dim)
    assert not r[:, 1:].any() and r[:, 0].min() >= 0.0 and u[:, 0].min() > -1e-7
    assert abs(r[:, 0] @ u[:, 0]) < 1e-7


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_problems_to_1e_8(path):
    problem = read_fclib(path)
    result = solve_contact(problem)
    assert result.success and result.cone <= 1e-12
    check = residual(problem, result.r)
    assert check.unit <= 1e-8 and check.scaled <= 1e-8
    assert result.residual_unit == pytest.approx(check.unit, rel=1e-6, abs=1e-15)
    for guess in problem.guesses:
        assert solve_contact(problem, guess=guess).success


def test_real_problems_when_present():
    if not SHARED.is_dir():
        return
    for path in sorted(SHARED.glob("*.hdf5")):
        if path.stem.startswith(("RockPile", "Kaplas")):
            continue
        problem = read_fclib(path)
        result = solve_contact(problem)
        assert result.success, (path.stem, result)
        assert residual(problem, result.r).unit <= 1e-8 and result.cone <= 1e-12


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix, sp.csr_matrix])
def test_all_forms_give_the_same(form):
    problem = read_fclib(DATA / "NESpheres_10_1.hdf5")
    other = ContactProblem(form(problem.W.toarray()), problem.q, problem.mu, 3)
    np.testing.assert_array_equal(solve_contact(other).r, solve_contact(problem).r)


def test_runs_are_repeatable_and_data_untouched():
    problem = read_fclib(DATA / "OneObject-i100000-316.hdf5")
    q, W = problem.q.copy(), problem.W.toarray()
    a, b = solve_contact(problem), solve_contact(read_fclib(DATA / "OneObject-i100000-316.hdf5"))
    np.testing.assert_array_equal(a.r, b.r)
    assert a.iterations == b.iterations and a.method == b.method
    np.testing.assert_array_equal(problem.q, q)
    np.testing.assert_array_equal(problem.W.toarray(), W)


def test_unsymmetric_matrix_is_used_as_given():
    problem = read_fclib(DATA / "OneObject-i100000-316.hdf5")
    W = problem.W.toarray()
    assert np.abs(W - W.T).max() > 1e-4
    result = solve_contact(problem)
    np.testing.assert_allclose(result.u, W @ result.r + problem.q, rtol=0, atol=1e-12)


def test_empty_and_resting_problems():
    for dim in (1, 2, 3):
        result = solve_contact(ContactProblem(np.zeros((0, 0)), np.zeros(0), 0.5, dim))
        assert result.success and result.r.shape == (0,)
    result = solve_contact(ContactProblem(np.eye(3), np.zeros(3), 0.5))
    assert result.success and not result.r.any()


def test_large_friction_does_not_hide_approach():
    """With mu = 1e6 zero impulses have a tiny natural map although the contacts approach: that is no
    success."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(14, 12))
    q = rng.normal(size=12)
    q[::3] = -np.abs(q[::3])
    problem = ContactProblem(H.T @ H, q, 1e6)
    assert residual(problem, np.zeros(12)).unit < 1e-6
    result = solve_contact(problem, lambda problem, r, run: (r, 0.0, 0), tol=1e-6)
    assert not result.success and "approach" in result.message
    result = solve_contact(problem, tol=1e-6)
    assert not result.success or result.u.reshape(-1, 3)[:, 0].min() > -1e-5 * problem.q_norm


@pytest.mark.parametrize("method", METHODS)
def test_failure_is_declared(method):
    # no mass can be moved and the contact approaches: there is no solution
    impossible = ContactProblem(np.zeros((3, 3)), [-1.0, 0.2, 0.0], 0.5)
    result = solve_contact(impossible, method, max_iter=200)
    assert not result.success and result.residual > 1e-8 and "residual" in result.message
    assert np.all(np.isfinite(result.r))


def test_iteration_limit_is_respected_and_reported():
    problem = read_fclib(DATA / "OneObject-i100000-316.hdf5")
    for method in EXACT:
        result = solve_contact(problem, method, max_iter=3)
        assert result.iterations <= 3 and not result.success and "max_iter" in result.message
    assert not solve_contact(problem, max_iter=0).success


def test_time_limit_only_stops():
    problem = read_fclib(DATA / "OneObject-i100000-316.hdf5")
    stopped = solve_contact(problem, "nsgs", tol=1e-14, time_limit=1e-9)
    assert not stopped.success and "time limit" in stopped.message
    assert solve_contact(problem, time_limit=1e6).iterations == solve_contact(problem).iterations


def test_a_lying_method_is_found_out():
    result = solve_contact(box(), lambda problem, r, run: (np.array([6.0, 0.0, 0.0]), 0.0, 1))
    assert not result.success and result.residual > 0.1
    result = solve_contact(box(), lambda problem, r, run: (np.full(3, np.nan), 0.0, 1))
    assert not result.success and np.all(np.isfinite(result.r))


def test_impulses_outside_the_cone_are_not_returned():
    result = solve_contact(box(), lambda problem, r, run: (np.array([-1.0, 3.0, 9.0]), 0.0, 1))
    assert result.cone <= 1e-12


@pytest.mark.parametrize(
    "kwargs, error",
    [
        (dict(method="simplex"), InputError),
        (dict(method=["nsgs"]), InputError),
        (dict(tol=0.0), RangeError),
        (dict(tol=-1e-8), RangeError),
        (dict(tol=np.nan), RangeError),
        (dict(tol="small"), RangeError),
        (dict(max_iter=-1), RangeError),
        (dict(max_iter=1.5), RangeError),
        (dict(time_limit=0.0), RangeError),
        (dict(guess=[1.0, 2.0]), ShapeError),
        (dict(guess=[np.nan, 0.0, 0.0]), NonFiniteError),
    ],
)
def test_bad_arguments(kwargs, error):
    with pytest.raises(error):
        solve_contact(box(), **kwargs)
    with pytest.raises(InputError):
        solve_contact("problem.hdf5")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_units_do_not_matter(path):
    given = read_fclib(path)
    W = sp.csc_matrix(given.W)
    base = solve_contact(ContactProblem(W, given.q, given.mu, given.dim))
    for mass in (1e-6, 1e-3, 1e6):
        for speed in (1e-6, 1e6):
            other = solve_contact(ContactProblem(W / mass, given.q * speed, given.mu, given.dim))
            assert other.success and abs(other.iterations - base.iterations) <= 1
            scale = np.abs(base.r).max()
            np.testing.assert_allclose(other.r / (mass * speed), base.r, rtol=0, atol=1e-9 * scale)


def test_units_with_huge_impulses_are_no_failure():
    """Impulses 1e10 times as large as velocities: their rounding alone is above the tolerance, and said so."""
    rng = np.random.default_rng(4)
    H = rng.normal(size=(14, 12))
    W, q = H.T @ H, rng.normal(size=12)
    q[::3] = -1.0 - np.abs(q[::3])
    base = solve_contact(ContactProblem(W, q, 0.3))
    heavy = solve_contact(ContactProblem(W / 1e10, q, 0.3))
    assert heavy.success and heavy.iterations == base.iterations
    assert heavy.residual <= 1e-8 and heavy.residual_scaled == pytest.approx(base.residual_scaled, rel=1e-3)
    np.testing.assert_allclose(heavy.r / 1e10, base.r, rtol=0, atol=1e-12 * np.abs(base.r).max())
    # the allowance does not cover a wrong result
    problem = ContactProblem(W / 1e10, q, 0.3)
    wrong = solve_contact(problem, lambda problem, r, run: (heavy.r * (1.0 + 1e-5), 0.0, 1))
    assert not wrong.success and wrong.residual > 1e-8


def test_large_impulses_of_a_nearly_singular_matrix_get_no_allowance():
    from nonsmooth.contact.residual import rounding

    problem = ContactProblem(np.diag([1.0, 1.0, 1.0]), [-1.0, 0.0, 0.0], 0.3)
    assert rounding(problem, np.full(3, 1e12)) < 1e-14


def test_global_problem_without_forming_w():
    given = read_fclib(DATA / "Box_Stacks-i0122-82-5.hdf5")
    rho = read_fclib(DATA / "Box_Stacks-i0122-82-5.hdf5").rho
    given.delassus.unformed = True  # as for large problems with a full W
    np.testing.assert_allclose(given.rho, rho, rtol=1e-12)
    result = solve_contact(given, tol=1e-7)
    assert result.success and "without W" in result.method
    assert given.delassus._W is None


def test_newton_in_velocities_is_newton_in_impulses():
    from nonsmooth._core.contact.nonsmooth_newton import equations
    from nonsmooth.contact.bodies import bodies_of
    from nonsmooth.contact.newton import _body_direction, _contact_direction, scale

    problem = read_fclib(DATA / "Box_Stacks-i0122-82-5.hdf5")
    rng = np.random.default_rng(0)
    n = problem.n_contacts
    r, u = np.abs(rng.normal(size=3 * n)), rng.normal(size=3 * n)
    phi, A, B = np.empty(3 * n), np.empty((n, 3, 3)), np.empty((n, 3, 3))
    equations(0, 3, r, u, problem.mu, problem.bilateral, phi, A, B)
    w = scale(problem)
    one = _contact_direction(problem, w)(A, B, 1e-3, phi)
    other = _body_direction(bodies_of(problem, w.s, 0))(A, B, 1e-3, phi)
    np.testing.assert_allclose(other, one, atol=1e-8 * np.abs(one).max())
