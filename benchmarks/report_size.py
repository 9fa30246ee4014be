"""Reports of long runs: CPU time, size of the page, peak memory of the process; how long a page with 200 bodies takes to be ready.

python benchmarks/report_size.py            # 1e6 steps in memory, then a stream of 2 GiB
python benchmarks/report_size.py 0.2        # a smaller stream, in GiB
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import nonsmooth as ns
from nonsmooth import Event, Result
from nonsmooth.results import StreamWriter

ROWS, PIECE = 12, 100_000


def measured(label, write, page):
    start = time.process_time()
    write()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{label}: {seconds:.2f} s CPU, page {page.stat().st_size / 1e6:.2f} MB, peak memory of the process {peak:.0f} MiB"
    )


def waves(t):
    return np.sin(np.outer(np.arange(1, ROWS + 1), t))


def stream(path, gigabytes):
    """A streamed run of about this size."""
    layout = {"t": None, "q": ROWS, "u": ROWS, "modes": 1, "dt": None}
    writer = StreamWriter(path, layout, law_names=["floor"], method="moreau")
    pieces = int(gigabytes * 2**30 / (PIECE * (2 * ROWS + 2) * 8))
    for k in range(pieces):
        t = (k * PIECE + np.arange(PIECE)) * 1e-4
        columns = {"q": waves(t), "u": waves(t + 1.0), "modes": (np.sin(t) > 0).astype(np.int8)[None]}
        writer.append({"t": t, **columns, "dt": np.full(PIECE, 1e-4)})
    writer.finish(status=0, message="reached the end", events=[], nsteps=pieces * PIECE)


def many_bodies(page):
    """200 bodies in 300 frames, opened in Chromium where there is one: the time the page itself says it took."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
    from chromium import PROGRAM, Browser

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
    run = ns.simulate(system, (0, 1), [0.0, 2.0], [1.0, 0.0], dt=1e-3)
    measured("200 bodies, 300 frames", lambda: run.report(page, frames=300, overwrite=True), page)
    if PROGRAM is None:
        print("no Chromium: the page was not opened")
        return
    with Browser() as browser:
        for _ in range(3):
            browser.open(page)
            ready = browser.run("performance.getEntriesByType('navigation')[0].domComplete")
            print(f"ready {ready / 1e3:.2f} s after it was asked for")


def main():
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        stream(Path(folder) / "run.nsr", gigabytes)
        long = Result.load(Path(folder) / "run.nsr", lazy=True)
        measured(f"stream of {gigabytes:g} GiB, {len(long)} instants", lambda: long.report(page), page)
        t = np.linspace(0.0, 100.0, 1_000_001)
        events = [Event(float(s), "impact", "floor") for s in np.arange(0.1, 100, 0.45)]
        run = Result(
            t, waves(t)[:3], np.sign(waves(t)[:3]), dt=np.full(t.size, 1e-4), events=events, method="moreau"
        )
        measured("1e6 steps in memory", lambda: run.report(page), page)
        start = time.process_time()
        run.plot().canvas.draw()
        print(f"plot of the same: {time.process_time() - start:.2f} s CPU")
        many_bodies(page)


if __name__ == "__main__":
    main()
