"""Headless Chromium driven through the devtools protocol over a pipe: no port, no websocket, no other package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = next((p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p)), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-webgl", "--disable-3d-apis", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip

# The protocol speaks on descriptors 3 and 4: a process in between puts the pipes there and becomes the browser.
HAND_OVER = (
    "import fcntl, os, sys; "
    "read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]); "
    "os.dup2(read, 3); os.dup2(write, 4); os.execvp(sys.argv[3], sys.argv[3:])"
)


class Browser:
    """One Chromium with a fresh profile and one page."""

    def __init__(self, width: int = 1280, height: int = 900):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()

        command = [
            *(sys.executable, "-c", HAND_OVER, str(to_child), str(from_child)),
            PROGRAM,
            *FLAGS,
            f"--user-data-dir={self._profile.name}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._number, self._rest, self.events = 0, b"", []
        target = self._send(
            "Target.createTarget", {"url": "about:blank", "newWindow": True, "width": width, "height": height}
        )["targetId"]
        self._session = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    # --- protocol -----------------------------------------------------------------------------------------

    def call(self, method, **params):
        return self._send(method, params, self._session)

    def _send(self, method, params=None, session=None):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(60)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self, seconds):
        """The next message; events are kept."""
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium has ended")
            self._rest += chunk
        first, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(first)
        if "method" in message:
            self.events.append(message)
        return message

    # --- page ---------------------------------------------------------------------------------------------

    def open(self, path: Path, wait: float = 20.0):
        """Load a file and wait until its program says that it is ready; seconds this took."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while time.monotonic() - start < wait:
            if self.run(
                "document.readyState === 'complete' && document.body && document.body.dataset.ready === 'yes'"
            ):
                return time.monotonic() - start
            time.sleep(0.02)
        raise TimeoutError(f"{path} is not ready after {wait} s: {self.complaints()}")

    def run(self, script):
        """Value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", str(answer)))
        return answer["result"].get("value")

    def complaints(self):
        """Console errors and warnings, exceptions, refused loads."""
        self.run("0")
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
                "assert",
            ):
                found.append(str(params["args"]))
        return found

    def requests(self):
        """Everything the page asked for beside itself."""
        self.run("0")
        asked = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return asked[1:]

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, a, b, button="left"):
        self.mouse("mousePressed", *a, button=button, clickCount=1, buttons=1 if button == "left" else 2)
        for k in range(1, 5):
            x, y = (a[i] + (b[i] - a[i]) * k / 4 for i in (0, 1))
            self.mouse("mouseMoved", x, y, button=button, buttons=1 if button == "left" else 2)
        self.mouse("mouseReleased", *b, button=button, clickCount=1)

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self._send("Browser.close")
        except (RuntimeError, TimeoutError, OSError):
            self._process.kill()
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
