"""Reports on disk: complete or absent, and never in place of something else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nonsmooth.errors import InputError, OutputExistsError
from nonsmooth.results.files import storage_error, write_file
from nonsmooth.results.report.page import report_page

#: How files that may be replaced without asking begin.
_OURS = {
    ".html": b"<!doctype html>",
    ".htm": b"<!doctype html>",
    ".gif": b"GIF8",
    ".mp4": b"",
    ".png": b"\x89PNG",
}


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    title: str | None = None,
    frames: int | None = None,
    draw: Sequence[Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write the report of a run as one HTML file that needs no network and no other file.

    Parameters
    ----------
    result : Result
    path : path-like
        Ends in ``.html``.
    title : str, optional
    frames : int, optional
        Frames of the moving scene; default: 300, and some at events.
    draw : sequence of shapes, optional
        Shapes of the scene instead of those of the model; their functions get the coordinates q, or y where a run has no q.
    overwrite : bool
        A former HTML page at `path` is replaced anyway, anything else only if this is True.

    Raises
    ------
    OutputExistsError, StorageError
    """
    target = checked_path(path, (".html", ".htm"), overwrite)
    check_frames(frames)
    write_file(target, [report_page(result, title, frames, draw=draw).encode("utf-8")])


def checked_path(path: str | os.PathLike[str], endings: tuple[str, ...], overwrite: bool) -> Path:
    """`path`, if it may be written; said before anything is computed."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in endings:
        raise InputError(f"`path` is {str(path)!r}: its name must end in {' or '.join(endings)}.")
    try:
        if target.is_dir():
            raise OutputExistsError(f"{target} is a folder: give the name of a file.")
        if target.exists() and not overwrite:
            with target.open("rb") as file:
                begin = file.read(16).lower() if ending in (".html", ".htm") else file.read(16)
            if begin and not begin.startswith(_OURS[ending]):
                raise OutputExistsError(
                    f"{target} exists and is not a {ending[1:]} file: it stays; choose another name or pass overwrite=True."
                )
    except OSError as error:
        if isinstance(error, OutputExistsError):
            raise
        raise storage_error(error, target, "write") from error
    return target


def check_frames(frames: int | None) -> None:
    """`frames` is a whole number between 2 and 10 000."""
    if frames is not None and not (isinstance(frames, int) and 2 <= frames <= 10_000):
        raise InputError(f"`frames` is {frames!r}: a whole number from 2 to 10000 is wanted.")
