"""Pages of real runs, made once, and one browser for all tests."""

from pathlib import Path

import numpy as np
import pytest

import nonsmooth as ns


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:  # all that were collected, not only those of this folder
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    from chromium import PROGRAM, Browser

    assert PROGRAM, "no Chromium found: run `make test-browser`, which installs it"
    with Browser() as b:
        yield b


def pendulum():
    """A rod on a pivot that swings against a wall: one coordinate, drawn as a line."""
    end = lambda q: (np.sin(q[0]), -np.cos(q[0]))  # noqa: E731
    system = ns.MechanicalSystem(
        [[1.0]],
        lambda t, q, u: np.array([-9.81 * np.sin(q[0])]),
        ns.Contact(lambda t, q: q[0] + 0.2, restitution=0.7, name="wall"),
        potential=lambda t, q: -9.81 * np.cos(q[0]),
        name="pendulum",
        draw=[
            ns.draw.Ground(at=(-0.3, 0.0), normal=(1.0, 0.0), name="wall"),
            ns.draw.Line(lambda q: [(0.0, 0.0), end(q)], width=4.0, name="rod"),
            ns.draw.Circle(end, 0.1, name="bob"),
            ns.draw.Force("wall", at=end, normal=(1.0, 0.0)),
        ],
    )
    return ns.simulate(system, (0, 6), [1.2], [0.0], rtol=1e-8)


def box():
    """A box thrown through space, turning; its lowest corner hits the floor."""
    corners = np.array([(x, y, z) for x in (-0.3, 0.3) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])

    def rows(q):
        w, x, y, z = q[3], q[4], q[5], q[6]
        return np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])

    def gap(t, q):
        return q[2] + corners @ rows(q)

    def kinematics(t, q):
        B = np.zeros((7, 6))
        B[:3, :3] = np.eye(3)
        B[3:, 3:] = ns.quaternion_rates(q[3:])
        return B

    place = lambda q: (q[0], q[1], q[2])  # noqa: E731
    system = ns.MechanicalSystem(
        np.diag([1.0, 1.0, 1.0, 0.05, 0.1, 0.13]),
        np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0]),
        ns.Contact(gap, restitution=0.4),
        kinematics=kinematics,
        quaternions=[3],
        name="box",
        draw=[
            ns.draw.Ground(at=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0)),
            ns.draw.Box(place, (0.6, 0.4, 0.2), rotation=lambda q: q[3:7], name="box"),
            ns.draw.Trace(place),
        ],
    )
    return ns.simulate(system, (0, 1.5), [0, 0, 1.5, 1, 0, 0, 0], [0.6, 0.3, 0, 3.0, 1.0, 0.5], dt=2e-3)


def world():
    """A box and two disks that come to rest, with the forces that carry them."""
    scene = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.3, friction=0.4), name="yard")
    box = ns.Body(ns.Box(0.4, 0.2), mass=1.0, position=(0, 1.0), angle=0.4, name="box")
    ball = ns.Body(ns.Disk(0.1), mass=0.5, position=(0.6, 1.0), name="ball")
    low = ns.Body(ns.Disk(0.1), mass=0.5, position=(0.85, 0.5), name="low")
    scene.add(box, ball, low, ns.HalfPlane(name="floor"), ns.Spring(box, ball, 20.0, name="spring"))
    scene.contact(ball, low)
    return ns.simulate(scene, (0, 1.5), dt=1e-3)


def switched():
    switch = ns.Switch(
        lambda t, y: y[0], name="floor", kind="unilateral", reset=lambda t, y: np.array([0.0, -0.8 * y[1]])
    )
    return ns.solve_ivp(
        lambda t, y: np.array([y[1], -9.81]), (0, 1.5), [1.0, 0.0], switches=[switch], rtol=1e-8
    )


def runs():
    return {
        "woodpecker": lambda: ns.problems.woodpecker().simulate(rtol=1e-6),
        "belt": lambda: ns.problems.belt_oscillator().simulate(dt=1e-2),
        "pendulum": pendulum,
        "box": box,
        "filippov": lambda: ns.problems.filippov_spiral().simulate(),
        "ivp": switched,
        "world": world,
    }


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Path of the report of every run."""
    folder = tmp_path_factory.mktemp("reports")
    paths = {}
    for name, run in runs().items():
        paths[name] = folder / f"{name}.html"
        run().report(paths[name], title=name)
    return paths
