"""The global error that a run of local error control tells."""

import numpy as np
import pytest

import nonsmooth as ns


@pytest.mark.parametrize("rtol", [1e-5, 1e-7])
def test_two_blocks_on_a_belt(rtol):
    """Errors above the tolerance, which is one of steps, are told: between a tenth and thirty times what they are."""
    belt = dict(surface_velocity=-0.3)
    blocks = ns.MechanicalSystem(
        np.diag([1.0, 1.3]),
        lambda t, q, u: np.array(
            [-2.0 * q[0] - 1.5 * (q[0] - q[1]) + 0.3 * np.cos(1.1 * t), -1.5 * (q[1] - q[0]) - q[1]]
        ),
        friction=[ns.FrictionElement([1.0, 0.0], 1.0, **belt), ns.FrictionElement([0.0, 1.0], 0.8, **belt)],
    )
    start, span = [0.5, 0.0, 0.0, 0.0], (0.0, 20.0)
    exact = ns.solve_filippov(blocks, span, start, rtol=1e-12)
    run = ns.solve_filippov(blocks, span, start, rtol=rtol)
    scale = np.max(np.abs(exact.y), axis=1)
    error = np.max(np.abs(run.y[:, -1] - exact.y[:, -1]) / scale)
    assert error > rtol  # or there is nothing to tell
    assert 0.1 * error <= np.max(run.error_estimate.relative) <= 30 * error
