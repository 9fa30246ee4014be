"""The report: what it says, what it refuses, how large it is; how it runs in a browser is in tests/browser."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nonsmooth as ns
from nonsmooth.errors import InputError, OutputExistsError, ShapeError, StorageError
from nonsmooth.results.columns import kept_columns
from nonsmooth.results.losses import losses_by_law
from nonsmooth.results.report import report_page, scene_of
from nonsmooth.results.report.encode import island, text
from nonsmooth.results.result import Result
from nonsmooth.results.stream import StreamWriter
from nonsmooth.results.thinning import extremes, jumps


class Elements(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.scripts, self.words, self._script = [], [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._script = dict(attrs) if tag in ("script", "style") else None

    def handle_data(self, data):
        (self.words if self._script is None else self.scripts).append(data)


def bouncing(n=400, **fields):
    """A ball that falls and is thrown up again, as any scheme would leave it."""
    t = np.linspace(0.0, 2.0, n)
    phase = np.mod(t, 1.0)
    q, u = (phase * (1 - phase))[None], (1 - 2 * phase)[None]
    P = np.zeros((1, n))
    k = int(np.searchsorted(t, 1.0))
    P[0, k] = 2.0
    modes = np.zeros((1, n), dtype=np.int8)
    modes[0, k] = 1
    events = [ns.Event(float(t[k]), "impact", "floor", 0, 1, law=0)]
    return Result(
        t,
        q,
        u,
        P,
        modes=modes,
        dt=np.append(0.0, np.diff(t)),
        events=events,
        law_names=["floor"],
        method="moreau",
        **fields,
    )


def data_of(page):
    return json.loads(re.search(r'id="run-data">(.*?)</script>', page, re.S).group(1))


def test_every_script_and_style_is_admitted_by_its_hash_and_nothing_else_is():
    page = report_page(bouncing())
    elements = Elements(page)
    policy = next(v for tag, name, v in elements.attributes if name == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    for found in re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", page, re.S):
        digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not [
        a for a in elements.attributes if a[1].startswith("on") or a[1] in ("src", "href", "style", "srcset")
    ]


def test_vendored_program_is_what_was_released():
    folder = files("nonsmooth.results.report").joinpath("vendor")
    for line in folder.joinpath("SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == digest


def test_summary_events_and_parameters_in_words():
    page = report_page(bouncing(params={"m": 0.25}, nsteps=399), title="thrown ball")
    words = " ".join(Elements(page).words)
    for phrase in (
        "thrown ball",
        "From t = 0 to t = 2 with moreau in 399 steps",
        "1 impact.",
        "constraint (closed",
        "0.25",
        "uPlot",
    ):
        assert phrase in words
    assert data_of(page)["events"][0][1:] == ["impact", "floor"]


def test_energy_is_told_law_by_law():
    """A block slides to rest (friction takes m u^2 / 2) and hits a wall first (the wall takes 1 - e^2 of it)."""
    wall = ns.Contact(lambda t, q: 1.0 - q[0], restitution=0.5, name="wall")
    system = ns.MechanicalSystem(
        2.0, 0.0, wall, ns.FrictionElement(lambda t, q: np.array([1.0]), 0.5, name="pad")
    )
    hit = 2.0**2 - 2 * 0.25 * 1.0  # square of the speed at the wall
    for settings_ in ({"rtol": 1e-8}, {"dt": 1e-4}):
        run = ns.simulate(system, (0, 5), [0.0], [2.0], **settings_)
        losses = dict(losses_by_law(run))
        assert losses["wall"] == pytest.approx(0.75 * hit, rel=2e-3)
        assert losses["pad"] == pytest.approx(4.0 - 0.75 * hit, rel=6e-3)
        assert re.search(r"By law: wall 2\.6\d, pad 1\.3\d\.", report_page(run))
    assert losses_by_law(ns.simulate(system, (0, 5), [0.0], [2.0], dt=1e-3, every=5)) == []


def hostile(name):
    run = bouncing(5, params={name: name}, problem_name=name, coordinate_names=[name])
    run.law_names, run.message, run.events = (name,), name, [ns.Event(0.5, "impact", name, name, None)]
    return run


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=60))
def test_no_text_becomes_markup(name):
    assert Elements(report_page(hostile(name))).tags == Elements(report_page(hostile("x"))).tags


@given(st.text())
def test_island_holds_any_text_and_cannot_be_left(value):
    packed = island({"x": value})
    assert not set("<>&\u2028\u2029") & set(packed)
    visible = "".join(c if c.isprintable() or c in "\n\t" else "" for c in value)
    if visible == value:
        assert json.loads(packed)["x"] == value
    assert not set('<>"') & set(text(value))


def test_thinned_columns_keep_extremes_jumps_and_events():
    n = 300_000
    rng = np.random.default_rng(1)
    t = np.arange(n) * 1e-3
    q = np.vstack([np.sin(0.05 * t), np.zeros(n)])
    q[1, 123_456] = 5.0
    u = np.where(t < 200.0005, 1.0, -1.0)[None] + 1e-3 * rng.standard_normal(n)
    run = Result(t, q, np.vstack([u, u]), dt=np.full(n, 1e-3), events=[ns.Event(77.7, "slip", "a")])
    columns = kept_columns(run)
    assert columns.t.size < 40_000 and columns.thinned
    assert columns.q[1].max() == 5.0
    at = np.flatnonzero(np.diff(columns.u[0]) < -1.5)
    assert at.size == 1 and columns.t[at[0] + 1] - columns.t[at[0]] < 2e-3
    assert np.count_nonzero(np.abs(columns.t - 77.7) < 2.5e-3) >= 4


def test_extremes_and_jumps_against_a_plain_search():
    rng = np.random.default_rng(3)
    values = rng.standard_normal((2, 1003))
    values[0, 10:40] = np.nan
    found = extremes(values, 10)
    for row in values:
        for begin in range(0, 1000, 100):
            piece = row[begin : begin + 100]
            assert begin + int(np.nanargmin(piece)) in found and begin + int(np.nanargmax(piece)) in found
    step = np.zeros(1000)
    step[437:] = 1.0
    assert {436, 437} <= set(jumps(step, 1))


def test_long_steps_are_filled_in_and_jumps_stay_jumps():
    t = np.array([0.0, 1.0, 1.0, 2.0])
    y = np.array([[0.0, 1.0, 5.0, 6.0]])
    columns = kept_columns(Result(t, y=y, order=[0, 4, 4, 4], dt=[0, 1, 0, 1]))
    assert columns.t.size > 300
    assert np.max(np.abs(np.diff(columns.y[0]))) == 4.0
    q = np.array([[0.0, 1.0]])
    columns = kept_columns(Result([0.0, 1.0], q, np.array([[0.0, 2.0]]), order=[0, 4], dt=[0, 1]))
    assert np.allclose(columns.q[0], columns.t**2, atol=1e-15) and np.allclose(
        columns.u[0], 2 * columns.t, atol=1e-14
    )


def test_solve_ivp_is_drawn_between_its_steps():
    """A throw in one step: the parabola is there although only its ends are stored."""
    switch = ns.Switch(
        lambda t, y: y[0], kind="unilateral", reset=lambda t, y: np.array([0.0, -y[1]]), name="floor"
    )
    run = ns.solve_ivp(lambda t, y: np.array([y[1], -2.0]), (0, 3), [1.0, 0.0], switches=[switch], rtol=1e-10)
    columns = kept_columns(run)
    inside = (columns.t > 1.0) & (columns.t < 3.0)
    assert np.count_nonzero(inside) >= 200
    s = columns.t[inside] - 1.0
    assert np.allclose(columns.y[0, inside], 2.0 * s - s**2, atol=1e-8)
    assert "impact" in report_page(run)


def test_a_report_replaces_a_report_and_nothing_else(tmp_path):
    run, page = bouncing(50), tmp_path / "run.html"
    run.report(page)
    first = page.read_bytes()
    run.report(page)
    assert page.read_bytes() == first  # the same run, the same bytes
    page.write_text("precious")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        run.report(page)
    assert page.read_text() == "precious"
    run.report(page, overwrite=True)
    with pytest.raises(InputError, match="must end in"):
        run.report(tmp_path / "run.txt")
    with pytest.raises(StorageError, match="does not exist"):
        run.report(tmp_path / "no" / "run.html")


@pytest.mark.parametrize("n", [0, 1, 2])
def test_shortest_runs_have_reports(n):
    t = np.arange(n) * 0.1
    assert "<!doctype html>" in report_page(Result(t, np.zeros((1, n)), np.zeros((1, n))))


def test_not_finite_values_are_gaps_not_errors():
    run = bouncing(50)
    run.q[0, 10:20] = np.nan
    run.u[0, 5] = np.inf
    data_of(report_page(run))


# --- scenes -----------------------------------------------------------------------------------------------


def thrown(draw, n_q=2, dt=1e-2):
    system = ns.MechanicalSystem(
        np.eye(n_q),
        np.array([0.0, -9.81] + [0.0] * (n_q - 2)),
        ns.Contact(lambda t, q: q[1], restitution=0.5, name="floor"),
        draw=draw,
    )
    return ns.simulate(system, (0, 1), [0.0, 0.5] + [0.0] * (n_q - 2), [1.0, 0.0] + [0.0] * (n_q - 2), dt=dt)


def test_scene_in_the_plane(tmp_path):
    draw = ns.draw
    shapes = [
        draw.Ground(at=(0, 0), normal=(0, 1)),
        draw.Circle(at=lambda q: q, radius=0.1, angle=lambda t, q: 3 * t, name="ball"),
        draw.Polygon([(0, 0), (1, 0), (0, 1)], at=lambda t, q, p: q),
        draw.Line(lambda q: [(0, 0), q]),
        draw.Spring(a=(0, 1), b=lambda q: q),
        draw.Trace(at=lambda q: q),
        draw.Force("floor", at=lambda q: q, normal=(0, 1)),
    ]
    scene = data_of(report_page(thrown(shapes)))["scene"]
    assert scene["dim"] == 2 and [i["kind"] for i in scene["items"]] == [
        "ground",
        "circle",
        "polygon",
        "line",
        "spring",
        "trace",
        "force",
    ]
    assert scene["low"][1] <= -0.1 and scene["high"][0] >= 1.1
    force = np.frombuffer(base64.b64decode(scene["items"][-1]["tracks"]["vector"]["f4"]), "<f4").reshape(
        -1, 2
    )
    assert force[:, 1].max() > 9.0 and np.all(force[:, 0] == 0)


def test_scene_in_space_and_its_refusals():
    draw = ns.draw
    at = lambda q: (q[0], 0.0, q[1])  # noqa: E731
    shapes = [
        draw.Box(at, (0.1, 0.2, 0.3), rotation=np.eye(3)),
        draw.Sphere(at, 0.1, rotation=(1, 0, 0, 0)),
        draw.Ground((0, 0, 0), (0, 0, 1)),
    ]
    scene = data_of(report_page(thrown(shapes)))["scene"]
    assert scene["dim"] == 3 and scene["items"][0]["tracks"]["rotation"]["fixed"] == [1.0, 0.0, 0.0, 0.0]
    with pytest.raises(ShapeError, match="mixes the plane"):
        report_page(thrown([draw.Circle(lambda q: q, 0.1), draw.Sphere(at, 0.1)]))
    with pytest.raises(ShapeError, match="different shapes"):
        report_page(thrown([draw.Line(lambda t, q: [(0, 0)] * (1 + int(10 * t)))]))
    with pytest.raises(InputError, match="takes 4 arguments"):
        report_page(thrown([draw.Circle(lambda a, b, c, d: 0, 0.1)]))
    with pytest.raises(InputError, match="Circle"):
        ns.MechanicalSystem([[1.0]], 0.0, draw=["ball"])
    with pytest.raises(ShapeError, match="two or three"):
        draw.Circle(at=(1.0,), radius=1.0)
    with pytest.raises(InputError, match="positive"):
        draw.Circle(at=(0, 0), radius=-1.0)


def test_two_hundred_bodies_fit():
    n, frames = 200, 300
    draw = ns.draw
    shapes = [
        draw.Box(
            lambda q, k=k: (q[0], q[1], k),
            (1, 1, 1),
            rotation=lambda q, k=k: (np.cos(q[0] + k), np.sin(q[0] + k), 0, 0),
        )
        for k in range(n)
    ]
    page = report_page(thrown(shapes), frames=frames)
    assert data_of(page)["scene"]["frames"] == 101  # no more than there are columns
    page = report_page(thrown(shapes, dt=1e-3), frames=frames)
    assert data_of(page)["scene"]["frames"] >= frames and len(page) <= 1.5e6


@pytest.mark.parametrize("name", ns.problems.names())
def test_every_problem_of_mechanics_has_a_scene(name):
    problem = ns.problems.get(name)
    run = Result(problem.t_span, np.tile(problem.q0[:, None], 2), np.tile(problem.u0[:, None], 2))
    from types import SimpleNamespace

    run._model = SimpleNamespace(
        system=problem.system,
        params=problem.system.params,
        laws=SimpleNamespace(n_N=0, name=[]),
        mass_matrix=lambda t, q: np.eye(q.size),
    )
    assert data_of(report_page(run))["scene"]["items"]


# --- long and streamed runs -------------------------------------------------------------------------------


def stream(path, pieces, columns=20_000):
    """A streamed run of `pieces` pieces."""
    writer = StreamWriter(
        path, {"t": None, "q": 6, "u": 6, "modes": 1, "dt": None}, law_names=["floor"], method="moreau"
    )
    for k in range(pieces):
        t = (k * columns + np.arange(columns)) * 1e-3
        wave = np.sin(np.outer(np.arange(1, 7), t))
        modes = (np.sin(t) > 0).astype(np.int8)[None]
        writer.append({"t": t, "q": wave, "u": wave, "modes": modes, "dt": np.full(columns, 1e-3)})
    writer.finish(
        status=0,
        message="reached the end",
        events=[ns.Event(3.0, "impact", "floor", 0, 1)],
        nsteps=pieces * columns,
    )


def test_streamed_run_is_read_piece_by_piece(tmp_path):
    stream(tmp_path / "run.nsr", 5)
    run = Result.load(tmp_path / "run.nsr", lazy=True)
    run.report(tmp_path / "run.html")
    assert not {"q", "u", "modes", "t"} & set(run.__dict__)  # no array was read as a whole
    words = " ".join(Elements((tmp_path / "run.html").read_text()).words)
    assert "Of 100,000 stored instants" in words and "1 impact." in words


@pytest.mark.soak
def test_two_gigabytes_are_reported_within_one(tmp_path):
    import resource

    stream(tmp_path / "run.nsr", 200, 100_000)
    Result.load(tmp_path / "run.nsr", lazy=True).report(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size <= 20e6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= 2**20  # KiB


def sparse_stream(path, gigabytes, rows=600, columns=10_000):
    """A streamed run of this size most of which is zeros, which the disk does not keep."""
    layout = {"t": None, "q": rows, "u": 1, "dt": None}
    writer = StreamWriter(path, layout, method="moreau", segment_bytes=2 * rows * columns * 8)
    pieces = int(gigabytes * 2**30 / (rows * columns * 8))
    q = np.zeros((rows, columns))
    for k in range(pieces):
        t = (k * columns + np.arange(columns)) * 1e-3
        q[0] = np.sin(t)
        writer.append({"t": t, "q": q, "u": np.cos(t)[None], "dt": np.full(columns, 1e-3)})
        for segment in sorted(path.glob("seg-*"))[-2:]:
            subprocess.run(["fallocate", "--dig-holes", segment], check=True)  # noqa: S603, S607 - fixed command
    writer.finish(status=0, message="reached the end", events=[], nsteps=pieces * columns)
    for segment in sorted(path.glob("seg-*"))[-3:]:
        subprocess.run(["fallocate", "--dig-holes", segment], check=True)  # noqa: S603, S607 - fixed command
    return [file.stat() for file in path.iterdir()]


@pytest.mark.soak
@pytest.mark.skipif(
    shutil.which("fallocate") is None, reason="holes in files are made by fallocate (util-linux)"
)
def test_fifty_gigabytes_are_reported_within_one(tmp_path):
    import resource

    files_ = sparse_stream(tmp_path / "run.nsr", 50)
    assert (
        sum(f.st_size for f in files_) >= 49 * 2**30 and sum(512 * f.st_blocks for f in files_) <= 2 * 2**30
    )
    Result.load(tmp_path / "run.nsr", lazy=True).report(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size <= 20e6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= 2**20  # KiB


def forces_of(run):
    """Sum of the contact forces of a scene at its last frame, and their names."""
    items = [item for item in scene_of(run).items if item["kind"] == "force"]
    return sum(item["tracks"]["vector"][-1] for item in items), [item["name"] for item in items]


def test_forces_of_a_world_at_rest_carry_its_weight():
    """A disk on a disk in the valley of a circle, and a box that slides on a plane in space."""
    world = ns.World(gravity=(0.0, -10.0))
    a, b = (
        world.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0.0, y), name=n))
        for y, n in ((-0.9, "a"), (-0.7, "b"))
    )
    world.contact(a, ns.Circle(1.0, inside=True))
    world.contact(b, a)
    total, names = forces_of(ns.simulate(world, (0, 0.05), dt=1e-3))
    assert names == ["a on circle 0", "a on b"]
    assert total == pytest.approx(
        [0.0, 10.0], abs=1e-9
    )  # on the lower disk: 20 from the valley, -10 from above
    world = ns.World(gravity=(0.0, 0.0, -10.0), material=ns.Material(friction=0.5))
    box = ns.Body(ns.Box(0.2, 0.3, 0.2), mass=1.5, position=(0, 0, 0.1), velocity=(1.0, 0.0, 0.0), name="box")
    world.add(box, ns.Plane(name="floor"))
    run = ns.simulate(world, (0, 0.05), dt=1e-3)
    total, names = forces_of(run)
    assert len(names) == 8 and total == pytest.approx([-7.5, 0.0, 15.0], abs=1e-6)  # it still slides
    corners = [i["tracks"]["at"][-1] for i in scene_of(run).items if i["kind"] == "force"]
    assert sorted({round(float(z), 2) for _, _, z in corners}) == [0.0, 0.2]
    assert "box.wx" in report_page(run) and "box.qw" in report_page(run)


def test_joints_of_a_world_are_marked():
    world = ns.World()
    rod = world.add(ns.Body(mass=1.0, inertia=0.1, position=(0.5, 0.0), name="rod"))
    world.add(ns.Revolute(world.ground, rod, at=(0.0, 0.0), name="pin"))
    mark = world.draw[-1]
    assert mark.name == "pin" and np.allclose(mark.at(np.array([0.0, -0.5, -np.pi / 2])), 0.0)
