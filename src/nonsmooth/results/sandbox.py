"""Reading a file of unknown origin in a child process.

A file made on purpose can break the HDF5 library itself. Here a child process reads it, under limits on
memory and time, and sends back plain bytes: the length of a JSON text, the text (with names, types and
shapes of the arrays), and the arrays one after the other. Whatever happens to the child, the parent gets
data or a `ResultFormatError`.
"""

from __future__ import annotations

import json
import os
import subprocess  # fixed arguments, no shell
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nonsmooth.errors import ResultFormatError, StorageError

_TYPES = ("<f8", "<i8", "|i1", "|u1")
_TIMEOUT = 600.0


def read_in_child(path: Path, max_bytes: int, salvage: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """JSON text and arrays of a result, read by a child process.

    Raises
    ------
    ResultFormatError
        The file is refused, or the child died of it.
    """
    package = str(Path(__file__).resolve().parents[2])
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "nonsmooth.results.sandbox", os.fspath(path.absolute())]
    command += [str(max_bytes), str(int(salvage))]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module, arguments are not parsed by a shell
            command, env=environment, capture_output=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise ResultFormatError(
            f"{path}: reading took longer than {_TIMEOUT:.0f} s; the file is refused"
        ) from None
    if done.returncode == 3:
        raise ResultFormatError(done.stdout.decode("utf-8", "replace"))
    if done.returncode != 0:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise ResultFormatError(f"{path}: the reader process failed ({how}); the file is damaged or hostile")
    return _decode(path, memoryview(done.stdout), max_bytes)


def _decode(path: Path, data: memoryview, max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        at = 8 + int.from_bytes(data[:8], "little")
        text = json.loads(bytes(data[8:at]).decode("ascii"))
        arrays = {}
        for name, code, shape in text["arrays"]:
            if code not in _TYPES or any(not isinstance(n, int) or n < 0 for n in shape):
                raise ValueError(f"array {name!r} of type {code} and shape {shape}")
            size = np.dtype(code).itemsize
            for n in shape:
                size *= n
            if size > len(data) - at or size > max_bytes:
                raise ValueError(f"array {name!r} is cut off")
            arrays[name] = np.frombuffer(data[at : at + size], dtype=code).reshape(shape).copy()
            at += size
        return text["meta"], arrays
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultFormatError(
            f"{path}: the reader process sent no result ({error}); the file is refused"
        ) from error


def _send(stream: BinaryIO, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    order = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps({"meta": meta, "arrays": order}).encode("ascii")
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for array in arrays.values():
        stream.write(np.ascontiguousarray(array).tobytes())


def _child(path: Path, max_bytes: int, salvage: bool) -> int:
    from nonsmooth.results.plain import pack_events, to_plain
    from nonsmooth.results.store import read_content

    try:
        import resource
    except ImportError:  # pragma: no cover - not available on Windows
        pass
    else:
        limit = 4 * max_bytes + 4 * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        meta, arrays, events = read_content(path, max_bytes, salvage)
    except StorageError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
        return 3
    meta["extra"] = to_plain(meta.get("extra") or {})
    meta["events"], event_arrays = pack_events(events)
    _send(
        sys.stdout.buffer, meta, {k: v for k, v in arrays.items() if not k.startswith("ev_")} | event_arrays
    )
    return 0


if __name__ == "__main__":
    sys.exit(_child(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"))
