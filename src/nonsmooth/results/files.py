"""Files that are either complete or absent: temporary file, fsync, atomic rename, and a lock for one writer.

The bytes of a file are assembled in memory and written with plain system calls, so that a full disk is an
ordinary `OSError` here and never an error inside the HDF5 library (where it can end the process).
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from nonsmooth.errors import OutputExistsError, OutputLockedError, StorageError


def storage_error(error: OSError, path: Path, doing: str) -> StorageError:
    """`error` as a `StorageError` that says what failed, where, and what to do."""
    code = error.errno or errno.EIO
    cures = {
        errno.ENOSPC: "free some space or choose another directory",
        errno.EDQUOT: "the quota is used up: free some space or choose another directory",
        errno.EFBIG: "the file would exceed the size limit of this process or file system",
        errno.EACCES: "you have no permission to write there: choose another directory",
        errno.EPERM: "you have no permission to write there: choose another directory",
        errno.EROFS: "the file system is read-only: choose another directory",
        errno.ENOENT: "the directory does not exist: create it first",
        errno.ENOTDIR: "a part of the path is a file, not a directory",
        errno.ENAMETOOLONG: "the name is too long",
    }
    cure = cures.get(code, "check the disk")
    if doing.startswith("read"):
        if code == errno.ENOENT:
            cure = "there is no such file: check its name"
        elif code in (errno.EACCES, errno.EPERM):
            cure = "you have no permission to read it"
    return StorageError(code, f"cannot {doing}: {error.strerror or error}; {cure}", str(path))


def write_file(path: Path, pieces: Iterable[Any]) -> None:
    """Write `pieces` (bytes-like) to `path`, complete or not at all, and make it durable.

    Raises
    ------
    StorageError
        Nothing is left behind then, and a former file at `path` is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(temporary, flags, 0o666)
        try:
            try:
                for piece in pieces:
                    view = memoryview(piece).cast("B")
                    while view:
                        view = view[os.write(handle, view[: 1 << 24]) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise storage_error(error, path, "write the result") from error


def sync_directory(directory: Path) -> None:
    """Make renames in `directory` durable (where the system offers it)."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of `path` whose writer was killed; call only while holding its lock."""
    for leftover in path.parent.glob(f".{_escaped(path.name)}.*.tmp"):
        leftover.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


class WriterLock:
    """Exclusive right to write one output; the lock file stands beside it as ``.NAME.lock``.

    The lock belongs to the open file and vanishes with the process, also after `kill -9`; a left-over lock
    file alone locks nothing.

    Raises
    ------
    OutputLockedError
        Another writer has it.
    StorageError
        The directory cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.with_name(f".{path.name}.lock")
        self._handle: int | None = None
        while self._handle is None:
            try:
                handle = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise storage_error(error, path, "open the output") from error
            try:
                _lock(handle)
                # The former holder may have removed the file between our open and our lock: then try again.
                if _same_file(handle, self.file):
                    self._handle = handle
            except OSError:
                raise OutputLockedError(
                    errno.EAGAIN,
                    "another run is writing this output; wait for it or choose another name",
                    str(path),
                ) from None
            finally:
                if self._handle is None:
                    os.close(handle)

    def release(self) -> None:
        """Give the output free; may be called twice."""
        if self._handle is not None:
            self.file.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> WriterLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(handle: int) -> None:
    """Take the lock on an open file or raise `OSError` at once."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.sameopenfile(handle, handle) and os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def claim_output(path: str | os.PathLike[str], overwrite: bool = False) -> WriterLock:
    """Lock `path` for writing after making sure that it can be written; call it before the first step.

    Parameters
    ----------
    path : path-like
    overwrite : bool
        Whether an existing output may be replaced.

    Returns
    -------
    WriterLock
        To be released by the caller.

    Raises
    ------
    OutputExistsError
        `path` exists and `overwrite` is False.
    OutputLockedError
        Another run is writing it.
    StorageError
        The directory is missing, read-only or not permitted.
    """
    path = Path(path)
    if path.name in ("", "..") or "\0" in str(path):
        raise StorageError(errno.EINVAL, "this is not the name of a file; give one such as run.h5", str(path))
    lock = WriterLock(path)
    try:
        if path.exists() and not overwrite:
            raise OutputExistsError(
                errno.EEXIST,
                "the output exists already; choose another name or pass overwrite=True",
                str(path),
            )
        remove_leftovers(path)
    except BaseException:
        lock.release()
        raise
    return lock
