"""Rotations of rigid bodies in models made of functions: unit quaternions and inertia matrices.

A quaternion (w, x, y, z) in the coordinates q turns body vectors into the frame of the world; with the angular velocity
omega in the frame of the body its rate is linear in omega, q' = B(q) omega (Shabana: Dynamics of Multibody Systems):

            | -x  -y  -z |
    B = 1/2 |  w  -z   y |
            |  z   w  -x |
            | -y   x   w |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonsmooth.errors import ModelError, NonFiniteError, NormalisationWarning, RangeError, ShapeError
from nonsmooth.model.helpers import COMPILED_FORMS
from nonsmooth.warn import warn_user

# a quaternion this close to length one is left as it is
UNIT = 1e-8


def quaternion_rates(quaternion) -> np.ndarray:
    """The matrix B, shape (4, 3): rates of a unit quaternion from the angular velocity in the body's frame.

    Plain Python for use in a model's `kinematics`; it compiles there.
    """
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def inertia_matrix(inertia, name: str = "inertia") -> np.ndarray:
    """A checked inertia matrix, shape (3, 3), from three principal moments or a matrix.

    Raises
    ------
    ModelError
        If it is not symmetric and positive definite, or if one principal moment exceeds the sum of the other two: no
        distribution of mass has such an inertia.
    """
    J = np.array(inertia, dtype=np.float64)
    if J.shape == (3,):
        J = np.diag(J)
    if J.shape != (3, 3):
        raise ShapeError(
            f"`{name}` has shape {J.shape}: three principal moments or a 3 x 3 matrix are wanted."
        )
    if not np.all(np.isfinite(J)):
        raise NonFiniteError(f"`{name}` contains NaN or infinite entries.")
    fault = inertia_fault(J)
    if fault == NOT_SYMMETRIC:
        raise ModelError(f"`{name}` is not symmetric: {J.tolist()}.")
    if fault:
        moments = np.linalg.eigvalsh(0.5 * (J + J.T)).tolist()
        raise ModelError(
            f"`{name}` has the principal moments {moments}: they must be positive." if fault == NOT_POSITIVE else
            f"`{name}` has the principal moments {moments}: the largest must not exceed the sum of the others "
            "(triangle inequality); check units, axes and signs."
        )  # fmt: skip
    return J


NOT_SYMMETRIC, NOT_POSITIVE, NO_TRIANGLE = 1, 2, 3


def inertia_fault(J) -> int:
    """What is wrong with a finite inertia matrix, 0 if nothing is."""
    if np.max(np.abs(J - J.T)) > 1e-10 * np.max(np.abs(J)):
        return NOT_SYMMETRIC
    moments = np.linalg.eigvalsh(0.5 * (J + J.T))
    if moments[0] <= 0:
        return NOT_POSITIVE
    return NO_TRIANGLE if moments[2] > (moments[0] + moments[1]) * (1 + 1e-10) else 0


def _compiled_inertia_matrix(inertia, name="inertia"):
    """`inertia_matrix` inside compiled functions, where messages are fixed texts."""
    given = np.asarray(inertia)
    values = given.ravel()
    J = np.zeros((3, 3))
    if given.ndim == 1 and given.size == 3:
        for i in range(3):
            J[i, i] = values[i]
    elif given.ndim == 2 and given.size == 9 and len(given) == 3:
        for i in range(9):
            J[i // 3, i % 3] = values[i]
    else:
        raise ShapeError("inertia_matrix: three principal moments or a 3 x 3 matrix are wanted.")
    if not np.all(np.isfinite(J)):
        raise NonFiniteError("inertia_matrix: the inertia contains NaN or infinite entries.")
    fault = inertia_fault(J)
    if fault == NOT_SYMMETRIC:
        raise ModelError("inertia_matrix: the inertia is not symmetric.")
    if fault == NOT_POSITIVE:
        raise ModelError("inertia_matrix: the principal moments must be positive.")
    if fault == NO_TRIANGLE:
        raise ModelError("inertia_matrix: the largest principal moment exceeds the sum of the others.")
    return J


COMPILED_FORMS[inertia_matrix] = _compiled_inertia_matrix


def normalised(q: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """`q` with the quaternions that begin at `places` divided by their lengths."""
    if places:
        q = q.copy()
    for place in places:
        q[place : place + 4] /= np.linalg.norm(q[place : place + 4])
    return q


def unit_quaternions(q: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """`q` with the quaternions that begin at `places` checked and normalised; a warning where that changes one noticeably."""
    for place in places:
        if place + 4 > q.size:
            raise ShapeError(
                f"`quaternions` names place {place}, but `q0` has {q.size} entries: a quaternion takes four."
            )
        length = float(np.linalg.norm(q[place : place + 4]))
        if length == 0.0:
            raise RangeError(
                f"the quaternion q0[{place}:{place + 4}] is zero: give a unit quaternion (w, x, y, z)."
            )
        if abs(length - 1.0) > UNIT:
            warn_user(
                f"the quaternion q0[{place}:{place + 4}] has length {length:.9g}; it is normalised.",
                NormalisationWarning,
            )
    return normalised(q, places)
