"""Contacts that touch, strike and come to rest together: rounding must not tear them apart."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ZenoWarning

G = 9.81
RTOL = (1e-5, 1e-8, 1e-10)


def run(system, T, q0, rtol, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        return ns.simulate(system, (0, T), q0, np.zeros(len(q0)), rtol=rtol, max_steps=5000, **options)


def between(t, q):
    gaps = np.empty(q.size)
    gaps[0] = q[0] - 0.1
    for i in range(1, q.size):
        gaps[i] = q[i] - q[i - 1] - 0.2
    return gaps


def column(n):
    mass = 1.0 + 0.5 * np.arange(n)
    return ns.MechanicalSystem(
        np.diag(mass), -G * mass, ns.Contact(between, restitution=0.4, name="s")
    ), 0.1 + 0.2 * np.arange(n)


def bounce(t, height, e):
    """Position and velocity of a ball let go from `height`."""
    begin, v = np.sqrt(2 * height / G), np.sqrt(2 * G * height)
    if t < begin:
        return height - 0.5 * G * t**2, -G * t
    while v > 1e-14:
        v *= e
        if t < begin + 2 * v / G:
            return v * (t - begin) - 0.5 * G * (t - begin) ** 2, v - G * (t - begin)
        begin += 2 * v / G
    return 0.0, 0.0


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_column_falls_and_bounces_as_one(n):
    """Its inner contacts carry nothing between impacts: opened by rounding they would strike one after the other."""
    system, rest = column(n)
    for rtol in RTOL:
        result = run(system, 1.1, rest + 0.5, rtol)
        assert {e.name for e in result.events} == {"s [0]"} and result.audit.ok
        for t, q, u in zip(result.t, result.q.T, result.u.T):
            height, speed = bounce(t, 0.5, 0.4)
            np.testing.assert_allclose(q - rest, height, atol=10 * rtol)
            if np.all(np.abs(t - np.array([e.t for e in result.events])) > 1e-3):
                np.testing.assert_allclose(u, speed, atol=30 * rtol)


def test_masses_that_fall_apart_come_to_rest_together():
    """The impulse that ends a rebound may pull at a contact that is closed: with those left out it pushes, and the audit knows."""
    system, rest = column(2)
    for rtol in (*RTOL, 1e-9):
        result = run(system, 6.0, rest + [0.5, 1.0], rtol)
        assert result.audit.ok, result.audit
        np.testing.assert_allclose(result.q[:, -1], rest, atol=1e-12)


def left(t, q, p):
    return q[0] * np.sin(p.angle) + q[1] * np.cos(p.angle)


def right(t, q, p):
    return -q[0] * np.sin(p.angle) + q[1] * np.cos(p.angle)


GROOVE = ns.MechanicalSystem(
    np.eye(2),
    np.array([0.0, -G]),
    [ns.Contact(f, restitution=0.5, name=f.__name__) for f in (left, right)],
    params={"angle": 0.5},
)


@pytest.mark.parametrize("angle", [0.5, 0.8, 1.2, 1.5])
def test_a_ball_in_a_groove_hits_both_walls_at_once(angle):
    """Its last bounces are lower than the rounding of the height it came from; at rest on the origin its state decays to nothing."""
    system, end = GROOVE.with_params(angle=angle), 3 * np.sqrt(2 / G)
    for rtol in RTOL:
        result = run(system, 3.0, [0.0, 1.0], rtol)
        assert result.audit.ok, result.audit
        assert {e.kind for e in result.events} <= {"impact", "close", "zeno"}
        np.testing.assert_allclose([e.t for e in result.events.of("zeno")], end, atol=1e-9)
        for t in (0.3, 0.7, 1.0, 1.2, 2.9):
            k = np.searchsorted(result.t, t)
            np.testing.assert_allclose(
                result.q[:, k], [0.0, bounce(result.t[k], 1.0, 0.5)[0]], atol=10 * rtol
            )


def test_a_ball_slides_and_bounces_to_the_bottom_of_a_groove():
    """Accumulations on one wall after the other, themselves without end."""
    for rtol in (1e-5, 1e-8):
        result = run(GROOVE, 6.0, [0.1, 1.0], rtol)
        assert result.audit.ok, result.audit
        np.testing.assert_allclose(result.q[:, -1], 0.0, atol=1e-12)
