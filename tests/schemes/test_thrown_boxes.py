"""Boxes thrown onto a plane come to rest on a face: edges that stick, four corners of which any three would do, in any units."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns

G = 9.81
# seed, length, restitution, friction: the third to sixth took 14,000 to 43,000 steps, or ended in false alarms of the audit
THROWN = [
    (3, 0.1, 0.3, 0.4), (5, 5e-3, 0.06, 0.93), (0, 0.067, 0.365, 0.604), (2, 3.06, 0.267, 0.357), (6, 6.1e-3, 0.236, 0.601),
    (22, 0.35, 0.0, 0.92),
]  # fmt: skip


def box(seed, length, restitution, friction):
    """A cube, thrown from four times its length."""
    rng, scale = np.random.default_rng(seed), 10 * length
    world = ns.World(gravity=(0, 0, -G * scale))
    cube = ns.Body(
        ns.Box((length, length, length)), density=1000, position=(0, 0, 4 * length), name="cube",
        velocity=0.5 * scale * rng.normal(size=3), angular_velocity=5 * rng.normal(size=3),
    )  # fmt: skip
    world.add(cube)
    world.contact(cube, ns.Plane(), restitution=restitution, friction=friction)
    return world


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
@pytest.mark.parametrize(("seed", "length", "restitution", "friction"), THROWN)
def test_a_box_comes_to_rest_on_a_face(seed, length, restitution, friction, rtol):
    world = box(seed, length, restitution, friction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.errors.EnergyGainWarning)
        warnings.simplefilter("ignore", ns.errors.ZenoWarning)
        warnings.simplefilter("ignore", ns.errors.GrazingWarning)
        result = ns.simulate(world, (0, 2), rtol=rtol, on_energy_gain="ignore")
    assert result.nsteps < 600
    assert np.isclose(result["cube"].position[2, -1], 0.5 * length, rtol=rtol)
    assert np.max(np.abs(result.u[:, -1])) < 1e-12 * np.max(np.abs(result.u))
    steps = result.dt > 0.0  # (an impact has the modes that follow it)
    assert np.all(result.P_N[:, steps][result.modes[:8, steps] == 0] == 0.0)
    # (a slip that nearly stops turns about within a step: the audit says so where its error is above ten tolerances)
    assert result.audit.ok or (rtol < 1e-5 and 10.0 < result.audit.step_error < 30.0), result.audit


def test_forces_of_an_edge_do_not_depend_on_the_tangents():
    """A box that rocks on an edge sticks with the least forces: none along the edge."""
    world = box(0, 0.067, 0.365, 0.604)
    result = ns.simulate(world, (0, 0.9215), rtol=1e-7, audit=False)
    closed = np.flatnonzero(result.modes[:8, -1] == 1)
    assert closed.size == 2 and np.all(result.modes[8 + closed, -1] == 1)
    k = int(np.flatnonzero(result.dt > 0)[-1])
    friction = result.P_T.reshape(8, 2, -1)[closed, :, k]
    assert np.allclose(friction[0], friction[1], rtol=1e-4, atol=1e-9 * np.max(np.abs(friction)))
