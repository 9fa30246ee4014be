"""Checks of the start before any step, and its repair where asked for."""

import logging
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import Contact, ConvexSet, FrictionElement, Joint, MechanicalSystem, SetValuedElement, simulate
from nonsmooth.errors import (
    InconsistentStateError,
    InputError,
    ModelError,
    NonFiniteError,
    PenetrationWarning,
    RangeError,
    RedundantConstraintWarning,
    ShapeError,
)
from nonsmooth.model import start


def test_start_vectors():
    kept = np.array([1.0, 2.0, 3.0])[::2]
    kept.flags.writeable = False
    array = start.as_state(kept, "q0")
    assert array.flags.c_contiguous and array.flags.writeable and array.tolist() == [1.0, 3.0]
    assert start.as_state(3, "q0").tolist() == [3.0]
    assert start.as_state(np.array([1, 2]), "q0").dtype == np.float64
    for bad, error in (([1.0, np.nan], NonFiniteError), ([np.inf], NonFiniteError), ([1j], InputError), (["a"], InputError),
                       ([[1.0]], ShapeError), (None, InputError), ([[1], [2, 3]], InputError)):  # fmt: skip
        with pytest.raises(error, match="q0"):
            start.as_state(bad, "q0")


def test_short_floats_are_converted_with_a_note(caplog):
    with caplog.at_level(logging.INFO, "nonsmooth"):
        assert start.as_state(np.float32([0.5]), "q0").dtype == np.float64
    assert "float32" in caplog.text


def bind(mass, q=(0.0, 1.0), **parts):
    q = np.asarray(q, dtype=float)
    return MechanicalSystem(mass, lambda t, q, u: -q, **parts).bind(0.0, q, np.zeros(q.size)), q


@pytest.mark.parametrize(
    ("mass", "error", "text"),
    [
        (np.diag([1.0, 0.0]), RangeError, r"M\[1,1\] = 0"),
        (np.diag([-1.0, 1.0]), RangeError, r"M\[0,0\] = -1"),
        ([[1.0, 1.0], [1.0, 1.0]], ModelError, r"singular.*\[0, 1\]"),
        ([[1.0, 2.0], [2.0, 1.0]], ModelError, "indefinite.*eigenvalue -1"),
        ([[1.0, 0.5], [0.4, 1.0]], ModelError, r"not symmetric: M\[0,1\] = 0.5"),
    ],
)
def test_mass(mass, error, text):
    model, q = bind(np.array(mass))
    with pytest.raises(error, match=text):
        start.check_mass(model, 0.0, q)


def test_badly_scaled_mass_is_fine():
    model, q = bind(np.diag([1e-12, 1e12]))
    start.check_mass(model, 0.0, q)


def test_functions_are_called_once_and_checked():
    model, q = bind(
        np.eye(2), friction=FrictionElement(lambda t, q: np.array([1.0, 0.0]), lambda t, q, u: -1.0, name="b")
    )
    with pytest.raises(RangeError, match="limit of 'b' is -1"):
        start.check_functions(model, 0.0, q, q)
    element = SetValuedElement(lambda t, q: np.eye(2), ConvexSet(lambda x: x + 1.0), name="s")
    model, q = bind(np.eye(2), elements=element)
    with pytest.raises(ModelError, match="projection of 's'"):
        start.check_functions(model, 0.0, q, q)
    element = SetValuedElement(lambda t, q: np.eye(2), ConvexSet(lambda x: x[:1]), name="s")
    model, q = bind(np.eye(2), elements=element)
    with pytest.raises(ShapeError, match="projection of 's'"):
        start.check_functions(model, 0.0, q, q)


def floor(t, q, p):
    return q[1] - p.height


def rod(t, q):
    return q[0] ** 2 + q[1] ** 2 - 1.0


ROD = MechanicalSystem(
    np.diag([1.0, 3.0]),
    lambda t, q, u: -q,
    contacts=Contact(floor, name="floor"),
    joints=Joint(rod, name="rod"),
    params={"height": -5.0},
)


def test_joints_at_the_start():
    q, u = np.array([1.0, 0.1]), np.array([0.3, 1.0])
    model = ROD.bind(0.0, q, u)
    with pytest.raises(InconsistentStateError, match=r"'rod' is violated by 0.01 at the start.*project=True"):
        start.consistent_start(model, 0.0, q, u, project=False, resolve=False)
    new_q, new_u = start.consistent_start(model, 0.0, q, u, project=True, resolve=False)
    assert abs(new_q @ new_q - 1.0) < 1e-12 and abs(new_q @ new_u) < 1e-12
    assert np.linalg.norm(new_q - q) < 0.01  # the smallest change
    # at velocity level the correction is along M^-1 J^T
    change = np.diag([1.0, 3.0]) @ (new_u - u)
    assert abs(change[0] * new_q[1] - change[1] * new_q[0]) < 1e-12
    q = np.array([0.6, 0.8])
    with pytest.raises(InconsistentStateError, match="velocity level"):
        start.consistent_start(model, 0.0, q, u, project=False, resolve=False)
    same_q, same_u = start.consistent_start(
        model, 0.0, q, np.array([-0.8, 0.6]), project=False, resolve=False
    )
    assert np.array_equal(same_q, q) and np.array_equal(same_u, [-0.8, 0.6])


def test_overlap_at_the_start():
    q, u = np.array([0.6, 0.8]), np.zeros(2)
    deep = ROD.with_params(height=0.9).bind(0.0, q, u)
    with pytest.raises(InconsistentStateError, match=r"'floor': -0.1.*resolve=True"):
        start.consistent_start(deep, 0.0, q, u, project=False, resolve=False)
    slight = ROD.with_params(height=0.8 + 1e-4).bind(0.0, q, u)
    with pytest.warns(PenetrationWarning, match="'floor' overlaps by 0.0001"):
        same, _ = start.consistent_start(slight, 0.0, q, u, project=False, resolve=False)
    assert np.array_equal(same, q)  # no kick


def two_bars(second):
    bars = Joint(lambda t, q: np.array([q[0] + q[1], second(q)]), name="bar")
    return MechanicalSystem(np.eye(2), lambda t, q, u: np.array([1.0, 0.0]), joints=bars)


def test_joints_that_contradict_each_other_are_refused():
    system = two_bars(lambda q: 2 * q[0] + 2 * q[1] - 1.0)
    with pytest.raises(ModelError, match=r"contradict each other.*'bar \[0\]'.*'bar \[1\]'"):
        simulate(system, (0, 1), [0.0, 0.0], [0.0, 0.0], dt=0.1, project=True)


def test_redundant_joints_are_accepted_with_a_warning():
    system = two_bars(lambda q: 2 * q[0] + 2 * q[1])
    with pytest.warns(RedundantConstraintWarning, match=r"2 constraints have rank 1: 'bar \[1\]'"):
        result = simulate(system, (0, 1), [0.0, 0.0], [0.0, 0.0], dt=0.1)
    # the force along the bar's free direction moves both coordinates apart
    np.testing.assert_allclose(result.u[:, -1], [0.5, -0.5], atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(two_bars(lambda q: q[0] - q[1]), (0, 1), [0.0, 0.0], [0.0, 0.0], dt=0.1)


STARTS = {
    "moreau": {"dt": 1e-3},
    "default": {"rtol": 1e-6},
    "event-driven": {"method": "event-driven", "rtol": 1e-6},
}


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.NonsmoothWarning")
@pytest.mark.parametrize("options", STARTS.values(), ids=STARTS)
def test_every_stored_state_is_a_start(options):
    """A ball that bounces and comes to rest goes on from 60 of its own states, to rounding for constant steps."""
    ball = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0], restitution=0.5))
    whole = ns.simulate(ball, (0, 3), [1.0], [0.0], **options)
    for k in np.unique(np.linspace(0, len(whole) - 2, 60).astype(int)):
        rest = ns.simulate(ball, (whole.t[k], 3), whole.q[:, k], whole.u[:, k], audit=False, **options)
        off = np.max(np.abs(rest.y[:, -1] - whole.y[:, -1]))
        assert off <= (1e-12 if "dt" in options else 10 * 1e-6), (k, whole.t[k])


def test_a_contact_that_is_open_may_have_no_gradient_at_the_start():
    bowl = ns.Contact(lambda t, q: 1.0 - q[0] ** 2, name="bowl")
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([2.0]), bowl)
    result = ns.simulate(system, (0, 2), [0.0], [0.0], dt=1e-3)
    assert result.q[0, -1] == pytest.approx(1.0, abs=3e-3)
    closed = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([2.0]), ns.Contact(lambda t, q: -(q[0] ** 2)))
    with pytest.raises(ModelError, match="direction"):
        ns.simulate(closed, (0, 2), [0.0], [0.0], dt=1e-3)
