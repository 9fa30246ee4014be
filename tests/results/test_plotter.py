"""``result.plot``: every picture for every door, on axes given or made."""

import numpy as np
import pytest
from test_report import bouncing

import nonsmooth as ns
from nonsmooth.errors import InputError
from nonsmooth.results.plots import new_figure
from nonsmooth.results.result import Result


@pytest.fixture(scope="module")
def thrown():
    switch = ns.Switch(
        lambda t, y: y[0], kind="unilateral", reset=lambda t, y: np.array([0.0, -y[1]]), name="floor"
    )
    return ns.solve_ivp(
        lambda t, y: np.array([y[1], -2.0]), (0, 3), [1.0, 0.0], switches=[switch], rtol=1e-10
    )


def test_phase_portraits_by_number_and_name(thrown):
    run = bouncing(coordinate_names=["height"])
    ax = run.plot.phase()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "height'")
    x, y = ax.lines[0].get_data()
    assert np.array_equal(x, run.q[0]) and np.array_equal(y, run.u[0])
    mine = new_figure(3, 3).subplots()
    assert run.plot.phase("height'", "height", ax=mine) is mine
    assert thrown.plot.phase().get_ylabel() == "y[1]"
    with pytest.raises(InputError, match="the rows are"):
        run.plot.phase("depth")
    with pytest.raises(InputError, match="2 rows"):
        run.plot.phase(2)


def test_jumps_are_vertical_and_long_steps_are_curves(thrown):
    line = thrown.plot().axes[0].lines
    t, height = line[0].get_data()
    inside = (t > 1) & (t < 3)
    assert np.max(np.abs(height[inside] - (1 - (t[inside] - 2) ** 2))) < 1e-8
    t, velocity = line[1].get_data()
    jump = np.argmax(np.abs(np.diff(velocity)))
    assert t[jump] == t[jump + 1] and velocity[jump + 1] == -velocity[jump]


def test_events_and_modes(thrown):
    for run in (bouncing(), thrown):
        assert [text.get_text() for text in run.plot.events().get_yticklabels()] == ["floor"]
        assert len(run.plot.modes().get_yticklabels()) == 1
    assert bouncing().plot.events(t_span=(0, 0.5)).texts[0].get_text() == "no events"
    with pytest.raises(InputError, match="no modes"):
        Result([0.0, 1.0], y=[[0.0, 1.0]]).plot.modes()


def test_energy_of_a_model_or_of_a_given_function(thrown):
    system = ns.MechanicalSystem([[2.0]], -4.0, potential=lambda t, q: 4.0 * q[0])
    ax = ns.simulate(system, (0, 1), [0.0], [1.0], dt=0.01).plot.energy()
    assert [line.get_label() for line in ax.lines] == ["kinetic", "potential", "total"]
    assert np.allclose(ax.lines[2].get_ydata(), 1.0, atol=1e-12)
    with pytest.raises(InputError, match="of=lambda"):
        thrown.plot.energy()
    mine = new_figure(3, 3).subplots()
    assert thrown.plot.energy(mine, of=lambda t, y: 2.0 * y[0] + 0.5 * y[1] ** 2) is mine
    assert np.allclose(mine.lines[0].get_ydata(), 2.0, atol=1e-8)


def test_convergence_of_a_first_order_family():
    fine = np.linspace(0, 1, 2001)
    coarse = []
    for n in (11, 21, 41, 81):
        t = np.linspace(0, 1, n)
        coarse.append(Result(t, y=(t**2 + (t[1] - t[0]))[None]))
    ax = Result(fine, y=(fine**2)[None]).plot.convergence(coarse, labels=["a", "b", "c", "d"])
    h, error = ax.lines[0].get_data()
    assert np.polyfit(np.log(h), np.log(error), 1)[0] == pytest.approx(1.0, abs=0.05)
    assert bouncing().plot.convergence().get_ylabel() == "step dt"


def test_own_axes_for_all_panels():
    axes = new_figure(5, 5).subplots(2, 1)
    assert bouncing().plot(panels=["q", "u"], axes=axes) is axes
    assert len(axes[0].lines) >= 1
    with pytest.raises(InputError, match="one for each"):
        bouncing().plot(panels=["q", "u", "modes"], axes=axes)
