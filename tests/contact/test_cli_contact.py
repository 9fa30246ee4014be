"""`nonsmooth contact solve` and `bench`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nonsmooth.cli import app
from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.profiles import profile_curves
from nonsmooth.contact.residual import residual

DATA = Path(__file__).parents[1] / "data" / "contact"


def run(*arguments):
    return CliRunner().invoke(app, ["contact", *arguments])


def test_solve_writes_a_solution(tmp_path):
    out = tmp_path / "solved.hdf5"
    done = run("solve", str(DATA / "Box_Stacks-i0122-82-5.hdf5"), "--output", str(out), "--guess", "1")
    assert done.exit_code == 0 and "solved" in done.output
    problem = read_fclib(out)
    assert residual(problem, problem.solution["r"]).unit <= 1e-8
    again = run("solve", str(DATA / "Rover1041.hdf5"), "--output", str(out))
    assert again.exit_code == 5 and "overwrite" in again.output


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["solve", "nowhere.hdf5"], 5),
        (["solve", str(DATA / "Rover1041.hdf5"), "--method", "magic"], 2),
        (["solve", str(DATA / "Rover1041.hdf5"), "--tol", "-1"], 2),
        (["solve", str(DATA / "Rover1041.hdf5"), "--guess", "3"], 2),
        (["solve", str(DATA / "OneObject-i100000-316.hdf5"), "--max-iter", "2"], 4),
        (["solve", str(Path(__file__))], 5),
        (["bench", "nowhere"], 5),
        (["bench", str(DATA), "--methods", "magic"], 2),
        (["solve", str(DATA / "Rover1041.hdf5"), "--method", "lemke", "--facets", "12"], 4),
        (["solve", str(DATA / "Rover1041.hdf5"), "--method", "nsgs", "--facets", "12"], 2),
        (["solve", str(DATA / "FC2D_SliderCrankLagrangian00000.hdf5"), "--method", "lemke"], 0),
    ],
)
def test_exit_codes(arguments, code):
    assert run(*arguments).exit_code == code


def test_bench_draws_a_profile(tmp_path):
    for name in ("Rover1041", "NESpheres_10_1"):
        shutil.copy(DATA / f"{name}.hdf5", tmp_path)
    picture = tmp_path / "profile.png"
    done = run("bench", str(tmp_path), "--methods", "auto,nsgs", "--picture", str(picture))
    assert done.exit_code == 0, done.output
    assert "auto           solves 2 of 2" in done.output and picture.stat().st_size > 5000


def test_profile_curves():
    tau, share = profile_curves(np.array([[1.0, 2.0], [4.0, 1.0], [np.inf, 3.0], [np.inf, np.inf]]))
    assert list(tau) == [1.0, 2.0, 4.0, 8.0]
    np.testing.assert_allclose(share[:, 0], [0.25, 0.25, 0.5, 0.5])
    np.testing.assert_allclose(share[:, 1], [0.5, 0.75, 0.75, 0.75])


def test_answers_for_programs():
    file = str(DATA / "FC2D_SliderCrankLagrangian00000.hdf5")
    told = json.loads(CliRunner().invoke(app, ["--json", "contact", "solve", file]).stdout)
    assert told["success"] and told["residual"] <= 1e-8 and told["dim"] == 2
    assert CliRunner().invoke(app, ["--quiet", "contact", "solve", file]).output == ""
    wrong = CliRunner().invoke(app, ["--json", "contact", "solve", file, "--method", "magic"])
    assert wrong.exit_code == 2 and json.loads(wrong.stdout)["error"] == "UsageError"
