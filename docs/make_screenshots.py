"""Screenshots of reports in headless Chromium (``python docs/make_screenshots.py [NAME ...]``).

Writes docs/img/report_*.png: the runs of the browser tests, as a reader sees them after some time was set. Needs Chromium
(`make test-browser` installs it).
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path

from PIL import Image

import nonsmooth as ns

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "browser"))

from chromium import Browser  # noqa: E402 - beside the tests

from conftest import runs  # noqa: E402

#: Part of the run at which the scene is shown.
PLACES = {
    "woodpecker": 0.2,
    "belt": 0.3,
    "pendulum": 0.35,
    "box": 0.35,
    "filippov": 0.4,
    "ivp": 0.4,
    "world": 0.97,
}


def main(names):
    made = runs()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser, warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.errors.NonsmoothWarning)
        for name in names or made:
            page, shot = Path(folder) / f"{name}.html", Path(folder) / f"{name}.png"
            made[name]().report(page, title=name)
            browser.open(page)
            browser.run(
                f"nonsmoothReport.seek(nonsmoothReport.span[0] + {PLACES[name]} * nonsmoothReport.length)"
            )
            time.sleep(0.3)  # one frame of the canvas
            browser.screenshot(shot)
            faults = browser.complaints() + browser.requests()
            if faults:
                raise SystemExit(f"{name}: {faults}")
            target = DOCS / "img" / f"report_{name}.png"
            Image.open(shot).convert("RGB").quantize(128).save(target, optimize=True)
            print(target.name, target.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1:])
