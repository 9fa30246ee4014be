"""The contact problem of a step in the form of `solve_contact`: every kind of law, against the laws themselves."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.records import laws as L
from nonsmooth.contact.in_step import solve_step
from nonsmooth.contact.solve import FACETED, METHODS
from nonsmooth.errors import InputError, ModelError

sys.path.insert(0, str(Path(__file__).parents[1] / "_core" / "laws"))
from prox_problem import Prox, contact_matrix, coulomb, spd


def step(G, c, laws, lower=None, upper=None):
    """A problem as a step leaves it for its solver."""
    prox = Prox(G, c, laws, lower, upper)
    prox.problem.count.laws, prox.problem.count.rows = len(laws), len(c)
    prox.problem.options.tol = 1e-10
    return prox


def mixed_laws(rng):
    """A frictionless contact, one with friction in a plane, intervals with two, one and no bounds, a disk, two constraints."""
    laws = [(L.HALF_LINE, 1, -1, 0.0), (L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 1, 0.4)]
    laws += [(L.INTERVAL, 1, -1, 0.0)] * 4 + [(L.DISK, 2, -1, 0.0)] + [(L.FREE, 1, -1, 0.0)] * 2
    n = sum(dim for _, dim, *_ in laws)
    lower = np.array([0.0, 0, 0, -0.3, 0.1, -np.inf, -np.inf, 0, 0, 0, 0])
    upper = np.array([0.0, 0, 0, 0.5, np.inf, 0.2, np.inf, 0.25, 0, 0, 0])
    return step(spd(rng, n) / n, rng.normal(size=n), laws, lower, upper)


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_law_finds_its_way_there_and_back(seed):
    prox = mixed_laws(np.random.default_rng(seed))
    assert solve_step(prox.problem, ns.Exact())
    assert prox.violation(prox.rows.P) < 1e-9


@pytest.mark.parametrize("name", [m for m in METHODS if m not in FACETED])
def test_every_method_solves_a_step(name):
    prox = step(contact_matrix(np.random.default_rng(3), 3, 2), -np.ones(9), coulomb(3, 2, 0.4))
    prox.problem.options.tol = 1e-7  # methods of first order take their time
    assert solve_step(prox.problem, ns.ContactMethod(name, tol=1e-7))
    assert prox.violation(prox.rows.P) < 1e-6


def test_the_guess_is_the_impulse_of_the_step():
    prox = mixed_laws(np.random.default_rng(0))
    prox.rows.P[:] = np.random.default_rng(1).normal(size=prox.n)
    problem = ns.ContactProblem.of_step(prox.problem)
    back, held = problem.impulses(problem.guess(prox.rows.P)), problem.law_form.held
    np.testing.assert_allclose(np.delete(back, held), np.delete(prox.rows.P, held), atol=1e-15)


def test_a_set_of_the_user_is_left_to_relaxation():
    prox = step(np.eye(1), [-1.0], [(L.USER_SET, 1, -1, 0.0)])
    assert not solve_step(prox.problem, ns.Exact())
    with pytest.raises(ModelError, match=r"'nsgs'.*convex sets.*PSOR"):
        solve_step(prox.problem, ns.ContactMethod("nsgs"))


def laws_of_all_kinds(n=9):
    """Two contacts, one with friction, a brake, a pre-stressed spring (interval), a disk and a guide (joint), in directions of which
    none depends on the others."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(n, n))
    mass = A @ A.T + n * np.eye(n)
    slip, brake, spring, guide = rng.normal(size=(4, n))
    disk = rng.normal(size=(n, 2))
    push = rng.normal(size=n)
    push[:2] = -30.0
    contacts = [
        ns.Contact(lambda t, q: q[0], restitution=0.3, friction=0.4, tangent=lambda t, q: slip, name="floor"),
        ns.Contact(lambda t, q: q[1], name="stop"),
    ]
    friction = [
        ns.FrictionElement(lambda t, q: brake, limit=0.3, name="brake"),
        ns.FrictionElement(lambda t, q: disk, limit=0.5, name="disk"),
    ]
    elements = [ns.SetValuedElement(lambda t, q: spring, set=ns.Interval(-0.5, 2.0), name="spring")]
    joints = [ns.Joint(lambda t, q: np.array([guide @ q]), name="guide")]
    return ns.MechanicalSystem(
        mass, lambda t, q, u: push * (1.0 + np.sin(9.0 * t)), contacts, friction, elements=elements, joints=joints,
    ), guide  # fmt: skip


def test_every_step_hands_out_its_problem_and_solve_contact_finds_its_impulses():
    """Steps of a run solved by default, and the problems of the same steps solved by `solve_contact` outside of it."""
    system, guide = laws_of_all_kinds()
    q0 = np.zeros(9)
    q0[:2] = 0.1, 0.15
    q0[8] = -guide[:2] @ q0[:2] / guide[8]
    start = (0.0, 1.0), q0, np.zeros(9)
    problems = []

    def keep(problem, r, run):
        problems.append(problem)
        return METHODS["exact"](problem, r, run)

    ns.simulate(system, *start, ns.Moreau(dt=5e-3, solver=ns.ContactMethod(keep)), progress=False)
    result = ns.simulate(system, *start, ns.Moreau(dt=5e-3), progress=False)
    P = np.vstack([result.P_N, result.P_T, result.P_J])
    table = system.bind(0.0, q0, np.zeros(9)).laws
    counts = set()
    for k, problem in enumerate(problems, start=1):
        found = ns.solve_contact(problem, tol=1e-10)
        assert found.success, found
        laws = problem.law_form.laws
        rows = np.concatenate([np.arange(table.row[l], table.row[l] + table.dim[l]) for l in laws.law])
        np.testing.assert_allclose(problem.impulses(found.r), P[rows, k], atol=1e-8 * np.abs(P).max())
        counts.add(len(laws.kind))
    assert len(counts) > 2  # in flight, one contact closed, both


def test_solvers_by_name():
    assert ns.Moreau(dt=1e-3, solver="auto").solver == ns.Exact()
    assert ns.ExtrapolatedMoreau(solver="psor").solver == ns.PSOR()
    assert ns.Moreau(dt=1e-3, solver="nsgs").options() == {"dt": 1e-3, "solver": "nsgs", "tol": 1e-10}
    with pytest.raises(InputError, match=r"`solver` is 'best': one of auto, .*newton"):
        ns.Moreau(dt=1e-3, solver="best")
    with pytest.raises(InputError, match="`solver` is 3"):
        ns.Moreau(dt=1e-3, solver=3)
    with pytest.raises(InputError, match="ContactMethod is 'best'"):
        ns.ContactMethod("best")


@pytest.mark.parametrize("name", ["nsgs", "pjor"])
def test_rest_under_a_solvers_tolerance_is_no_alarm(name):
    """A box held at rest against a force that grows: it creeps by 1e-14, which is neither penetration nor stiffness."""
    spec = importlib.util.spec_from_file_location(
        "own_solver", Path(__file__).parents[2] / "examples" / "own_solver.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = ns.simulate(
        module.box(),
        (0.0, 0.1),
        [0.0, 0.1, 0.0],
        np.zeros(3),
        ns.Moreau(dt=2e-3, solver=name),
        progress=False,
    )
    assert result.audit.ok, str(result.audit)
    assert result.residual.max() <= 1e-10
