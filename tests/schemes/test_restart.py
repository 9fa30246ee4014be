"""A run may be broken off anywhere and go on from its own state: in flight, on an impact, in an accumulation, at rest."""

import numpy as np
import pytest

import nonsmooth as ns

FLOOR = 0.3
BALL = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0] - FLOOR, restitution=0.4, name="floor"))
SPAN, START = (0.0, 1.2), ([1.0], [0.0])


@pytest.mark.parametrize(
    "method, options, tol",
    [
        ("event-driven", {"rtol": 1e-6}, 1e-5),
        ("extrapolated-moreau", {"rtol": 1e-5}, 1e-4),
        ("event-capturing", {"rtol": 1e-6}, 1e-5),
    ],
)
@pytest.mark.filterwarnings("ignore::nonsmooth.errors.ZenoWarning")
def test_a_bouncing_and_resting_ball_goes_on_from_any_instant(method, options, tol):
    """Sixty instants; the end is that of the unbroken run within ten tolerances."""
    instants = np.linspace(*SPAN, 62)[1:-1]
    whole = ns.simulate(BALL, SPAN, *START, method=method, t_eval=[*instants, SPAN[1]], **options)
    scale = np.array([1.0, np.sqrt(2 * 9.81 * 0.7)])
    for k, t in enumerate(instants):
        again = ns.simulate(BALL, (t, SPAN[1]), whole.q[:, k], whole.u[:, k], method=method, **options)
        assert np.max(np.abs(again.y[:, -1] - whole.y[:, -1]) / scale) <= tol, t


def test_time_stepping_goes_on_to_rounding():
    """The steps of the rest are the steps of the whole."""
    dt, cuts = 1e-2, range(2, 120, 2)
    whole = ns.simulate(BALL, SPAN, *START, method="moreau", dt=dt)
    for k in cuts:
        again = ns.simulate(BALL, (whole.t[k], SPAN[1]), whole.q[:, k], whole.u[:, k], method="moreau", dt=dt)
        assert again.y[:, -1] == pytest.approx(whole.y[:, -1], abs=1e-12)
