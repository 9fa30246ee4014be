"""The command line: output, files, exit codes 0, 2, 3, 4, 5, 130, 143, and no traceback without --debug."""

import os
import random
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from nonsmooth import cli, problems
from nonsmooth.cli import frame
from nonsmooth.control.driver import Driver
from nonsmooth.errors import ConvergenceError, InconsistentStateError
from nonsmooth.problems.base import Problem

runner = CliRunner()


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Whatever a command writes stays out of the working tree."""
    monkeypatch.chdir(tmp_path)


def call(*args):
    return runner.invoke(cli.app, [str(a) for a in args])


def text(result):
    return result.stdout + result.stderr


def test_help_is_fast_and_loads_nothing_heavy():
    code = (
        "import sys, nonsmooth.cli\n"
        "heavy = [m for m in ('numba', 'scipy', 'matplotlib', 'h5py') if m in sys.modules]\n"
        "print(heavy)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert out.stdout.strip() == "[]"
    shown = call("--help").stdout
    for command in ("list", "run", "bench", "warmup", "info"):
        assert command in shown


def test_list():
    shown = call("list")
    assert shown.exit_code == 0
    for name in problems.names():
        assert name in shown.stdout
    one = call("list", "woodpecker")
    assert "m_S" in one.stdout and "0.0045" in one.stdout


def test_info():
    shown = call("info")
    assert shown.exit_code == 0
    for word in ("numba", "moreau", "woodpecker"):
        assert word in shown.stdout


def test_run_prints_a_summary_and_writes_files(tmp_path):
    out = tmp_path / "out"
    done = call("run", "falling_ball", "--dt", "0.002", "--set", "restitution=0.5", "--out", out)
    assert done.exit_code == 0, text(done)
    assert "restitution" not in done.stderr
    for word in ("moreau", "impact", "audit", "against the reference"):
        assert word in done.stdout, word
    picture, result = out / "falling_ball.png", out / "falling_ball.h5"
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
    from nonsmooth import Result

    loaded = Result.load(result)
    assert loaded.t[-1] == pytest.approx(1.0) and loaded.problem_name == "falling_ball"

    # an existing file is not touched without --overwrite
    before = result.read_bytes()
    again = call("run", "falling_ball", "--dt", "0.002", "--out", out)
    assert again.exit_code == frame.STORAGE and "--overwrite" in again.stderr
    assert result.read_bytes() == before
    assert call("run", "falling_ball", "--dt", "0.002", "--out", out, "--overwrite").exit_code == 0
    assert result.read_bytes() != before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "woodpeker"], ["woodpeker", "Did you mean 'woodpecker'"]),
        (["run"], ["Missing argument"]),
        (["fly"], ["fly"]),
        (["run", "falling_ball", "--set", "restitution"], ["name=value"]),
        (["run", "falling_ball", "--set", "bounce=1"], ["bounce", "restitution"]),
        (["run", "falling_ball", "--set", "restitution=1.5"], ["restitution", "1.5", "[0, 1]"]),
        (["run", "falling_ball", "--set", "restitution=high"], ["restitution"]),
        (["run", "falling_ball", "--set", "height=nan"], ["height", "finite"]),
        (["run", "falling_ball", "--dt", "0"], ["--dt", "positive"]),
        (["run", "falling_ball", "--dt", "nan"], ["--dt", "positive"]),
        (["run", "falling_ball", "--dt", "x"], ["--dt"]),
        (["run", "falling_ball", "--t-end", "-1"], ["--t-end"]),
        (["run", "falling_ball", "--every", "0"], ["--every"]),
        (["run", "falling_ball", "--method", "euler"], ["euler", "moreau"]),
        (["run", "falling_ball", "--on-failure", "ignore"], ["ignore", "halve"]),
        (["bench", "falling_ball", "--steps", "0"], ["--steps"]),
    ],
)
def test_usage_errors(args, words):
    failed = call(*args)
    assert failed.exit_code == frame.USAGE, text(failed)
    assert "Traceback" not in text(failed)
    for word in words:
        assert word in failed.stderr


def test_storage_errors(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    failed = call("run", "falling_ball", "--out", file / "folder")
    assert failed.exit_code == frame.STORAGE and "Traceback" not in text(failed)


def faulty(error):
    """A stand-in for `Problem.simulate` that fails."""

    def simulate(self, *args, **options):
        raise error

    return simulate


def test_model_errors(monkeypatch):
    monkeypatch.setattr(Problem, "simulate", faulty(InconsistentStateError("contact 'table' overlaps.")))
    failed = call("run", "falling_ball")
    assert failed.exit_code == frame.MODEL and "overlaps" in failed.stderr and "Traceback" not in text(failed)


def test_solver_errors_keep_the_partial_result(monkeypatch, tmp_path):
    partial = problems.falling_ball().simulate((0.0, 0.1), dt=1e-3)
    error = ConvergenceError("no convergence at t = 0.1.")
    error.partial = partial
    monkeypatch.setattr(Problem, "simulate", faulty(error))
    failed = call("run", "falling_ball", "--out", tmp_path)
    assert failed.exit_code == frame.RUN and "no convergence" in failed.stderr
    from nonsmooth import Result

    assert Result.load(tmp_path / "falling_ball.h5").t[-1] == pytest.approx(0.1)


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setattr(Problem, "simulate", faulty(ConvergenceError("no convergence.")))
    failed = call("--debug", "run", "falling_ball")
    assert isinstance(failed.exception, ConvergenceError)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_stop_the_run_and_keep_its_result(monkeypatch, tmp_path, number, code):
    take_slice, taken = Driver._slice, []

    def slice_and_signal(self):
        take_slice(self)
        if not taken and self.run.t > 0.5:  # some columns are stored, however slow the machine is
            taken.append(self)
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Driver, "_slice", slice_and_signal)
    # 1e11 steps: it would run for hours
    args = ("run", "falling_ball", "--dt", "1e-6", "--t-end", "1e5", "--every", "100000", "--out", tmp_path)
    # tests run as a job in the background ignore Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stopped = call(*args)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.exit_code == code, text(stopped)
    assert "Traceback" not in text(stopped)
    from nonsmooth import Result

    kept = Result.load(tmp_path / "falling_ball.h5")
    assert 0.0 < kept.t[-1] < 1e5


def test_random_arguments_never_show_a_traceback(monkeypatch, tmp_path):
    small = problems.falling_ball().simulate((0.0, 0.01), dt=1e-3)
    monkeypatch.setattr(Problem, "simulate", lambda self, *args, **options: small)
    words = [
        "run", "list", "info", "falling_ball", "woodpecker", "incline_block", "--dt", "--t-end", "--rtol", "--every",
        "--set", "--out", "--overwrite", "--method", "moreau", "--on-failure", "halve", "--help", "restitution=0.5",
        "friction=-1", "start=consistent", "=", "a=b=c", "0", "1e-3", "-5", "nan", "inf", "1e400", "", "--", "-x",
        str(tmp_path), "\u202e", "--debug=1", "é", "x" * 300,
    ]  # fmt: skip
    rng = random.Random(2008)  # noqa: S311
    for _ in range(400):
        args = [rng.choice(("run", "list", "run falling_ball", "")), *rng.choices(words, k=rng.randrange(6))]
        args = args[0].split() + args[1:]
        done = call(*args)
        assert done.exit_code in (0, 2, 3, 4, 5), (args, text(done))
        assert "Traceback" not in text(done), args
        assert done.exception is None or isinstance(done.exception, SystemExit), (args, done.exception)


def test_bench_and_warmup():
    timed = call("bench", "falling_ball", "--steps", "2000", "--repeat", "1")
    assert timed.exit_code == 0 and "falling_ball" in timed.stdout and "µs/step" in timed.stdout
    warmed = call("warmup", "solve_lcp, lemke", "--jobs", "1")
    assert warmed.exit_code == 0 and "solve_lcp, lemke" in warmed.stdout and "together" in warmed.stdout
    assert call("warmup", "no such door").exit_code == 2


def test_reader_that_goes_away_is_no_error():
    code = "import sys; from nonsmooth.cli import main; sys.argv[1:] = ['list']; main()"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, timeout=120)  # noqa: S603
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_tolerance_out_of_range_and_a_file_as_folder(tmp_path):
    result = call("run", "falling_ball", "--rtol", "5")
    assert result.exit_code == frame.USAGE and "--rtol is 5.0" in text(result)
    (tmp_path / "file").write_text("x")
    result = call("run", "falling_ball", "--out", tmp_path / "file")
    assert result.exit_code == frame.STORAGE and "is a file" in text(result)


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "nonsmooth", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("nonsmooth ")
