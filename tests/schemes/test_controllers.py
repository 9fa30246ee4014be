"""Outputs held between samples, and switches with memory."""

import numpy as np
import pytest
from scipy.linalg import expm

import nonsmooth as ns
from nonsmooth.errors import InputError, ModelError, RangeError

METHODS = [
    ("moreau", {"dt": 1e-3}, 3e-3),
    ("generalized-alpha", {"dt": 1e-2}, 1e-9),
    ("event-driven", {"rtol": 1e-9}, 1e-8),
    ("extrapolated-moreau", {"rtol": 1e-8}, 1e-7),
]
each_method = pytest.mark.parametrize("method, options, tol", METHODS, ids=[name for name, *_ in METHODS])

MASS = ns.MechanicalSystem(1.0, lambda t, q, u, p: np.array([p.v]), params={"v": 0.0, "k": 2.0, "d": 1.5})


def pd(t, q, u, p):
    return -p.k * q[0] - p.d * u[0]


@each_method
def test_sampled_controller_is_a_linear_map(method, options, tol):
    """A mass under a held force v: q, u over a period are a matrix times q, u at its begin."""
    h, n = 0.1, 30
    result = ns.simulate(
        MASS, (0, n * h), [1.0], [0.0], method=method, controllers=ns.Sampled("v", pd, period=h), **options
    )
    drift = expm(np.array([[0, 1], [0, 0]]) * h)
    held = np.array([h * h / 2, h])
    x = np.array([1.0, 0.0])
    for _ in range(n):
        x = drift @ x + held * (-2.0 * x[0] - 1.5 * x[1])
    assert result.y[:, -1] == pytest.approx(x, abs=tol)
    assert result.outputs["v"]["t"].size == n and result.outputs["v"]["value"][0, 0] == -2.0
    assert result.audit.ok and "controllers" in "".join(result.audit.notes)
    assert not len(result.events)
    assert MASS.params["v"] == 0.0  # the system is as it was


def test_two_periods_and_an_offset():
    system = ns.MechanicalSystem(1.0, lambda t, q, u, p: np.array([p.a + p.b]), params={"a": 0.0, "b": 0.0})
    seen = []

    def note(t, q, u):
        seen.append(t)
        return 1.0 + t

    controllers = [
        ns.Sampled("a", note, period=0.25),
        ns.Sampled("b", lambda t, q, u: -1.0, period=1.0, offset=0.5),
    ]
    result = ns.simulate(system, (1.0, 3.0), [0.0], [0.0], dt=0.1, controllers=controllers)
    assert seen == pytest.approx(np.arange(1.0, 3.0, 0.25))
    assert result.outputs["b"]["value"][0, -1] == -1.0


@each_method
def test_relay_with_memory(method, options, tol):
    """A thermostat on a line: u' = v with v = +1 below `low`, -1 above `high`; turning points are known."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u, p: np.array([p.v]), params={"v": 0.0})
    relay = ns.Hysteresis("v", lambda t, q, u: u[0], low=-0.5, high=0.5, values=(1.0, -1.0))
    result = ns.simulate(system, (0, 4.0), [0.0], [0.0], method=method, controllers=relay, **options)
    assert [e.t for e in result.events] == pytest.approx([0.5, 1.5, 2.5, 3.5], abs=5 * tol)
    assert [e.kind for e in result.events] == ["switch"] * 4
    assert [e.name for e in result.events] == ["v high", "v low", "v high", "v low"]
    assert result.u[0, -1] == pytest.approx(0.0, abs=5 * tol)
    assert result.audit.ok, result.audit


def test_estimate_repeats_the_controllers():
    result = ns.simulate(MASS, (0, 2), [1.0], [0.0], rtol=1e-6, controllers=ns.Sampled("v", pd, period=0.1))
    assert float(result.error_estimate) < 1e-6


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: ns.Sampled("v", 3, period=0.1), InputError, "update"),
        (lambda: ns.Sampled("v", pd, period=0.0), RangeError, "period"),
        (lambda: ns.Hysteresis("v", pd, 1.0, 0.0), RangeError, "smaller than high"),
        (lambda: ns.simulate(MASS, (0, 1), [0], [0], dt=0.1, controllers=3), InputError, "controllers"),
        (lambda: ns.simulate(MASS, (0, 1), [0], [0], dt=0.1, controllers=[3]), InputError, "controllers"),
        (lambda: ns.simulate(MASS, (0, 1), [0], [0], dt=0.1, controllers=ns.Sampled("w", pd, 0.1)), ModelError, "no parameter"),
        (lambda: ns.simulate(MASS, (0, 1), [0], [0], dt=0.1, controllers=ns.Sampled("v", lambda t, q, u: np.nan, 0.1)), ModelError, "nan"),
    ],
)  # fmt: skip
def test_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()
