"""Parts of the compiled step-size adjustment against plain formulas; runs without compilation, too."""

import numpy as np

from nonsmooth._core.records.scene import Size
from nonsmooth._core.stepping.extrapolation.records import make_own


def test_structure_of_the_work_space():
    size = Size()
    size.n_q, size.n_u, size.n_N, size.n_rows, size.n_laws = 3, 2, 2, 4, 5
    own = make_own(None, size, 6, [1, 3, 5, 7, 9, 11])
    assert own.tableau.row.shape == (6, 5) and own.tableau.substeps.tolist() == [1, 3, 5, 7, 9, 11]
    assert own.actual.state.q.shape == (3,) and own.actual.gap.shape == (2,) and own.phi.shape == (2, 5)


def test_order_of_aitken_neville_in_a_run():
    """One main step of a pendulum-like force: T_pp has order p in the step."""
    import nonsmooth as ns

    def mass(t, q, p):
        return np.eye(1)

    def force(t, q, u, p):
        return np.array([-np.sin(q[0]) - 0.3 * u[0]])

    system = ns.MechanicalSystem(mass, force)

    def end(order, dt):
        method = ns.ExtrapolatedMoreau(order=order, dt_min=1e-9, dt_max=dt)
        return ns.simulate(system, (0.0, 0.4), [1.0], [0.5], method=method, audit=False).y[:, -1]

    exact = end(8, 0.02)
    for order in (1, 2, 3):
        errors = [np.abs(end(order, dt) - exact).max() for dt in (0.04, 0.02, 0.01)]
        slope = np.log2(errors[0] / errors[2]) / 2
        assert abs(slope - order) < 0.4, (order, slope)
