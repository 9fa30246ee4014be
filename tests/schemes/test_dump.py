"""The contact problem of a failed step as an FCLIB file."""

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


def test_a_step_that_is_no_fclib_problem_says_why(tmp_path):
    contact = ns.Contact(
        lambda t, q: q[0], friction=0.3, tangent=lambda t, q: [0.0, 1.0, 0.5], restitution=0.5, name="floor"
    )
    element = ns.FrictionElement(lambda t, q: [0.2, 1.0, 1.0], limit=0.4, name="brake")
    system = ns.MechanicalSystem(
        [[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]],
        lambda t, q, u: [-9.81, 2.0, 1.0],
        contact,
        element,
    )
    with pytest.raises(ConvergenceError, match="could not be written as an FCLIB file: it has elements"):
        ns.simulate(
            system, (0, 1), [0.0, 0, 0], [-1.0, 0.5, 0.2], method=ns.Moreau(dt=1e-3, solver=WEAK),
            on_failure="dump", dump_path=tmp_path / "step.hdf5",
        )  # fmt: skip
    assert not (tmp_path / "step.hdf5").exists()
