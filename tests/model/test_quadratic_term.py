"""The quadratic term kappa = d/dt(W^T) u + d zeta/dt against formulas, in any units, compiled and by the user's own functions."""

import numpy as np
import pytest

from nonsmooth import (
    Contact,
    FrictionElement,
    Joint,
    MechanicalSystem,
    NonholonomicConstraint,
    quaternion_rates,
)
from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.errors import InputError
from nonsmooth.model.quadratic_term import extrapolated

COMPLEX = "complex step and differences" if JIT_ENABLED else "differences"


def compiled(model, t, q, u):
    out = np.full(model.laws.n_rows, np.nan)
    model.kappa(t, q, u, model.parameters.flat, out)
    return out


def source(model, name):
    model.kappa  # noqa: B018
    return next(
        source for label, source in model.differentiator.sources.items() if f"d/dt gamma of {name}" in label
    )


# -- two bars: angles from the vertical, tip over a floor that shakes; the tip slides along the floor --------------------


def tip_height(t, q, p):
    return p.H - p.l * (np.cos(q[0]) + np.cos(q[1])) - p.A * np.sin(p.w * t)


def tip_direction(t, q, p):
    return np.array([p.l * np.cos(q[0]), p.l * np.cos(q[1])])


def floor_speed(t, q, p):
    return p.A * p.w * np.cos(p.w * t)


BARS = MechanicalSystem(
    np.eye(2),
    lambda t, q, u: -q,
    contacts=Contact(
        tip_height, friction=0.3, tangent=tip_direction, surface_velocity=floor_speed, name="tip"
    ),
    joints=Joint(lambda t, q, p: p.l**2 * np.sin(q[0]) * q[1] ** 2, name="slot"),
    params={"l": 0.4, "H": 1.0, "A": 0.01, "w": 40.0},
)


def test_two_bars():
    t, q, u = 0.12, np.array([0.4, -1.1]), np.array([1.3, 0.7])
    model = BARS.bind(0.0, q, u)
    wt = 40.0 * t
    exact = [
        0.4 * (np.cos(q[0]) * u[0] ** 2 + np.cos(q[1]) * u[1] ** 2) + 16.0 * np.sin(wt),
        -0.4 * (np.sin(q[0]) * u[0] ** 2 + np.sin(q[1]) * u[1] ** 2) - 16.0 * np.sin(wt),
        0.16
        * (
            -np.sin(q[0]) * q[1] ** 2 * u[0] ** 2
            + 4 * np.cos(q[0]) * q[1] * u[0] * u[1]
            + 2 * np.sin(q[0]) * u[1] ** 2
        ),
    ]
    np.testing.assert_allclose(compiled(model, t, q, u), exact, rtol=1e-11 if JIT_ENABLED else 1e-9)
    np.testing.assert_allclose(model.quadratic_term(t, q, u), exact, rtol=1e-9)
    assert source(model, "gap of contact 'tip'") == COMPLEX
    assert source(model, "tangent of contact 'tip'") == ("complex step" if JIT_ENABLED else "differences")
    # nothing moves, the floor does
    still = compiled(model, t, q, np.zeros(2))
    np.testing.assert_allclose(still, [16.0 * np.sin(wt), -16.0 * np.sin(wt), 0.0], rtol=1e-9, atol=1e-12)


# -- a point and a ring: lengths in any unit -----------------------------------------------------------------------------


def ring(t, q, p):
    return np.sqrt(q[0] ** 2 + (q[1] - p.l) ** 2) - p.l


def ring_by_norm(t, q, p):
    return np.sqrt(abs(q[0]) ** 2 + abs(q[1] - p.l) ** 2) - p.l


RINGS = MechanicalSystem(
    np.eye(2),
    lambda t, q, u: -q,
    contacts=[Contact(ring, name="ring"), Contact(ring_by_norm, name="norm")],
    joints=Joint(lambda t, q, p: q[0] ** 2 + q[1] ** 2 - p.l**2, name="pendulum"),
    params={"l": 1.0},
)


@pytest.mark.parametrize("at_zero", [False, True])
def test_any_unit_of_length_and_time(at_zero):
    """1 mm at 1 m/s used to be wrong by 2 %, 0.1 mm by 76 %; a start at zero tells nothing about lengths."""
    for length in 10.0 ** np.arange(-6, 7):
        for speed in (1e-3 * length, length, 1e3 * length, 1.0):
            q, u = length * np.array([0.3, 0.2]), speed * np.array([0.8, -0.6])
            model = RINGS.with_params(l=length).bind(0.0, 0.0 * q if at_zero else q, 0.0 * u)
            d = np.array([q[0], q[1] - length])
            r = np.hypot(*d)
            bent = (u @ u - (u @ d / r) ** 2) / r
            exact = [bent, bent, 2 * u @ u]
            found = compiled(model, 0.0, q, u)
            np.testing.assert_allclose(found, exact, rtol=1e-8)
            np.testing.assert_allclose(found[[0, 2]], [bent, 2 * u @ u], rtol=1e-9 if JIT_ENABLED else 1e-8)
            np.testing.assert_allclose(model.quadratic_term(0.0, q, u), exact, rtol=1e-8)
    assert source(model, "gap of contact 'norm'") == "differences"
    assert source(model, "gap of contact 'ring'") == COMPLEX


# -- a body turning in space: q' = B u --------------------------------------------------------------------------------------

POINT = np.array([0.3, -0.2, 0.5])


def rates(t, q):
    w, x, y, z = q[3], q[4], q[5], q[6]
    B = np.zeros((7, 6))
    for i in range(3):
        B[i, i] = 1.0
    B[3, 3], B[3, 4], B[3, 5] = -0.5 * x, -0.5 * y, -0.5 * z
    B[4, 3], B[4, 4], B[4, 5] = 0.5 * w, -0.5 * z, 0.5 * y
    B[5, 3], B[5, 4], B[5, 5] = 0.5 * z, 0.5 * w, -0.5 * x
    B[6, 3], B[6, 4], B[6, 5] = -0.5 * y, 0.5 * x, 0.5 * w
    return B


def corner_height(t, q, r):
    w, x, y, z = q[3], q[4], q[5], q[6]
    return q[2] + 2 * (x * z - w * y) * r.a + 2 * (y * z + w * x) * r.b + (w**2 - x**2 - y**2 + z**2) * r.c


def corner_height_real(t, q, r):
    return corner_height(t, q, r) + 0.0 * abs(q[3])


def corner_jacobian(t, q, r):
    w, x, y, z = q[3], q[4], q[5], q[6]
    J = np.zeros((1, 7))
    J[0, 2] = 1.0
    J[0, 3] = 2 * (-y * r.a + x * r.b + w * r.c)
    J[0, 4] = 2 * (z * r.a + w * r.b - x * r.c)
    J[0, 5] = 2 * (-w * r.a + z * r.b - y * r.c)
    J[0, 6] = 2 * (x * r.a + y * r.b + z * r.c)
    return J


def test_a_corner_of_a_turning_body():
    body = MechanicalSystem(
        np.eye(6),
        lambda t, q, u: -u,
        contacts=[
            Contact(corner_height, name="corner"),
            Contact(lambda t, q, p: abs(corner_height(t, q, p)), name="real"),
            Contact(corner_height, jacobian=corner_jacobian, name="given"),
        ],
        kinematics=rates,
        quaternions=[3],
        params={"a": POINT[0], "b": POINT[1], "c": POINT[2]},
    )
    quaternion = np.array([0.8, 0.2, -0.4, 0.4])
    q = np.concatenate([[0.1, 0.2, 3.0], quaternion / np.linalg.norm(quaternion)])
    u = np.array([0.3, -0.1, 0.2, 1.1, -0.7, 0.4])
    assert np.array_equal(rates(0, q)[3:, 3:], quaternion_rates(q[3:]))
    w, x, y, z = q[3:]
    third = np.array(
        [2 * (x * z - w * y), 2 * (y * z + w * x), w**2 - x**2 - y**2 + z**2]
    )  # e_z in the frame of the body
    exact = third @ np.cross(u[3:], np.cross(u[3:], POINT))
    model = body.bind(0.0, q, u)
    found = compiled(model, 0.0, q, u)
    np.testing.assert_allclose(found[[0, 2]], exact, rtol=1e-10 if JIT_ENABLED else 1e-9)
    np.testing.assert_allclose(found[1], exact, rtol=1e-8)
    np.testing.assert_allclose(model.quadratic_term(0.0, q, u), exact, rtol=1e-8)


# -- constraints on velocities, given rates, nothing to do ---------------------------------------------------------------------


def test_rolling_disk_and_given_rates():
    """An upright disk of radius r: x' = r cos(theta) phi'; rates given by the user are taken."""
    r = 0.3
    disk = MechanicalSystem(
        np.eye(4),
        lambda t, q, u: -u,
        contacts=Contact(lambda t, q: q[0] ** 2, jacobian_rate=lambda t, q, u: 7.0, name="rated"),
        friction=[
            FrictionElement(lambda t, q: np.array([1.0, 0, 0, 0]), 1.0, name="fixed"),
            FrictionElement(
                lambda t, q: q, 1.0, direction_rate=lambda t, q, u: np.array([u @ u]), name="turning"
            ),
        ],
        joints=Joint(lambda t, q: q[0] * q[1], jacobian_rate=lambda t, q, u: 2 * u[0] * u[1], name="cross"),
        nonholonomic=[
            NonholonomicConstraint(lambda t, q, u: u[0] - r * np.cos(q[2]) * u[3], name="along"),
            NonholonomicConstraint(
                lambda t, q, u: u[1] - r * np.sin(q[2]) * u[3], rate=lambda t, q, u: 5.0, name="across"
            ),
        ],
    )
    q, u = np.array([0.1, 0.2, 0.5, 2.0]), np.array([0.4, 0.3, -1.5, 6.0])
    model = disk.bind(0.0, q, u)
    exact = [7.0, 0.0, u @ u, 2 * u[0] * u[1], r * np.sin(q[2]) * u[2] * u[3], 5.0]
    np.testing.assert_allclose(compiled(model, 0.0, q, u), exact, rtol=1e-13 if JIT_ENABLED else 1e-9)
    np.testing.assert_allclose(model.quadratic_term(0.0, q, u), exact, rtol=1e-9)
    assert source(model, "tangent of fixed") == "constant"
    assert source(model, "gap of contact 'rated'") == "given"
    joints = np.zeros(1)
    model.joints(0.0, q, u, model.parameters.flat, joints)
    np.testing.assert_allclose(joints, 0.02)
    with pytest.raises(InputError, match="`jacobian_rate` of joint 'x'"):
        Joint(lambda t, q: q[0], jacobian_rate=3.0, name="x")


def test_order_and_search_of_the_steps():
    """Sixth order where the scale fits, and no scale needed: from 1e-6 to 1e6 times too large or too small."""
    for order, exact in ((1, 1.0), (2, -0.25)):
        for T in 10.0 ** np.arange(-5, 7):
            value, error = extrapolated(lambda s: np.array([np.sin(s + 0.0) + np.cos(0.5 * s)]), order, T)
            np.testing.assert_allclose(value, exact, rtol=1e-8)
            assert error[0] < 1e-7
    assert np.isnan(extrapolated(lambda s: np.array([np.nan]), 1, 1.0)[0])


def test_no_laws():
    model = MechanicalSystem(np.eye(1), lambda t, q, u: -q).bind(0.0, np.zeros(1), np.zeros(1))
    assert model.quadratic_term(0.0, np.zeros(1), np.ones(1)).size == 0
    assert compiled(model, 0.0, np.zeros(1), np.ones(1)).size == 0


def test_whole_turns_of_an_angle_are_no_agreement():
    """Beside a row whose term is zero larger steps are tried, too: those of whole turns agree on a wrong value."""
    rod = Joint(lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])]))
    system = MechanicalSystem(np.eye(3), lambda t, q, u: -q, Contact(lambda t, q: q[0] - 0.7), joints=[rod])
    model = system.bind(0.0, np.array([1.0, 0.0, 0.0]), np.zeros(3))
    rng, count = np.random.default_rng(0), 4000 if JIT_ENABLED else 40
    for angle, rate in zip(rng.uniform(-0.5, 1.2, count), 3.0 * rng.normal(size=count)):
        c, s = np.cos(angle), np.sin(angle)
        found = compiled(model, 0.0, np.array([c, s, angle]), rate * np.array([-s, c, 1.0]))
        np.testing.assert_allclose(found[1:], rate**2 * np.array([c, s]), atol=1e-9 * rate**2)


def displaced_floor(t, q, p):
    return p.L * np.abs(np.sum(p.n * (q / p.L - p.D)))  # (absolute values: no complex step)


def test_noise_of_a_closed_contact_is_no_acceleration():
    """The gap of a closed contact is a difference of large numbers: its rounding is theirs, and second differences of it are nothing."""
    rng = np.random.default_rng(5)
    normal, D = np.array([0.6, -0.3, 0.7]), np.array([-29.6, -34.7, 31.0])
    system = MechanicalSystem(
        np.eye(3), np.zeros(3), Contact(displaced_floor), params=dict(L=0.77, n=normal, D=D)
    )
    model = None
    for _ in range(300):
        q, u = rng.normal(size=3), rng.normal(size=3)
        q, u = (x - normal * (normal @ x) / (normal @ normal) for x in (q, u))  # slides along the floor
        q = 0.77 * (q + D) + 1e-9 * normal
        model = model or system.bind(0.0, q, u)
        assert abs(compiled(model, 0.0, q, u)[0]) < 1e-9
        assert abs(model.quadratic_term(0.0, q, u)[0]) < 1e-9
    # a velocity that is hardly a number
    assert compiled(model, 0.0, q, 1e-310 * u)[0] == pytest.approx(0.0, abs=1e-9)
