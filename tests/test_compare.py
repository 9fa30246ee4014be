"""`compare` and `richardson`: errors against every kind of reference, orders, table, picture, bad input."""

import math

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError

BALL = ns.problems.acary_ball(t_end=4.0)
OSCILLATOR = ns.problems.acary_oscillator(case=1, t_end=4.0)
STEPS = np.geomspace(0.05, 1e-3, 12) * math.pi / 3


def of(problem, methods, reference, **more):
    return ns.compare(problem.system, problem.t_span, problem.q0, problem.u0, methods, reference, **more)


@pytest.mark.parametrize("problem", [BALL, OSCILLATOR], ids=["ball", "oscillator"])
def test_empirical_orders_of_moreau(problem):
    """Acary 2012, Fig. 2, four norms: order one in L1, no convergence of velocities in the largest difference, tested both ways."""
    table = of(problem, [ns.Theta(dt=dt, gamma=1.0) for dt in STEPS], problem.reference)
    slope = {norm: table.slopes("u", norm)["theta(gamma=1.0)"] for norm in table.norms}
    assert table.slopes("q")["theta(gamma=1.0)"] == pytest.approx(1.0, abs=0.2)
    assert slope["L1"] == pytest.approx(1.0, abs=0.2)
    assert slope["L2"] == pytest.approx(0.5, abs=0.2)
    assert slope["sup"] == pytest.approx(0.0, abs=0.05)
    if problem is OSCILLATOR:
        assert slope["hausdorff"] == pytest.approx(1.0, abs=0.2)
    else:
        assert slope["hausdorff"] >= 0.65
    # the other way round: the run as the reference of the closed form
    rows = table.of("theta(gamma=1.0)")
    assert rows[-1].errors["u", "sup"] > 0.3 * rows[0].errors["u", "sup"] > 0.0


def test_references_agree():
    """Closed form, a function, a result, a finer scheme and the method refined tell the same error of a coarse run."""
    method = [ns.Moreau(dt=0.01)]
    exact, fine = OSCILLATOR.reference, ns.Moreau(dt=1e-4)
    result = OSCILLATOR.simulate(method=fine)
    found = [
        of(OSCILLATOR, method, reference, norms=["L1"], refine=64).rows[0].errors["q", "L1"]
        for reference in (exact, lambda t: (exact.q(t), exact.u(t)), result, fine, "refine")
    ]
    assert np.ptp(found) < 0.05 * found[0]


@pytest.mark.parametrize("scheme", [ns.Moreau, ns.Theta, ns.SchatzmanPaoli])
def test_richardson_estimates_the_global_error(scheme):
    """The estimate is right within a factor of two through impacts; velocities in the largest difference are seen not to converge."""
    row = ns.richardson(OSCILLATOR.system, OSCILLATOR.t_span, OSCILLATOR.q0, OSCILLATOR.u0, scheme(dt=0.013))
    true = of(OSCILLATOR, [scheme(dt=0.013)], OSCILLATOR.reference).rows[0]
    for key in (("q", "L1"), ("u", "L1"), ("q", "L2")):
        assert 0.4 < row.errors[key] / true.errors[key] < 2.5, key
    assert row.orders["u", "sup"] < 0.2


def test_orders_above_two_are_seen():
    """Methods are compared inside their steps as they tell it themselves: chords would show an order of two for all of them."""
    methods = [ns.EventCapturing(name, dt=dt) for name in ("lobatto4", "radau5") for dt in (0.2, 0.1)]
    for reference in (OSCILLATOR.reference, ns.EventDriven(rtol=1e-12)):
        table = of(OSCILLATOR, [*methods, ns.EventDriven(rtol=1e-11)], reference)
        for norm in ("L1", "L2", "sup", "hausdorff"):
            slopes = list(table.slopes("q", norm).values())
            assert slopes[:2] == pytest.approx([4.0, 5.0], abs=0.3), norm
        assert list(table.slopes("u", "L1").values())[:2] == pytest.approx([4.0, 5.0], abs=0.3)
        assert list(table.slopes("u", "hausdorff").values())[:2] == pytest.approx([4.0, 5.0], abs=0.5)
        assert table.rows[-1].errors["q", "L1"] < 1e-10
    row = ns.richardson(
        OSCILLATOR.system,
        OSCILLATOR.t_span,
        OSCILLATOR.q0,
        OSCILLATOR.u0,
        ns.EventCapturing("radau5", dt=0.2),
    )
    assert row.orders["q", "L1"] == pytest.approx(5.0, abs=0.3)
    assert row.errors["q", "L1"] == pytest.approx(table.rows[2].errors["q", "L1"], rel=0.05)


def test_table_and_picture(tmp_path):
    """A mapping of labels; adaptive and constant steps; a method that fails is listed with its message."""
    wrong = ns.Moreau(dt=0.1, solver=ns.PSOR(max_iter=1, tol=1e-15))
    table = of(
        BALL,
        {
            "constant": [ns.Moreau(dt=0.04), ns.Moreau(dt=0.01)],
            "adaptive": [ns.AdaptiveMoreau(1e-2), ns.AdaptiveMoreau(1e-3)],
            "one": wrong,
        },
        BALL.reference,
        max_steps=450,
        norms="L1",
    )
    text = str(table)
    assert "constant" in text and "L1(u)" in text and "order" in text
    assert table.labels == ["constant", "adaptive", "one"]
    assert math.isnan(table.work_at(1e-9, "constant"))
    middle = table.rows[0].errors["q", "L1"] ** 0.5 * table.rows[1].errors["q", "L1"] ** 0.5
    assert table.rows[0].work < table.work_at(middle, "constant") < table.rows[1].work
    table.plot(tmp_path / "work.png")
    assert (tmp_path / "work.png").stat().st_size > 5000
    failed = of(BALL, [ns.Moreau(dt=1e-3)], BALL.reference, max_steps=10)
    assert failed.rows[0].message.startswith("failed: StepLimitError") and "failed" in str(failed)


@pytest.mark.parametrize(
    "more, match",
    [
        ({"methods": []}, "methods"),
        ({"methods": "moreau"}, "methods"),
        ({"methods": [ns.Moreau]}, "methods"),
        ({"norms": ["L7"]}, "norms"),
        ({"norms": []}, "norms"),
        ({"reference": "exact"}, "reference"),
        ({"reference": 3.0}, "reference"),
        ({"reference": lambda t: (t[:3], t[:3])}, "reference"),
        ({"reference": lambda t: (np.stack([t, t]), t)}, "reference"),
        ({"reference": BALL.simulate(method=ns.Moreau(dt=0.1), t_span=(0.0, 1.0))}, "cover"),
        ({"methods": [ns.AdaptiveMoreau(1e-3)], "reference": "refine"}, "constant step"),
        ({"methods": [ns.AdaptiveMoreau(1e-3)], "reference": "richardson"}, "constant step"),
    ],
)
def test_bad_input(more, match):
    arguments = {"methods": [ns.Moreau(dt=0.1)], "reference": BALL.reference, **more}
    with pytest.raises(InputError, match=match):
        ns.compare(BALL.system, BALL.t_span, BALL.q0, BALL.u0, **arguments)
