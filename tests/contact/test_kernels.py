"""The compiled pieces against slow, obvious versions: one contact, derivatives of the equations, sweeps, a
campaign."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from nonsmooth._core.contact.cone import local2, local3
from nonsmooth._core.contact.nonsmooth_newton import equations
from nonsmooth._core.contact.nsgs import multiply, sweep3
from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import solve_contact

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("rank", ["full", "unsymmetric"])
def test_one_contact_is_solved_exactly(dim, rank):
    rng = np.random.default_rng(dim)
    cases = {"open": 0, "stick": 0, "slip": 0}
    for _ in range(1000):
        H = rng.normal(size=(dim + 1, dim))
        W = H.T @ H
        b = rng.normal(size=dim)
        if rank == "unsymmetric":
            W = W * (1 + 1e-3 * rng.normal(size=W.shape))
        mu = rng.uniform(0, 2)
        problem = ContactProblem(W, b, mu, dim)
        if dim == 3:
            *r, _, status = local3(W.ravel(), np.uint64(0), *b, mu, 0.0)
        else:
            *r, status = local2(W[None], 0, *b, mu)
        assert status == 0
        e = residual(problem, np.array(r))
        assert e.scaled < 1e-11 and e.cone <= 1e-14
        r, u = np.array(r), W @ r + b
        slip = np.linalg.norm(u[1:]) > 1e-9
        cases["open" if r[0] == 0 else "slip" if slip else "stick"] += 1
    assert min(cases.values()) > 50


@pytest.mark.parametrize("dim", [2, 3])
def test_a_singular_block_is_solved_by_the_front_door(dim):
    """The exact cases need a regular block; `auto` has to find the way for a body with fewer freedoms."""
    rng = np.random.default_rng(dim)
    for _ in range(60):
        H = rng.normal(size=(dim - 1, dim))
        problem = ContactProblem(H.T @ H, H.T @ rng.normal(size=dim - 1), rng.uniform(0, 2), dim)
        result = solve_contact(problem)
        assert result.success, (problem.W, problem.q, problem.mu, result)


def test_a_warm_multiplier_changes_nothing():
    rng = np.random.default_rng(8)
    for _ in range(300):
        H = rng.normal(size=(4, 3))
        W, b = H.T @ H, rng.normal(size=3)
        cold = local3(W.ravel(), np.uint64(0), *b, 0.4, 0.0)
        for alpha in (1e-8, cold[3], 1e6):
            np.testing.assert_allclose(
                local3(W.ravel(), np.uint64(0), *b, 0.4, alpha)[:3], cold[:3], rtol=1e-9, atol=1e-13
            )


def test_indefinite_blocks_are_reported():
    W = np.diag([-1.0, 1.0, 1.0])
    assert local3(W.ravel(), np.uint64(0), -1.0, 0.1, 0.0, 0.3, 0.0)[4] == 1
    W = np.diag([1.0, -1.0, 1.0])
    assert local3(W.ravel(), np.uint64(0), -1.0, 0.1, 0.0, 0.3, 0.0)[4] == 1
    assert local2(np.diag([1.0, -1.0])[None], 0, -1.0, 0.1, 0.3)[2] == 1


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_derivatives_of_the_newton_equations(dim, form):
    rng = np.random.default_rng(form)
    n, h = 60, 1e-6
    r, u = rng.normal(size=n * dim), rng.normal(size=n * dim)
    r[::dim] = 2 * np.abs(r[::dim])
    mu, free = rng.uniform(0.1, 1.5, n), np.zeros(n, dtype=bool)

    def phi(r, u):
        out, A, B = np.empty(n * dim), np.empty((n, dim, dim)), np.empty((n, dim, dim))
        equations(form, dim, r, u, mu, free, out, A, B)
        return out, A, B

    _, A, B = phi(r, u)
    for a in range(dim):
        d = np.zeros(n * dim)
        d[a::dim] = h
        for J, plus, minus in ((B, (r + d, u), (r - d, u)), (A, (r, u + d), (r, u - d))):
            difference = (phi(*plus)[0] - phi(*minus)[0]).reshape(n, dim) / (2 * h)
            np.testing.assert_allclose(J[:, :, a], difference, atol=1e-7)


@pytest.mark.parametrize("form", [0, 1, 2])
def test_all_equations_vanish_at_a_solution(form):
    # sliding, sticking and open contact with unit masses
    r = np.array([6.0, -2.4, 0.0, 6.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    u = np.array([0.0, 2.6, 0.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.4])
    out, A, B = np.empty(9), np.empty((3, 3, 3)), np.empty((3, 3, 3))
    assert equations(form, 3, r, u, np.full(3, 0.4), np.zeros(3, dtype=bool), out, A, B) < 1e-6


def test_one_sweep_is_the_obvious_loop():
    problem = read_fclib(ROOT / "tests" / "data" / "contact" / "NESpheres_10_1.hdf5")
    W = problem.W.toarray()
    expected = np.zeros(problem.q.size)
    for _ in range(3):
        for i in range(problem.n_contacts):
            rows = slice(3 * i, 3 * i + 3)
            b = W[rows] @ expected + problem.q[rows] - W[rows, rows] @ expected[rows]
            expected[rows] = local3(W[rows, rows].ravel(), np.uint64(0), *b, problem.mu[i], 0.0)[:3]
    r = np.zeros(problem.q.size)
    done, _ = sweep3(
        *problem.blocks,
        problem.q,
        problem.mu,
        problem.bilateral,
        problem.rho,
        problem.weight,
        r,
        np.zeros(9),
        3,
        0.0,
    )
    assert done == 3
    np.testing.assert_allclose(r, expected, rtol=1e-10, atol=1e-12)
    u = np.empty(r.size)
    multiply(*problem.blocks[:3], r, u)
    np.testing.assert_allclose(u, W @ r, rtol=1e-12, atol=1e-13)


def campaign(count):
    spec = importlib.util.spec_from_file_location("contact_random", ROOT / "benchmarks" / "contact_random.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    solved, failed, lies = module.campaign(count)
    assert sum(lies.values()) == 0
    for family in ("regular", "redundant", "duplicated", "frictionless", "bilateral"):
        assert failed[family] == 0
    assert sum(solved.values()) > 0.95 * count


def test_random_problems_never_lie():
    campaign(300)


@pytest.mark.soak
def test_many_random_problems_never_lie():
    campaign(100_000)
