"""One `Result` for all doors: SciPy's fields and behaviour, and everything else a result can do."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp as scipy_solve_ivp

import nonsmooth as ns
from nonsmooth.errors import InputError
from nonsmooth.results import Event, EventList, Result


def decay(t, y):
    return np.array([-y[0], -2.0 * y[1]])


def saw(t, y, mode):
    return np.array([-1.0 - 0.2 * y[0], 0.5 * float(mode[0])])


def low(t, y):
    return y[0] - 0.2


def free_fall(t, q, u):
    return np.array([-9.81])


def height(t, q):
    return q[0]


@pytest.mark.parametrize(
    "options", [{}, {"t_eval": np.linspace(0, 2, 7)}, {"dense_output": True}, {"t_eval": []}]
)
def test_scipy_fields(options):
    events = [lambda t, y: y[0] - 0.5]
    ours = ns.solve_ivp(decay, (0, 2), [1.0, 2.0], events=events, **options)
    scipy = scipy_solve_ivp(decay, (0, 2), [1.0, 2.0], events=events, **options)
    assert isinstance(ours, Result)
    for name in ("nfev", "njev", "nlu", "status", "message", "success"):
        assert ours[name] == scipy[name] == getattr(ours, name)
    assert set(scipy.keys()) <= set(ours) and set(scipy) <= set(dict(ours))
    # steps follow from the estimated error, a difference of the size of rtol = 1e-3: rounding counts a thousandfold and more there
    np.testing.assert_allclose(ours.t, scipy.t, rtol=1e-10)
    np.testing.assert_allclose(ours["y"], scipy.y, rtol=1e-9)
    np.testing.assert_allclose(ours.t_events[0], scipy.t_events[0], rtol=1e-9)
    assert (ours.sol is None) == (scipy.sol is None)
    assert ours.get("missing", 3) == 3 and "t_events" in ours
    ours["note"] = 1
    ours.sol = "mine"
    assert ours.note == 1 and ours["sol"] == "mine"


def test_solve_ivp_can_do_what_every_result_can(tmp_path):
    result = ns.solve_ivp(decay, (0, 2), [1.0, 2.0], rtol=1e-6, t_eval=np.linspace(0, 2, 5))
    assert len(repr(result)) < 300 and "solve" not in repr(result)
    assert result.audit.ok and result.audit.steps_checked == 4, str(result.audit)
    assert "RK45" in result.summary()
    result.save(tmp_path / "run.h5")
    again = Result.load(tmp_path / "run.h5")
    assert np.array_equal(again.y, result.y) and again.audit.steps_checked == 4
    assert result.to_xarray()["y"].shape == (2, 5)
    assert list(result.to_pandas().columns)[:2] == ["y[0]", "y[1]"]


def test_switched_runs_are_audited_and_their_events_found():
    switch = ns.Switch(low, name="relay", reset=lambda t, y: np.array([y[0] + 1.0, y[1]]), direction=-1)
    result = ns.solve_ivp(saw, (0, 3), [1.0, 0.0], switches=[switch], rtol=1e-8, max_step=0.1)
    assert result.audit.ok and result.audit.steps_checked > 10, str(result.audit)
    assert result.law_names == ("relay",)
    assert len(result.events.of("switch")) == len(result.events.of(name="relay")) == len(result.events) > 0
    assert np.array_equal(result.events.of("switch").t, [event.t for event in result.events])


def test_an_ode_that_is_not_what_it_was_is_found():
    """A right-hand side with memory: the run cannot be confirmed."""
    calls = [0]

    def tired(t, y):
        calls[0] += 1
        return -y * (1.0 if calls[0] < 60 else 0.5)

    result = ns.solve_ivp(tired, (0, 2), [1.0], rtol=1e-8, atol=1e-10)
    assert not result.audit.ok and "error of a step" in result.audit.failures()[0]


def test_events_by_kind_and_name():
    result = ns.problems.woodpecker().simulate((0, 0.3), dt=1e-4)
    impacts = result.events.of("impact")
    assert {event.kind for event in impacts} == {"impact"}
    beak = result.events.of("impact", name="beak")
    assert 0 < len(beak) < len(impacts) and {event.name for event in beak} == {"beak"}
    assert beak.t.size == len(beak) and len(result.events.of()) == len(result.events)
    with pytest.raises(InputError, match="use one of"):
        result.events.of("bang")
    assert EventList([Event(1.0, "stick", "a"), Event(2.0, "slip", "b")]).of(name="b")[0].t == 2.0


@pytest.fixture(scope="module")
def ball():
    system = ns.MechanicalSystem(
        2.0, free_fall, ns.Contact(height, restitution=0.5, name="=floor"), potential=lambda t, q: 9.81 * q[0]
    )
    return system, ns.simulate(system, (0, 3), q0=[0.1], u0=[0.0], dt=1e-3, coordinate_names=["height"])


def test_gaps_forces_energy(ball, tmp_path):
    system, result = ball
    assert np.array_equal(result.gaps(), result.q)
    force = result.forces()
    assert force.shape == (1, result.t.size) and np.isnan(force[0, 0])
    assert force[0, -1] == pytest.approx(9.81)  # at rest the floor carries the weight
    closing = np.flatnonzero(np.isnan(force[0]))[1:]
    assert np.all(result.P_N[0, closing] > 0.0) and closing.size >= 3  # impulses are no forces
    energy = result.energy()
    np.testing.assert_allclose(energy.kinetic, result.u[0] ** 2)
    np.testing.assert_allclose(energy.total, energy.kinetic + 9.81 * result.q[0])
    result.save(tmp_path / "run.h5")
    again = Result.load(tmp_path / "run.h5")
    with pytest.raises(InputError, match="pass the system"):
        again.gaps()
    assert np.array_equal(again.energy(system).total, energy.total)


def test_tables(ball, tmp_path):
    _, result = ball
    frame = result.to_pandas()
    assert frame.index.name == "t" and np.array_equal(frame["height"], result.q[0])
    assert np.array_equal(frame["mode =floor"], result.modes[0])
    result.save(tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert lines[0].split(",")[:2] == ["t", "height"] and len(lines) == len(result) + 1
    assert not any(name.startswith("=") for name in lines[0].split(","))
    table = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    assert np.array_equal(table[:, 0], result.t) and np.array_equal(table[:, 1], result.q[0])  # all digits
    with pytest.raises(ns.errors.OutputExistsError):
        result.save(tmp_path / "run.csv")
