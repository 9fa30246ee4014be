"""uPlot 1.6.32 (MIT, Leon Sorokin), the only foreign program in a report; `vendor/SHA256SUMS` holds its checksums."""

from __future__ import annotations

from importlib.resources import files

UPLOT_VERSION = "1.6.32"


def _read(folder: str, name: str) -> str:
    return files(__package__).joinpath(folder).joinpath(name).read_text(encoding="utf-8")


def uplot() -> tuple[str, str]:
    """Program and style sheet of uPlot, its licence in front."""
    licence = "/*\n" + _read("vendor", "LICENSE").replace("*/", "* /") + "\n*/\n"
    return licence + _read("vendor", "uPlot.iife.min.js"), _read("vendor", "uPlot.min.css")


#: Parts of our own program in the order in which they are needed.
PROGRAM = ("decode.js", "scene2d.js", "scene3d.js", "player.js", "charts.js", "main.js")


def program() -> tuple[str, str]:
    """Our own program and style sheet."""
    parts = "\n".join(_read("program", name) for name in PROGRAM)
    return '(() => {\n"use strict";\n' + parts + "\n})();\n", _read("program", "page.css")
