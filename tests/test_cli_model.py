"""The command line with models of the user's own, reports of stored runs, and output for programs."""

import json

import pytest

from test_cli import call, text

MODEL = """
import numpy as np, nonsmooth as ns

def force(t, q, u, p):
    return np.array([-p.g])

def gap(t, q, p):
    return np.array([q[0]])

system = ns.MechanicalSystem([[1.0]], force, ns.Contact(gap, restitution=0.5, name="floor"), params={"g": 2.0},
                             draw=[ns.draw.Circle(lambda q: (0, q[0]), 0.1)])

def problem():
    return ns.problems.acary_ball(t_end=0.5)

world = ns.World(gravity=(0, -2.0), material=ns.Material(restitution=0.5))
world.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 1.1), name="ball"), ns.HalfPlane(name="floor"))

number = 7
"""


@pytest.fixture(autouse=True)
def _model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "broken.py").write_text("1 / 0")


def test_run_of_an_own_model_with_report_and_json(tmp_path):
    shown = call(
        "--json",
        "run",
        "my_model.py:system",
        "--q0",
        "1",
        "--u0",
        "0",
        "--t-end",
        "0.5",
        "--dt",
        "1e-3",
        "--report",
        "out.html",
        "--out",
        "files",
    )
    assert shown.exit_code == 0, text(shown)
    told = json.loads(shown.stdout)
    assert told["q_end"][0] == pytest.approx(0.75, abs=1e-9) and told["nsteps"] == 500 and told["audit"]["ok"]
    assert told["files"]["report"] == "out.html"
    assert '"dim":2' in (tmp_path / "out.html").read_text()
    # the stored run again, with and without its model
    assert call("report", "files/my_model.h5").exit_code == 0
    assert '"scene":null' in (tmp_path / "files" / "my_model.html").read_text()
    again = call(
        "--quiet", "report", "files/my_model.h5", "--model", "my_model.py:system", "--out", "again.html"
    )
    assert again.exit_code == 0 and again.stdout == ""
    assert '"dim":2' in (tmp_path / "again.html").read_text()


def test_own_problem_and_parameters():
    assert call("run", "my_model.py:problem", "--dt", "1e-2").exit_code == 0
    shown = call(
        "--json", "run", "my_model.py:system", "--q0", "1", "--t-end", "0.5", "--dt", "1e-2", "--set", "g=4.0"
    )
    assert json.loads(shown.stdout)["q_end"][0] == pytest.approx(0.5)


def test_own_world_brings_its_start(tmp_path):
    given = ("--t-end", "0.5", "--dt", "1e-3", "--report", "w.html", "--animate", "w.gif")
    shown = call("--json", "run", "my_model.py:world", *given)
    assert shown.exit_code == 0, text(shown)
    assert json.loads(shown.stdout)["q_end"][:2] == pytest.approx([0.0, 0.85])
    assert '"dim":2' in (tmp_path / "w.html").read_text() and (tmp_path / "w.gif").read_bytes()[:4] == b"GIF8"
    shown = call("--json", "run", "my_model.py:world", "--q0", "0,2.1,0", "--t-end", "0.5", "--dt", "1e-3")
    assert json.loads(shown.stdout)["q_end"][1] == pytest.approx(1.85)


def test_films_are_refused_before_the_run_where_ffmpeg_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    shown = call("run", "my_model.py:world", "--t-end", "0.5", "--dt", "1e-3", "--animate", "w.mp4")
    assert shown.exit_code == 2 and "ffmpeg" in text(shown) and "wall time" not in text(shown)


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("run", "no_such.py:system"), 2, "no file"),
        (("run", "my_model.py:nothing"), 2, "has no name"),
        (("run", "my_model.py:number"), 2, "is wanted"),
        (("run", "my_model.py:system", "--q0", "1"), 2, "--t-end"),
        (("run", "my_model.py:system", "--q0", "one", "--t-end", "1"), 2, "numbers"),
        (("run", "my_model.py:system", "--t-end", "1"), 3, "--q0"),
        (("run", "my_model.py:system", "--q0", "nan", "--t-end", "1"), 3, "must be finite"),
        (("run", "broken.py:system"), 3, "ZeroDivisionError"),
        (("run", "woodpecker", "--q0", "1"), 2, "bring their start"),
        (("run", "woodpecker", "--report", "x.txt"), 2, "must end in"),
        (("report", "nothing.h5"), 5, "no such file"),
        (("report", "my_model.py"), 5, ""),
    ],
)
def test_faults_have_their_exit_codes(arguments, code, word):
    shown = call(*arguments)
    assert shown.exit_code == code and word in text(shown) and "Traceback" not in text(shown)


def test_version_and_errors_for_programs():
    assert call("--version").stdout.startswith("nonsmooth ")
    shown = call("--json", "run", "no_such_problem")
    assert shown.exit_code == 2 and json.loads(shown.stdout)["error"] == "UsageError"
    assert {row["problem"] for row in json.loads(call("--json", "list").stdout)} >= {"woodpecker"}
