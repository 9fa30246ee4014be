"""Results in a notebook: the report in a frame of its own, which can run nothing outside and ask for nothing."""

from __future__ import annotations

import html
from typing import Any

_HEIGHT = 640


def report_frame(result: Any) -> str:
    """The report of `result` as an iframe; a broken report must not hide the result itself."""
    from nonsmooth.results.report.page import report_page

    try:
        page = report_page(result)
    except Exception as error:  # a picture is no reason to lose a cell
        return f"<pre>{html.escape(repr(result))}\n(no report: {html.escape(str(error))})</pre>"
    return (
        f'<iframe sandbox="allow-scripts" title="report of the run" width="100%" height="{_HEIGHT}" frameborder="0" '
        f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
    )


class Shown:
    """Base of objects that a notebook shows as they print."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return text_block(self)


def system_table(system: Any) -> str:
    """A mechanical system: its laws by name, and its parameters."""
    rows = [
        (kind, _named(getattr(system, kind)))
        for kind in ("contacts", "friction", "elements", "joints", "nonholonomic")
    ]
    rows += [(f"parameter {name}", str(value)) for name, value in system.params.items()]
    return table(
        f"MechanicalSystem {system.name or ''}".strip(), [(name, value) for name, value in rows if value]
    )


def _named(items: Any) -> str:
    names = [
        item.name if isinstance(item.name, (str, type(None))) else ", ".join(map(str, item.name))
        for item in items
    ]
    return ", ".join(name or f"number {k}" for k, name in enumerate(names))


def table(title: str, rows: list[tuple[str, str]]) -> str:
    """Names and values under a title."""
    cell = '<t{0} style="text-align:left">{1}</t{0}>'
    body = "".join(
        f"<tr>{cell.format('h', html.escape(name))}{cell.format('d', html.escape(value))}</tr>"
        for name, value in rows
    )
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"


def text_block(value: Any) -> str:
    """The text of an object, as it prints."""
    return f"<pre>{html.escape(str(value))}</pre>"
