"""Reports in a real browser: they load, play, scrub and zoom, and ask for nothing."""

import time

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.results.result import Result

NAMES = ("woodpecker", "belt", "pendulum", "box", "filippov", "ivp", "world")
SCENES = ("woodpecker", "belt", "pendulum", "box", "world")
# the picture on the canvas
INK = "document.getElementById('scene').toDataURL()"


def box_of(browser, selector):
    """Left, top, width, height of an element on the page."""
    return browser.run(
        f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"
    )


@pytest.mark.parametrize("name", NAMES)
def test_loads_plays_and_scrubs_without_a_word_or_a_request(browser, pages, name):
    browser.open(pages[name])
    assert browser.run("document.createElement('canvas').getContext('webgl')") is None
    assert browser.run("document.querySelectorAll('.chart canvas').length") >= 2
    start = browser.run("nonsmoothReport.time")
    browser.run("document.getElementById('play').click()")
    end = time.monotonic() + 5
    while browser.run("nonsmoothReport.time") <= start and time.monotonic() < end:
        time.sleep(0.05)
    browser.run("document.getElementById('play').click()")
    paused = browser.run("nonsmoothReport.time")
    assert paused > start and not browser.run("nonsmoothReport.playing")
    browser.run(
        "(() => { const s = document.getElementById('scrub'); s.value = 5000; s.dispatchEvent(new Event('input')); })()"
    )
    span = browser.run("nonsmoothReport.span")
    assert browser.run("nonsmoothReport.time") == pytest.approx((span[0] + span[1]) / 2)
    browser.run("nonsmoothReport.seek(nonsmoothReport.span[0]); document.getElementById('next').click()")
    assert browser.run("nonsmoothReport.time") == browser.run("nonsmoothReport.events[0].t")
    assert browser.complaints() == [] and browser.requests() == []


@pytest.mark.parametrize("name", SCENES)
def test_scene_moves_zooms_pans_and_comes_back(browser, pages, name):
    browser.open(pages[name])
    first = browser.run(INK)
    browser.run("nonsmoothReport.seek(nonsmoothReport.span[0] + 0.3 * nonsmoothReport.length)")
    moved = browser.run(INK)
    assert moved != first
    left, top, width, height = box_of(browser, "#scene")
    x, y = left + width / 2, top + height / 2
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    time.sleep(0.1)
    zoomed = browser.run(INK)
    assert zoomed != moved
    browser.drag((x, y), (x + 60, y + 25))
    turned = browser.run(INK)
    assert turned != zoomed
    browser.drag((x, y), (x + 60, y + 25), button="right")
    assert browser.run(INK) != turned
    browser.run("document.getElementById('fit').click()")
    assert browser.run(INK) == moved
    assert browser.complaints() == []


def test_plots_zoom_together_and_a_click_sets_the_time(browser, pages):
    browser.open(pages["woodpecker"])
    x, y, w, h = box_of(browser, ".u-over")
    browser.drag((x + 0.2 * w, y + h / 2), (x + 0.4 * w, y + h / 2))
    browser.mouse("mousePressed", x + 0.5 * w, y + h / 2, button="left", clickCount=1)
    browser.mouse("mouseReleased", x + 0.5 * w, y + h / 2, button="left", clickCount=1)
    assert browser.run("nonsmoothReport.time") == pytest.approx(
        0.3 * 0.4, abs=0.004
    )  # the middle of what is shown now


def test_speed_and_forces_follow_their_controls(browser, pages):
    browser.open(pages["world"])
    browser.run("nonsmoothReport.seek(nonsmoothReport.span[1])")
    with_forces = browser.run(INK)
    browser.run("document.getElementById('forces').click()")
    assert browser.run(INK) != with_forces  # arrows at rest
    speeds = browser.run("Array.from(document.getElementById('speed').options).map(o => parseFloat(o.value))")
    assert len(speeds) >= 5
    far = []
    for value in (min(speeds), max(speeds)):
        browser.run("nonsmoothReport.seek(nonsmoothReport.span[0])")
        browser.run(
            f"Array.from(document.getElementById('speed').options).find(o => parseFloat(o.value) === {value}).selected = true"
        )
        browser.run("nonsmoothReport.play()")
        time.sleep(0.4)
        far.append(browser.run("nonsmoothReport.time - nonsmoothReport.span[0]"))
        browser.run("nonsmoothReport.pause()")
    assert far[1] > 3 * far[0] > 0
    assert browser.complaints() == []


def test_a_short_contact_is_seen_when_zoomed(browser, tmp_path):
    """A contact of 1e-3 s in a run of 20 s with 1e5 steps: the velocities between are in the page."""
    n = 100_001
    t = np.linspace(0.0, 20.0, n)
    u = np.where(t < 7.0, -1.0, np.where(t < 7.001, 0.0, 0.5))[None]
    events = [ns.Event(7.0, "close", "floor", 0, 1), ns.Event(7.001, "open", "floor", 1, 0)]
    Result(t, np.cumsum(u, axis=1) * 2e-4, u, events=events, dt=np.full(n, 2e-4)).report(
        tmp_path / "short.html"
    )
    browser.open(tmp_path / "short.html")
    script = """(() => { const d = JSON.parse(document.getElementById('run-data').textContent);
        const t = new Float64Array(Uint8Array.from(atob(d.t), c => c.charCodeAt(0)).buffer);
        return Array.from(t.filter(v => v > 7.0001 && v < 7.0009)); })()"""
    assert len(browser.run(script)) >= 1


PAYLOADS = (
    "<script>window.hit=1</script>", "</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>', "'><body onload=window.hit=1>", "javascript:window.hit=1", "<!--", "--><b>", "]]>",
    "</title><script>window.hit=1</script>", "</style><script>window.hit=1</script>",
    "</pre><iframe srcdoc='<script>parent.hit=1</script>'>",
    "&lt;script&gt;window.hit=1&lt;/script&gt;", "\\u003cscript>window.hit=1", "${window.hit=1}", "{{window.hit=1}}", "'-(window.hit=1)-'",
    '";window.hit=1;//', "\u2028window.hit=1", "<a href=javascript:window.hit=1>x</a>", "<form action=http://127.0.0.1:9/><input name=a>",
    "<link rel=stylesheet href=http://127.0.0.1:9/>", "<meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>", "<base href=http://127.0.0.1:9/>",
    "<object data=http://127.0.0.1:9/>",
)  # fmt: skip


LEFT = (
    "", "x", '"', "'", ">", "<", "\\", "`", "</", "]]>", "-->", "\n", "\t", "{", "%3C", "&", "a=", "/*", "*/", "//",
)  # fmt: skip


def test_five_hundred_payloads_do_nothing(browser, tmp_path):
    texts = [f"{left}{payload}{k}" for k, left in enumerate(LEFT) for payload in PAYLOADS]
    assert len(texts) == 500
    n = 3
    t = np.arange(n) * 0.1
    laws, coordinates = texts[:40], texts[40:52]
    run = Result(
        t, np.zeros((12, n)) + t, np.zeros((12, n)), modes=np.ones((40, n), np.int8), law_names=laws, coordinate_names=coordinates,
        params={text: text for text in texts}, method=texts[60], method_options={texts[61]: texts[62]}, problem_name=texts[63],
        message=texts[64], status=-1, dt=np.full(n, 0.1),
        events=[ns.Event(0.1, "impact", text, text, text) for text in texts],
    )  # fmt: skip
    run.report(tmp_path / "hostile.html", title=texts[65])
    browser.open(tmp_path / "hostile.html")
    browser.run("nonsmoothReport.play()")
    browser.run("document.querySelectorAll('button').forEach(b => b.click())")
    time.sleep(0.5)
    assert browser.run("window.hit === undefined")
    assert browser.run("document.querySelectorAll('iframe, img, svg, object, link, base, form').length") == 0
    assert browser.run("document.scripts.length") == 3
    assert browser.complaints() == [] and browser.requests() == []


def test_two_hundred_bodies_fit_into_a_small_page(browser, tmp_path):
    shapes = [
        ns.draw.Box(
            lambda q, k=k: (k % 15 + q[0], k // 15, q[1] * (1 + k % 3)), (0.8, 0.8, 0.8),
            rotation=lambda q, k=k: (np.cos(q[0] + k), np.sin(q[0] + k), 0, 0),
        )
        for k in range(200)
    ]  # fmt: skip
    system = ns.MechanicalSystem(
        np.eye(2), np.array([0.0, -9.81]), ns.Contact(lambda t, q: q[1]), draw=shapes
    )
    ns.simulate(system, (0, 1), [0.0, 2.0], [1.0, 0.0], dt=1e-3).report(tmp_path / "many.html", frames=300)
    assert (tmp_path / "many.html").stat().st_size <= 1.5e6
    browser.open(tmp_path / "many.html")
    assert browser.run("document.readyState") == "complete"
    assert browser.complaints() == []
