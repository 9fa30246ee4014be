"""A streamed run as a result whose arrays are read from disk when they are first used."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.errors import ResultFormatError
from nonsmooth.results.audit import Audit
from nonsmooth.results.plain import COLUMNS, ORIGIN, SCALARS, from_plain, join_events
from nonsmooth.results.result import UNFINISHED, Result
from nonsmooth.results.stream import StreamReader


class StreamedResult(Result):
    """Result of a streamed run; ``t, q, u, y, ...`` and ``events`` are read at first use and kept.

    Parameters
    ----------
    reader : StreamReader
    """

    def __init__(self, reader: StreamReader) -> None:
        # Not super().__init__: that would ask for the arrays.
        self._reader = reader
        self.extra = {}
        n, last = _extent(reader)
        self._n = n
        try:
            meta = closing_fields(reader, n, last)
            for name in (*SCALARS, *ORIGIN):
                setattr(self, name, from_plain(meta.get(name)))
            self.method = self.method or ""
            self.method_options, self.params = dict(self.method_options or {}), dict(self.params or {})
            layout = reader.head["layout"]
            self.law_names = tuple(meta["law_names"]) or _numbered("law", layout.get("modes"))
            first = "q" if layout.get("q") else "y"
            self.coordinate_names = tuple(meta["coordinate_names"]) or _numbered(first, layout.get(first))
            audit = meta.get("audit")
            self.audit = None if audit is None else Audit.from_dict(from_plain(audit))
            self.extra = from_plain(meta.get("extra") or {})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultFormatError(f"{reader.path}: not a consistent run ({error!r}); use a copy") from error

    def __len__(self) -> int:
        return self._n

    def keys(self) -> list[str]:
        """Names of all fields, also those not read yet."""
        return list(dict.fromkeys([*COLUMNS, "y", "events", *super().keys()]))

    def __getattr__(self, name: str) -> Any:
        reader = self.__dict__.get("_reader")
        if reader is None or name.startswith("_"):
            raise AttributeError(name)
        if name == "y" and "y" not in reader.head["layout"]:
            self.y = np.vstack([self.q, self.u])
        elif name == "events":
            self.events = join_events([events for _, events in reader.pieces(only=("events",))])
        elif name in reader.head["layout"]:
            setattr(self, name, self._read(reader, name))
        elif name in COLUMNS:
            empty = Result(t=np.zeros(self._n))
            setattr(self, name, getattr(empty, name))
        else:
            return super().__getattr__(name)
        return self.__dict__[name]

    def _read(self, reader: StreamReader, name: str) -> np.ndarray:
        """One field of all pieces; in memory at any time: this field and one piece."""
        rows = reader.head["layout"][name]
        array: np.ndarray | None = None
        at = 0
        for columns, _ in reader.pieces(only=(name,)):
            piece = columns[name]
            if array is None:
                size = (1 if rows is None else rows) * self._n * piece.dtype.itemsize
                if size > reader.max_bytes:
                    raise ResultFormatError(
                        f"{reader.path}: `{name}` holds {size / 2**30:.3g} GiB, the limit is"
                        f" {reader.max_bytes / 2**30:.3g} GiB; pass a larger `max_bytes` or use `open_stream`"
                    )
                array = np.empty(self._n if rows is None else (rows, self._n), dtype=piece.dtype)
            end = at + piece.shape[-1]
            if piece.shape[:-1] != array.shape[:-1] or end > self._n:
                raise ResultFormatError(
                    f"{reader.path}: the pieces of `{name}` do not fit each other; use a copy"
                )
            array[..., at:end] = piece
            at = end
        return joined([], rows) if array is None else array[..., :at]


def _extent(reader: StreamReader) -> tuple[int, np.ndarray]:
    """Number of instants and the last one; reads only the last piece."""
    if reader.salvage:  # the pieces have to be looked at to know which are intact
        sizes = [(columns["t"].size, columns["t"][-1:]) for columns, _ in reader.pieces(only=("t",))]
        return sum(n for n, _ in sizes), sizes[-1][1] if sizes else np.zeros(0)
    if reader.segments == 0:
        return 0, np.zeros(0)
    first = reader.first(reader.segments - 1)
    t = reader.read(reader.segments - 1, only=("t",))[0]["t"]
    return first + t.size, t[-1:]


def _numbered(prefix: str, n: int | None) -> tuple[str, ...]:
    return tuple(f"{prefix}[{i}]" for i in range(n or 0))


def closing_fields(reader: StreamReader, n: int, last: np.ndarray) -> dict[str, Any]:
    """What is known of a streamed run beside its columns; an unfinished one says so."""
    meta: dict[str, Any] = {name: reader.head.get(name) for name in ORIGIN}
    meta["law_names"], meta["coordinate_names"] = meta["law_names"] or [], meta["coordinate_names"] or []
    if reader.tail is not None:
        return meta | {name: reader.tail[name] for name in (*SCALARS, "audit", "extra")}
    meta |= dict.fromkeys(SCALARS, 0) | {"status": UNFINISHED, "success": False}
    reached = f"up to t = {last[0]:.9g}" if last.size else "none"
    meta["message"] = f"unfinished: the writer did not come to its end; {n} instants recovered, {reached}"
    if reader.damage:
        meta["message"] += f" ({reader.damage})"
    meta["nsteps"] = max(n - 1, 0)
    return meta


def joined(pieces: list[np.ndarray], rows: int | None) -> np.ndarray:
    """Pieces of one field behind each other."""
    if not pieces:
        return np.zeros(0 if rows is None else (rows, 0))
    return np.concatenate(pieces, axis=-1)
