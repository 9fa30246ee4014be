"""The model protocol: order of laws and rows, plain NumPy answers against formulas, parameters without recompilation."""

import pickle

import numpy as np
import pytest

from nonsmooth import (
    Ball,
    Contact,
    ConvexSet,
    FrictionElement,
    Interval,
    Joint,
    MechanicalSystem,
    NonholonomicConstraint,
    SetValuedElement,
    simulate,
)
from nonsmooth.errors import InputError, ModelError, NonFiniteError, ShapeError


def mass(t, q, p):
    return np.diag(np.array([p.m, 2.0 * p.m, 3.0]))


def force(t, q, u, p):
    return np.array([-p.k * q[0] ** 2, np.sin(t) - u[1], q[2] * u[0]])


def walls(t, q, p):
    return np.array([q[0] - np.sin(2.0 * t), p.gap - q[0] * q[1]])


def tangents(t, q):
    return np.array([[0.0, 1.0], [1.0, 0.0], [q[0], 0.0]])  # one column for each of the two contacts


def belt(t, q):
    return np.array([-0.5, t])


def third(t, q):
    return np.array([0.0, 0.0, 1.0])


def plane(t, q):
    return np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def limit(t, q, u, p):
    return p.k * (1.0 + u[0] ** 2)


def clip(x):
    return np.minimum(np.maximum(x, -1.0), 1.0)


def pin(t, q):
    return q[0] ** 2 + q[1] ** 2 - 1.0


def rolling(t, q, u):
    return q[0] * u[1] - u[2] + t


SYSTEM = MechanicalSystem(
    mass,
    force,
    contacts=Contact(
        walls, restitution=[0.1, 0.2], friction=0.3, tangent=tangents, surface_velocity=belt, name=["a", "b"]
    ),
    friction=FrictionElement(third, limit, name="brake"),
    elements=[
        SetValuedElement(third, Interval(1.0, 5.0), name="spring"),
        SetValuedElement(plane, Ball(2.0), name="pad"),
        SetValuedElement(plane, ConvexSet(clip), restitution=0.5, name="box"),
    ],
    joints=Joint(pin, name="pin"),
    nonholonomic=NonholonomicConstraint(rolling, name="wheel"),
    params={"m": 2.0, "k": 3.0, "gap": 4.0},
)
T, Q, U = 0.3, np.array([0.6, 0.8, 0.2]), np.array([0.5, -0.4, 1.0])


@pytest.fixture(scope="module")
def model():
    return SYSTEM.bind(T, Q, U)


def test_order_of_laws_and_rows(model):
    laws = model.laws
    assert laws.name == [
        "a",
        "b",
        "a friction",
        "b friction",
        "brake",
        "spring",
        "pad",
        "box",
        "pin",
        "wheel",
    ]
    assert laws.kind.tolist() == [0, 0, 3, 3, 1, 1, 2, 5, 6, 6]
    assert laws.row.tolist() == [0, 1, 2, 3, 4, 5, 6, 8, 10, 11]
    assert laws.dim.tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 1, 1]
    assert laws.link.tolist() == [-1, -1, 0, 1, -1, -1, -1, -1, -1, -1]
    assert laws.e.tolist() == [0.1, 0.2, 0, 0, 0, 0, 0, 0.5, 0, 0]
    assert (laws.n_N, laws.n_rows, laws.n_J) == (2, 12, 2)


def test_answers(model):
    np.testing.assert_allclose(model.mass_matrix(T, Q), np.diag([2.0, 4.0, 3.0]))
    np.testing.assert_allclose(model.forces(T, Q, U), [-3 * 0.36, np.sin(0.3) + 0.4, 0.1])
    np.testing.assert_allclose(model.gaps(T, Q), [0.6 - np.sin(0.6), 4 - 0.48])
    WT, zeta = model.directions(T, Q)
    np.testing.assert_allclose(
        WT[:6], [[1, 0, 0], [-0.8, -0.6, 0], [0, 1, 0.6], [1, 0, 0], [0, 0, 1], [0, 0, 1]], atol=1e-14
    )
    np.testing.assert_allclose(
        WT[6:], [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1.2, 1.6, 0], [0, 0.6, -1]], atol=1e-14
    )
    np.testing.assert_allclose(zeta, [-2 * np.cos(0.6), 0, -0.5, 0.3, 0, 0, 0, 0, 0, 0, 0, 0.3], atol=1e-14)
    lower, upper = model.bounds(T, Q, U)
    assert lower.tolist() == [0, 0, 0, 0, -3.75, 1, -2, -2, 0, 0, 0, 0]
    assert upper.tolist() == [0, 0, 0, 0, 3.75, 5, 2, 2, 0, 0, 0, 0]
    position, velocity = model.joint_residuals(T, Q, U)
    np.testing.assert_allclose(position, [0.0], atol=1e-15)
    np.testing.assert_allclose(velocity, [0.6 - 0.64, -0.24 - 1 + 0.3], atol=1e-14)
    assert np.array_equal(model.kinematic_matrix(T, Q), np.eye(3))
    assert model.potential_energy(T, Q) is None


def test_acceleration_level_and_tangents(model):
    value = model.quadratic_term(T, Q, U)
    np.testing.assert_allclose(value[0], 4 * np.sin(0.6), rtol=1e-8)  # d/dt of -2 cos 2t
    np.testing.assert_allclose(value[1], -2 * U[0] * U[1], rtol=1e-8)
    np.testing.assert_allclose(value[10], 2 * (U[0] ** 2 + U[1] ** 2), rtol=1e-8)
    dq, du = model.tangents(T, Q, U)
    np.testing.assert_allclose(dq, [[-3.6, 0, 0], [0, 0, 0], [0, 0, 0.5]], atol=1e-13)
    np.testing.assert_allclose(du, [[0, 0, 0], [0, -1, 0], [0.2, 0, 0]], atol=1e-13)


def test_sources_of_derivatives_are_named(model):
    sources = model.derivative_sources
    assert {source for name, source in sources.items() if "W la" not in name} == {"complex step"}
    assert any("gap of contact" in name and name.startswith("d/dt") for name in sources)
    assert model.callbacks == []


def test_parameters_change_nothing_but_numbers(model):
    other = SYSTEM.with_params(m=5.0, k=1.0)
    bound = other.bind(T, Q, U)
    assert bound.core is model.core  # nothing compiled again
    assert bound.mass_matrix(T, Q)[0, 0] == 5.0 and model.mass_matrix(T, Q)[0, 0] == 2.0
    assert bound.bounds(T, Q, U)[1][4] == 1.25
    assert SYSTEM.params["m"] == 2.0 and other.params == {"m": 5.0, "k": 1.0, "gap": 4.0}
    with pytest.raises(InputError, match="unknown parameter 'c'"):
        SYSTEM.with_params(c=1.0)


def test_names_must_differ():
    first, second = Contact(walls, name="wall"), FrictionElement(third, 1.0, name="wall")
    with pytest.raises(ModelError, match="'wall' is used twice: by contact 0 and by friction element 0"):
        MechanicalSystem(mass, force, contacts=first, friction=second)
    clash = MechanicalSystem(
        np.eye(3),
        lambda t, q, u: -q,
        contacts=Contact(lambda t, q: q[0], friction=0.1, tangent=third, name="w"),
        friction=FrictionElement(third, 1.0, name="w friction"),
    )
    with pytest.raises(ModelError, match="w friction"):
        clash.bind(T, Q, U)


def test_shapes_are_checked():
    system = MechanicalSystem(
        np.eye(3), lambda t, q, u: -q, contacts=Contact(lambda t, q: q[:2], restitution=[0.1] * 3, name="w")
    )
    with pytest.raises(ShapeError, match="3 entries for 2"):
        system.bind(T, Q, U)
    system = MechanicalSystem(
        np.eye(3), lambda t, q, u: -q, friction=FrictionElement(lambda t, q: np.eye(3), 1.0, name="f")
    )
    with pytest.raises(ShapeError, match="3 columns"):
        system.bind(T, Q, U)
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2,\)"):
        MechanicalSystem(np.eye(2), lambda t, q, u: -q).bind(T, Q, U[:2])
    with pytest.raises(InputError, match="class Contact are wanted"):
        MechanicalSystem(1.0, force, contacts=[walls])
    with pytest.raises(InputError, match="class FrictionElement are wanted; give it as `contacts=`"):
        MechanicalSystem(1.0, force, [], Contact(walls))  # a contact outside of the list
    with pytest.raises(InputError, match="give it as `joints=`"):
        MechanicalSystem(1.0, force, Joint(walls))
    with pytest.raises(NonFiniteError, match="mass"):
        MechanicalSystem([[np.nan]], force)


def test_constants_stand_for_functions_that_do_not_change():
    """Directions, surface velocities and Jacobians as arrays give the motion of the functions, and survive a copy."""
    gap = lambda t, q: q[1] - 0.1  # noqa: E731
    given = dict(restitution=0.3, friction=0.4, name="floor")
    functions = Contact(
        gap,
        tangent=lambda t, q: np.array([1.0, 0.0]),
        surface_velocity=lambda t, q: np.array([-0.5]),
        jacobian=lambda t, q: np.array([[0.0, 1.0]]),
        **given,
    )
    constants = Contact(gap, tangent=[1, 0], surface_velocity=-0.5, jacobian=[[0, 1]], **given)
    rough = FrictionElement(lambda t, q: np.array([1.0, 0.0]), 0.2, lambda t, q: 0.1)
    rough_constant = FrictionElement([1.0, 0.0], 0.2, 0.1)
    runs = [
        simulate(
            MechanicalSystem(np.eye(2), [0.0, -9.81], *laws), (0.0, 1.0), [0.0, 0.3], [1.0, 0.0], dt=1e-3
        )
        for laws in ((functions, rough), (constants, rough_constant))
    ]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].u, runs[1].u)
    again = pickle.loads(pickle.dumps(rough_constant))  # noqa: S301
    assert again.limit == 0.2 and np.array_equal(again.direction, [1.0, 0.0])
    with pytest.raises(NonFiniteError, match="`tangent` of contact 'floor'"):
        Contact(gap, tangent=[np.nan, 0.0], **given)
    with pytest.raises(
        InputError, match="`direction` of friction element is 'x': a function, a number or an array"
    ):
        FrictionElement("x", 1.0)
    with pytest.raises(ShapeError, match="tangent of contact 'floor'"):
        MechanicalSystem(np.eye(2), [0.0, -9.81], Contact(gap, tangent=[1.0, 0.0, 0.0], **given)).bind(
            0.0, np.ones(2), np.ones(2)
        )
