"""Worlds against exact motions: free rigid body, heavy top, mechanisms in minimal coordinates."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import ellipj

import nonsmooth as ns
from nonsmooth import errors

G = 9.81
J = np.array([3.0, 2.0, 1.0])


# -- free rigid body -------------------------------------------------------------------------------------------------------


def free_body():
    world = ns.World((0, 0, 0))
    world.add(ns.Body(mass=1.0, inertia=J, angular_velocity=(0.4, 0.0, 1.5), name="body"))
    return world


def euler(t):
    """omega by Jacobi's elliptic functions, for omega_2(0) = 0 and 2 T J_2 > L^2 (Landau, Lifshitz: Mechanics, sec. 37)."""
    w1, w3 = 0.4, 1.5
    n = w3 * np.sqrt((J[1] - J[2]) * (J[0] - J[2]) / (J[0] * J[1]))
    m = (J[0] * (J[0] - J[1]) * w1**2) / (J[2] * (J[1] - J[2]) * w3**2)
    sn, cn, dn, _ = ellipj(n * t, m)
    w2 = w1 * np.sqrt(J[0] * (J[0] - J[2]) / (J[1] * (J[1] - J[2])))
    return np.array([w1 * cn, -w2 * sn, w3 * dn])


def test_free_body_against_elliptic_functions():
    instants = np.linspace(0, 10, 51)
    body = ns.simulate(free_body(), (0, 10), method="event-driven", rtol=1e-12, t_eval=instants)["body"]
    np.testing.assert_allclose(body.angular_velocity, euler(instants), atol=1e-10)
    L = np.einsum("nij,jn->in", body.rotation, J[:, None] * body.angular_velocity)
    assert np.abs(L - L[:, :1]).max() < 1e-11 * np.linalg.norm(L[:, 0])


def test_order_of_the_free_body_under_moreau():
    """The velocity in h is that at the begin of the step: first order, as for any force of velocities."""
    errors_of = []
    for dt in (4e-3, 2e-3, 1e-3):
        body = ns.simulate(free_body(), (0, 2), dt=dt)["body"]
        errors_of.append(np.abs(body.angular_velocity[:, -1] - euler(2.0)).max())
    rates = np.log2(np.array(errors_of[:-1]) / errors_of[1:])
    np.testing.assert_allclose(rates, 1.0, atol=0.1)


def test_rotations_stay_rotations():
    """After 1e6 steps the quaternion has length one to rounding."""
    body = ns.simulate(free_body(), (0, 1000), dt=1e-3, every=50_000, audit=False)["body"]
    R = body.rotation
    assert np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max() < 1e-14
    assert np.abs(np.linalg.norm(body.quaternion, axis=0) - 1.0).max() < 1e-15 * 4


# -- heavy top ---------------------------------------------------------------------------------------------------------------


def test_heavy_top_against_quadrature():
    """Nutation between the roots of u'^2 = f(u), u = cos(theta), in the time of a quadrature (Goldstein: Classical Mechanics, sec. 5.7)."""
    m, l, A, C, spin, theta = 2.0, 0.5, 0.3, 0.1, 30.0, 0.6
    R = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    world = ns.World((0, 0, -G))
    top = world.add(
        ns.Body(
            mass=m,
            inertia=(A, A, C),
            position=l * R[:, 2],
            rotation=R,
            angular_velocity=(0, 0, spin),
            name="top",
        )
    )
    world.add(ns.Spherical(world.ground, top, (0, 0, 0), name="tip"))
    tip = A + m * l**2  # about the tip
    u_0, p_psi = np.cos(theta), C * spin
    p_phi = p_psi * u_0
    # starts at a turning point, u' = 0:  f(u) = (u_0 - u) (2 m g l (1 - u^2) / tip - (p_psi / tip)^2 (u_0 - u))
    a, b = 2 * m * G * l / tip, (p_psi / tip) ** 2
    roots = np.roots([-a, b, a - b * u_0])
    u_1 = float(roots[np.abs(roots) < 1][0].real)
    middle, half = 0.5 * (u_0 + u_1), 0.5 * (u_0 - u_1)

    def time_of(s):
        u = middle + half * np.cos(s)
        other = (a * (1 - u * u) - b * (u_0 - u)) / (u - u_1)  # f = (u_0 - u) (u - u_1) other
        return 1.0 / np.sqrt(other)

    period = 2.0 * quad(time_of, 0, np.pi, epsabs=0, epsrel=1e-13)[0]
    assert p_phi > 0
    result = ns.simulate(
        world, (0, period), method="event-driven", rtol=1e-10, t_eval=[0, period / 2, period]
    )
    u = result["top"].rotation[:, 2, 2]
    np.testing.assert_allclose(u, [u_0, u_1, u_0], atol=1e-8)


# -- mechanisms in maximal and minimal coordinates ----------------------------------------------------------------------------------


def reduced(positions, mass, phi_0, rate_0, span, forces):
    """A mechanism with one coordinate phi: (J^T M J) phi'' = J^T (h - M J' phi'), J = dq/dphi by complex steps."""

    def jacobian(phi):
        return np.imag(positions(phi + 1e-40j)) / 1e-40

    def slope(phi):
        s = 1e-3
        return (
            sum(
                w * (jacobian(phi + c * s) - jacobian(phi - c * s))
                for c, w in ((1, 0.75), (2, -0.15), (3, 1 / 60))
            )
            / s
        )

    def field(t, y):
        Jq = jacobian(y[0])
        return [y[1], (Jq @ (forces - mass * slope(y[0]) * y[1] ** 2)) / (Jq @ (mass * Jq))]

    return solve_ivp(
        field, (0, span), [phi_0, rate_0], method="DOP853", rtol=1e-13, atol=1e-13, dense_output=True
    ).sol


def turned(phi, x, y=0.0):
    return np.array([np.cos(phi) * x - np.sin(phi) * y, np.sin(phi) * x + np.cos(phi) * y])


def slider_crank():
    world = ns.World((0, -G))
    crank = world.add(
        ns.Body(
            mass=0.2,
            inertia=2e-3,
            position=(0, 0.05),
            angle=np.pi / 2,
            velocity=(-0.5, 0),
            angular_velocity=10.0,
            name="crank",
        )
    )
    s = -np.arcsin(0.1 / 0.3)
    at = np.array([0.0, 0.1]) + turned(s, 0.15)
    rod = world.add(ns.Body(mass=0.3, inertia=3e-3, position=at, angle=s, velocity=(-1, 0), name="rod"))
    slider = world.add(
        ns.Body(mass=0.4, inertia=1e-3, position=(0.3 * np.cos(s), 0), velocity=(-1, 0), name="slider")
    )
    world.add(
        ns.Revolute(world.ground, crank, (0, 0), name="shaft"), ns.Revolute(crank, rod, (0, 0.1), name="pin")
    )
    world.add(
        ns.Revolute(rod, slider, (0.3 * np.cos(s), 0), name="wrist"),
        ns.Prismatic(world.ground, slider, axis=(1, 0), name="rail"),
    )

    def positions(phi):
        a = -np.arcsin(0.1 * np.sin(phi) / 0.3)
        knee = turned(phi, 0.1)
        end = knee + turned(a, 0.3)
        return np.array(
            [*turned(phi, 0.05), phi, *(knee + turned(a, 0.15)), a, end[0], 0.0 * end[1], 0.0 * a]
        )

    mass = np.array([0.2, 0.2, 2e-3, 0.3, 0.3, 3e-3, 0.4, 0.4, 1e-3])
    forces = mass * np.array([0, -G, 0] * 3)
    return world, reduced(positions, mass, np.pi / 2, 10.0, 1.0, forces), positions


LENGTHS = 0.2, 0.5, 0.4, 0.45  # crank, coupler, rocker, ground


def four_bar_positions(phi):
    """Coordinates of crank, coupler and rocker; the rocker's end by the intersection of two circles."""
    r, c, l, d = LENGTHS
    A = turned(phi, r)
    to = np.array([d, 0.0]) - A
    distance = np.sqrt(to @ to)
    along = (c**2 - l**2 + distance**2) / (2 * distance)
    up = np.sqrt(c**2 - along**2)
    e = to / distance
    B = A + along * e + up * np.array([-e[1], e[0]])
    beta, gamma = (_angle(x) for x in (B - A, B - np.array([d, 0.0])))
    return np.array([*(0.5 * A), phi, *(0.5 * (A + B)), beta, *(0.5 * (B + np.array([d, 0.0]))), gamma])


def _angle(x):
    return np.arctan2(x[1].real, x[0].real) + 1j * np.imag(x[1] * x[0].real - x[0] * x[1].real) / np.real(
        x @ np.conj(x)
    )


def four_bar(dim):
    q = np.real(four_bar_positions(1.0 + 0j))
    v = np.imag(four_bar_positions(1.0 + 1e-40j)) / 1e-40 * 3.0
    r, _, _, d = LENGTHS
    A = turned(1.0, r)
    B = 2 * q[3:5] - A
    points = [(0.0, 0.0), A, B, (d, 0.0)]
    world, bars = ns.World((0, -G) if dim == 2 else (0, -G, 0)), []
    for k, name in enumerate(("crank", "coupler", "rocker")):
        x, phi, vx, w = q[3 * k : 3 * k + 2], q[3 * k + 2], v[3 * k : 3 * k + 2], v[3 * k + 2]
        if dim == 2:
            start = dict(inertia=0.01, position=x, angle=phi, velocity=vx, angular_velocity=w)
        else:
            turn = (np.cos(phi / 2), 0, 0, np.sin(phi / 2))
            start = dict(
                inertia=(0.01, 0.01, 0.01),
                position=(*x, 0),
                rotation=turn,
                velocity=(*vx, 0),
                angular_velocity=(0, 0, w),
            )
        bars.append(world.add(ns.Body(mass=0.3, name=name, **start)))
    sides = [world.ground, *bars, world.ground]
    at = points if dim == 2 else [(*p, 0) for p in points]
    world.add(*(ns.Revolute(sides[k], sides[k + 1], at[k], name=f"pin {k}") for k in range(4)))
    mass = np.array([0.3, 0.3, 0.01] * 3)
    forces = mass * np.array([0, -G, 0] * 3)
    return world, reduced(four_bar_positions, mass, 1.0, 3.0, 1.0, forces)


def test_slider_crank_against_its_angle():
    world, exact, positions = slider_crank()
    instants = np.linspace(0, 1, 11)
    result = ns.simulate(world, (0, 1), method="event-driven", rtol=1e-10, t_eval=instants)
    np.testing.assert_allclose(result["crank"].angle, exact(instants)[0], atol=1e-9)
    np.testing.assert_allclose(result.q[:, -1], positions(exact(1.0)[0]), atol=1e-9)


def test_four_bar_against_its_angle():
    world, exact = four_bar(2)
    instants = np.linspace(0, 1, 11)
    result = ns.simulate(world, (0, 1), method="event-driven", rtol=1e-10, t_eval=instants)
    np.testing.assert_allclose(result["crank"].angle, exact(instants)[0], atol=1e-9)


def test_redundant_four_bar_in_space_moves_the_same():
    world, exact = four_bar(3)
    instants = np.linspace(0, 1, 11)
    with pytest.warns(
        errors.RedundantConstraintWarning, match=r"20 constraints have rank 17.*'pin \d \[\d\]'"
    ):
        result = ns.simulate(world, (0, 1), method="event-driven", rtol=1e-10, t_eval=instants)
    R = result["crank"].rotation
    angle = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    np.testing.assert_allclose(angle, exact(instants)[0], atol=1e-9)
    flat = four_bar(2)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forces = [ns.simulate(w, (0, 0.01), dt=1e-4)["pin 1"].force[:2, -1] for w in (world, flat)]
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-6)
