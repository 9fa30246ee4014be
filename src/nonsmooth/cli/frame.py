"""What every command stands in: exit codes, errors in one line, output for people and for programs."""

from __future__ import annotations

import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

USAGE, MODEL, RUN, STORAGE, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143

state = {"debug": False, "terminated": False, "json": False, "quiet": False}


class UsageError(Exception):
    """A wrong option or argument."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn exceptions into exit codes with one line on standard error; `--debug` keeps the traceback."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        from nonsmooth.errors import InputError, IntegrationError, SolverError, StorageError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                command(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt as stop:
            fail("terminated." if state["terminated"] else "interrupted.", stop)
            raise typer.Exit(TERMINATED if state["terminated"] else INTERRUPTED) from stop
        except UsageError as error:
            fail(str(error), error)
            raise typer.Exit(USAGE) from error
        except InputError as error:
            fail(str(error), error)
            raise typer.Exit(MODEL) from error
        except (SolverError, IntegrationError) as error:
            fail(str(error), error)
            raise typer.Exit(RUN) from error
        except BrokenPipeError:
            # whoever reads has seen enough (`| head`): no error, and nothing more to write
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (StorageError, OSError) as error:
            fail(str(error), error)
            raise typer.Exit(STORAGE) from error

    return wrapper


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    if not state["quiet"]:
        typer.echo(f"warning: {message}", err=True)


def fail(message: str, error: BaseException) -> None:
    if state["debug"]:
        raise error
    typer.echo(f"nonsmooth: {message}", err=True)
    tell({"error": type(error).__name__, "message": message})


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM inside acts like Ctrl-C: the run stops at a step boundary and keeps what it has."""

    def stop(signum: int, frame: Any) -> None:
        state["terminated"] = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def say(text: str) -> None:
    """A line for people: not with --json or --quiet."""
    if not (state["json"] or state["quiet"]):
        typer.echo(text)


def tell(data: Any) -> None:
    """The same for programs: with --json only."""
    if state["json"]:
        import json

        from nonsmooth.results.report.encode import plain

        typer.echo(json.dumps(plain(data), allow_nan=False))


def table(rows: Sequence[Sequence[str]], header: bool = False) -> None:
    if not rows or state["json"] or state["quiet"]:
        return
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for number, row in enumerate(rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if header and number == 0:
            typer.echo("  ".join("-" * width for width in widths))


def text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def positive(option: str, value: float | None) -> None:
    if value is not None and not 0.0 < value < float("inf"):
        raise UsageError(f"{option} is {value}; it must be positive and finite.")
