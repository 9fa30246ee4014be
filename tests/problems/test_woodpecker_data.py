"""Reference data of the woodpecker: consistency of the tables with the model, by plain NumPy."""

import numpy as np
import pytest

from nonsmooth import problems
from nonsmooth.problems.woodpecker import (
    CONTACTS,
    PARAMETERS,
    data,
    force,
    gap,
    gap_jacobian,
    incidents,
    mass,
    tangent,
)

TABLE_VII = [
    ("lower sleeve friction", "slip", "stick"),
    ("lower sleeve friction", "stick", "slip"),
    ("lower sleeve", "closed", "open"),
    ("upper sleeve", "open", "closed"),
    ("upper sleeve", "closed", "open"),
    ("beak", "open", "closed"),
    ("beak", "closed", "open"),
    ("upper sleeve", "open", "closed"),
    ("upper sleeve", "closed", "open"),
    ("lower sleeve", "open", "closed"),
    ("lower sleeve", "closed", "open"),
    ("lower sleeve", "open", "closed"),
]


class Params:
    """The physical data by attribute, as the compiled functions see them."""

    def __init__(self):
        self.__dict__.update(PARAMETERS)


P = Params()


def matrices(q, u):
    n = np.empty
    M, h, g, J, T = n((3, 3)), n(3), n(3), n((3, 3)), n((3, 3))
    mass(0.0, q, P, M)
    force(0.0, q, u, P, h)
    gap(0.0, q, P, g)
    gap_jacobian(0.0, q, P, J)
    tangent(0.0, q, P, T)
    return M, h, g, J, T


@pytest.mark.parametrize("start", ["literal", "consistent"])
def test_incidents_are_those_of_table_vii(start):
    reference = problems.woodpecker(start=start).reference
    found = [row[1:] for row in incidents(reference.events)]
    assert len(found) == 36  # three cycles
    for cycle in range(3):
        assert found[12 * cycle : 12 * cycle + 12] == TABLE_VII
    assert np.all(np.diff(reference.event_times()) > 0)


@pytest.mark.parametrize("start", ["literal", "consistent"])
def test_impacts_satisfy_the_impact_law(start):
    problem = problems.woodpecker(start=start)
    e_N = np.array([0.5, 0.0, 0.0])
    impacts = [e for e in problem.reference.events if e.u_before]
    assert len(impacts) == 15
    for event in impacts:
        i = CONTACTS.index(event.name)
        M, _, _, J, T = matrices(problem.q0, problem.u0)
        before, after = np.array(event.u_before), np.array(event.u_after)
        # M (u+ - u-) = w_N Lambda_N + w_T Lambda_T of the one contact that is hit
        W = np.column_stack((J[i], T[:, i]))
        impulse, *_ = np.linalg.lstsq(W, M @ (after - before), rcond=None)
        assert np.linalg.norm(W @ impulse - M @ (after - before)) < 1e-11 * np.linalg.norm(M @ before)
        assert impulse[0] > 0 and abs(impulse[1]) <= 0.3 * impulse[0] * (1 + 1e-9)
        assert J[i] @ after == pytest.approx(-e_N[i] * (J[i] @ before), abs=1e-12)
        # Coulomb: stick, or friction on the bound against the slip
        slip = T[:, i] @ after
        assert abs(slip) < 1e-10 or impulse[1] == pytest.approx(-0.3 * np.sign(slip) * impulse[0], rel=1e-6)


@pytest.mark.parametrize("start", ["literal", "consistent"])
def test_samples_are_admissible(start):
    problem = problems.woodpecker(start=start)
    r = problem.reference
    assert r.t_samples.size == 9
    for q, u in zip(r.q_samples.T, r.u_samples.T):
        g = matrices(q, u)[2]
        assert np.all(g > (-1e-6 if start == "literal" else -1e-15))


def test_starts_and_changed_data():
    literal, consistent = problems.woodpecker(), problems.woodpecker(start="consistent")
    assert matrices(literal.q0, literal.u0)[2][1] == pytest.approx(-8.8e-7, rel=1e-3)
    assert abs(matrices(consistent.q0, consistent.u0)[2][1]) < 1e-18
    np.testing.assert_array_equal(consistent.q0, data()["consistent"]["q0"])
    assert problems.woodpecker(friction=0.4).reference is None
    assert problems.woodpecker(m_S=4.6e-3).reference is None
    M = matrices(literal.q0, literal.u0)[0]
    assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M)[0] > 0


def test_table_lookup_by_time():
    r = problems.woodpecker().reference
    t = np.arange(0, 20001) * 2e-5
    index, q, u = r.states_at(t)
    np.testing.assert_allclose(t[index], [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4], rtol=0, atol=1e-12)
    assert q.shape == (3, 8) and u.shape == (3, 8)
    nothing = r.deviation(np.array([0.0, 0.01]), np.zeros((3, 2)), np.zeros((3, 2)))
    assert nothing["points"] == 0 and np.isnan(nothing["max_q"])
