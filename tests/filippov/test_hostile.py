"""Degenerate systems: the right result, or a typed warning or error that names the cause."""

import warnings

import numpy as np
import pytest

from nonsmooth.errors import (
    DegenerateWarning,
    EventError,
    GrazingWarning,
    InputError,
    ModelError,
    NonFiniteStateError,
    NonUniqueWarning,
    RangeError,
    ShapeError,
    ZenoWarning,
)
from nonsmooth.filippov import FilippovSystem, Group, relay, sign_term, solve_filippov
from nonsmooth.model.elements import FrictionElement
from nonsmooth.model.system import MechanicalSystem
from nonsmooth.sliding.report import Report
from nonsmooth.sliding.run import Trajectory


def cubic(t, x):
    return x[0] ** 3


def parabola(t, x, p):
    return np.array([1.0, 2.0 * (x[0] - 1.0) - 0.5])


def bent(t, x):
    return x[0] ** 2 + x[1] - 1.0


def moving(t, x):
    return x[0] - np.sin(t)


def test_wrong_gradients_and_rates_are_refused():
    def half(t, x):
        return np.array([x[0], 1.0])

    system = FilippovSystem([0.0, 0.1], [relay(1.0, -1.0, [1.0, 0.0], bent, gradient=half)])
    with pytest.raises(ModelError, match=r"gradient .* differences"):
        solve_filippov(system, (0, 1), [2.0, 0.0])

    def plus(t, x):
        return np.cos(t)

    system = FilippovSystem(None, [relay(2.0, -2.0, [1.0], moving, gradient=[1.0], rate=plus)])
    with pytest.raises(ModelError, match=r"rate .* differences"):
        solve_filippov(system, (0, 1), [1.0])


@pytest.mark.parametrize(("amplitude", "drift"), [(-1.0, 0.3), (0.5, -2.0)])
def test_gradient_that_vanishes_on_the_surface(amplitude, drift):
    # sgn(x^3) = sgn(x), but the gradient is zero at the surface: sliding, and crossing.
    system = FilippovSystem([drift], [sign_term(amplitude, [1.0], cubic)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        result = solve_filippov(system, (0, 3), [1.0], rtol=1e-8)
    t_s = -1.0 / (drift + amplitude)
    assert abs(result.t_switch[0] - t_s) < 1e-6
    after = 0.0 if amplitude < 0 else (drift - amplitude) * (3.0 - t_s)
    assert abs(result.y[0, -1] - after) < 1e-5


GRAZING = FilippovSystem(parabola, [relay(-0.5, 0.5, [0.0, 1.0], [0.0, 1.0])])


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_shallow_dips_are_not_stepped_over(method, depth):
    # x_2 = (t - 1)^2 - depth where x_2 > 0; below zero it is pushed down and never returns.
    result = solve_filippov(GRAZING, (0, 2), [0.0, 1.0 - depth], rtol=1e-10, method=method)
    assert len(result.t_switch) >= 1
    assert abs(result.t_switch[0] - (1.0 - np.sqrt(depth))) < 1e-5 * np.sqrt(depth) + 1e-9
    clear = solve_filippov(GRAZING, (0, 2), [0.0, 1.0 + depth], rtol=1e-10, method=method)
    assert len(clear.t_switch) == 0 and abs(clear.y[1, -1] - (1.0 + depth)) < 1e-8


def test_a_touch_is_named():
    with pytest.warns(GrazingWarning, match="touched at t = 1"):
        result = solve_filippov(GRAZING, (0, 2), [0.0, 1.0], rtol=1e-9)
    assert len(result.t_switch) == 0 and "touched" in result.notes[0]


def test_three_regions_that_repel():
    d = [np.array([np.cos(a), np.sin(a)]) for a in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)]
    system = FilippovSystem(None, [Group(d, [-v for v in d])])
    with pytest.warns(NonUniqueWarning, match="not unique"):
        result = solve_filippov(system, (0, 1), [0.0, 0.0])
    np.testing.assert_allclose(result.y[:, -1], d[0], atol=1e-12)


def test_sliding_for_a_very_long_time():
    # Sticks for 1600 periods of the forcing, without drift and without false exits.
    system = FilippovSystem(
        lambda t, x: np.array([x[1], -x[0] + 0.9 * np.cos(t)]), [sign_term(-1.0, [0, 1], [0, 1])]
    )
    result = solve_filippov(system, (0, 1e4), [0.05, 0.0], rtol=1e-8)
    assert np.all(result.y[1] == 0.0) and np.all(result.y[0] == 0.05) and len(result.events) == 0
    system = FilippovSystem(None, [relay(2.0, -2.0, [1.0], moving)])
    result = solve_filippov(system, (0, 1e4), [0.5], rtol=1e-8)
    assert len(result.events) == 1 and np.abs(result.y[0, 3:] - np.sin(result.t[3:])).max() < 1e-12


def drifting(t, x):
    return np.array([x[1], 0.0, 1.0 + 0.5 * np.sin(t)])


TWISTING = FilippovSystem(
    drifting,
    [
        sign_term(-2.0, [0, 1, 0], [1, 0, 0], name="position"),
        sign_term(-1.0, [0, 1, 0], [0, 1, 0], name="speed"),
    ],
)


@pytest.mark.parametrize("rtol", [1e-4, 1e-9])
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_twisting_controller_comes_to_rest(method, rtol):
    # x'' = -2 sgn x - sgn x': every half turn takes 1/sqrt(3) of the one before. The position vanishes with the square of
    # the time that is left, so that the switching points cannot be told apart long before their limit.
    root = np.sqrt(3.0)
    limit = np.sqrt(2.0) * (1.0 + (1.0 / 3.0 + 1.0 / root) / (1.0 - 1.0 / root))
    with pytest.warns(ZenoWarning, match="accumulate"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        result = solve_filippov(TWISTING, (0, 20), [1.0, 0.0, 0.0], rtol=rtol, atol=rtol, method=method)
    zeno = [event for event in result.events if event.kind == "zeno"]
    assert len(zeno) == 2 and abs(zeno[0].t - limit) < 10 * rtol
    assert result.events[-1].kind == "zeno"
    assert np.all(result.y[:2, result.t > limit + 1e-3] == 0.0)
    # What drifts meanwhile is carried over to the limit.
    exact = result.t + 0.5 * (1.0 - np.cos(result.t))
    assert np.abs(result.y[2] - exact).max() < 100 * rtol
    assert result.audit.ok, str(result.audit)


def rooted(t, x):
    return np.array([-1.5 * np.sqrt(abs(x[0])) * np.sign(x[0]) + x[1], 0.3 * np.cos(t)])


def test_second_order_sliding_that_no_surface_holds_is_refused():
    # The speed vanishes together with the position, but no group has it as its surface: chattering without end.
    system = FilippovSystem(rooted, [sign_term(-1.1, [0, 1], [1, 0])])
    with pytest.raises(EventError, match="chatters along a surface") as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solve_filippov(system, (0, 10), [1.0, 0.0], rtol=1e-6, method="DOP853")
    assert 1.5 < caught.value.partial.t[-1] < 1.6


def plain(t, x):
    return x[0]


def late_nan(t, x):
    return np.array([np.nan if t > 1.0 else 1.0])


def test_gradient_that_becomes_nan():
    system = FilippovSystem([0.5], [sign_term(-1.0, [1.0], plain, gradient=late_nan)])
    with pytest.raises(NonFiniteStateError) as caught:  # while it slides
        solve_filippov(system, (0, 4), [0.2])
    assert caught.value.partial.t[-1] <= 1.0
    with pytest.raises(EventError, match="gradient of indicator"):  # where it would enter
        solve_filippov(system, (0, 4), [-3.0])
    two = FilippovSystem(
        [0.5, 0.5],
        [sign_term(-1.0, [1.0, 0.0], lambda t, x: x[0], gradient=lambda t, x: np.array([np.nan if t > 1.0 else 1.0, 0.0])),
         sign_term(-1.0, [0.0, 1.0], [0.0, 1.0])],
    )  # fmt: skip
    with pytest.raises(NonFiniteStateError):
        solve_filippov(two, (0, 4), [0.2, 0.1])


def test_warnings_of_one_kind_are_limited():
    run = Report()
    run.said, run.warned, run.out = {}, set(), Trajectory()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in range(1000):
            run.warn(NonUniqueWarning, f"number {k}", f"key {k}")
            run.warn(NonUniqueWarning, f"number {k}", f"key {k}")
    assert len(seen) == 20 and "no further" in str(seen[-1].message) and len(run.out.notes) == 20


def pull_in_units(t, x, p):
    return np.array([1.5 * p.length / p.time * np.cos(t / p.time)])


def push_in_units(t, x, p):
    return -p.length / p.time


def test_units_do_not_matter():
    system = FilippovSystem(
        pull_in_units, [sign_term(push_in_units, [1.0], [1.0])], {"length": 1.0, "time": 1.0}
    )
    first = solve_filippov(system, (0, 10), [0.3], rtol=1e-9, first_step=0.25)
    assert len(first.events) == 6
    for length in (2.0**-40, 2.0**40):  # powers of two: not even the rounding is another
        for time in (2.0**-40, 2.0**40):
            system.params.update(length=length, time=time)
            result = solve_filippov(system, (0, 10 * time), [0.3 * length], rtol=1e-9, first_step=0.25 * time)
            assert [e.kind for e in result.events] == [e.kind for e in first.events]
            np.testing.assert_allclose(result.t_switch / time, first.t_switch, rtol=1e-14)
            np.testing.assert_allclose(result.y[0, -1] / length, first.y[0, -1], rtol=1e-14)


@pytest.mark.parametrize(
    ("span", "x0", "end"),
    [
        ((1.0, np.nextafter(1.0, 2.0)), 0.0, 0.0),
        ((0.0, 1e-300), 1.0, 1.0),
        ((0.0, 5e-324), 0.0, 0.0),
        ((1e15, 1e15 + 10.0), 2.0, 0.0),
        ((0.0, 1.0), 1.0, 0.0),
        ((0.0, 1.0 + 1e-12), 1.0, 0.0),
    ],
)
def test_short_spans_and_spans_that_end_on_a_switching_point(span, x0, end):
    system = FilippovSystem(None, [sign_term(-1.0, [1.0], [1.0])])
    result = solve_filippov(system, span, [x0])
    assert result.t[-1] == span[1] and abs(result.y[0, -1] - end) < 1e-11


def test_no_states():
    with pytest.raises(ShapeError, match="empty"):
        solve_filippov(FilippovSystem(None), (0, 1), [])


def plane(t, q):
    return np.eye(2)


def pull(t, q, u, p):
    return np.array([p.pull * t * np.cos(t), p.pull * t * np.sin(t)])


def block(force):
    return MechanicalSystem(
        np.eye(2), force, friction=[FrictionElement(plane, 1.0, name="plane")], params={"pull": 0.2}
    )


def test_friction_in_a_plane_needs_a_polygon():
    system = block(pull)
    with pytest.raises(InputError, match="facets=8"):
        solve_filippov(system, (0, 1), np.zeros(4))
    for wrong in (2, 5, 4.5):
        with pytest.raises(RangeError, match="even number"):
            solve_filippov(system, (0, 1), np.zeros(4), facets=wrong)


@pytest.mark.parametrize("facets", [4, 8])
def test_polygon_of_friction_forces(facets):
    m = facets // 2
    edge = np.sqrt(np.pi / (m * np.sin(np.pi / m))) * np.cos(np.pi / facets)
    # A block with a velocity stops where the disk lets it stop, up to the size and direction of the polygon's force;
    # one that is pulled rests until the force reaches an edge of the polygon.
    t = np.linspace(0, 8, 8001)
    normals = np.arange(m) * np.pi / m + np.pi / 2
    pulled = np.abs(0.2 * t[:, None] * np.cos(t[:, None] - normals)).max(axis=1)
    begin = t[np.argmax(pulled >= edge)]
    exact = np.hypot(1.0, 0.5) / 2.0 * np.array([1.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        system = block(pull)
        result = solve_filippov(
            system.with_params(pull=0.0), (0, 2), [0.0, 0.0, 1.0, 0.5], rtol=1e-8, facets=facets
        )
        assert np.abs(result.y[2:, -1]).max() < 1e-9
        assert np.linalg.norm(result.y[:2, -1] - exact) < 1.1 * np.linalg.norm(exact) * np.tan(np.pi / facets)
        if facets == 4:
            return
        result = solve_filippov(system, (0, 8), np.zeros(4), rtol=1e-8, facets=facets, t_eval=t)
    speed = np.hypot(*result.y[2:])
    assert speed[t < begin - 2e-3].max() < 1e-12 and speed[t > begin + 2e-2][0] > 1e-7
