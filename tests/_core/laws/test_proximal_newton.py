"""Proximal Newton on redundant contacts: a box on four corners, whose Delassus matrix has half its rank."""

import numpy as np
import pytest
from prox_problem import Prox, coulomb

from nonsmooth._core.records import problem as O

CORNERS = [(x, y, -0.2) for x in (-0.1, 0.1) for y in (-0.15, 0.15)]


def box():
    """W^T of the four corners of a box (normals, then two tangents each), and G."""
    mass, inertia = 1.0, np.array([0.0625, 0.05, 0.0325]) / 3
    normals, tangents = [], []
    for corner in CORNERS:
        rows = [np.concatenate([axis, np.cross(corner, axis)]) for axis in np.eye(3)]
        normals.append(rows[2])
        tangents += rows[:2]
    WT = np.array(normals + tangents)
    return WT, WT / np.concatenate([np.full(3, mass), inertia]) @ WT.T


@pytest.mark.parametrize("mu", [0.2, 0.8])
def test_impacts_of_a_box_are_solved_whatever_its_motion(mu):
    WT, G = box()
    rng = np.random.default_rng(4)
    for _ in range(20):
        c = WT @ (rng.normal(size=6) * 10.0 ** rng.uniform(-3, 0, 6))
        c[:4] -= 0.01
        prox = Prox(G, c, coulomb(4, 2, mu))
        P = prox.solve("newton", tol=1e-10, max_iter=1000)
        assert prox.residual <= 1e-10 and prox.violation(P) <= 1e-8


def test_the_given_problem_is_left_as_it_was():
    WT, G = box()
    prox = Prox(G, WT @ [0.3, 0.1, -0.5, 0.2, 0.1, 0.4], coulomb(4, 2, 0.4))
    c = prox.rows.c.copy()
    prox.solve("newton")
    np.testing.assert_array_equal(prox.G, G)
    np.testing.assert_array_equal(prox.rows.c, c)


@pytest.mark.parametrize("method", ["exact", "newton"])
def test_heavy_on_light(method):
    """A pile of frictionless blocks, the top one ten thousand times heavier: P_k carries all that is above."""
    mass = np.array([1.0, 1.0, 1.0, 1e4])
    WT = np.eye(4) - np.eye(4, k=-1)
    prox = Prox(WT / mass @ WT.T, WT @ np.full(4, -0.01), [(0, 1, -1, 0.0)] * 4)
    P = prox.solve(method)
    np.testing.assert_allclose(P, 0.01 * np.cumsum(mass[::-1])[::-1], rtol=1e-9)


def test_a_budget_ends_it_with_its_best():
    WT, G = box()
    prox = Prox(G, WT @ [0.3, 0.1, -0.5, 0.2, 0.1, 0.4], coulomb(4, 2, 0.4))
    prox.solve("newton", max_iter=1)
    assert prox.residual < 1.0 and O.NEWTON == prox.problem.options.method
