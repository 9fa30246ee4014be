"""Pictures: what is drawn, for every kind of result, without a display."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from results_standin import ball, moreau, puck

from nonsmooth.errors import InputError
from nonsmooth.results import Event, Result
from nonsmooth.results.thinning import mode_spans, thin


@pytest.fixture(scope="module")
def ball_run():
    columns, _ = moreau(ball(), 2.0, [1.0], [0.0], 300)
    return Result(**columns, nsteps=300, method="moreau", law_names=["floor"])


def labels(figure):
    return [axis.get_ylabel() for axis in figure.axes]


def test_panels_of_a_mechanical_run(ball_run):
    figure = ball_run.plot()
    assert labels(figure)[:3] == ["position q", "velocity u", "impulse P$_N$"]
    assert len(figure.axes) == 4  # constant step and order one are not drawn
    x, y = figure.axes[0].lines[0].get_data()
    assert np.array_equal(x, ball_run.t) and np.array_equal(y, ball_run.q[0])
    assert [text.get_text() for text in figure.axes[3].get_yticklabels()] == ["floor"]


@pytest.mark.parametrize("n", [1, 6, 20])
def test_any_number_of_coordinates(n, tmp_path):
    t = np.linspace(0, 1, 50)
    q = np.sin(np.outer(np.arange(1, n + 1), t))
    order = 1 + (np.arange(50) % 6)
    modes = (np.arange(50) // 7 % 5 - 2).astype(np.int8) * np.ones((n, 1), dtype=np.int8)
    result = Result(
        t=t,
        q=q,
        u=q,
        P_N=abs(q),
        P_T=q,
        modes=modes,
        dt=10.0 ** -(order % 3),
        order=order,
        events=[Event(0.5, "impact")],
    )
    path = tmp_path / "a.png"
    figure = result.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert len(figure.axes) == 7
    assert figure.axes[5].get_yscale() == "log"
    # Nothing is cut off: every label lies inside the picture.
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= width + 0.02 and box.y1 <= height + 0.02


def test_results_with_only_y_and_complex_y(tmp_path):
    t = np.linspace(0, 1, 9)
    assert labels(Result(t=t, y=np.vstack([t, t**2])).plot(tmp_path / "a.svg")) == ["state y"]
    figure = Result(t=t, y=np.exp(1j * t)[None, :]).plot()
    assert len(figure.axes[0].lines) == 2  # real and imaginary part


@pytest.mark.parametrize("n", [1, 2])
def test_few_instants(n):
    t = np.arange(float(n))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Result(
            t=t,
            q=np.ones((1, n)),
            u=np.ones((1, n)),
            modes=np.ones((1, n)),
            P_N=np.ones((1, n)),
            dt=t,
            order=t + 1,
        ).plot().canvas.draw()


def test_nan_and_all_open_do_not_break_it():
    t = np.linspace(0, 1, 9)
    q = np.full((1, 9), np.nan)
    Result(t=t, q=q, u=q, modes=np.zeros((1, 9)), P_N=0 * q).plot().canvas.draw()


def test_options(ball_run):
    figure = ball_run.plot(panels=["u"], t_span=(0.5, 1.0), title="my title")
    assert labels(figure) == ["velocity u"]
    assert figure.axes[0].get_xlim() == (0.5, 1.0)
    assert figure.get_suptitle() == "my title"
    columns, _ = moreau(puck(), 0.1, [0, 0, 0.2], [1, 0, 0], 10)
    assert len(Result(**columns).plot(coordinates=[2]).axes[0].lines) == 1
    for wrong in (
        {"panels": ["colour"]},
        {"panels": []},
        {"panels": ["P_T"]},
        {"t_span": (7, 8)},
        {"coordinates": [4]},
    ):
        with pytest.raises(InputError):
            ball_run.plot(**wrong)
    with pytest.raises(InputError, match="no instants"):
        Result(t=np.zeros(0)).plot()


def test_mode_spans_follow_the_columns():
    t = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    modes = np.array([0, 0, 1, 1, -2])  # column k holds from k - 1 to k
    assert mode_spans(t, modes) == [(0.0, 1.0, 0), (1.0, 3.0, 1), (3.0, 4.0, 2)]
    assert mode_spans(t[:1], modes[:1]) == [(0.0, 0.0, 0)]


def test_mode_spans_of_chattering_laws_are_bounded_and_keep_contact():
    t = np.linspace(0, 1, 100_001)
    modes = np.zeros(100_001, dtype=np.int8)
    modes[::2] = -2
    modes[50_000:50_003] = 1
    spans = mode_spans(t, modes, limit=500)
    assert len(spans) <= 500
    assert spans[0][0] == 0.0 and spans[-1][1] == 1.0
    assert {kind for _, _, kind in spans} == {1, 2}
    assert all(a[1] == b[0] for a, b in zip(spans[:-1], spans[1:]))


def test_thinning_keeps_spikes():
    t = np.linspace(0, 1, 200_000)
    values = np.zeros(200_000)
    values[123_456], values[77] = 5.0, -3.0
    x, y = thin(t, values)
    assert x.size < 5000 and y.max() == 5.0 and y.min() == -3.0
    assert np.all(np.diff(x) > 0) and x[0] == 0.0 and x[-1] == 1.0


def test_long_runs_are_drawn_with_few_points():
    t = np.linspace(0, 1, 1_000_001)
    q = np.sin(50 * t)[None, :]
    modes = (np.arange(t.size) // 3 % 2).astype(np.int8)[None, :]
    result = Result(t=t, q=q, u=q, P_N=np.abs(q), modes=modes, dt=np.full(t.size, 1e-6))
    figure = result.plot()
    figure.canvas.draw()
    assert all(len(line.get_xdata()) < 50_000 for axes in figure.axes for line in axes.lines)


def test_no_pyplot_state_is_left():
    code = (
        "import sys, numpy as np; from nonsmooth.results import Result;"
        "Result(t=np.arange(3.0), y=np.ones((1, 3))).plot(); print('matplotlib.pyplot' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.strip() == "False"
