"""Redundant contacts and heavy bodies on light ones, with nothing but defaults: a box of eight corners in space, stacks of boxes."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ConvergenceError

GRAVITY = 9.81
HALF = np.array([0.1, 0.15, 0.2])
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * HALF
INERTIA = (
    np.array([HALF[1] ** 2 + HALF[2] ** 2, HALF[0] ** 2 + HALF[2] ** 2, HALF[0] ** 2 + HALF[1] ** 2]) / 3
)


def box_in_space(restitution=0.0):
    """A box of 1 kg: position and unit quaternion; velocity and spin in the box's own axes."""

    def rotation(q):
        w, x, y, z = q[3], q[4], q[5], q[6]
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )

    def force(t, q, u):
        spin = u[3:6]
        gyroscopic = np.cross(spin, INERTIA * spin)
        return np.array([0.0, 0.0, -GRAVITY, -gyroscopic[0], -gyroscopic[1], -gyroscopic[2]])

    def kinematics(t, q):
        B = np.zeros((7, 6))
        for i in range(3):
            B[i, i] = 1.0
        B[3:, 3:] = ns.quaternion_rates(q[3:])
        return B

    def gap(t, q):
        return q[2] + CORNERS @ rotation(q)[2]

    def tangent(t, q):
        R, W = rotation(q), np.zeros((6, 16))
        for k in range(8):
            for d in range(2):
                W[d, 2 * k + d] = 1.0
                W[3:, 2 * k + d] = np.cross(CORNERS[k], R[d])
        return W

    floor = ns.Contact(gap, restitution=restitution, friction=0.4, tangent=tangent)
    mass = np.diag(np.concatenate([np.ones(3), INERTIA]))
    return ns.MechanicalSystem(mass, force, contacts=[floor], kinematics=kinematics, quaternions=[3])


def stack(masses):
    """Square boxes of side 1 on each other in the plane, two corners with friction per interface."""
    masses = np.array(masses, dtype=float)
    n = masses.size

    def corner(q, i, side):
        c, s = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2])
        return q[3 * i] + 0.5 * (c * side + s), q[3 * i + 1] + 0.5 * (s * side - c)

    def gap(t, q):
        g = np.zeros(2 * n)
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0)
                g[2 * i + k] = y
                if i > 0:  # above the top of the box below
                    below = q[3 * i - 3 : 3 * i]
                    g[2 * i + k] = (
                        -np.sin(below[2]) * (x - below[0]) + np.cos(below[2]) * (y - below[1]) - 0.5
                    )
        return g

    def tangent(t, q):
        W = np.zeros((3 * n, 2 * n))
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0)
                angle = q[3 * i - 1] if i > 0 else 0.0
                e_x, e_y = np.cos(angle), np.sin(angle)
                column = 2 * i + k
                W[3 * i, column], W[3 * i + 1, column] = e_x, e_y
                W[3 * i + 2, column] = e_y * (x - q[3 * i]) - e_x * (y - q[3 * i + 1])
                if i > 0:
                    W[3 * i - 3, column], W[3 * i - 2, column] = -e_x, -e_y
                    W[3 * i - 1, column] = e_x * (y - q[3 * i - 2]) - e_y * (x - q[3 * i - 3])
        return W

    faces = ns.Contact(gap, friction=0.5, tangent=tangent)
    mass = np.diag(np.repeat(masses, 3) * np.tile([1.0, 1.0, 1.0 / 6.0], n))
    weight = -GRAVITY * np.repeat(masses, 3) * np.tile([0.0, 1.0, 0.0], n)
    return ns.MechanicalSystem(mass, lambda t, q, u: weight, contacts=[faces])


def height(spacing):
    """Five boxes with that much air below each."""
    q = np.zeros(15)
    q[1::3] = 0.5 + spacing + (1.0 + spacing) * np.arange(5)
    return q


SOLVED = 1e-10


def test_a_box_on_eight_corners_comes_to_rest():
    start = np.array([0, 0, 0.25, 1, 0, 0, 0.0]), np.array([0.5, 0.2, 0, 0, 0, 0])
    result = ns.simulate(box_in_space(), (0, 1.0), *start, dt=1e-3)
    assert result.residual.max() <= SOLVED
    assert np.abs(result.u[:, -1]).max() < 2 * GRAVITY * 1e-3
    np.testing.assert_allclose(result.P_N[:, -500:].sum() / 500, GRAVITY * 1e-3, rtol=0.02)
    assert result.audit.ok


@pytest.mark.parametrize("top", [10.0, 100.0])
@pytest.mark.parametrize("spacing", [0.0, 0.01], ids=["resting", "dropped"])
def test_a_heavy_box_on_four_light_ones(top, spacing):
    system, q0 = stack([1, 1, 1, 1, top]), height(spacing)
    result = ns.simulate(system, (0, 0.4), q0, np.zeros(15), dt=1e-3)
    assert result.residual.max() <= SOLVED
    # the floor carries all of them, and nothing sinks
    np.testing.assert_allclose(result.P_N[:2, -200:].sum() / 200, (4 + top) * GRAVITY * 1e-3, rtol=0.02)
    # by more than a step at the speed of its first impact, per interface; a stack at rest does not move at all
    fall = 1e-3 * np.cumsum(np.sqrt(2 * GRAVITY * spacing * np.arange(1, 6)))
    sunk = np.maximum(fall, 1e-12)
    assert np.all(np.abs(result.q[1::3, -1] - (0.5 + np.arange(5))) <= sunk)


@pytest.mark.parametrize("axis", [(0.64, -0.56, 0.53), (-0.8, 0.5, 0.33)])
def test_a_box_dropped_tilted_comes_to_rest(axis):
    """It ends on corners that lie in a plane but for 1e-6, which Newton's law with friction makes a hard problem."""
    turned = np.concatenate([[np.cos(0.1)], np.sin(0.1) * np.array(axis) / np.linalg.norm(axis)])
    start = np.concatenate([[0, 0, 0.5], turned]), np.array([0.5, 0.2, 0, 0, 0, 0])
    result = ns.simulate(box_in_space(0.5), (0, 1.0), *start, dt=1e-3, on_energy_gain="ignore")
    assert result.residual.max() <= SOLVED
    assert result.audit.ok


@pytest.mark.parametrize("top", [10.0, 100.0])
def test_heavy_stacks_under_extrapolation(top):
    """Forces that cancel to rounding do not stop the step-size control."""
    system = stack([1, 1, 1, 1, top])
    method = "extrapolated-moreau"
    resting = ns.simulate(system, (0, 0.4), height(0.0), np.zeros(15), method=method, max_steps=200)
    assert resting.nrejected == 0 and resting.audit.ok
    np.testing.assert_allclose(resting.q, np.tile(height(0.0)[:, None], resting.t.size), atol=1e-13)
    dropped = ns.simulate(system, (0, 0.4), height(0.01), np.zeros(15), method=method, max_steps=400)
    np.testing.assert_allclose(dropped.q[:, -1], height(0.0), atol=1e-10)


@pytest.mark.parametrize("solver", ["newton", "nsgs", ns.ContactMethod("interior-point", tol=1e-8)])
def test_any_method_may_solve_the_steps(solver):
    system, q0, u0 = stack([1, 1]), height(0.01)[:6], np.array([0.3, 0, 0, 0.3, 0, 0])
    exact = ns.simulate(system, (0, 0.1), q0, u0, dt=1e-3)
    result = ns.simulate(system, (0, 0.1), q0, u0, method=ns.Moreau(dt=1e-3, solver=solver))
    np.testing.assert_allclose(result.q, exact.q, atol=1e-7)


def test_what_a_method_raises_arrives_with_the_result_so_far():
    def broken(problem, r, run):
        raise ZeroDivisionError("no such luck")

    solver = ns.ContactMethod(broken)
    with pytest.raises(ZeroDivisionError, match="no such luck") as caught:
        ns.simulate(
            stack([1, 1]), (0, 0.1), height(0.01)[:6], np.zeros(6), method=ns.Moreau(dt=1e-3, solver=solver)
        )
    assert 0.04 < caught.value.partial.t[-1] < 0.06  # it fell 1 cm


def test_the_error_of_an_unsolved_step_names_cures_that_exist():
    weak = ns.Moreau(dt=1e-3, solver=ns.PSOR(max_iter=2))
    with pytest.raises(ConvergenceError, match=r"method=ns\.Moreau\(dt=\.\.\., solver=\.\.\.\)"):
        ns.simulate(stack([1, 1]), (0, 0.1), height(0.0)[:6], np.zeros(6), method=weak)
