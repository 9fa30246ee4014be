"""Animations as files, and results in a notebook."""

import re
import shutil
from html import unescape

import numpy as np
import pytest
from PIL import Image
from test_report import bouncing, data_of

import nonsmooth as ns
from nonsmooth.errors import InputError, OutputExistsError


@pytest.fixture(scope="module")
def run():
    draw = ns.draw
    at = lambda q: (q[0], q[1])  # noqa: E731
    shapes = [
        draw.Ground((0, 0), (0, 1)), draw.Circle(at, 0.1, angle=lambda t, q: t), draw.Polygon([(0, 0), (0.1, 0), (0, 0.1)], at),
        draw.Line(lambda q: [(0, 0), (q[0], q[1])]), draw.Spring((0, 1), at), draw.Trace(at), draw.Force("floor", at, (0, 1)),
    ]  # fmt: skip
    system = ns.MechanicalSystem(
        np.eye(2), [0.0, -9.81], ns.Contact(lambda t, q: q[1], restitution=0.5, name="floor"), draw=shapes
    )
    return ns.simulate(system, (0, 1), [0.0, 0.5], [1.0, 0.0], dt=1e-2)


def test_gif_moves(run, tmp_path):
    run.animate(tmp_path / "run.gif", seconds=0.4, fps=10, size=(120, 90))
    with Image.open(tmp_path / "run.gif") as picture:
        assert picture.size == (120, 90) and picture.n_frames == 4
        first = np.asarray(picture.convert("RGB"))
        picture.seek(3)
        assert np.any(np.asarray(picture.convert("RGB")) != first)


def test_scene_in_space_is_painted(tmp_path):
    at = lambda q: (q[0], 0.0, q[1])  # noqa: E731
    shapes = [
        ns.draw.Ground((0, 0, 0), (0, 0, 1)),
        ns.draw.Box(at, (0.2, 0.2, 0.2), rotation=lambda t, q: (np.cos(t), np.sin(t), 0, 0)),
    ]
    shapes += [ns.draw.Sphere(at, 0.3), ns.draw.Line(lambda q: [(0, 0, 0), at(q)]), ns.draw.Trace(at)]
    system = ns.MechanicalSystem(np.eye(2), [0.0, -9.81], draw=shapes)
    result = ns.simulate(system, (0, 1), [0.0, 0.5], [1.0, 0.0], dt=1e-2)
    result.animate(tmp_path / "run.gif", seconds=0.2, fps=10, size=(120, 90))
    with Image.open(tmp_path / "run.gif") as picture:
        assert len(picture.convert("RGB").getcolors(10_000)) > 5


def test_page_of_the_scene_alone(run, tmp_path):
    run.animate(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert data_of(page)["scene"]["dim"] == 2 and len(page) < 100_000 and "leeoniya" not in page


def test_film_needs_ffmpeg(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="ffmpeg"):
        run.animate(tmp_path / "run.mp4")


def test_any_door_has_a_scene_by_shapes_given_to_the_page(tmp_path):
    fall = ns.solve_ivp(lambda t, y: np.array([y[1], -2.0]), (0, 1), [1.0, 0.0], rtol=1e-8)
    shapes = [ns.draw.Ground((0, 0), (0, 1)), ns.draw.Circle(lambda y: (0.0, y[0]), 0.1)]
    fall.report(tmp_path / "run.html", draw=shapes)
    fall.animate(tmp_path / "run.gif", draw=shapes[1], seconds=0.2, fps=10, size=(64, 48))
    scene = data_of((tmp_path / "run.html").read_text())["scene"]
    assert (
        scene["dim"] == 2
        and scene["high"][1] == pytest.approx(1.1)
        and scene["low"][1] == pytest.approx(-0.1)
    )
    with pytest.raises(InputError, match=r"`draw`\[1\] is of class int"):
        fall.report(tmp_path / "new.html", draw=[shapes[1], 3])


def test_refusals(run, tmp_path):
    with pytest.raises(InputError, match="draw="):
        bouncing().animate(tmp_path / "run.gif")
    with pytest.raises(InputError, match="must end in"):
        run.animate(tmp_path / "run.avi")
    (tmp_path / "run.gif").write_text("mine")
    with pytest.raises(OutputExistsError):
        run.animate(tmp_path / "run.gif")
    for wrong in ({"seconds": 0}, {"fps": 0}, {"size": (1, 1)}, {"frames": 1}):
        with pytest.raises(InputError):
            run.animate(tmp_path / "new.html", **wrong)


def test_results_and_systems_in_a_notebook(run):
    frame = run._repr_html_()
    assert re.match(r'<iframe sandbox="allow-scripts" ', frame) and frame.count("<") == 2
    page = unescape(re.search(r'srcdoc="(.*)"></iframe>', frame, re.S).group(1))
    assert data_of(page)["scene"] is not None
    system = ns.MechanicalSystem(
        [[1.0]], 0.0, ns.Contact(lambda t, q: q[0], name="<b>floor"), params={"m": 2.0}
    )
    assert "&lt;b&gt;floor" in system._repr_html_() and "parameter m" in system._repr_html_()
    world = ns.World(name="yard")
    world.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 1), name="<i>ball"), ns.HalfPlane(name="floor"))
    assert "<td" in world._repr_html_() and "&lt;i&gt;ball on floor" in world._repr_html_()
    assert repr(world) == "<World yard (plane): 1 bodies, 0 structures, 0 elements, 1 surfaces>"
    relay = ns.FilippovSystem(None, [ns.sign_term(1.0, [1.0], [1.0], name="relay")], names=["x"])
    problem = ns.ContactProblem(np.eye(3), [-1.0, 0.2, 0.0], mu=0.5, dim=3)
    lcp = ns.solve_lcp([[2.0]], [-1.0])
    for shown, word in (
        (relay, "relay"), (problem, "1 contacts"), (ns.solve_contact(problem), "residual"), (lcp, "0.5"), (run.audit, "worst gap"),
        (ns.diagnose(world), "degrees of freedom"), (run.profile(), "steps"),
    ):  # fmt: skip
        assert word in shown._repr_html_() and re.match("<(table|pre)>", shown._repr_html_())
    broken = bouncing()
    broken.params = 5
    assert "no report" in broken._repr_html_()
