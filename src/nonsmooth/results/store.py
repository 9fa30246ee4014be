"""Saving and loading results: one HDF5 file, or the directory of a streamed run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonsmooth.errors import ResultFormatError
from nonsmooth.results.container import MAX_BYTES, read_container, write_container
from nonsmooth.results.events import Event
from nonsmooth.results.files import claim_output, storage_error
from nonsmooth.results.lazy import StreamedResult, closing_fields, joined
from nonsmooth.results.plain import (
    COLUMNS,
    join_events,
    pack_result,
    unpack_events,
    unpack_result,
)
from nonsmooth.results.result import Result
from nonsmooth.results.stream import StreamReader, StreamWriter, open_stream

__all__ = ["StreamReader", "StreamWriter", "claim_output", "load_result", "open_stream", "save_result"]

Content = tuple[dict[str, Any], dict[str, np.ndarray], Sequence[Event]]


def save_result(result: Result, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write `result` to one file: complete, durable, or not at all.

    Raises
    ------
    OutputExistsError, OutputLockedError, StorageError
    """
    path = Path(path)
    meta, arrays = pack_result(result)
    with claim_output(path, overwrite=overwrite):
        write_container(path, "result", meta, arrays)


def load_result(
    path: str | os.PathLike[str],
    max_bytes: int = MAX_BYTES,
    salvage: bool = False,
    untrusted: bool = False,
    lazy: bool = False,
) -> Result:
    """Read a file written by `save_result`, or the directory of a streamed run.

    Parameters
    ----------
    path : path-like
    max_bytes : int
        Largest content to read; its size is known before anything is read.
    salvage : bool
        For a streamed run with a missing or damaged piece: keep all before it, with status `unfinished`.
    untrusted : bool
        Read in a child process, so that a file made to break the HDF5 library breaks only that.
    lazy : bool
        For a streamed run: read each array when it is first used, and nothing now. `max_bytes` then holds for each
        array by itself.

    Raises
    ------
    ResultFormatError
    """
    path = Path(path)
    if untrusted:
        from nonsmooth.results.sandbox import read_in_child

        return unpack_result(*read_in_child(path, max_bytes, salvage))
    if lazy and path.is_dir():
        return StreamedResult(StreamReader(path, max_bytes=max_bytes, salvage=salvage))
    meta, arrays, events = read_content(path, max_bytes, salvage)
    return unpack_result(meta, arrays, events)


def read_content(path: Path, max_bytes: int, salvage: bool) -> Content:
    """JSON text, arrays and events of a file or directory."""
    try:
        directory = path.is_dir()
        path.stat()
    except OSError as error:
        raise storage_error(error, path, "read the result") from error
    if directory:
        return _read_stream(StreamReader(path, max_bytes=max_bytes, salvage=salvage), max_bytes)
    meta, arrays = read_container(path, "result", max_bytes)
    try:
        return meta, arrays, unpack_events(meta["events"], arrays)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ResultFormatError(f"{path}: the events are not consistent ({error!r}); use a copy") from error


def _read_stream(reader: StreamReader, max_bytes: int) -> Content:
    """All pieces of a streamed run put together."""
    layout: Mapping[str, int | None] = reader.head["layout"]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in layout}
    events: list[Sequence[Event]] = []
    for columns, some in reader.pieces():
        for name, array in columns.items():
            parts[name].append(array)
        events.append(some)
        reader.max_bytes -= sum(array.nbytes for array in columns.values())  # the limit is on the whole run
    try:
        arrays = {name: joined(parts.pop(name), rows) for name, rows in layout.items()}
        meta = closing_fields(reader, arrays["t"].size, arrays["t"][-1:])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultFormatError(
            f"{reader.path}: the pieces do not fit each other ({error}); use a copy"
        ) from error
    unknown = {name: arrays.pop(name) for name in list(arrays) if name not in (*COLUMNS, "y")}
    meta["extra"] = {**(meta.get("extra") or {}), **unknown}
    return meta, arrays, join_events(events)
