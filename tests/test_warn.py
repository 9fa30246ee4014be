"""A warning names the line of the user's program that asked for the run, however deep in the library it arises."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import errors

BALL = (lambda t, q: np.eye(1), lambda t, q, u: np.array([-9.81]))


def overlap():
    system = ns.MechanicalSystem(*BALL, contacts=[ns.Contact(lambda t, q: q[0])])
    ns.simulate(system, (0, 0.01), [-1e-7], [0.0], dt=1e-3)


def not_compiled():
    counted = {"calls": 0}

    def force(t, q, u):
        counted["calls"] += 1
        return np.array([-9.81])

    ns.simulate(ns.MechanicalSystem(BALL[0], force), (0, 0.002), [1.0], [0.0], dt=1e-3)


def redundant():
    world = ns.World(gravity=(0, -9.81))
    rod = world.add(ns.Body(mass=1.0, inertia=1.0, position=(1, 0), name="rod"))
    world.add(ns.Revolute(world.ground, rod, at=(0, 0)), ns.Revolute(world.ground, rod, at=(0, 0)))
    ns.simulate(world, (0, 0.002), dt=1e-3)


CASES = [
    (overlap, errors.PenetrationWarning),
    (not_compiled, errors.CallbackWarning),
    (redundant, errors.RedundantConstraintWarning),
    (lambda: ns.PSOR(tol=1e-20), errors.NonsmoothWarning),
    (lambda: ns.solve_lcp(np.ones((2, 2)), [-1.0, -1.0]), errors.NonUniqueWarning),
]


@pytest.mark.parametrize("run, kind", CASES, ids=["overlap", "callback", "joints", "tol", "lcp"])
def test_line_of_the_user(run, kind):
    with pytest.warns(kind) as said:
        run()
    assert [w.filename for w in said if issubclass(w.category, kind)] == [__file__]
