"""One file of the result format: a readable header, then an HDF5 image with plain arrays and one JSON text.

The first 512 bytes (HDF5 calls them the user block; every HDF5 tool skips them) are text::

    nonsmooth result
    format 1
    kind result
    bytes 80512
    blake2b 5d0c...

`bytes` is the size of the whole file and `blake2b` the digest of the header above it and of everything after
the header. Both are checked by plain reading before the HDF5 library sees a byte, so that a truncated or
damaged file is refused and cannot make that library fail. A file made on purpose can carry a right digest;
hence the second gate: only datasets at the root, hard links, contiguous storage without filters, plain
number types, and a size computed before anything is read. No pickle, ever.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nonsmooth.errors import ResultFormatError, StorageError
from nonsmooth.results.files import storage_error, write_file

FORMAT_VERSION = 1
#: Largest content read without being asked to, in bytes.
MAX_BYTES = 4 * 2**30

_MAGIC = b"nonsmooth result\n"
_HEADER = 512
_HDF5 = b"\x89HDF\r\n\x1a\n"
_META = "meta"
_MAX_META = 256 * 2**20
_TYPES = {np.dtype(code) for code in ("<f8", "<i8", "|i1", "|u1")}


def write_container(path: Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write one file, complete or not at all.

    Parameters
    ----------
    path : Path
    kind : str
        What the file is: ``result``, ``head``, ``segment``, ``tail``.
    meta : Mapping
        Fit for JSON.
    arrays : Mapping of str to ndarray
        float64, int64, int8 or uint8.
    """
    import h5py

    image = io.BytesIO()
    with h5py.File(image, "w", userblock_size=_HEADER) as file:
        text = json.dumps(meta, separators=(",", ":")).encode("ascii")
        file.create_dataset(_META, data=np.bytes_(text))
        for name, array in arrays.items():
            array = np.asarray(array)
            if array.dtype not in _TYPES:
                raise TypeError(f"array {name!r} has type {array.dtype}, which the format does not hold")
            file.create_dataset(name, data=array)
    body = image.getbuffer()[_HEADER:]
    head = _MAGIC + f"format {FORMAT_VERSION}\nkind {kind}\nbytes {_HEADER + len(body)}\n".encode("ascii")
    digest = hashlib.blake2b(head, digest_size=32)
    digest.update(body)
    head += f"blake2b {digest.hexdigest()}\n".encode("ascii")
    write_file(path, (head.ljust(_HEADER, b"\n"), body))


def read_container(
    path: Path, kind: str, max_bytes: int = MAX_BYTES, only: Collection[str] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read one file written by `write_container`.

    Parameters
    ----------
    path : Path
    kind : str
        What the file has to be.
    max_bytes : int
        Largest content to read.
    only : collection of str, optional
        Names of the arrays wanted; default: all.

    Returns
    -------
    meta : dict
    arrays : dict of str to ndarray

    Raises
    ------
    ResultFormatError
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise ResultFormatError(f"{path}: not a regular file; give the file written by `Result.save`")
        with open(path, "rb") as stream:
            _check_bytes(path, stream, kind, max_bytes)
            return _read_image(path, stream, max_bytes, only)
    except StorageError:
        raise
    except OSError as error:
        raise storage_error(error, path, "read the result") from error


def _check_bytes(path: Path, stream: Any, kind: str, max_bytes: int) -> None:
    """Header, version, size and digest, by plain reading."""
    size = os.fstat(stream.fileno()).st_size
    head = stream.read(_HEADER)
    if size == 0:
        raise ResultFormatError(f"{path}: the file is empty (0 bytes); the run that made it failed")
    if not head.startswith(_MAGIC):
        what = "an HDF5 file of another program" if head.startswith(_HDF5) else "no result file"
        raise ResultFormatError(f"{path}: {what}; it does not start with {_MAGIC.decode().strip()!r}")
    lines = head.split(b"\n")
    version = _version_of(lines)
    if version is not None and version > FORMAT_VERSION:
        raise ResultFormatError(
            f"{path}: format version {version}, this library reads up to version {FORMAT_VERSION};"
            " update nonsmooth"
        )
    try:
        fields = dict(line.decode("ascii").split(" ", 1) for line in lines[1:5])
        stated, found_kind, digest = int(fields["bytes"]), fields["kind"], fields["blake2b"]
    except (ValueError, KeyError):
        raise ResultFormatError(f"{path}: the header is damaged; use a copy of the file") from None
    if stated != size:
        missing = (
            f"{stated - size} of {stated} bytes are missing"
            if size < stated
            else f"{size - stated} bytes too many"
        )
        raise ResultFormatError(
            f"{path}: the file is not complete ({missing}); copy it again from its source"
        )
    if found_kind != kind:
        raise ResultFormatError(
            f"{path}: holds a {found_kind!r}, wanted a {kind!r}; give the file or directory of a run"
        )
    if size > max_bytes + _MAX_META:
        raise _too_large(path, size, max_bytes)
    check = hashlib.blake2b(b"\n".join(lines[:4]) + b"\n", digest_size=32)
    if head[len(b"\n".join(lines[:5])) :].strip(b"\n"):
        raise ResultFormatError(f"{path}: the header is damaged; use a copy of the file")
    while chunk := stream.read(1 << 20):
        check.update(chunk)
    if check.hexdigest() != digest:
        raise ResultFormatError(
            f"{path}: the content does not match its checksum, the file is damaged; use a copy"
        )


def _version_of(lines: list[bytes]) -> int | None:
    """Version in a header whose other lines are not understood (a future format may change them)."""
    if len(lines) > 1 and lines[1].startswith(b"format ") and lines[1][7:].isdigit() and len(lines[1]) < 20:
        return int(lines[1][7:])
    return None


def _read_image(
    path: Path, stream: Any, max_bytes: int, only: Collection[str] | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The HDF5 part: everything is inspected before anything is read."""
    import h5py

    try:
        with h5py.File(stream, "r") as file:
            sizes = {name: _inspect(path, h5py, file, name) for name in file}
            if _META not in sizes:
                raise ResultFormatError(f"{path}: the text {_META!r} is missing; the file is no result")
            if sizes[_META] > _MAX_META:
                raise _too_large(path, sizes[_META], _MAX_META)
            if sum(sizes.values()) > max_bytes:
                raise _too_large(path, sum(sizes.values()), max_bytes)
            meta = json.loads(bytes(file[_META][()]).decode("ascii"))
            if not isinstance(meta, dict):
                raise ResultFormatError(f"{path}: the text {_META!r} is no table; the file is no result")
            wanted = [name for name in file if name != _META and (only is None or name in only)]
            return meta, {name: file[name][()] for name in wanted}
    except ResultFormatError:
        raise
    except RecursionError:
        raise ResultFormatError(
            f"{path}: the text {_META!r} is nested too deeply; the file is no result"
        ) from None
    except (
        OSError,
        RuntimeError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        MemoryError,
        OverflowError,
    ) as error:
        raise ResultFormatError(
            f"{path}: the content cannot be read ({error}); use a copy of the file"
        ) from error


def _inspect(path: Path, h5py: Any, file: Any, name: str) -> int:
    """Size in bytes of one dataset after refusing everything that a result does not hold."""

    def refuse(what: str) -> ResultFormatError:
        return ResultFormatError(
            f"{path}: {name!r} is {what}; results hold plain arrays only, the file is refused"
        )

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise refuse("a soft or external link")
    if file.get(name, getclass=True) is not h5py.Dataset:
        raise refuse("not a dataset")
    dataset = file[name]
    plist = dataset.id.get_create_plist()
    if plist.get_layout() not in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT):
        raise refuse("a chunked or virtual dataset")
    if plist.get_external_count() or plist.get_nfilters():
        raise refuse("stored in another file or behind a filter")
    kind = dataset.id.get_type().get_class()
    if name == _META:
        if kind != h5py.h5t.STRING or dataset.id.get_type().is_variable_str() or dataset.shape != ():
            raise refuse("not a fixed text")
    elif kind not in (h5py.h5t.FLOAT, h5py.h5t.INTEGER) or dataset.dtype not in _TYPES:
        raise refuse(f"of type {dataset.dtype}")
    if dataset.shape is None or len(dataset.shape) > 8:
        raise refuse(f"of shape {dataset.shape}")
    size = int(dataset.dtype.itemsize)
    for length in dataset.shape:  # Python integers: no overflow
        size *= int(length)
    return size


def _too_large(path: Path, size: int, limit: int) -> ResultFormatError:
    return ResultFormatError(
        f"{path}: holds {size / 2**30:.3g} GiB, the limit is {limit / 2**30:.3g} GiB;"
        " pass a larger `max_bytes`, or read a streamed run piece by piece with `open_stream`"
    )
