"""LCP front door: literature problems, bad input, certificates, non-unique problems, mixed problems."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from nonsmooth.contact.lcp import solve_lcp
from nonsmooth.errors import (
    InputError,
    NonFiniteError,
    NonUniqueWarning,
    NoSolutionError,
    RangeError,
    ShapeError,
)

DATA = json.loads((Path(__file__).parents[1] / "data" / "lcp" / "lcp_problems.json").read_text())


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonUniqueWarning)
        return solve_lcp(*args, **kwargs)


def check(M, q, z, w, tol=1e-10):
    """Complementarity by plain NumPy, relative to the terms of each row."""
    M, q = np.asarray(M), np.asarray(q)
    size = np.abs(q) + np.abs(M) @ np.abs(z) + 1e-300
    assert np.all(z >= 0.0)
    assert np.all(w >= -tol * size)
    assert np.all(np.abs(M @ z + q - w) <= tol * size)
    assert np.all(z * w <= tol * max(1.0, np.max(z)) * size)


@pytest.mark.parametrize("name", sorted(DATA))
def test_literature_problems(name):
    M, q = DATA[name]["M"], DATA[name]["q"]
    result = quiet(M, q)
    assert result.success and result.residual <= 1e-13
    check(M, q, result.z, result.w)


def test_all_three_solutions_of_cps_3():
    found = solve_lcp(**DATA["CPS_3"], all=True)
    expected = np.array([[1 / 90, 2 / 45, 1 / 90, 2 / 45], [0, 1 / 15, 0, 1 / 15], [0.1, 0, 0.1, 0]])
    assert len(found) == 3 and all(r.isolated and r.success for r in found)
    np.testing.assert_allclose([r.z for r in found], expected, atol=1e-15)


def test_continuum_is_listed_by_its_vertices():
    found = solve_lcp(**DATA["CPS_1"], all=True)
    np.testing.assert_allclose(sorted(tuple(r.z) for r in found), [(0, 1), (1, 0)])
    assert not any(r.isolated for r in found)
    half_line = solve_lcp(**DATA["CPS_5"], all=True)  # z = (s, 1 + s), s >= 0
    assert len(half_line) == 1 and not half_line[0].isolated and not half_line[0].unique


def test_non_unique_warns_and_takes_the_smallest():
    with pytest.warns(NonUniqueWarning, match="2 solutions"):
        result = solve_lcp([[-1.0]], [1.0])
    assert result.z[0] == 0.0 and result.unique is False
    with pytest.warns(NonUniqueWarning, match="continuum"):
        solve_lcp(**DATA["CPS_1"])


def test_one_by_one_without_solution_is_refused():
    # w = -z - 1 cannot be non-negative: a negative impulse must never come back.
    with pytest.raises(NoSolutionError) as caught:
        solve_lcp([[-1.0]], [-1.0])
    assert caught.value.certificate.kind == "farkas"


def test_farkas_certificate_proves_infeasibility():
    rng = np.random.default_rng(7)
    for n in (2, 5, 16, 30):
        M = rng.normal(size=(n, n))
        M[n // 2] = -np.abs(M[n // 2])
        q = rng.normal(size=n)
        q[n // 2] = -1.0
        for method in ("auto", "lemke"):
            with pytest.raises(NoSolutionError) as caught:
                solve_lcp(M, q, method)
            y = caught.value.certificate.y
            assert np.all(y >= 0.0) and q @ y < 0.0 and np.all(M.T @ y <= 1e-12 * np.max(y))


def test_feasible_but_unsolvable_is_proved_by_enumeration():
    # w1 = -z1 + z2 - 1, w2 = 1: feasible (z = (0, 1)), but w2 > 0 forces z2 = 0, and then w1 = -z1 - 1 < 0.
    M, q = [[-1.0, 1.0], [0.0, 0.0]], [-1.0, 1.0]
    with pytest.raises(NoSolutionError) as caught:
        solve_lcp(M, q)
    assert caught.value.certificate.kind == "enumeration" and caught.value.certificate.nodes > 0


@pytest.mark.parametrize("method", ["auto", "lemke", "psor", "newton-min", "enumerate"])
def test_methods_agree_on_a_definite_problem(method):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(8, 8))
    M, q = A @ A.T + np.eye(8), rng.normal(size=8)
    result = solve_lcp(M, q, method, tol=1e-11)
    assert result.success and result.unique
    np.testing.assert_allclose(result.z, solve_lcp(M, q).z, atol=1e-9)


def test_larger_problems():
    rng = np.random.default_rng(5)
    for n in (17, 60, 200):
        A = rng.normal(size=(n, n))
        M, q = A @ A.T / n + (A - A.T) + 0.1 * np.eye(n), rng.normal(size=n)
        result = solve_lcp(M, q)
        assert result.success and result.residual < 1e-11
        check(M, q, result.z, result.w)


def test_exponential_example_of_murty():
    n = 16
    M = np.eye(n) + 2.0 * np.triu(np.ones((n, n)), 1)
    result = quiet(M, -np.ones(n))
    np.testing.assert_allclose(result.z, np.eye(n)[-1], atol=1e-14)
    assert quiet(M, -np.ones(n), "lemke").iterations < 100


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter(scale):
    rng = np.random.default_rng(11)
    for _ in range(20):
        A = rng.normal(size=(5, 3))
        M, q = A @ A.T, A @ rng.normal(size=3) + np.maximum(rng.normal(size=5), 0)
        units = scale ** rng.integers(-1, 2, size=5)
        here = quiet(M, q)
        there = quiet(units[:, None] * M * units * scale, units * q)
        assert abs(here.iterations - there.iterations) <= 1
        np.testing.assert_allclose(there.w / units, here.w, atol=1e-9 * np.abs(q).max())


def test_empty_problem():
    result = solve_lcp(np.zeros((0, 0)), [])
    assert result.success and result.z.shape == (0,) and result.residual == 0.0
    assert len(solve_lcp(np.zeros((0, 0)), [], all=True)) == 1


@pytest.mark.parametrize(
    ("M", "q", "error"),
    [
        ([[np.nan]], [1.0], NonFiniteError),
        ([[1.0]], [np.nan], NonFiniteError),
        ([[np.inf]], [1.0], NonFiniteError),
        ([[1.0, 2.0]], [1.0], ShapeError),
        (np.eye(2), [1.0], ShapeError),
        (np.eye(2), np.eye(2), ShapeError),
        ([["a"]], [1.0], InputError),
    ],
)
@pytest.mark.parametrize("method", ["auto", "lemke", "psor", "newton-min", "enumerate"])
def test_bad_input(M, q, error, method):
    with pytest.raises(error):
        solve_lcp(M, q, method)


def test_bad_options():
    with pytest.raises(InputError, match="unknown"):
        solve_lcp([[1.0]], [1.0], "simplex")
    with pytest.raises(RangeError, match="2\\^n"):
        solve_lcp(np.eye(17), np.ones(17), all=True)
    with pytest.raises(RangeError):
        solve_lcp([[1.0]], [1.0], tol=0.0)
    with pytest.raises(RangeError):
        solve_lcp([[1.0]], [1.0], "psor", omega=2.0)
    with pytest.raises(InputError, match="positive diagonal"):
        solve_lcp([[0.0]], [1.0], "psor")
    with pytest.raises(ShapeError):
        solve_lcp([[1.0]], [1.0], "psor", guess=[1.0, 2.0])


def test_failure_is_declared():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    result = solve_lcp(A @ A.T + 1e-3 * np.eye(20), rng.normal(size=20), "psor", max_iter=3)
    assert not result.success and "above tol" in result.message and result.residual > 1e-9


def test_arguments_are_not_changed_and_lists_integers_and_views_are_accepted():
    M = np.asfortranarray([[2, 1], [1, 2]])
    q = np.array([-5, 0, -6])[::2]
    M.flags.writeable = q.flags.writeable = False
    np.testing.assert_allclose(solve_lcp(M, q).z, [4 / 3, 7 / 3])
    np.testing.assert_allclose(solve_lcp([[2, 1], [1, 2]], [-5, -6]).z, [4 / 3, 7 / 3])


def test_mixed_problem():
    # Free row: z2 of any sign with w2 = 0.
    M, q = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([-1.0, 3.0])
    result = solve_lcp(M, q, free=[1])
    np.testing.assert_allclose(M @ result.z + q, result.w, atol=1e-14)
    assert result.w[1] == 0.0 and result.z[1] < 0.0 and result.success
    assert abs(result.z[0] * result.w[0]) < 1e-14
    np.testing.assert_allclose(solve_lcp(M, q, free=np.array([False, True])).z, result.z)
    with pytest.raises(InputError, match="singular"):
        solve_lcp([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0], free=[1])
    with pytest.raises(RangeError):
        solve_lcp(M, q, free=[5])
