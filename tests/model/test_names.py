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


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize(
    "make",
    [
        lambda name: ns.MechanicalSystem(np.eye(1), force, contacts=[ns.Contact(gap, name=name)]),
        lambda name: ns.MechanicalSystem(np.eye(1), force, joints=[ns.Joint(gap, name=name)]),
        lambda name: ns.Switch(lambda t, y: y[0], name=name),
    ],
    ids=["contact", "joint", "switch"],
)
def test_b61_bad_names(make, name):
    with pytest.raises(ScenarioError, match="the name") as caught:
        make(name)
    assert isinstance(caught.value, InputError)
    str(caught.value).encode("ascii")  # what is refused is shown escaped


def test_b61_other_names_are_kept(tmp_path):
    walls = ns.Contact(lambda t, q: q[0] + np.arange(8.0), name=GOOD)
    system = ns.MechanicalSystem(np.eye(1), force, contacts=[walls])
    result = ns.simulate(system, (0, 0.1), [1.0], [0.0], dt=0.05)
    assert list(result.law_names) == GOOD
    result.save(tmp_path / "run.hdf5")
    assert list(ns.Result.load(tmp_path / "run.hdf5").law_names) == GOOD
    for name in GOOD:
        ns.Switch(lambda t, y: y[0], name=name)
