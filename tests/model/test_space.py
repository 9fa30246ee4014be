"""Spaces of coordinates: rotations stay rotations, increments are turned with the body, B is the slope of the retraction."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nonsmooth import MechanicalSystem, quaternion_rates
from nonsmooth.errors import InputError
from nonsmooth.model.space import SO2, SO3, R, Space

RNG = np.random.default_rng(8)


def test_blocks():
    space = Space([R(3), SO3, SO2, SO3])
    assert (space.n_q, space.n_u) == (12, 10)
    a, b = Rotation.random(2, random_state=1)
    q = np.concatenate([[1.0, 2.0, 3.0], a.as_quat(scalar_first=True), [6.0], b.as_quat(scalar_first=True)])
    for size in (1e-12, 1e-4, 1.0, 5.0):
        delta = size * RNG.standard_normal(10)
        moved = space.retract(q, delta)
        np.testing.assert_allclose(moved[[0, 1, 2, 7]], q[[0, 1, 2, 7]] + delta[[0, 1, 2, 6]], rtol=1e-15)
        for rotation, place, d in ((a, 3, delta[3:6]), (b, 8, delta[7:10])):
            wanted = (rotation * Rotation.from_rotvec(d)).as_matrix()
            got = Rotation.from_quat(moved[place : place + 4], scalar_first=True).as_matrix()
            np.testing.assert_allclose(got, wanted, atol=1e-14)
            assert abs(np.linalg.norm(moved[place : place + 4]) - 1.0) < 1e-15
    with pytest.raises(InputError, match="R\\(n\\), SO2 and SO3"):
        Space([3])


def test_models_of_functions():
    q, delta = np.array([0.3, 0.5]), np.array([1.0, -2.0])
    model = MechanicalSystem(np.eye(2), lambda t, q, u: -q).bind(0.0, q, q)
    assert np.array_equal(model.space.retract(q, delta), q + delta)
    quaternion = np.array([0.6, 0.0, 0.8, 0.0])
    turning = MechanicalSystem(
        np.eye(3), lambda t, q, u: -u, kinematics=lambda t, q: quaternion_rates(q), quaternions=[0]
    )
    space = turning.bind(0.0, quaternion, np.zeros(3)).space
    delta = 1e-4 * np.array([1.0, 2.0, -1.0])
    moved = space.retract(quaternion, delta)
    assert abs(np.linalg.norm(moved) - 1.0) < 1e-15
    np.testing.assert_allclose(moved, Space([SO3]).retract(quaternion, delta), atol=1e-11)  # third order
    np.testing.assert_allclose(moved - quaternion, quaternion_rates(quaternion) @ delta, atol=1e-7)
