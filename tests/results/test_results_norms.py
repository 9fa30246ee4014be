"""Norms against closed forms: two step functions whose jump times differ by eps, and polygons by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError
from nonsmooth.results.norms import grid_error, hausdorff_error, l1_error, l2_error, sup_error


def step(at, height=2.0, end=1.0):
    """Step function with its jump stored as a doubled instant."""
    return np.array([0.0, at, at, end]), np.array([0.0, 0.0, height, height])


@pytest.mark.parametrize("eps", [0.1, 1e-3, 1e-6, 1e-9])
def test_displaced_jump(eps):
    pair = (*step(0.5 + eps), *step(0.5))
    assert l1_error(*pair) == pytest.approx(2.0 * eps, rel=1e-6)
    assert l2_error(*pair) == pytest.approx(2.0 * np.sqrt(eps), rel=1e-6)
    assert sup_error(*pair) == pytest.approx(2.0)
    assert hausdorff_error(*pair, rtol=1e-9) == pytest.approx(eps, rel=1e-6)


def test_time_scale_weighs_the_displacement():
    pair = (*step(0.6), *step(0.5))
    assert hausdorff_error(*pair, time_scale=10.0) == pytest.approx(0.01, rel=1e-3)
    # When a displacement costs much, it is cheaper to go to the nearest value.
    assert hausdorff_error(*pair, time_scale=0.01) == pytest.approx(2.0, rel=1e-3)


def test_smeared_jump_of_a_time_stepping_scheme():
    """A jump spread over one step of length h is within h of the jump, also where the ramp is half way."""
    for h in (1e-2, 1e-4):
        t = np.array([0.0, 0.5, 0.5 + h, 1.0])
        a = np.array([0.0, 0.0, 2.0, 2.0])
        found = hausdorff_error(t, a, *step(0.5), rtol=1e-6)
        # Point (0.5 + x h, 2 x) of the ramp is x h away; point (0.5, y) of the jump can go to either side.
        assert found == pytest.approx(h / (1.0 + h / 2.0), rel=1e-2)
        assert l1_error(t, a, *step(0.5)) == pytest.approx(h)
        assert l2_error(t, a, *step(0.5)) == pytest.approx(2.0 * np.sqrt(h / 3.0))


def test_missed_spike_is_seen_by_hausdorff_and_hardly_by_l1():
    t = np.array([0.0, 0.5, 0.5, 0.5, 1.0])
    spike = np.array([0.0, 0.0, 3.0, 0.0, 0.0])
    flat = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    assert hausdorff_error(t, spike, *flat) == pytest.approx(3.0)
    assert l1_error(t, spike, *flat) == 0.0


def test_sign_change_inside_a_piece_is_integrated_exactly():
    t = np.array([0.0, 1.0])
    assert l1_error(t, [-1.0, 3.0], t, [0.0, 0.0]) == pytest.approx((0.25 * 1 + 0.75 * 3) / 2)
    assert l2_error(t, [-1.0, 3.0], t, [0.0, 0.0]) == pytest.approx(np.sqrt((1 - 3 + 9) / 3))


def test_components_add_up():
    t = np.array([0.0, 2.0])
    a, zero = np.array([[1.0, 1.0], [-2.0, -2.0]]), np.zeros((2, 2))
    assert l1_error(t, a, t, zero) == pytest.approx(6.0)
    assert l2_error(t, a, t, zero) == pytest.approx(np.sqrt(10.0))
    assert sup_error(t, a, t, zero) == 2.0
    assert hausdorff_error(t, a, t, zero) == pytest.approx(np.sqrt(5.0))


def test_previous_interpolation_holds_the_value():
    t = np.array([0.0, 1.0, 2.0])
    ref = np.array([0.0, 2.0])
    a = np.array([1.0, 3.0, 3.0])
    assert l1_error(t, a, ref, [0.0, 0.0], interpolation="previous") == pytest.approx(4.0)
    assert hausdorff_error(t, a, ref, [0.0, 0.0], interpolation="previous") == pytest.approx(3.0)


def test_reference_on_another_grid_and_longer():
    t, fine = np.linspace(0, 1, 11), np.linspace(-1, 2, 3001)
    assert l1_error(t, t**2, fine, fine**2) == pytest.approx(0.1**2 / 6, rel=1e-3)
    assert sup_error(t, t**2, fine, fine**2) == pytest.approx(0.05**2, rel=1e-3)


def test_bouncing_ball_converges_in_l1_and_hausdorff_but_not_uniformly():
    """First bounce of a ball, velocity of Moreau's scheme: order one in L1 and Hausdorff, none in sup."""
    found = {"l1": [], "h": [], "sup": []}
    exact_t = np.array([0.0, np.sqrt(2.0), np.sqrt(2.0), 2.0])
    exact_v = np.array([0.0, -np.sqrt(2.0), np.sqrt(2.0) / 2, np.sqrt(2.0) / 2 - (2.0 - np.sqrt(2.0))])
    numbers = np.geomspace(100, 3200, 31).astype(
        int
    )  # many, as the error depends on where in a step the impact falls
    for n in numbers:
        dt, q, v = 2.0 / n, 1.0, 0.0
        values = [v]
        for _ in range(n):
            if q + 0.5 * dt * v <= 0 and v - dt < -0.5 * v:
                new = -0.5 * v
            else:
                new = v - dt
            q, v = q + 0.5 * dt * (v + new), new
            values.append(v)
        pair = (np.linspace(0, 2, n + 1), np.array(values), exact_t, exact_v)
        found["l1"].append(l1_error(*pair))
        found["h"].append(hausdorff_error(*pair))
        found["sup"].append(sup_error(*pair))
    rate = {name: np.polyfit(np.log(numbers), np.log(e), 1)[0] for name, e in found.items()}
    assert -1.2 < rate["l1"] < -0.8
    assert -1.2 < rate["h"] < -0.8
    assert abs(rate["sup"]) < 0.2


@pytest.mark.parametrize("shift", [1e-3, 1e-6])
def test_a_long_saw_against_itself_shifted_in_time(shift):
    """1e5 points; every jump from -1 to 1 is moved by `shift`, the ramps of slope -256 between them by less."""
    tooth = np.arange(1025) / 2**17  # exact in binary: instants given twice are the same
    t = np.append(tooth + np.arange(128)[:, None] / 128, 2.0)
    saw = np.append(np.tile(1.0 - 256.0 * tooth, 128), -1.0)
    moved = np.append(0.0, t + shift), np.append(saw[0], saw)
    found = hausdorff_error(t, saw, *moved, rtol=1e-7)
    assert found == pytest.approx(shift, rel=1e-6)


def test_grid_norm():
    t = np.linspace(0, 1, 101)
    assert grid_error(t, t + 1.0, lambda t: t, p=1) == pytest.approx(1.0)
    assert grid_error(t, t + 1.0, lambda t: t, p=np.inf) == pytest.approx(1.0)
    assert grid_error(t, np.vstack([t, t]) + 1.0, lambda t: np.vstack([t, t]), p=2) == pytest.approx(
        np.sqrt(2)
    )


values = st.lists(st.floats(-3, 3), min_size=2, max_size=7)


def _sampled(t, a, s, r):
    """Hausdorff distance by dense sampling, obvious and slow."""

    def points(t, a):
        x = np.linspace(0, 1, 80)[:, None]
        pieces = [p + x * (q - p) for p, q in zip(np.column_stack([t, a])[:-1], np.column_stack([t, a])[1:])]
        return np.vstack(pieces)

    A, B = points(t, a), points(s, r)
    d = np.max(np.abs(A[:, None] - B[None]), axis=-1)
    return max(d.min(axis=1).max(), d.min(axis=0).max())


@settings(max_examples=40, deadline=None)
@given(values, values)
def test_hausdorff_against_sampling(a, r):
    t, s = np.round(np.linspace(0, 2, len(a)), 1), np.round(np.linspace(0, 2, len(r)), 1)
    found = hausdorff_error(t, a, s, r, rtol=1e-6)
    assert found == pytest.approx(_sampled(t, a, s, r), abs=0.06)
    assert found == pytest.approx(hausdorff_error(s, r, t, a, rtol=1e-6), rel=1e-4, abs=1e-12)
    assert found <= sup_error(t, a, s, r) * (1 + 1e-12) + 1e-12
    assert hausdorff_error(t, a, t, a) == 0.0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([0, 1], [0, 1, 2], [0, 1], [0, 1]), ShapeError),
        (([0, 1], [[0, 1], [0, 1]], [0, 1], [0, 1]), ShapeError),
        (([0, 1], [0, np.nan], [0, 1], [0, 1]), NonFiniteError),
        (([1, 0], [0, 1], [0, 1], [0, 1]), RangeError),
        (([0, 2], [0, 1], [0, 1], [0, 1]), RangeError),
        (([0, 1], [0, 1], [0, 1], [0, 1], "cubic"), InputError),
    ],
)
def test_bad_input(arguments, error):
    for norm in (l1_error, l2_error, sup_error, hausdorff_error):
        with pytest.raises(error):
            norm(*arguments)
