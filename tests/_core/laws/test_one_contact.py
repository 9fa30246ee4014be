"""One contact with friction on a line: the closed form is what Newton's method on the modes finds, or nothing."""

import numpy as np
import pytest
from prox_problem import Prox, coulomb, spd

from nonsmooth._core.records import laws as L


def solved(G, c, mu, modes):
    """(one-contact problem solved from these modes, the same with a second contact far away, which the closed form is not for)."""
    one = Prox(G, c, coulomb(1, 1, mu))
    far = np.eye(4)
    far[::2, ::2] = G
    two = Prox(far, [c[0], 1.0, c[1], 0.0], coulomb(2, 1, mu))
    one.table.mode[:] = two.table.mode[::2] = modes
    return (one, one.solve()), (two, two.solve()[::2])


@pytest.mark.parametrize("modes", [(L.CONSTRAINT, mode) for mode in (L.CONSTRAINT, L.UPPER, L.LOWER)])
@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_random_contacts(modes, unit):
    rng = np.random.default_rng(5)
    for _ in range(60):
        G, c, mu = unit * spd(rng, 2), rng.normal(size=2), rng.uniform(0.0, 1.0)
        (one, P), (two, expected) = solved(G, c, mu, modes)
        assert one.violation(P) <= 1e-12 and one.residual <= 1e-10
        if mu * abs(G[0, 1]) < G[0, 0]:  # one solution
            np.testing.assert_allclose(P, expected, rtol=1e-11, atol=1e-13 / unit)
            np.testing.assert_array_equal(one.modes, two.modes[::2])


def test_what_is_not_clear_is_left_to_newton():
    singular = np.ones((2, 2))
    problem = Prox(singular, [-1.0, -1.0], coulomb(1, 1, 0.5))
    problem.table.mode[:] = L.CONSTRAINT
    assert problem.violation(problem.solve()) <= 1e-12
    parting = Prox(np.eye(2), [1.0, 0.3], coulomb(1, 1, 0.5))
    parting.table.mode[:] = L.CONSTRAINT
    np.testing.assert_array_equal(parting.solve(), 0.0)
    sticking = Prox(np.eye(2), [-1.0, 5.0], coulomb(1, 1, np.inf))
    sticking.table.mode[:] = L.CONSTRAINT, L.UPPER
    np.testing.assert_allclose(sticking.solve(), [1.0, -5.0])
