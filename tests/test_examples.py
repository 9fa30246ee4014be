"""Every example runs, and one number of each is right."""

import importlib.util
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from nonsmooth import problems

matplotlib.use("Agg")
EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    """Run an example as its import does: simulation yes, picture no."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def falling_ball(module):
    assert module.drift < 1e-18
    assert abs(module.result.q[0, -1]) < 2e-3


def sliding_mass(module):
    exact = problems.sliding_mass().reference
    assert abs(module.stick.t - exact.event_times("stick")[0]) < 2.1e-3
    assert np.all(module.result.u[:, -1] == 0.0)
    np.testing.assert_allclose(module.result.q[:, -1], exact.q(5.0), atol=5e-3)


def impact_oscillator(module):
    exact = problems.impact_oscillator().reference
    # impulse m (1 + e) v of the first impacts
    wanted = [0.1 * 1.6 * event.u_before[0] for event in exact.events[:6]]
    np.testing.assert_allclose(module.impulses[:6], wanted, rtol=0.02)


def woodpecker(module):
    reference = problems.woodpecker().reference
    order = [(event.kind, event.name) for event in reference.events if event.t < 0.146]
    assert [(event.kind, event.name) for event in module.result.events][: len(order)] == order
    off = reference.deviation(module.result.t, module.result.q, module.result.u)
    assert off["points"] == 8 and off["max_q"] < 0.02


def acary_ball(module):
    assert 0.85 < module.order < 1.15


def acary_oscillator(module):
    for case in (1, 2, 3):
        # an impact is seen at the end of its step: the delay adds up over the impacts
        delay = module.found[case] - module.exact[case]
        assert np.all(np.abs(delay) <= 2e-3 * np.arange(1, delay.size + 1))


def incline_block(module):
    assert [event.kind for event in module.results[0.4].events] == ["stick"]
    assert abs(module.results[0.4].u[0, -1]) < 1e-15
    exact = problems.incline_block(friction=0.2).reference.u(1.0)[0]
    assert module.results[0.2].u[0, -1] == pytest.approx(exact, abs=5e-3)


def belt_oscillator(module):
    exact = np.diff(problems.belt_oscillator().reference.event_times("stick"))[-1]
    assert module.period == pytest.approx(exact, abs=5e-3)


def rod_rough_plane(module):
    exact = problems.rod_rough_plane().reference
    np.testing.assert_allclose(module.result.q[:, -1], exact.q_samples[:, -1], atol=3e-4)


def slider_crank_clearance(module):
    off = problems.slider_crank_clearance().reference.deviation(
        module.result.t, module.result.q, module.result.u
    )
    assert off["points"] == 5 and off["max_q"] < 3e-4
    assert np.abs(module.result.q[2]).max() < 1e-12


def world_slider_crank(module):
    assert module.drift < 1e-12
    assert module.result.audit.ok
    assert abs(module.result["piston"].position[0].min() - 0.2) < 1e-6


def four_bar(module):
    """After two turns every point is back where it was, and the drive has done no work against gravity."""
    np.testing.assert_allclose(module.point[:, -1], module.point[:, 0], atol=1e-9)
    assert abs(module.result["crank"].angle[-1] - 4 * np.pi) < 1e-9


def compere_pendulum(module):
    exact = problems.compere_pendulum().reference
    np.testing.assert_allclose(module.result.q, exact.q(module.result.t), atol=1e-11)
    assert module.result.audit.joint_drift_position < 1e-14


def rolling_spheres(module):
    np.testing.assert_allclose(sorted(module.reached.values()), [0.2356194490, 0.5890486225, 2.0], atol=1e-8)
    late = module.result.t > 5.0
    assert np.abs(module.result.q[0, late] - 0.6).max() < 1e-13


def heavy_top(module):
    assert abs(module.axis[:, 2].min() - module.lowest) < 1e-6
    assert np.abs(module.result["top"].point((0, 0, -0.5))).max() < 1e-8


def world_clearance(module):
    """The same motion as that of the machine in three angles."""
    bodies = [module.result[name] for name in ("crank", "rod", "slider")]
    q, u = (np.array([getattr(body, what) for body in bodies]) for what in ("angle", "angular_velocity"))
    off = problems.slider_crank_clearance().reference.deviation(module.result.t, q, u)
    assert off["points"] == 5 and off["max_q"] < 5e-4


def bricard(module):
    assert module.diagnosis.rank == 29 and module.result.audit.ok
    assert np.abs(module.total - module.total[0]).max() < 5e-3
    assert np.abs(module.result.q[:, -1] - module.result.q[:, 0]).max() > 0.5


def gyro_wheel(module):
    assert module.lift_off == pytest.approx(module.expected, rel=1e-8)
    assert module.result["wheel"].position[2, -1] > 1e-3


def flexible_pendulum(module):
    assert np.all(np.diff(module.total) < 1e-6) and module.result.audit.ok
    assert module.view.position[0, 8].min() > 0.1 - 1e-9


def cable_wall(module):
    assert -1e-3 < module.nearest < 1e-3 and module.result.audit.ok


def walking_toy(module):
    assert module.settled == pytest.approx(module.expected, rel=5e-3)


def jansen_leg(module):
    assert np.abs(module.foot - module.exact).max() < 1e-9


def box_on_stairs(module):
    """It comes to rest on a step, without a corner in the stair or an edge in the box."""
    assert module.speed < 1e-9 and module.deepest > -1e-3
    x, y, phi = module.result.q[:, -1]
    quarters = phi / (np.pi / 2)
    lying = module.height if round(quarters) % 2 == 0 else module.width
    assert abs(quarters - round(quarters)) < 1e-3 and np.min(np.abs(module.y_edge + 0.5 * lying - y)) < 1e-3


CHECKS = [
    falling_ball,
    sliding_mass,
    impact_oscillator,
    woodpecker,
    acary_ball,
    acary_oscillator,
    incline_block,
    belt_oscillator,
    rod_rough_plane,
    slider_crank_clearance,
    world_slider_crank,
    four_bar,
    heavy_top,
    compere_pendulum,
    rolling_spheres,
    world_clearance,
    bricard,
    gyro_wheel,
    flexible_pendulum,
    cable_wall,
    walking_toy,
    jansen_leg,
    box_on_stairs,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_example(check):
    module = load(check.__name__)
    check(module)
    figure = module.visualize()
    assert figure.axes
    matplotlib.pyplot.close("all")


def test_every_mechanics_problem_has_an_example():
    shipped = {name for name in problems.names() if problems.get(name).kind == "mechanics"}
    assert shipped <= {path.stem for path in EXAMPLES.glob("*.py")}
    assert {check.__name__ for check in CHECKS} >= shipped


def test_a_slider_crank_takes_twenty_lines():
    """From the world to the run, without the picture, as it is shipped; formatted as all code is."""
    text = (EXAMPLES / "world_slider_crank.py").read_text()
    lines = text[text.index("world = ns.World") : text.index("drift =")].splitlines()
    assert sum(1 for line in lines if line.strip()) <= 20


def test_a_box_on_a_floor_takes_eight_lines():
    """Those of the test in which it comes to rest."""
    text = (EXAMPLES.parent / "tests" / "model" / "test_world.py").read_text()
    begin = text.index("def test_box_in_eight_lines")
    lines = text[begin : text.index("assert", begin)].splitlines()[1:]
    assert sum(1 for line in lines if line.strip()) <= 8
