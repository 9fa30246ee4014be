"""The report of a run as one HTML file: no request, no inline handler, scripts admitted by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from nonsmooth.names import check_shown
from nonsmooth.results.columns import Columns, kept_columns
from nonsmooth.results.report.encode import island, packed, text
from nonsmooth.results.report.panels import panels
from nonsmooth.results.report.scene import Scene, build_scene, checked
from nonsmooth.results.report.summary import sentences
from nonsmooth.results.report.tables import event_table, pairs, versions
from nonsmooth.results.report.vendored import program, uplot

GENERATOR = "nonsmooth report"
_FLASHES = 2000
_CHARTS = (
    '<section id="charts" aria-label="time plots">'
    '<p class="hint">Drag to zoom, double click to see all, click to set the time.</p></section>'
)


def report_page(
    result: Any,
    title: str | None = None,
    frames: int | None = None,
    scene_only: bool = False,
    draw: Sequence[Any] | None = None,
) -> str:
    """HTML text of the report (or of the animated scene alone)."""
    columns = kept_columns(result)
    model = getattr(result, "_model", None)
    scene = scene_of(result, columns, frames, draw)
    check_shown(title, "`title`")
    title = title or getattr(result, "problem_name", None) or "Run"
    data: dict[str, Any] = {
        "title": title,
        "span": [float(columns.t[0]), float(columns.t[-1])] if columns.t.size else [0.0, 0.0],
        "scene": None if scene is None else scene.as_dict(),
        "events": [[e.t, e.kind, e.name] for e in columns.events[:_FLASHES]],
    }
    if scene_only:
        return _page(title, data, _scene_html(scene, title), "scene-only")
    data["t"] = packed(columns.t, "f8")
    data["panels"] = panels(columns, result, model)
    return _page(title, data, _report_html(result, columns, scene, title), "report")


def scene_of(
    result: Any,
    columns: Columns | None = None,
    frames: int | None = None,
    draw: Sequence[Any] | None = None,
) -> Scene | None:
    """The scene of a run: the shapes in `draw` or those of its model; None if there are none."""
    model = getattr(result, "_model", None)
    shapes = (
        tuple(getattr(getattr(model, "system", None), "draw", ()) or ()) if draw is None else checked(draw)
    )
    if not shapes:
        return None
    params = getattr(model, "params", None) or getattr(result, "params", None)
    return build_scene(columns or kept_columns(result), shapes, params, getattr(model, "laws", None), frames)


# --- parts of the page ------------------------------------------------------------------------------------


def _report_html(result: Any, columns: Columns, scene: Scene | None, title: str) -> str:
    success = bool(getattr(result, "success", True))
    audit = getattr(result, "audit", None)
    good = success and (audit is None or bool(getattr(audit, "ok", True)))
    badge = "in order" if good else ("audit: look closer" if success else "no success")
    said = "".join(
        f"<dt>{text(topic)}</dt><dd>{text(words)}</dd>" for topic, words in sentences(result, columns)
    )
    method = getattr(result, "method", "")
    options = {**({"method": method} if method else {}), **(getattr(result, "method_options", {}) or {})}
    params = dict(getattr(result, "params", {}) or {})
    events = event_table(result, columns)
    return "".join(
        [
            f'<header><h1>{text(title)}</h1><span class="badge {"good" if good else "bad"}">{text(badge)}</span></header>',
            '<section class="summary"><dl>', said, "</dl></section>",
            '<div class="stage">',
            _scene_html(scene, None),
            _CHARTS,
            "</div>",
            f"<section><h2>Events</h2>{events}</section>" if events else "",
            f"<section><h2>Parameters</h2>{pairs(params, 'parameters')}</section>" if params else "",
            f"<section><h2>Method</h2>{pairs(options, 'method')}</section>" if options else "",
            "" if audit is None else f"<section><h2>Audit</h2><pre>{text(audit)}</pre></section>",
            f"<section><h2>Versions</h2>{pairs(versions(), 'versions')}</section>",
        ]
    )  # fmt: skip


def _scene_html(scene: Scene | None, title: str | None) -> str:
    head = "" if title is None else f"<header><h1>{text(title)}</h1></header>"
    if scene is None:
        view = '<div id="player" class="player no-scene">'
    else:
        hint = (
            "Drag to turn, right drag to move, wheel to zoom."
            if scene.dim == 3
            else "Drag to move, wheel to zoom."
        )
        view = (
            '<div id="player" class="player"><div class="view">'
            f'<canvas id="scene" tabindex="0" aria-label="moving scene"></canvas><p class="hint">{hint}</p></div>'
        )
    controls = (
        '<div class="controls"><button type="button" id="play" title="play or pause (space)">Play</button>'
        '<button type="button" id="previous" title="previous event">◀ event</button>'
        '<button type="button" id="next" title="next event">event ▶</button>'
        '<input id="scrub" type="range" min="0" max="10000" value="0" step="1" aria-label="time">'
        '<output id="clock"></output>'
        '<label>speed <select id="speed" aria-label="speed"></select></label>'
        + (
            ""
            if scene is None
            else '<label><input type="checkbox" id="forces" checked> forces</label>'
            '<button type="button" id="fit" title="whole scene">fit</button>'
        )
        + '<label><input type="checkbox" id="loop"> loop</label></div>'
    )
    return f"{head}{view}{controls}</div>"


def _page(title: str, data: dict[str, Any], body: str, kind: str) -> str:
    plots, plot_style = uplot()
    own, own_style = program()
    scripts = [own] if kind == "scene-only" else [plots, own]
    styles = [own_style] if kind == "scene-only" else [plot_style, own_style]
    policy = f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; base-uri 'none'; form-action 'none'"
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta name="generator" content="{GENERATOR}">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            *[f"<style>{style}</style>" for style in styles],
            f'</head><body class="{kind}"><main>{body}</main>',
            f'<script type="application/json" id="run-data">{island(data)}</script>',
            *[f"<script>{script}</script>" for script in scripts],
            "</body></html>\n",
        ]
    )


def _hashes(sources: list[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(s.encode("utf-8")).digest()).decode("ascii") for s in sources]
    return " ".join(f"'sha256-{digest}'" for digest in digests)
