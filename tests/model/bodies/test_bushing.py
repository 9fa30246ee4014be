"""Bushings: closed forms, the same forces written as functions, what they conserve, what is refused."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.bodies.bushings import rotation_vector
from nonsmooth._core.jit import user_kernel

K, C, AT = (40.0, 90.0, 3.0), (0.4, 0.2, 0.05), np.array([0.3, -0.1])


def test_a_body_on_a_bushing_is_three_oscillators():
    """In its centre of mass the components do not couple: x = exp(-delta t) (v / omega) sin(omega t)."""
    world = ns.World((0, 0))
    body = ns.Body(
        mass=2.0, inertia=0.5, position=(1, 2), angle=0.4, velocity=(0.3, -0.2), angular_velocity=9.0
    )
    world.add(body, ns.Bushing(world.ground, body, stiffness=K, damping=C, name="foot"))
    result = ns.simulate(world, (0, 1), rtol=1e-11)
    m, s, v = np.array([2.0, 2.0, 0.5]), result["foot"].deformation, (0.3, -0.2, 9.0)
    delta = np.array(C) / (2 * m)
    omega = np.sqrt(np.array(K) / m - delta**2)
    exact = np.exp(-delta[:, None] * result.t) * np.sin(omega[:, None] * result.t) * (v / omega)[:, None]
    np.testing.assert_allclose(s, exact, atol=2e-9)
    assert np.abs(s[2]).max() > np.pi  # the angle counts on


def bushing_by_functions(t, q, u):
    """Forces of the bushing on both bodies, from p_b seen by a (bodies start at the origin and at (1, 0))."""
    c, s = np.cos(q[2]), np.sin(q[2])
    cb, sb = np.cos(q[5]), np.sin(q[5])
    r_a, r_b = (c * 0.3 + s * 0.1, s * 0.3 - c * 0.1), (-cb * 0.7 + sb * 0.1, -sb * 0.7 - cb * 0.1)
    p_b = (q[3] + r_b[0], q[4] + r_b[1])
    d = (p_b[0] - q[0] - r_a[0], p_b[1] - q[1] - r_a[1])
    arm = (p_b[0] - q[0], p_b[1] - q[1])
    v = (u[3] - u[5] * r_b[1] - u[0] + u[2] * arm[1], u[4] + u[5] * r_b[0] - u[1] - u[2] * arm[0])
    f_x = 40.0 * (c * d[0] + s * d[1]) + 0.4 * (c * v[0] + s * v[1])
    f_y = 90.0 * (-s * d[0] + c * d[1]) + 0.2 * (-s * v[0] + c * v[1])
    T = 3.0 * (q[5] - q[2]) + 0.05 * (u[5] - u[2])
    F = (-(c * f_x - s * f_y), -(s * f_x + c * f_y))
    return np.array(
        [-F[0], -F[1], T - arm[0] * F[1] + arm[1] * F[0], F[0], F[1], -T + r_b[0] * F[1] - r_b[1] * F[0]]
    )


def pair(**bushing):
    world = ns.World((0, 0))
    a = world.add(ns.Body(mass=2.0, inertia=0.5, velocity=(0.3, 1.0), angular_velocity=1.0, name="a"))
    b = world.add(
        ns.Body(mass=1.0, inertia=0.2, position=(1, 0), velocity=(0, 0.2), angular_velocity=-2.0, name="b")
    )
    world.add(ns.Bushing(a, b, AT, name="foot", **bushing))
    return world


def linear_law(t, s, rate):
    return np.array([40.0, 90.0, 3.0]) * s + np.array([0.4, 0.2, 0.05]) * rate


def test_linear_law_and_functions_give_one_motion():
    worlds = pair(stiffness=K, damping=C), pair(law=linear_law)
    system = ns.MechanicalSystem(np.diag([2.0, 2.0, 0.5, 1.0, 1.0, 0.2]), bushing_by_functions)
    q0, u0 = worlds[0].start()
    wanted = ns.simulate(system, (0, 1), q0, u0, dt=1e-3, method="moreau").q
    for world in worlds:
        found = ns.simulate(world, (0, 1), dt=1e-3, method="moreau").q
        assert np.abs(found - wanted).max() <= 1e-12


def test_in_space_energy_and_momenta_stay():
    """Anisotropic, turning far: forces come from 1/2 s K s, and act and react at one point."""
    world = ns.World((0, 0, 0))
    a = world.add(
        ns.Body(
            mass=2.0, inertia=(0.5, 0.4, 0.3), velocity=(0.1, 0, 0.2), angular_velocity=(1, 2, 0), name="a"
        )
    )
    b = world.add(ns.Body(mass=1.0, inertia=(0.1, 0.2, 0.25), position=(1, 0, 0), rotation=(0.8, 0, 0.6, 0), name="b",
                          angular_velocity=(-2, 1, 3)))  # fmt: skip
    world.add(ns.Bushing(a, b, (0.4, 0.1, 0), stiffness=(40, 90, 60, 0.3, 0.5, 0.8), name="foot"))
    result = ns.simulate(world, (0, 2), rtol=1e-11)
    assert np.linalg.norm(result["foot"].deformation[3:], axis=0).max() > 0.8
    energy = result["a"].kinetic_energy + result["b"].kinetic_energy + result["foot"].energy
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    momentum, L = 0.0, 0.0
    for name, m, J in (("a", 2.0, (0.5, 0.4, 0.3)), ("b", 1.0, (0.1, 0.2, 0.25))):
        view = result[name]
        momentum = momentum + m * view.velocity
        spin = np.einsum("nij,jn->in", view.rotation, np.array(J)[:, None] * view.angular_velocity)
        L = L + spin + m * np.cross(view.position, view.velocity, axis=0)
    np.testing.assert_allclose(momentum.T - momentum[:, 0], 0.0, atol=1e-8)
    np.testing.assert_allclose(L.T - L[:, 0], 0.0, atol=1e-8)


@user_kernel
def vector_of(R):
    return rotation_vector(R)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -1, 0), (0.6, 0, -0.8), (1, 2, 3)])
@pytest.mark.parametrize("angle", [1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-8])
def test_rotation_vectors_up_to_half_a_turn(axis, angle):
    theta = angle * np.array(axis) / np.linalg.norm(axis)
    c, s = np.cos(angle), np.sin(angle)
    n = theta / angle
    X = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    R = np.eye(3) + s * X + (1 - c) * X @ X
    np.testing.assert_allclose(vector_of(tuple(R.ravel())), theta, rtol=1e-12, atol=1e-15)


def test_what_is_refused():
    for bad, error in (
        (dict(stiffness=(1, 2)), ns.errors.ShapeError), (dict(damping=np.nan), ns.errors.NonFiniteError),
        (dict(stiffness="soft"), ns.errors.InputError), (dict(law=3.0), ns.errors.InputError),
    ):  # fmt: skip
        with pytest.raises(error, match="'foot'"):
            pair(**bad).start()


def test_numbers_change_without_building():
    stiffer = pair(stiffness=K, damping=C).with_params(foot=dict(stiffness=(80.0, 180.0, 6.0)))
    other = pair(stiffness=(80.0, 180.0, 6.0), damping=C)
    found, wanted = (ns.simulate(world, (0, 0.1), dt=1e-3, method="moreau").q for world in (stiffer, other))
    assert np.array_equal(found, wanted)
