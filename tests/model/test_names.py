"""B61: names that could not be written to a file, or would be shown as something else, are refused before any step."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError, ScenarioError

BAD = [
    "a/b",
    "/",
    "../up",
    "nul\0",
    "line\nbreak",
    "tab\t",
    "\x7f",
    "\u202egnol",
    "\u2066x",
    "\u200f",
    "x\u2028y",
    "\ud800",
    "n" * 201,
]
GOOD = ["..", "left wall", "Räder", "接触", "<b>&amp;", "=1+1", "n" * 200, "\U0001f469\u200d\U0001f680"]


def force(t, q, u):
    return np.zeros(1)


def gap(t, q):
    return q[0]


def on_a_body(make):
    world = ns.World()
    return make(world.add(ns.Body(mass=1.0, inertia=1.0)), world.ground)


def run(**options):
    return ns.simulate(ns.MechanicalSystem(np.eye(1), force), (0, 0.1), [1.0], [0.0], dt=0.05, **options)


def named_event(name):
    def event(t, q, u):
        return q[0] - 0.5

    event.name = name
    return event


def two_groups(name):
    return ns.sign_term(1.0, np.array([1.0]), lambda t, x, p: x[0], name=name)


PLACES = {
    "system": lambda name: ns.MechanicalSystem(np.eye(1), force, name=name),
    "contact": lambda name: ns.Contact(gap, name=name),
    "several contacts": lambda name: ns.Contact(gap, name=[name]),
    "joint": lambda name: ns.Joint(gap, name=name),
    "friction element": lambda name: ns.FrictionElement(np.ones(1), 1.0, name=name),
    "element": lambda name: ns.SetValuedElement(np.ones(1), ns.Interval(-1.0, 1.0), name=name),
    "nonholonomic": lambda name: ns.NonholonomicConstraint(lambda t, q, u: u[0], name=name),
    "parameter": lambda name: ns.MechanicalSystem(np.eye(1), force, params={name: 1.0}),
    "switch": lambda name: ns.Switch(lambda t, y: y[0], name=name),
    "servo": lambda name: ns.Servo(lambda t, q: q[0], lambda t: 0.0, lambda t, q: np.ones(1), name=name),
    "event": lambda name: run(events=[named_event(name)]),
    "problem_name": lambda name: run(problem_name=name),
    "coordinate": lambda name: run(coordinate_names=[name]),
    "world": lambda name: ns.World(name=name),
    "body": lambda name: ns.Body(mass=1.0, name=name),
    "bodies": lambda name: ns.World().add_bodies(2, name=name, mass=1.0),
    "material": lambda name: ns.Material(name=name),
    "surface": lambda name: ns.HalfPlane(name=name),
    "spring": lambda name: on_a_body(lambda body, ground: ns.Spring(body, ground, 1.0, name=name)),
    "load": lambda name: on_a_body(lambda body, ground: ns.Load(body, (0.0, 1.0), name=name)),
    "shape": lambda name: ns.draw.Circle((0, 0), 1.0, name=name),
    "colour": lambda name: ns.draw.Circle((0, 0), 1.0, colour=name),
    "arrow": lambda name: ns.draw.Force(name, (0, 0)),
    "group": two_groups,
    "states": lambda name: ns.FilippovSystem(None, two_groups(None), names=[name]),
    "renamed": lambda name: setattr(ns.Body(mass=1.0), "name", name),
}


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_b61_bad_names(make):
    for name in BAD:
        with pytest.raises(InputError) as caught:
            make(name)
        str(caught.value).encode("ascii")  # what is refused is shown escaped


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_what_is_no_text_is_no_name(make):
    for name in (3, b"bytes", object(), 1.5):
        with pytest.raises(InputError):
            make(name)


def test_bad_names_are_bad_scenarios():
    for name in BAD:
        with pytest.raises(ScenarioError, match="the name"):
            ns.Contact(gap, name=name)


@pytest.mark.parametrize("title", ["esc\x1b[31m", "nul\0", "\u202egnol", 3])
def test_titles_are_shown_as_they_are(title, tmp_path):
    result = run()
    result.report(tmp_path / "page.html", title="speed in m/s, " * 30)
    with pytest.raises(InputError):
        result.report(tmp_path / "other.html", title=title)
    with pytest.raises(InputError):
        result.plot(tmp_path / "other.png", title=title)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_b61_other_names_are_kept(tmp_path):
    walls = ns.Contact(lambda t, q: q[0] + np.arange(8.0), name=GOOD)
    system = ns.MechanicalSystem(np.eye(1), force, contacts=[walls])
    result = ns.simulate(system, (0, 0.1), [1.0], [0.0], dt=0.05)
    assert list(result.law_names) == GOOD
    result.save(tmp_path / "run.hdf5")
    assert list(ns.Result.load(tmp_path / "run.hdf5").law_names) == GOOD
    for name in GOOD:
        ns.Switch(lambda t, y: y[0], name=name)
