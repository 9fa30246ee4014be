"""Whatever is wrong with an argument of a structure is answered by the argument's name."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import errors

NAN, INF = float("nan"), float("inf")
PLANE = {"points": [(0, 0), (1, 0)], "elements": 4, "EA": 1e4, "rhoA": 1.0}
BEAM = {**PLANE, "GA": 1e4, "EI": 10.0}
KINDS = {
    "bar": (ns.Bar, PLANE),
    "cable": (ns.Cable, PLANE),
    "beam": (ns.Beam, BEAM),
    "spatial beam": (ns.Beam, {**BEAM, "points": [(0, 0, 0), (1, 0, 0)], "GJ": 5.0}),
}
WRONG = [
    *[("EA", value) for value in (NAN, INF, -1.0, 0.0, "1e4", None, True, 1j, [1, 2], [1, NAN, 1, 1], ...)],
    *[("rhoA", value) for value in (NAN, -1.0, 0.0, "x", [[1.0]])],
    *[("damping", value) for value in (NAN, -1.0, "x", None, [1.0])],
    *[("elements", value) for value in (0, -1, 1.5, NAN, "4", True)],
    *[("points", value) for value in ([], [(0, 0)], "ab", None, [(NAN, 0, 0), (1, 0, 0)], [(1j, 0), (1, 0)])],
    *[("mass", value) for value in ("x", None, 1)],
    *[("light", value) for value in (99, "x", NAN, 1.5, [0, 1], [None], True)],
    *[("fixed", value) for value in (99, "x", NAN, 1.5, True, {"start": 5}, {"start": None}, {0: ["q"]}, {0: [[]]})],
    *[("velocity", value) for value in (NAN, (1.0,), "x", [(0.0, 0.0)] * 4)],
    *[("material", value) for value in ("steel", 5, NAN)],
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, value", WRONG, ids=lambda x: repr(x)[:24])
def test_wrong_arguments_are_named(kind, name, value):
    structure, given = KINDS[kind]
    more = {name: value} if name != "light" else {name: value, "mass": "lumped"}
    dim = np.shape(given["points"])[1]
    with pytest.raises(errors.NonsmoothError, match=f"`{name}`"):
        world = ns.World(gravity=(0, 0, -9.81)[-dim:])
        world.add(structure(**{**given, **more}))
        world.start()


@pytest.mark.parametrize(
    "part", [lambda m: ns.Body(ns.Disk(0.1), mass=1.0, material=m), lambda m: ns.HalfPlane(material=m)]
)
def test_a_material_is_a_material(part):
    with pytest.raises(errors.InputError, match="`material`"):
        part("steel")
