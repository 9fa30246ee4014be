"""Surfaces, forces and tables that have kinks and jumps at declared instants; functions that exist within the span alone."""

import math

import numpy as np
import pytest

import nonsmooth as ns

INSTANTS = np.array([0.0, 0.2, 0.5, 0.8, 1.2, 2.0])
HEIGHTS = np.array([0.0, 0.0, 0.3, 0.1, 0.1, 0.4])
G = -9.81


def table(t):
    return np.interp(t, INSTANTS, HEIGHTS)


def branches(t):
    """The same without a table, on functions the complex step cannot follow."""
    for k in range(4):
        if t < INSTANTS[k + 1]:
            break
    else:
        k = 4
    slope = (HEIGHTS[k + 1] - HEIGHTS[k]) / (INSTANTS[k + 1] - INSTANTS[k])
    return HEIGHTS[k] + slope * (t - INSTANTS[k])


def parabolas(e):
    """(q, u) at the end of a ball that rests on the moving surface at first: parabolas from hit to hit."""
    t, q, v, closed = 0.0, 0.0, 0.0, True
    for k in range(5):
        slope, end = (HEIGHTS[k + 1] - HEIGHTS[k]) / (INSTANTS[k + 1] - INSTANTS[k]), INSTANTS[k + 1]
        if closed and v - slope < 0.0:
            v, closed = slope - e * (v - slope), e == 0.0
        elif closed and v - slope > 0.0:
            closed = False
        while not closed:
            gap = max(q - HEIGHTS[k] - slope * (t - INSTANTS[k]), 0.0)
            rate = v - slope
            flight = (-rate - math.sqrt(rate * rate - 2.0 * G * gap)) / G
            if t + flight >= end:
                flight, q, v = end - t, q + v * (end - t) + 0.5 * G * (end - t) ** 2, v + G * (end - t)
                break
            t, q, v = t + flight, q + v * flight + 0.5 * G * flight**2, v + G * flight
            v = slope - e * (v - slope)
            closed = v - slope < 1e-13
        if closed:
            q, v = HEIGHTS[k + 1], slope
        t = end
    return q, v


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.ZenoWarning")
@pytest.mark.parametrize("height", [table, branches])
@pytest.mark.parametrize("e", [0.0, 0.4, 0.8])
def test_ball_on_a_surface_with_kinks(height, e):
    """A kink that rises strikes what rests on it, one that falls leaves it behind."""
    floor = ns.Contact(lambda t, q: q[0] - height(t), restitution=e, name="floor")
    system = ns.MechanicalSystem(1.0, G, floor)
    q, u = parabolas(e)
    for method, tolerance in (("event-driven", 1e-12), ("event-capturing", 1e-7)):
        run = ns.simulate(system, (0, 2), [0.0], [0.0], method=method, rtol=1e-9, breakpoints=INSTANTS[1:-1])
        assert abs(run.q[0, -1] - q) <= tolerance
        assert abs(run.u[0, -1] - u) <= 10 * tolerance
        assert run.audit.ok, str(run.audit)
        assert run.events.of("impact").t[0] == pytest.approx(0.2, abs=1e-12)


def test_belt_that_jumps():
    """What sticks to a belt slips when the belt jumps, until it has caught up: t = 1 + (2 - 1) / (mu g)."""
    mu = 0.3
    belt = ns.Contact(
        lambda t, q: q[1],
        friction=mu,
        tangent=[1.0, 0.0],
        surface_velocity=lambda t, q: -1.0 if t < 1.0 else -2.0,
    )
    system = ns.MechanicalSystem(np.eye(2), [0.0, G], belt)
    run = ns.simulate(system, (0, 2), [0.0, 0.0], [1.0, 0.0], rtol=1e-8, breakpoints=[1.0])
    slip, stick = run.events.of("slip").t, run.events.of("stick").t
    assert slip == pytest.approx([1.0], abs=1e-12)
    assert stick == pytest.approx([1.0 - 1.0 / (mu * G)], abs=1e-9)
    assert run.u[0, -1] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.ZenoWarning")
def test_functions_are_asked_within_the_span():
    """A gap that is known from t = 0 to t = 1 only."""

    def gap(t, q):
        if t < 0.0 or t > 1.0:
            raise ValueError("outside of the table")
        return q[0] - 0.1 * abs(t) ** 1.5

    system = ns.MechanicalSystem(1.0, G, ns.Contact(gap, restitution=0.2))
    for options in (dict(rtol=1e-7), dict(dt=1e-3)):
        run = ns.simulate(system, (0, 1), [0.05], [0.0], **options)
        assert run.q[0, -1] == pytest.approx(0.1, abs=1e-3 if "dt" in options else 1e-7)


def test_slopes_of_tables():
    """Complex steps see the piece of a table that begins at a point of it, and nothing beyond its ends."""
    from nonsmooth._core.jit import user_kernel

    slope = user_kernel(lambda t: np.interp(complex(t, 1e-40), INSTANTS, HEIGHTS).imag / 1e-40)
    found = [slope(t) for t in (-1.0, 0.3, 0.5, 1.9, 2.0, 3.0)]
    assert found == pytest.approx([0.0, 1.0, -2 / 3, 0.375, 0.375, 0.0], abs=1e-12)
