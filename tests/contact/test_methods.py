"""Every method against the others: Fischer-Burmeister, interior points, Lemke, enumeration, and their parts."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from nonsmooth._core.contact.interior_point import CONE, determinant, right_side, scaling, to_boundary
from nonsmooth._core.contact.nonsmooth_newton import FISCHER_BURMEISTER, equations
from nonsmooth.contact import auto as auto_module
from nonsmooth.contact import knots as knots_module
from nonsmooth.contact.anderson import Combination
from nonsmooth.contact.bodies import Bodies
from nonsmooth.contact.dissection import dissect
from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.interior_point import interior_point, rests
from nonsmooth.contact.knots import untie
from nonsmooth.contact.multifrontal import Multifrontal
from nonsmooth.contact.newton import scale
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.pyramid import Pyramid
from nonsmooth.contact.residual import residual
from nonsmooth.contact.run import Run
from nonsmooth.contact.solve import solve_contact
from nonsmooth.errors import InputError, RangeError

DATA = Path(__file__).parents[1] / "data" / "contact"


def random_problem(seed, n, dim, mu=None, bilateral=None):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n * dim + 2, n * dim))
    q = rng.normal(size=n * dim)
    q[::dim] -= 1.0
    return ContactProblem(H.T @ H, q, rng.uniform(0, 0.8, n) if mu is None else mu, dim, bilateral)


@pytest.mark.parametrize("method", ["newton-fb", "interior-point"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_agreement_with_nsgs(method, dim):
    for seed in range(6):
        mu = np.where(np.arange(4) == 1, 0.0, 0.4)
        problem = random_problem(seed, 4, dim, mu, [False, False, False, seed % 2 == 1])
        one, other = solve_contact(problem, method, tol=1e-9), solve_contact(problem, "nsgs", tol=1e-11)
        assert one.success and other.success, (one, other)
        np.testing.assert_allclose(one.r, other.r, atol=1e-7 * np.abs(other.r).max())


@pytest.mark.parametrize("method, names", [
    ("newton-fb", ["Box_Stacks-i0122-82-5", "NESpheres_10_1", "OneObject-i100000-316", "Rover1041"]),
    ("interior-point", ["Box_Stacks-i0122-82-5", "NESpheres_10_1", "Rover1041"]),
])  # fmt: skip
def test_real_problems(method, names):
    for name in names:
        problem = read_fclib(DATA / f"{name}.hdf5")
        result = solve_contact(problem, method)
        assert result.success, (name, result)
        assert residual(problem, result.r).scaled <= 1e-8


def test_fischer_burmeister_jacobian_by_differences():
    rng = np.random.default_rng(2)
    r, u, mu = rng.normal(size=3), rng.normal(size=3), np.array([0.6])
    free = np.zeros(1, dtype=bool)
    phi, A, B = np.empty(3), np.empty((1, 3, 3)), np.empty((1, 3, 3))
    equations(FISCHER_BURMEISTER, 3, r, u, mu, free, phi, A, B)
    scratch = np.empty((1, 3, 3)), np.empty((1, 3, 3))
    for k in range(3):
        for block, point in ((B, r), (A, u)):
            sides = []
            for sign in (1.0, -1.0):
                point[k] += sign * 1e-6
                value = np.empty(3)
                equations(FISCHER_BURMEISTER, 3, r, u, mu, free, value, *scratch)
                point[k] -= sign * 1e-6
                sides.append(value)
            np.testing.assert_allclose((sides[0] - sides[1]) / 2e-6, block[0, :, k], atol=1e-7)


@pytest.mark.parametrize("dim", [2, 3])
def test_scaling_of_nesterov_and_todd(dim):
    rng = np.random.default_rng(dim)
    x, y = rng.normal(size=dim), rng.normal(size=dim)
    x[0], y[0] = 1.1 * np.linalg.norm(x[1:]), 2.0 * np.linalg.norm(y[1:])
    P, lam = np.empty((1, dim, dim)), np.empty(dim)
    kind = np.array([CONE])
    assert scaling(dim, kind, x, y, P, lam)
    np.testing.assert_allclose(P[0] @ P[0] @ x, y, rtol=1e-12)
    np.testing.assert_allclose(P[0] @ x, lam, rtol=1e-12)
    assert lam @ lam == pytest.approx(x @ y, rel=1e-12)
    # Jordan division: lam o d = target e - lam o lam
    d, out = np.empty(dim), np.empty(dim)
    zero = np.zeros(dim)
    right_side(dim, kind, np.array([0.7]), P, lam, 0.3, zero, zero, False, zero, d, out)
    product = np.concatenate([[lam @ d], lam[0] * d[1:] + d[0] * lam[1:]])
    square = np.concatenate([[lam @ lam], 2 * lam[0] * lam[1:]])
    np.testing.assert_allclose(product, 0.3 * np.eye(dim)[0] - square, atol=1e-12)
    # the step to the boundary ends on it
    step = rng.normal(size=dim)
    step[0] = -3.0 * x[0]
    t = to_boundary(dim, kind, x, step)
    assert 0.0 < t < 1.0 and abs(determinant(dim, x + t * step, 0)) < 1e-12
    assert not scaling(dim, kind, -x, y, P, lam)


def test_interior_points_find_a_pile_at_rest_with_redundant_contacts():
    """A square tower of blocks: each rests on four corners of the one below, impulses are not unique."""
    corners = np.array([[a, b] for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
    levels, rows = 6, []
    for k in range(levels):
        for x, y in corners:
            for axis in ([0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0]):
                row = np.zeros(6 * levels)
                row[6 * k : 6 * k + 3] = axis
                row[6 * k + 3 : 6 * k + 6] = np.cross([x, y, -0.5], axis)
                if k:
                    row[6 * k - 6 : 6 * k - 3] = -np.array(axis)
                    row[6 * k - 3 : 6 * k] = -np.cross([x, y, 0.5], axis)
                rows.append(row)
    M = np.tile([1.0, 1, 1, 1 / 6, 1 / 6, 1 / 6], levels)
    fall = np.tile([0.0, 0, -9.81e-3, 0, 0, 0], levels)
    problem = ContactProblem.from_global(np.diag(M), np.array(rows).T, M * fall, np.zeros(12 * levels), 0.5)
    result = solve_contact(problem, "interior-point")
    assert result.success and result.iterations < 40
    floor = result.r.reshape(-1, 3)[:4, 0].sum()
    assert floor == pytest.approx(9.81e-3 * levels, rel=1e-7)


@pytest.mark.parametrize("method", ["lemke", "enumeration"])
def test_the_plane_is_exact(method):
    for seed in range(20):
        problem = random_problem(seed, 3, 2)
        one, other = solve_contact(problem, method), solve_contact(problem, "nsgs", tol=1e-11)
        assert one.success, (seed, one)
        np.testing.assert_allclose(one.r, other.r, atol=1e-7 * np.abs(other.r).max())


def test_lemke_on_a_redundant_planar_problem():
    problem = read_fclib(DATA / "FC2D_SliderCrankLagrangian00000.hdf5")
    for method in ("lemke", "enumeration"):
        assert solve_contact(problem, method).success


def test_more_facets_are_nearer_to_the_cone():
    # a block pushed in a direction that is none of the pyramids'
    problem = ContactProblem(np.eye(3), [-3.0, 4.0 * np.cos(1.0), 4.0 * np.sin(1.0)], 0.5)
    exact = solve_contact(problem).r
    errors = []
    for facets in (4, 8, 16, 32):
        result = solve_contact(problem, "lemke", facets=facets)
        assert f"pyramids with {facets} facets" in result.message and result.cone <= 1e-12
        assert result.residual_scaled == pytest.approx(residual(problem, result.r).scaled, rel=1e-9)
        errors.append(np.abs(result.r - exact).max())
    # friction acts along the nearest direction, 0.57, 0.21, 0.18 and 0.018 away
    assert errors[3] < 0.1 * errors[0] and errors[3] < 0.02 * np.abs(exact).max()


def test_the_pyramid_is_the_problem_along_its_directions():
    problem = random_problem(1, 2, 3, np.array([0.5, 0.0]), [False, False])
    pyramid = Pyramid(problem, 6)
    assert pyramid.M.shape == (1 + 6 + 1 + 1, 9) and not pyramid.free.any()
    z = np.abs(np.random.default_rng(0).normal(size=9))
    np.testing.assert_allclose(
        (pyramid.M @ z + pyramid.q)[:1], problem.velocity(pyramid.impulses(z))[:1], rtol=1e-12
    )


def test_enumeration_in_the_plane_finds_the_modes_of_an_indefinite_problem():
    """Painlevé's rod: W_NN - mu W_NT < 0, sliding is impossible, the contact sticks or opens."""
    W = np.array([[1.0, 1.5], [1.5, 3.0]])
    problem = ContactProblem(W, [-1.0, 0.5], 1.2, 2)
    result = solve_contact(problem, "enumeration")
    assert result.success
    np.testing.assert_allclose(result.u, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "method, options, error",
    [
        ("lemke", {"facets": 2}, RangeError),
        ("lemke", {"facets": 8.0}, RangeError),
        ("lemke", {"corners": 8}, InputError),
        ("auto", {"facets": 8}, InputError),
        ("nsgs", {"run": None}, InputError),
    ],
)
def test_bad_options(method, options, error):
    with pytest.raises(error):
        solve_contact(random_problem(0, 2, 3), method, **options)


def test_too_large_for_enumeration_or_pyramids():
    with pytest.raises(InputError):
        solve_contact(random_problem(0, 12, 2), "enumeration")
    with pytest.raises(InputError):
        solve_contact(random_problem(0, 40, 3), "lemke", facets=100)
    declared = solve_contact(random_problem(0, 4, 3), "enumeration")
    assert not declared.success and "enumeration" in declared.message


def test_limits_of_pivoting_and_enumeration():
    problem = random_problem(4, 4, 2, 0.4)
    for method in ("lemke", "enumeration"):
        full = solve_contact(problem, method)
        assert full.success and full.iterations > 2
        for limit in (0, 1):
            short = solve_contact(problem, method, max_iter=limit)
            assert not short.success and short.iterations <= limit, short


def test_dissection_is_a_permutation_with_small_factors():
    import scipy.sparse.linalg as spl

    side = 11
    line = sp.diags([np.ones(side - 1), np.ones(side - 1)], [-1, 1])
    one = sp.identity(side)
    grid = (
        sp.kron(sp.kron(line, one), one) + sp.kron(sp.kron(one, line), one) + sp.kron(sp.kron(one, one), line)
    )
    A = sp.csc_matrix(7.0 * sp.identity(side**3) - grid)
    tree = dissect(A)
    order = tree.order
    np.testing.assert_array_equal(np.sort(order), np.arange(side**3))
    options = {"SymmetricMode": True}

    def fill(B):
        return spl.splu(sp.csc_matrix(B), permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options).L.nnz

    assert fill(A[order][:, order]) < 0.6 * fill(A)
    two = sp.block_diag([A, A, sp.csc_matrix((1, 1))], format="csc")
    np.testing.assert_array_equal(np.sort(dissect(two).order), np.arange(two.shape[0]))
    assert dissect(sp.csc_matrix((0, 0))).order.size == 0
    # groups on different branches do not touch
    place = np.empty(side**3, dtype=int)
    for k, group in enumerate(tree.groups):
        place[group] = k
    above = [set() for _ in tree.groups]
    for k in reversed(range(len(tree.groups))):
        if tree.parent[k] >= 0:
            assert tree.parent[k] > k
            above[k] = {int(tree.parent[k])} | above[tree.parent[k]]
    i, j = place[A.tocoo().row], place[A.tocoo().col]
    assert all(a == b or b in above[a] or a in above[b] for a, b in zip(i, j))


def test_multifrontal_elimination():
    """Against a dense solve: several components, unsymmetric values, entries of the pattern that are zero, singular groups."""
    rng = np.random.default_rng(0)
    pattern = sp.random(900, 900, 0.002, random_state=1, format="csr")
    pattern = sp.csr_matrix(pattern + pattern.T + sp.identity(900))
    fronts = Multifrontal(pattern)
    assert len(fronts.own) > 3
    for share in (1.0, 0.3):
        K = pattern.copy()
        K.data = rng.normal(size=K.nnz) * (rng.random(K.nnz) < share)
        K = sp.csr_matrix(K + 8.0 * sp.identity(900))
        b = rng.normal(size=900)
        np.testing.assert_allclose(fronts.factor(K)(b), np.linalg.solve(K.toarray(), b), atol=1e-10)
        K = sp.csr_matrix(K + K.T + 20.0 * sp.identity(900))
        np.testing.assert_allclose(
            fronts.factor(K, symmetric=True)(b), np.linalg.solve(K.toarray(), b), atol=1e-10
        )
    for symmetric in (False, True):
        with pytest.raises(np.linalg.LinAlgError):
            fronts.factor(sp.csr_matrix((900, 900)), symmetric)
    with pytest.raises(np.linalg.LinAlgError):
        fronts.factor(-sp.identity(900, format="csr"), symmetric=True)


def test_newton_systems_in_the_velocities_of_the_bodies():
    problem = spheres(6, 20)
    w = scale(problem)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, problem.n_contacts, 3, 3))
    B += 5.0 * np.eye(3)
    long = np.repeat(w.s, 3)
    W = problem.dense_W * long[:, None] * long
    matrix = sp.block_diag(list(A)) @ (W + 0.1 * np.eye(W.shape[0])) + sp.block_diag(list(B)).toarray()
    b = rng.normal(size=W.shape[0])
    bodies = Bodies(problem, w.s)
    x = bodies.factor(A, B, 0.1)(b)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-8)
    A = np.tile(np.eye(3), (problem.n_contacts, 1, 1))
    B = B @ B.transpose(0, 2, 1)
    matrix = W + 0.1 * np.eye(W.shape[0]) + sp.block_diag(list(B)).toarray()
    for symmetric in (False, True):
        np.testing.assert_allclose(matrix @ bodies.factor(A, B, 0.1, symmetric)(b), b, atol=1e-8)
    # masses that are not symmetric are not taken for it
    bodies.symmetric_mass = False
    bodies.M = bodies.M + 0.1 * sp.csr_matrix(([1.0], ([0], [1])), shape=bodies.M.shape)
    np.testing.assert_array_equal(bodies.factor(A, B, 0.1, True)(b), bodies.factor(A, B, 0.1, False)(b))


def test_anderson_solves_a_linear_fixed_point_at_once():
    """With as many differences as unknowns the combination is the secant method: exact for linear maps."""
    rng = np.random.default_rng(0)
    A = 0.3 * rng.normal(size=(3, 3))
    b = rng.normal(size=3)
    combination = Combination(3)
    x = np.zeros(3)
    for _ in range(5):
        x = combination.next(x, A @ x + b)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(3) - A, b), atol=1e-8)
    # a point that does not move is kept
    combination.forget()
    for _ in range(3):
        np.testing.assert_array_equal(combination.next(b, b.copy()), b)


def spheres(count, columns=1, v=(0.3, 0.1, -1.0, 0.0, 0.2, 0.0)):
    """Columns of touching spheres that hit the floor with the velocities `v`."""
    rows = np.zeros((3 * count, 6 * count))
    for k in range(count):
        for a, axis in enumerate(([0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0])):
            rows[3 * k + a, 6 * k : 6 * k + 3] = axis
            rows[3 * k + a, 6 * k + 3 : 6 * k + 6] = np.cross([0, 0, -0.5], axis)
            if k:
                rows[3 * k + a, 6 * k - 6 : 6 * k - 3] = -np.array(axis)
                rows[3 * k + a, 6 * k - 3 : 6 * k] = -np.cross([0, 0, 0.5], axis)
    M = np.tile([1.0, 1, 1, 0.1, 0.1, 0.1], count * columns)
    v = np.tile(v, count * columns)
    H = sp.csc_matrix(sp.kron(sp.identity(columns), rows.T))
    return ContactProblem.from_global(sp.diags(M), H, M * v, np.zeros(H.shape[1]), 0.3)


def test_anderson_needs_fewer_sweeps():
    problem = spheres(60)
    plain = solve_contact(problem, "nsgs", tol=1e-7)
    fast = solve_contact(problem, "nsgs-anderson", tol=1e-7)
    assert plain.success and fast.success
    assert fast.iterations < 0.5 * plain.iterations
    np.testing.assert_allclose(fast.r, plain.r, atol=1e-3 * np.abs(plain.r).max())


def test_large_piles_are_accelerated():
    problem = spheres(6, 350)
    result = solve_contact(problem, tol=1e-3)
    assert result.success and result.method.startswith("auto: nsgs-knots")
    again = solve_contact(spheres(6, 350), tol=1e-3)
    np.testing.assert_array_equal(again.r, result.r)


def tangled(columns=40):
    """Columns of spheres, and among them 25 contacts on one body on which sweeps stall."""
    hard = read_fclib(DATA / "OneObject-i100000-316.hdf5")
    easy = spheres(5, columns)
    scale = hard.rho.mean() / easy.rho.mean()
    W = sp.block_diag([easy.W, hard.W * scale], format="csc")
    q = np.concatenate([easy.q, hard.q * easy.q_norm / hard.q_norm])
    return ContactProblem(W, q, np.concatenate([easy.mu, hard.mu])), easy.n_contacts


def test_knots_are_untied():
    problem, first = tangled()
    stuck = solve_contact(problem, "nsgs-anderson", tol=1e-8, max_iter=3000)
    assert not stuck.success
    result = solve_contact(problem, "nsgs-knots", tol=1e-8, max_iter=3000)
    assert result.success and result.iterations < 3000
    # solved but for the knot: one attempt is enough
    start = np.concatenate([result.r[: 3 * first], stuck.r[3 * first :]])
    run = Run(problem, 1e-8)
    loose = untie(problem, start, run)
    assert run.measure(loose) < 1e-2 * run.measure(start)
    np.testing.assert_allclose(loose[: 3 * first], start[: 3 * first], atol=1e-7)


def test_residuals_everywhere_are_no_knot():
    problem = spheres(5, 80)
    start = np.zeros(problem.q.size)
    assert untie(problem, start, Run(problem, 1e-8)) is start
    # nothing left to do
    solved = solve_contact(problem, tol=1e-12).r
    np.testing.assert_allclose(untie(problem, solved, Run(problem, 1e-8)), solved, atol=1e-9)


def test_knots_do_not_depend_on_units():
    problem, _ = tangled(10)
    result = solve_contact(problem, "nsgs-knots", tol=1e-8)
    for mass, speed in ((2.0**20, 2.0**-10), (2.0**-20, 2.0**10)):
        other = ContactProblem(problem.W / mass, problem.q * speed, problem.mu)
        again = solve_contact(other, "nsgs-knots", tol=1e-8)
        assert again.success and again.iterations == result.iterations
        np.testing.assert_allclose(
            again.u, result.u * speed, rtol=0.0, atol=1e-9 * np.abs(result.u).max() * speed
        )


def test_piles_at_rest_are_handed_to_interior_points_and_back(monkeypatch):
    """Sweeps on a pile at rest that are slow below 1e-3 make way for interior points from their impulses, and finish what is left."""
    monkeypatch.setattr(auto_module, "HEAVY_ROWS", 100)
    monkeypatch.setattr(auto_module, "LONGER", 0.0)
    monkeypatch.setattr(auto_module, "SHORTEST", 1)
    monkeypatch.setattr(knots_module, "ROUND", 20)
    problem = spheres(30, 25, v=(0.0, 0.0, -1.0, 0.0, 0.0, 0.0))
    assert rests(problem, solve_contact(problem, "nsgs", tol=1e-4).r)
    result = solve_contact(problem, tol=1e-9)
    assert result.success, result
    stages = result.method.removeprefix("auto: ").split(", ")
    assert [stage.split()[0] for stage in stages[:2]] == ["nsgs-knots", "interior-point"]
    # from a guess, fewer factorisations than from nothing, and the same forces on the bodies
    run = Run(problem, 1e-9)
    near = solve_contact(problem, "nsgs", tol=1e-3).r
    warm, cold = (interior_point(problem, r, run, 40, only_at_rest=True) for r in (near, 0.0 * near))
    assert warm[2] < cold[2]
    H = problem.global_form.H
    np.testing.assert_allclose(H @ warm[0], H @ cold[0], atol=1e-3 * np.abs(H @ cold[0]).max())


def test_what_slides_does_not_rest():
    problem = spheres(3, v=(5.0, 0.0, -1.0, 0.0, 0.0, 0.0))
    assert not rests(problem, solve_contact(problem, "nsgs", tol=1e-6).r)
