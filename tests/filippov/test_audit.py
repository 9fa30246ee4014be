"""The audit of Filippov runs: in order for right runs, and able to find what is wrong."""

import numpy as np
import pytest

from nonsmooth.errors import ZenoWarning
from nonsmooth.filippov import FilippovSystem, sign_term, solve_filippov
from nonsmooth.problems.relays import coupled_relays, filippov_spiral
from nonsmooth.problems.three_mass import three_mass
from nonsmooth.results.result import Result
from nonsmooth.sliding.audit import audit_filippov
from nonsmooth.sliding.compiled import compile_system

PROBLEM = three_mass()


@pytest.mark.parametrize(("method", "rtol"), [("RK45", 1e-5), ("DOP853", 1e-10)])
def test_three_masses_are_in_order(method, rtol):
    audit = PROBLEM.simulate(method=method, rtol=rtol).audit
    assert audit.ok, audit.failures()
    assert audit.surface_drift == 0.0 and audit.weight_violation == 0.0 and audit.lcp_residual == 0.0
    assert audit.region_violation <= rtol and audit.tangency < 1e-14
    assert audit.location_error <= 1e-3 * rtol and audit.step_error <= 5.0
    assert audit.steps_checked == 40 and audit.events == {"stick": 1, "switch": 21}
    assert "location of switching points" in str(audit)


def test_intersections_and_accumulation():
    audit = coupled_relays(3).simulate(rtol=1e-9).audit
    assert audit.ok and audit.surface_drift == 0.0, audit.failures()
    with pytest.warns(ZenoWarning):
        result = filippov_spiral(0.7, -0.2).simulate(rtol=1e-8)
    assert result.audit.ok, result.audit.failures()
    assert any("accumulate" in note for note in result.audit.notes)


def recorded(result):
    """What an audit is made of, in a form that can be falsified."""
    compiled = compile_system(PROBLEM.system, 0.0, PROBLEM.x0)
    twice = np.flatnonzero(np.diff(result.t, prepend=-1.0) > 0.0)
    active = (result.modes[:, twice] > 0).T.astype(float)
    active[0] = active[1]
    sets = np.zeros((len(result.t_switch), 14))
    sets[:, 0] = result.t_switch
    for row, (_, _, before), (_, _, after) in zip(sets, result.sliding_sets, result.sliding_sets[1:]):
        for j in range(3):
            row[[2 + 2 * j + k for k in before[j]]] = 1.0
            row[[8 + 2 * j + k for k in after[j]]] = 1.0
    data = {
        "t": result.t[twice], "y": result.y[:, twice].T.copy(), "active": active, "events": sets, "rtol": 1e-8,
        "atol": np.asarray(1e-8), "epsilon": 1e-9, "fixed": False, "implicit": False, "kinds": result.events,
        "derivatives": {}, "notes": [], "accumulated": [],
    }  # fmt: skip
    return compiled, data


@pytest.mark.parametrize(
    ("what", "finding"),
    [
        ("nothing", None),
        ("velocity of a sticking mass", "surface drift"),
        ("velocity of another sign", "region violation"),
        ("position", "step error"),
        ("active set after a switch", "lcp residual"),
        ("instant of a switch", "location units"),
    ],
)
def test_faults_are_found(what, finding):
    result = PROBLEM.simulate(method="DOP853", rtol=1e-8, atol=1e-8)
    compiled, data = recorded(result)
    stuck = int(np.searchsorted(data["t"], 5.0))
    if what == "velocity of a sticking mass":
        data["y"][stuck, 3] = 1e-4
    elif what == "velocity of another sign":
        data["active"][stuck, 2:4] = data["active"][stuck, 2:4][::-1]
    elif what == "position":
        data["y"][:, 1] += 1e-3 * (data["t"] > 5.0)
    elif what == "active set after a switch":
        data["events"][5, 8:14] = data["events"][5, 2:8]
        data["events"][5, 10:12] = 1.0
    elif what == "instant of a switch":
        data["y"][int(np.searchsorted(data["t"], result.t_switch[3])), 5] += 1e-4
    audit = audit_filippov(compiled.python, compiled.parameters, data, max_points=1000, max_steps=1000)
    if finding is None:
        assert audit.ok, audit.failures()
    else:
        assert any(line.startswith(finding) for line in audit.failures()), audit.failures()


def test_audit_belongs_to_the_parameters_of_the_run(tmp_path):
    problem = three_mass()
    result = problem.simulate(rtol=1e-8)
    problem.system.params["forcing"] = 1.0
    solve_filippov(problem.system, (0, 1), problem.x0)
    assert result.audit.ok, result.audit.failures()
    result.save(tmp_path / "run.h5")
    loaded = Result.load(tmp_path / "run.h5").audit
    assert loaded.ok and any(note.startswith("error of a step") for note in loaded.notes)


def test_fixed_steps_and_no_groups():
    result = PROBLEM.simulate(method="RK45", dt=0.05)
    assert result.audit.ok and "fixed steps" in str(result.audit)
    plain = solve_filippov(FilippovSystem([1.0]), (0, 1), [0.0])
    assert plain.audit.ok and plain.audit.surface_drift is None
    assert solve_filippov(FilippovSystem([1.0], [sign_term(-0.5, [1.0], [1.0])]), (1, 1), [0.0]).audit.ok
