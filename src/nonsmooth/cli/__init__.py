"""Command line: ``nonsmooth list | run NAME | report FILE | bench | warmup | info | contact``, one module for each family of commands.

Exit codes: 0 good, 2 usage, 3 model or start state, 4 solver or integration (what was computed is kept),
5 storage, 130 interrupted, 143 terminated. A traceback is shown only with ``--debug``.

Heavy modules are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .contact import app as contact_app
from .frame import state
from .listing import list_problems
from .machine import bench, info, warmup
from .report import report_file
from .run import run

app = typer.Typer(
    name="nonsmooth",
    help="Simulate systems that impact, stick, slip and switch.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(list_problems)
app.command()(run)
app.command("report")(report_file)
for command in (bench, warmup, info):
    app.command()(command)
app.add_typer(contact_app, name="contact")


def _show_version(wanted: bool) -> None:
    if wanted:
        from nonsmooth import __version__

        typer.echo(f"nonsmooth {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Results as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Simulate systems that impact, stick, slip and switch."""
    state.update(debug=debug, json=json_, quiet=quiet)


def main() -> None:
    """Entry point of the ``nonsmooth`` command; --json, --quiet and --debug may stand anywhere."""
    given = sys.argv[1:]
    anywhere = [word for word in given if word in ("--json", "--quiet", "--debug")]
    sys.exit(app([*anywhere, *(word for word in given if word not in anywhere)]))
