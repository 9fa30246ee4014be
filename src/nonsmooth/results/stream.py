"""Runs of any length with bounded memory: a directory of finished pieces.

A streamed run is a directory, by custom ``NAME.nsr``::

    run.nsr/head.h5           what is run: method, options, parameters, names, layout of the columns
    run.nsr/seg-00000000.h5   columns and events of the first piece, complete and never touched again
    run.nsr/seg-00000001.h5   ...
    run.nsr/tail.h5           status, counters, audit: written last, its absence means `unfinished`

Each file is written under another name, flushed to disk and renamed, so that at any moment, also after
`kill -9` or with a full disk, all finished pieces are readable. Memory in use is one piece and its image on
the way to the disk. The lock of the writer stands beside the directory and vanishes with the process.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from nonsmooth.errors import OutputExistsError, ResultFormatError, ShapeError, StorageError
from nonsmooth.results.container import MAX_BYTES, read_container, write_container
from nonsmooth.results.events import Event
from nonsmooth.results.files import claim_output, storage_error, sync_directory
from nonsmooth.results.plain import (
    ORIGIN,
    join_events,
    library_version,
    pack_closing,
    pack_events,
    to_plain,
    unpack_events,
)
from nonsmooth.results.result import Result

_HEAD, _TAIL = "head.h5", "tail.h5"
_TYPES: dict[str, type] = {"modes": np.int8, "order": np.int64, "iterations": np.int64}


def _segment(i: int) -> str:
    return f"seg-{i:08d}.h5"


class StreamWriter:
    """Writes a run piece by piece.

    Parameters
    ----------
    path : path-like
        Directory to be made, by custom ``NAME.nsr``.
    layout : Mapping of str to int or None
        Number of rows of every column field, None for a field that is one number per instant:
        ``{"t": None, "q": 3, "u": 3, "P_N": 1, "modes": 1, "dt": None}``. Types: int8 for ``modes``, int64
        for ``order`` and ``iterations``, float64 for all else.
    segment_bytes : int
        Size of a piece; memory in use is about twice this.
    overwrite : bool
        Whether a former streamed run of this name may be removed.
    **origin
        ``method``, ``method_options``, ``problem_name``, ``params``, ``law_names``, ``coordinate_names``.

    Raises
    ------
    OutputExistsError, OutputLockedError, StorageError
        Before anything is computed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        layout: Mapping[str, int | None],
        *,
        segment_bytes: int = 8 * 2**20,
        overwrite: bool = False,
        **origin: Any,
    ) -> None:
        self.path = Path(path)
        unknown = set(origin) - set(ORIGIN)
        if unknown:
            raise TypeError(f"unknown fields {sorted(unknown)}; a streamed run has {', '.join(ORIGIN)}")
        if "t" not in layout:
            raise ShapeError("`layout` of a streamed run has no entry 't'; add 't': None")
        self._layout = dict(layout)
        self._lock = claim_output(self.path, overwrite=overwrite)
        try:
            self._run = secrets.token_hex(8)
            head = {name: to_plain(origin[name]) for name in origin}
            head |= {"run": self._run, "layout": self._layout, "library": library_version()}
            self._make_directory(head)
        except BaseException:
            self._lock.release()
            raise
        bytes_per_column = sum(
            (rows or 1) * np.dtype(_TYPES.get(n, np.float64)).itemsize for n, rows in layout.items()
        )
        capacity = max(segment_bytes // max(bytes_per_column, 1), 1)
        self._buffer: dict[str, np.ndarray] = {
            name: np.zeros(capacity if rows is None else (rows, capacity), dtype=_TYPES.get(name, np.float64))
            for name, rows in layout.items()
        }
        self._capacity, self._filled = capacity, 0
        self._queue: list[dict[str, np.ndarray]] = []
        self._events: list[Sequence[Event]] = []
        self._seen_events = False
        #: Finished pieces and the instants in them.
        self.segments, self.stored = 0, 0
        self._closed = False

    def _make_directory(self, head: Mapping[str, Any]) -> None:
        """The directory appears with its head in it, by one rename."""
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        try:
            for leftover in self.path.parent.glob(f".{self.path.name}.*.tmp"):
                shutil.rmtree(leftover, ignore_errors=True)
            temporary.mkdir()
            try:
                write_container(temporary / _HEAD, "head", head, {})
                if self.path.exists():
                    self._remove_former()
                os.rename(temporary, self.path)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            sync_directory(self.path.parent)
        except StorageError:
            raise
        except OSError as error:
            raise storage_error(error, self.path, "make the directory of the run") from error

    def _remove_former(self) -> None:
        """Remove a former streamed run; anything else of that name is left alone."""
        names = sorted(entry.name for entry in self.path.iterdir()) if self.path.is_dir() else [""]
        ours = all(name in (_HEAD, _TAIL) or name.startswith((".", "seg-")) for name in names)
        if not ours or (names and _HEAD not in names):
            raise OutputExistsError(
                errno.EEXIST,
                "exists and is not a streamed run, so it is not removed; choose another name",
                str(self.path),
            )
        for name in names:
            (self.path / name).unlink()
        self.path.rmdir()

    def append(self, columns: Mapping[str, np.ndarray], events: Sequence[Event] = ()) -> None:
        """Add columns, all fields of the layout with the same number of instants, and the events among them.

        Raises
        ------
        StorageError
            A piece could not be written. Nothing is lost: the columns stay in memory, and the next `append`,
            `flush` or `finish` tries again.
        """
        self._check_open()
        self._queue.append(self._checked(columns))
        if len(events):
            self._events.append(events)
            self._seen_events = True
        self._drain()

    def _checked(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if set(columns) != set(self._layout):
            raise ShapeError(
                f"columns {sorted(columns)} do not fit the layout {sorted(self._layout)}; give the same"
            )
        n = np.asarray(columns["t"]).size
        checked = {}
        for name, rows in self._layout.items():
            array = np.asarray(columns[name])
            wanted = (n,) if rows is None else (rows, n)
            if array.shape != wanted:
                raise ShapeError(f"column field `{name}` has shape {array.shape}, wanted {wanted}.")
            checked[name] = array
        return checked

    def _drain(self) -> None:
        """Move waiting columns into the buffer; write a piece whenever it is full."""
        try:
            if self._filled == self._capacity:  # an earlier write failed
                self._write_segment()
            while self._queue:
                columns = self._queue[0]
                count = min(columns["t"].size, self._capacity - self._filled)
                for name, buffer in self._buffer.items():
                    buffer[..., self._filled : self._filled + count] = columns[name][..., :count]
                self._filled += count
                self._queue[0] = {name: array[..., count:] for name, array in columns.items()}
                if self._queue[0]["t"].size == 0:
                    self._queue.pop(0)
                if self._filled == self._capacity:
                    self._write_segment()
        except BaseException:
            # What waits may be a view of memory the caller will use again.
            self._queue = [{name: array.copy() for name, array in item.items()} for item in self._queue]
            raise

    def _write_segment(self) -> None:
        arrays = {name: buffer[..., : self._filled] for name, buffer in self._buffer.items()}
        meta, event_arrays = pack_events(join_events(self._events))
        info = {"run": self._run, "index": self.segments, "first": self.stored, "events": meta}
        write_container(self.path / _segment(self.segments), "segment", info, arrays | event_arrays)
        self.segments += 1
        self.stored += self._filled
        self._filled = 0
        self._events = []

    def columns(self) -> dict[str, np.ndarray]:
        """All columns of the run so far: pieces on the disk that can be read, and what was not written."""
        written = [StreamReader(self.path).read(k)[0] for k in range(self.segments)]
        waiting = [{name: buffer[..., : self._filled] for name, buffer in self._buffer.items()}, *self._queue]
        return {
            name: np.concatenate([part[name] for part in (*written, *waiting)], axis=-1)
            for name in self._layout
        }

    def flush(self) -> None:
        """Write what is in memory as a piece of its own, so that it survives whatever comes."""
        self._check_open()
        self._drain()
        if self._filled or self._events:
            self._write_segment()

    def finish(self, closing: Result | None = None, **fields: Any) -> None:
        """Write the remaining columns and the end of the run, and give the output free.

        Parameters
        ----------
        closing : Result, optional
            Source of status, message, counters, audit and extra fields; its columns are not written, its
            events only if none came with the columns.
        **fields
            The same, given one by one: ``status=0, message="", nsteps=..., events=..., audit=...``.
        """
        self._check_open()
        if closing is None:
            closing = Result(t=np.zeros(0), **fields)
        if not self._seen_events and len(closing.events):
            self._events.append(closing.events)
        self.flush()
        meta = pack_closing(closing) | {"run": self._run, "segments": self.segments, "stored": self.stored}
        write_container(self.path / _TAIL, "tail", meta, {})
        self.close()

    def close(self) -> None:
        """Give the output free without writing an end: the run stays `unfinished`. May be called twice."""
        if not self._closed:
            self._closed = True
            self._lock.release()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(
                errno.EBADF, "the streamed run is closed; make a new StreamWriter", str(self.path)
            )

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._closed:
                self.flush()
        finally:
            self.close()


class StreamReader:
    """Reads a streamed run piece by piece; iterating gives one dict of columns per piece.

    Parameters
    ----------
    path : path-like
        The directory.
    max_bytes : int
        Largest piece to read.
    salvage : bool
        Stop before the first missing or damaged piece instead of raising.

    Attributes
    ----------
    head : dict
        What was run.
    tail : dict or None
        Status, counters, audit; None for an unfinished run.
    segments : int
        Number of pieces.
    """

    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES, salvage: bool = False
    ) -> None:
        self.path, self.max_bytes, self.salvage = Path(path), max_bytes, salvage
        #: What was wrong, if `salvage` had to stop early.
        self.damage = ""
        if not (self.path / _HEAD).exists():
            raise ResultFormatError(
                f"{self.path}: no streamed run, {_HEAD} is missing; give the directory of a run"
            )
        self.head, _ = read_container(self.path / _HEAD, "head", max_bytes)
        layout = self.head.get("layout")
        rows = list(layout.values()) if isinstance(layout, dict) else [layout]
        if (
            not isinstance(layout, dict)
            or layout.get("t", 0) is not None
            or not all(n is None or (isinstance(n, int) and n >= 0) for n in rows)
        ):
            raise ResultFormatError(
                f"{self.path / _HEAD}: no layout of columns in it; the directory is no run"
            )
        self.tail: dict[str, Any] | None = None
        indices = sorted(int(p.name[4:-3]) for p in self.path.glob("seg-*.h5") if p.name[4:-3].isdigit())
        self.segments = len(indices)
        try:
            if (self.path / _TAIL).exists():
                self.tail, _ = read_container(self.path / _TAIL, "tail", max_bytes)
                self._check_member(_TAIL, self.tail)
            if indices != list(range(self.segments)) or (
                self.tail and self.tail["segments"] != self.segments
            ):
                lost = next((i for i, k in enumerate(indices) if i != k), self.segments)
                raise ResultFormatError(
                    f"{self.path}: piece {_segment(lost)} is missing; pass salvage=True to read up to it"
                )
        except ResultFormatError as error:
            if not salvage:
                raise
            self.damage, self.tail = str(error), None
            self.segments = next((i for i, k in enumerate(indices) if i != k), self.segments)

    @property
    def finished(self) -> bool:
        """Whether the writer came to its end."""
        return self.tail is not None

    def __len__(self) -> int:
        return self.segments

    def read(
        self, i: int, only: Collection[str] | None = None
    ) -> tuple[dict[str, np.ndarray], Sequence[Event]]:
        """Columns and events of piece i; with `only` these fields alone, and no events unless ``"events"`` is named."""
        name, layout = _segment(i), self.head["layout"]
        fields = [field for field in layout if only is None or field in only]
        events = only is None or "events" in only
        meta, arrays = read_container(self.path / name, "segment", self.max_bytes, None if events else fields)
        self._check_member(name, meta)
        missing = set(fields) - set(arrays)
        if meta.get("index") != i or missing:
            raise ResultFormatError(
                f"{self.path / name}: not piece {i} of this run (missing {sorted(missing)}); it was renamed"
            )
        try:
            return {f: arrays[f] for f in fields}, unpack_events(meta["events"], arrays) if events else []
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise ResultFormatError(
                f"{self.path / name}: the events are not consistent ({error!r}); use a copy"
            ) from error

    def first(self, i: int) -> int:
        """Number of instants before piece i."""
        return int(read_container(self.path / _segment(i), "segment", self.max_bytes, ())[0]["first"])

    def _check_member(self, name: str, meta: Mapping[str, Any]) -> None:
        if meta.get("run") != self.head.get("run"):
            raise ResultFormatError(f"{self.path / name}: belongs to another run; put the right file back")

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for columns, _ in self.pieces():
            yield columns

    def pieces(
        self, only: Collection[str] | None = None
    ) -> Iterator[tuple[dict[str, np.ndarray], Sequence[Event]]]:
        """Columns and events, piece by piece; `only` as in `read`."""
        for i in range(self.segments):
            try:
                piece = self.read(i, only)
            except ResultFormatError as error:
                if not self.salvage:
                    raise
                self.damage, self.segments, self.tail = str(error), i, None
                return
            yield piece


def open_stream(
    path: str | os.PathLike[str], max_bytes: int = MAX_BYTES, salvage: bool = False
) -> StreamReader:
    """Open a streamed run for reading piece by piece: ``for columns in open_stream(path): ...``."""
    return StreamReader(path, max_bytes=max_bytes, salvage=salvage)
