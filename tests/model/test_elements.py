"""Contacts and elements refuse what makes no sense, naming argument, owner and value."""

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
from nonsmooth.errors import InputError, NonFiniteError, RangeError


def gap(t, q):
    return q[0]


def direction(t, q):
    return np.array([1.0])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"restitution": 1.5}, RangeError, "restitution.*'wall'.*1.5.*between 0 and 1"),
        ({"restitution": -0.1}, RangeError, "restitution.*-0.1"),
        ({"restitution": np.nan}, NonFiniteError, "restitution.*nan"),
        ({"restitution": "high"}, InputError, "restitution.*'high'"),
        ({"restitution": 1j}, InputError, "restitution"),
        ({"restitution": np.zeros((2, 2))}, InputError, "dimensions"),
        ({"tangential_restitution": 2.0}, RangeError, "tangential_restitution"),
        ({"friction": -0.3, "tangent": direction}, RangeError, "friction.*-0.3"),
        ({"friction": [0.3, -0.1], "tangent": direction}, RangeError, "friction.*-0.1"),
        ({"friction": np.nan, "tangent": direction}, NonFiniteError, "friction"),
        ({"friction": -np.inf, "tangent": direction}, NonFiniteError, "friction"),
        ({"friction": 0.3}, InputError, "no `tangent`"),
        ({"tangent": "x", "friction": 0.3}, InputError, "tangent.*'x'"),
        ({"jacobian": "J"}, InputError, "jacobian"),
    ],
)
def test_contact(options, error, text):
    with pytest.raises(error, match=text):
        Contact(gap, name="wall", **options)


def test_contact_accepts():
    assert Contact(gap, friction=np.inf, tangent=direction).friction[0] == np.inf  # always sticks
    assert Contact(gap, friction=1e6, tangent=direction).friction[0] == 1e6
    assert Contact(gap, restitution=[0.0, 1.0]).restitution.tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="gap"):
        Contact(None)
    with pytest.raises(InputError, match="gap"):
        Contact(1.0)


def test_other_elements():
    with pytest.raises(RangeError, match=r"limit` of friction element .f. is -1"):
        FrictionElement(direction, -1.0, name="f")
    with pytest.raises(InputError, match="direction"):
        FrictionElement(None, 1.0)
    with pytest.raises(RangeError, match=r"Interval\(2, 1\)"):
        Interval(2, 1)
    with pytest.raises(NonFiniteError):
        Interval(np.nan, 1)
    assert Interval(1.0, np.inf).upper == np.inf
    with pytest.raises(RangeError, match="radius"):
        Ball(-1.0)
    with pytest.raises(InputError, match="project"):
        ConvexSet(3.0)
    with pytest.raises(InputError, match="Interval, a Ball or a ConvexSet"):
        SetValuedElement(direction, (0, 1))
    with pytest.raises(RangeError, match="restitution"):
        SetValuedElement(direction, Interval(0, 1), restitution=1.2)
    for kind in (Joint, NonholonomicConstraint):
        with pytest.raises(InputError, match="'pin'"):
            kind(None, name="pin")


def test_one_coordinate_takes_a_number_as_direction():
    for direction in (lambda t, q: 1.0, 1.0, [1.0]):
        pad = FrictionElement(direction, 0.5, name="pad")
        run = simulate(MechanicalSystem(1.0, 0.0, friction=pad), (0, 1), [0.0], [1.0], dt=1e-2)
        assert run.u[0, -1] == pytest.approx(0.5)
    with pytest.raises(InputError, match="`u0` is missing"):
        simulate(MechanicalSystem(1.0, 0.0), (0, 1), [0.0], dt=1e-2)
