"""Bad input: each row of the table gets the named exception, with argument, value and cure in its text.

The rows of event functions, inertia tensors, quaternions of bodies, and bare complementarity problems are tested with
those parts.
"""

import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import PSOR, Contact, Exact, FrictionElement, Joint, MechanicalSystem, Moreau, SetValuedElement
from nonsmooth.errors import (
    InconsistentStateError,
    InputError,
    IntegrationError,
    ModelError,
    NonFiniteError,
    NonFiniteStateError,
    NonsmoothWarning,
    PenetrationWarning,
    RangeError,
    ShapeError,
    StepLimitError,
)


def gravity(t, q, u):
    return np.array([-9.81])


def height(t, q):
    return q[0]


def ball(mass=1.0, force=gravity, gap=height, **options):
    return MechanicalSystem(mass, force, contacts=Contact(gap, name="floor", **options))


BALL = ball()


def run(system=BALL, span=(0.0, 0.1), q0=(1.0,), u0=(0.0,), **options):
    options = {"dt": 1e-2} | options
    return ns.simulate(system, span, q0, u0, **options)


BEFORE_ANY_STEP = [
    ("B1 nan in q0", {"q0": [np.nan]}, NonFiniteError, r"q0\[0\]"),
    ("B1 nan in u0", {"u0": [np.nan]}, NonFiniteError, r"u0\[0\]"),
    ("B2 inf in q0", {"q0": [np.inf]}, NonFiniteError, r"q0\[0\]"),
    ("B2 -inf in u0", {"u0": [-np.inf]}, NonFiniteError, r"u0\[0\]"),
    ("B3 nan in t0", {"span": (np.nan, 1.0)}, NonFiniteError, "t_span.0"),
    ("B3 inf in t1", {"span": (0.0, np.inf)}, NonFiniteError, "t_span.1"),
    ("B3 nan in dt", {"dt": np.nan}, NonFiniteError, "dt"),
    ("B3 nan in t_eval", {"t_eval": [0.0, np.nan]}, NonFiniteError, "t_eval"),
    ("B3 inf in breakpoints", {"breakpoints": [np.inf]}, NonFiniteError, "breakpoints"),
    ("B11 lengths", {"q0": [1.0, 2.0]}, ShapeError, r"\(2,\).*\(1,\)"),
    ("B11 matrix", {"q0": [[1.0]]}, ShapeError, "q0"),
    ("B30 deep overlap", {"q0": [-0.5]}, InconsistentStateError, "'floor': -0.5.*resolve=True"),
    ("B48 dt = 0", {"dt": 0.0}, RangeError, "dt.*0"),
    ("B48 dt < 0", {"dt": -1e-3}, RangeError, "dt.*-0.001"),
    ("B48 dt text", {"dt": "small"}, InputError, "dt.*small"),
    ("B50 backward", {"span": (1.0, 0.0)}, InputError, "backward from 1 to 0"),
    ("B51 no resolution", {"span": (1e17, 1e17 + 64)}, StepLimitError, r"t \+ dt == t at t = 1e\+17"),
    ("span of three", {"span": (0.0, 1.0, 2.0)}, InputError, "t_span"),
    ("t_eval outside", {"t_eval": [0.0, 5.0]}, RangeError, "t_eval.*outside"),
    ("t_eval unsorted", {"t_eval": [0.05, 0.0]}, RangeError, "t_eval.*increasing"),
    ("t_eval text", {"t_eval": ["a"]}, InputError, "t_eval"),
    ("breakpoints text", {"breakpoints": ["a"]}, InputError, "breakpoints"),
    ("every 0", {"every": 0}, RangeError, "every"),
    ("every nan", {"every": np.nan}, RangeError, "every"),
    ("every 1.5", {"every": 1.5}, RangeError, "every.*1.5"),
    ("max_steps -1", {"max_steps": -1}, RangeError, "max_steps"),
    ("time_limit nan", {"time_limit": np.nan}, RangeError, "time_limit"),
    ("on_failure", {"on_failure": "ignore"}, InputError, "on_failure.*'raise', 'halve', 'accept'"),
    ("on_energy_gain", {"on_energy_gain": 3}, InputError, "on_energy_gain"),
    ("method name", {"method": "euler"}, InputError, "method.*'euler'.*moreau"),
    ("method object", {"method": 3, "dt": None}, InputError, "method"),
    ("unknown option", {"sover": 1}, InputError, "sover"),
    ("dt beside method", {"method": Moreau(dt=1e-2)}, InputError, "dt.*method object"),
    ("solver", {"solver": "guess"}, InputError, "solver.*guess"),
    ("system", {"system": 3.0}, InputError, "MechanicalSystem is wanted"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [row[1:] for row in BEFORE_ANY_STEP],
    ids=[row[0] for row in BEFORE_ANY_STEP],
)
def test_refused_before_any_step(options, error, text):
    with pytest.raises(error, match=text):
        run(**options)


def one(t, q):
    return np.array([1.0])


BAD_MODELS = [
    ("B4 nan mass", lambda: ball([[np.nan]]), NonFiniteError, "mass"),
    ("B4 nan mass function", lambda: ball(lambda t, q: np.array([[np.nan]])), NonFiniteError, "mass is nan"),
    ("B4 nan stiffness", lambda: MechanicalSystem(1.0, gravity, params={"k": np.nan}), NonFiniteError, "params.*'k'"),
    ("B5 nan restitution", lambda: ball(restitution=np.nan), NonFiniteError, "restitution of contact 'floor' is nan"),
    ("B5 nan friction", lambda: ball(friction=np.nan, tangent=one), NonFiniteError, "friction"),
    ("B5 nan gap", lambda: ball(gap=lambda t, q: q[0] * np.nan), NonFiniteError, "gap of contact 'floor' is nan"),
    ("B12 wrong length", lambda: ball(force=lambda t, q, u: np.zeros(2)), ShapeError, r"force.*\(2,\).*\(1,\)"),
    ("B12 None", lambda: ball(force=lambda t, q, u: None), InputError, "force returned None"),
    ("B12 complex", lambda: ball(force=lambda t, q, u: np.array([1j])), InputError, "force.*complex"),
    ("B12 object", lambda: ball(force=lambda t, q, u: np.array([None])), InputError, "force.*object"),
    ("truth value", lambda: ball(force=lambda t, q, u: q < 1.0), InputError, "force.*bool"),
    ("B12 text", lambda: ball(force=lambda t, q, u: "a"), InputError, "force"),
    ("B12 gap None", lambda: ball(gap=lambda t, q: None), InputError, "gap of contact 'floor' returned None"),
    ("B17 mass 0", lambda: ball(0.0), RangeError, r"M\[0,0\] = 0"),
    ("B17 mass -1", lambda: ball(-1.0), RangeError, r"M\[0,0\] = -1"),
    ("B25 e > 1", lambda: ball(restitution=1.5), RangeError, "restitution.*1.5"),
    ("B26 e < 0", lambda: ball(restitution=-0.5), RangeError, "restitution.*-0.5"),
    ("B27 mu < 0", lambda: ball(friction=-0.1, tangent=one), RangeError, "friction.*-0.1"),
    ("B60 names", lambda: MechanicalSystem(1.0, gravity, contacts=[Contact(height, name="a"), Contact(height, name="a")]),
     ModelError, "'a' is used twice: by contact 0 and by contact 1"),
    ("limit", lambda: MechanicalSystem(1.0, gravity, friction=FrictionElement(one, -1.0)), RangeError, "limit"),
    ("set", lambda: MechanicalSystem(1.0, gravity, elements=SetValuedElement(one, 3.0)), InputError, "Interval"),
    ("force missing", lambda: MechanicalSystem(1.0, None), InputError, "force"),
    ("arguments", lambda: ball(force=lambda t: t), InputError, "force takes 1 arguments"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error", "text"), [row[1:] for row in BAD_MODELS], ids=[row[0] for row in BAD_MODELS]
)
def test_models_refused_before_any_step(make, error, text):
    with pytest.raises(error, match=text.replace("restitution of", "restitution.* of")):
        run(make())


@pytest.mark.parametrize(
    ("mass", "text"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], r"B18 singular.*velocities \[0, 1\]"),
        ([[1.0, 2.0], [2.0, 1.0]], "B19 indefinite.*eigenvalue -1"),
        ([[1.0, 0.1], [0.0, 1.0]], r"B19 not symmetric: M\[0,1\] = 0.1"),
    ],
)
def test_mass_matrix(mass, text):
    system = MechanicalSystem(np.array(mass), lambda t, q, u: -q)
    with pytest.raises(ModelError, match=text[4:]):
        run(system, q0=[0, 0], u0=[0, 0])


def test_shapes_and_types_that_are_fine():
    """B13, B14: integers, float32, views, read-only arrays; the caller's arrays stay untouched."""
    q = np.arange(1.0, 7.0)[::2][:1]
    q.flags.writeable = False
    a = run(q0=q, u0=np.float32([0.0]))
    b = run(q0=[1], u0=[0])
    assert np.array_equal(a.q, b.q) and q[0] == 1.0
    assert a.q.dtype == np.float64


def test_empty_problems():
    """B16, B49: nothing to move, no contact, no time."""
    nothing = MechanicalSystem(np.zeros((0, 0)), lambda t, q, u: np.zeros(0))
    result = run(nothing, q0=[], u0=[])
    assert result.success and result.q.shape == (0, 11)
    start = run(span=(5.0, 5.0), q0=[2.0])
    assert start.t.tolist() == [5.0] and start.q.tolist() == [[2.0]] and start.success
    assert start.nsteps == 0


def circle(t, q):
    return q[0] ** 2 + q[1] ** 2 - 1.0


def still(t, q, u):
    return 0.0 * q


def test_constraints_violated_at_the_start():
    """B23, B24."""
    system = MechanicalSystem(np.eye(2), still, joints=Joint(circle, name="rod"))
    with pytest.raises(InconsistentStateError, match=r"'rod' is violated by 0.21.*project=True"):
        run(system, q0=[1.1, 0.0], u0=[0.0, 1.0])
    with pytest.raises(
        InconsistentStateError, match=r"'rod' is violated on velocity level by 1 .*project=True"
    ):
        run(system, q0=[1.0, 0.0], u0=[0.5, 1.0])
    repaired = run(system, q0=[1.1, 0.0], u0=[0.5, 1.0], project=True)
    assert abs(repaired.q[0, 0] - 1.0) < 1e-9 and abs(repaired.u[0, 0]) < 1e-9


def test_overlap_at_the_start():
    """B29: slight overlap is accepted with a warning and gives no kick. B30: resolve=True moves a deep one out."""
    with pytest.warns(PenetrationWarning, match="'floor' overlaps by 0.0005"):
        result = slight()
    assert np.max(np.abs(result.u)) < 1e-15
    out = run(q0=[-0.5], resolve=True)
    assert abs(out.q[0, 0]) < 1e-9


def slight():
    system = MechanicalSystem(
        1.0, gravity, contacts=Contact(lambda t, q: q[0] - 1.0005, restitution=0.9, name="floor")
    )
    return run(system, q0=[1.0])


def test_infinite_and_huge_friction():
    """B28: inf means "always sticks", 1e6 is accepted."""
    for mu in (np.inf, 1e6):
        system = MechanicalSystem(
            np.eye(2),
            lambda t, q, u: np.array([50.0, -9.81]),
            contacts=Contact(
                lambda t, q: q[1], friction=mu, tangent=lambda t, q: np.array([1.0, 0.0]), name="floor"
            ),
        )
        result = run(system, q0=[0, 0], u0=[0, 0])
        assert np.max(np.abs(result.u)) < 1e-15
        assert np.all(result.modes[1] == 1)


def test_contact_without_a_normal():
    """B31: at the start, and later."""
    with pytest.raises(ModelError, match=r"direction of 'floor' is zero at the start.*coincident"):
        run(ball(gap=lambda t, q: q[0] ** 2), q0=[0.0])
    squared = MechanicalSystem(
        1.0, still, contacts=Contact(lambda t, q: (q[0] - 0.5) ** 2 * (t < 0.0), name="pair")
    )
    with pytest.raises(ModelError, match="direction of 'pair'"):
        run(squared, u0=[1.0])


def test_step_longer_than_the_span_is_clipped_with_a_note():
    """B48."""
    result = run(dt=7.0)
    assert result.t.tolist() == [0.0, 0.1]
    assert any("dt = 7 is longer than the span" in note for note in result.audit.notes)


def test_solver_options():
    """B53 and the other options of the solvers."""
    for bad in (0.0, -1e-3, 1.0, 2.0):
        with pytest.raises(RangeError, match="tol"):
            PSOR(tol=bad)
    with pytest.raises(NonFiniteError, match="tol"):
        Exact(tol=np.nan)
    with pytest.warns(NonsmoothWarning, match="tol.*raised"):
        assert PSOR(tol=1e-18).tol == 10 * np.finfo(float).eps


def bad_gap(t, q, p):
    return q[0] if t < 0.05 else np.nan


def bad_jacobian(t, q, p):
    return np.array([[1.0 if t < 0.05 else np.nan]])


def blows_up(t, q, u, p):
    return np.array([u[0] ** 3 * 1e4])


@pytest.mark.parametrize(
    ("system", "start", "text"),
    [
        (
            MechanicalSystem(1.0, still, contacts=Contact(bad_gap, name="wall"), params={"k": 1.0}),
            1.0,
            "gap of contact 'wall' is nan",
        ),
        (
            MechanicalSystem(
                1.0, gravity, contacts=Contact(height, jacobian=bad_jacobian, name="wall"), params={"k": 1.0}
            ),
            0.0,
            "jacobian of contact 'wall' is nan",
        ),
        (MechanicalSystem(1.0, blows_up, params={"k": 1.0}), 1.0, "force is inf|overflows"),
    ],
    ids=["B10 gap", "B10 jacobian", "B8 overflow"],
)
def test_not_finite_during_the_run(system, start, text):
    with pytest.raises(NonFiniteStateError, match=text) as info:
        run(system, span=(0.0, 1.0), q0=[start], u0=[1.0 if "overflows" in text else 0.0])
    partial = info.value.partial
    assert partial.t[-1] < 0.06 and np.all(np.isfinite(partial.q)) and not partial.success
    assert "last good instant" in str(info.value)


def test_limit_that_turns_negative():
    system = MechanicalSystem(
        1.0, still, friction=FrictionElement(one, lambda t, q, u: 0.05 - t, name="brake")
    )
    with pytest.raises(IntegrationError, match=r"limit of 'brake' is -0.0.*must not be negative") as info:
        run(system, u0=[1.0])
    assert abs(info.value.partial.t[-1] - 0.05) < 1e-9


def test_functions_cannot_change_their_input():
    """B55."""

    def writes(t, q, u):
        u[0] = 0.0
        return -q

    with pytest.raises(ValueError, match="read-only") as info:
        run(MechanicalSystem(1.0, writes))
    assert any("raised in force" in note for note in info.value.__notes__)


def test_no_warning_in_a_plain_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run().audit.ok


@pytest.mark.parametrize("world", [False, True], ids=["system", "world"])
@pytest.mark.parametrize(
    "constraint",
    [
        lambda t, q, u: u[0] + u[1] ** 3,
        lambda t, q, u: u[0] ** 2 + u[1] ** 2 - 1.0,
        lambda t, q, u: u[0] + abs(u[1]),
    ],
    ids=["cubic", "speed", "kink"],
)
def test_constraints_of_velocities_are_linear(constraint, world):
    """A cubic one was replaced by its derivative at the start, in silence."""
    q, u = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    given = {"name": "curve"}
    if world:
        system = ns.World(gravity=(0, -9.81))
        body = system.add(ns.Body(mass=1.0, inertia=1.0))
        system.add(ns.NonholonomicConstraint(constraint, bodies=body, **given))
        q = u = None
    else:
        system = ns.MechanicalSystem(
            np.eye(3), [0.0, -1.0, 0.0], nonholonomic=ns.NonholonomicConstraint(constraint, **given)
        )
    with pytest.raises(ModelError, match="'curve' is not linear in the velocities"):
        ns.simulate(system, (0, 1), q, u, dt=0.1, project=True)
