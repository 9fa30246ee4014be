"""The contact problem of a failed step as an FCLIB file."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ConvergenceError

WEAK = ns.PSOR(max_iter=1)  # one sweep cannot solve a frictional contact to 1e-10


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.PenetrationWarning")
@pytest.mark.parametrize("method", [ns.Moreau(dt=2e-5, solver=WEAK), ns.ExtrapolatedMoreau(solver=WEAK)])
def test_failed_step_is_written_and_can_be_solved(method, tmp_path):
    toy = ns.problems.woodpecker()
    path = tmp_path / "step.hdf5"
    with pytest.raises(ConvergenceError, match=r"written to .*step\.hdf5") as caught:
        ns.simulate(toy.system, (0, 0.1), toy.q0, toy.u0, method=method, on_failure="dump", dump_path=path)
    assert caught.value.partial is not None
    problem = ns.read_fclib(path)
    assert problem.dim == 2 and problem.mu.tolist() == [0.3]
    assert ns.solve_contact(problem).success


def with_a_brake(*more):
    contact = ns.Contact(
        lambda t, q: q[0], friction=0.3, tangent=lambda t, q: [0.0, 1.0, 0.5], restitution=0.5, name="floor"
    )
    element = ns.FrictionElement(lambda t, q: [0.2, 1.0, 1.0], limit=0.4, name="brake")
    return ns.MechanicalSystem(
        [[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]],
        lambda t, q, u: [-9.81, 2.0, 1.0],
        contact,
        element,
        elements=more,
    )


def dumped(system, path):
    with pytest.raises(ConvergenceError) as caught:
        ns.simulate(
            system, (0, 1), [0.0, 0, 0], [-1.0, 0.5, 0.2], method=ns.Moreau(dt=1e-3, solver=WEAK),
            on_failure="dump", dump_path=path,
        )  # fmt: skip
    return str(caught.value)


def test_elements_are_written_as_contacts(tmp_path):
    path = tmp_path / "step.hdf5"
    assert "its elements as contacts with a given normal impulse" in dumped(with_a_brake(), path)
    problem = ns.read_fclib(path)
    result = ns.solve_contact(problem, tol=1e-10)
    assert result.success and problem.n_contacts == 2
    # the second contact stands for the brake: 0.4 N for 1 ms, in both directions
    assert result.r[2] == pytest.approx(0.4e-3, rel=1e-9) and problem.mu[1] == 1.0


def test_a_step_that_is_no_fclib_problem_says_why(tmp_path):
    own = ns.SetValuedElement(
        lambda t, q: [0.1, 0.7, 1.0], set=ns.ConvexSet(lambda x: np.clip(x, -0.3, 0.2)), name="own"
    )
    message = dumped(with_a_brake(own), tmp_path / "step.hdf5")
    assert "could not be written as an FCLIB file: the problem has convex sets" in message
    assert not (tmp_path / "step.hdf5").exists()
