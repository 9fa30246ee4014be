"""Whole powers under the complex step: right wherever a function is asked, not only where it was tried."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.compiler.powers import power
from nonsmooth._core.jit import JIT_ENABLED, kernel


@pytest.mark.skipif(not JIT_ENABLED, reason="Python's own powers are right")
def test_powers_of_complex_numbers():
    compiled = kernel(lambda z, w: z**w)
    step = 1e-30j
    for x in (-3.0, -3e-3, 0.2, 7.0):
        for w in (3, 5, 4.0, -1, -3, 1):
            found = compiled(complex(x) + step, w).imag / 1e-30
            assert found == pytest.approx(w * x ** (w - 1), rel=1e-12), (x, w)
    for z, w in ((1 + 2j, 0.5), (1 + 2j, 2.5 + 1j), (-1.5 + 0.1j, 100), (-1.5 + 0.1j, 0), (0j, 3), (0j, 0)):
        assert compiled(z, w) == pytest.approx(z**w, rel=1e-11)
        assert whole(z, w) == pytest.approx(z**w, rel=1e-11)


def whole(z, w):
    """The same in Python, for whole exponents."""
    return power(z, complex(w)) if complex(w).imag == 0.0 and w == int(abs(w)) and w <= 64 else z**w


def test_a_table_whose_course_is_tried_where_it_is_positive():
    """Its velocity where the sine is negative was 1e14 times too large."""
    ends = []
    for gap in (
        lambda t, q: q[0] - 0.1 * np.sin(3 * t) ** 3,
        lambda t, q: q[0] - 0.1 * np.sin(3 * t) * np.sin(3 * t) * np.sin(3 * t),
    ):
        ball = ns.MechanicalSystem(1.0, -9.81, ns.Contact(gap, restitution=0.5, name="table"))
        result = ns.simulate(ball, (0, 1.5), [0.3], [0.0], rtol=1e-8)
        assert result.audit.ok
        ends.append(result.y[:, -1])
    np.testing.assert_allclose(*ends, rtol=1e-7)


def test_a_servo_that_follows_a_cubed_sine():
    follows = ns.Servo(lambda t, q: q[0], lambda t: 0.1 * np.sin(t) ** 3, input=lambda t, q: np.array([1.0]))
    cart = ns.MechanicalSystem(2.0, lambda t, q, u: -q, joints=[follows])
    run = ns.simulate(
        cart, (0, 5), [0.0], [0.0], method=ns.SlidingMode(integrator="RKF45", dt=0.01), audit=False
    )
    np.testing.assert_allclose(run.q[0], 0.1 * np.sin(run.t) ** 3, atol=1e-12)
