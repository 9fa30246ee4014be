"""Where compiled kernels are kept for the user: a private place that can be written.

``NUMBA_CACHE_DIR`` if it is set, else the user's cache directory; in it a folder ``nonsmooth`` that belongs to the user and is open to
nobody else (mode 0700), because what lies there is executed. If neither can be had (an installation owned by someone else and a
read-only home), a private directory is made for this process and its children: everything works, but is compiled again the next time.
"""

import atexit
import os
import shutil
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path


def _writable(path) -> bool:
    """Whether the directory can be written, or made."""
    path = Path(path).absolute()
    while not path.exists():
        if path == path.parent:
            return False
        path = path.parent
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def private(path) -> bool:
    """Whether nobody else could have put files into the directory, or it does not exist yet."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if os.name != "posix":
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _made_private(path) -> bool:
    """Make the directory if it does not exist; whether it is there and private."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return private(path)


def candidates() -> list[Path]:
    """Folders for kernels, in the order in which they are tried."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        user = Path("~/Library/Caches")
    else:
        user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        user = user.expanduser()
    except RuntimeError:  # there is no home
        user = Path("/nonexistent")
    places = [Path(given), user] if given else [user]
    return [place / "nonsmooth" for place in places]


def ensure() -> Path:
    """The first candidate that can be used; where there is none, a directory for this process, with a warning."""
    for place in candidates():
        if _writable(place) and _made_private(place):
            return place
    return _temporary()


@cache
def _temporary() -> Path:
    """A directory that goes with the process."""
    places = candidates()
    temporary = tempfile.mkdtemp(prefix="nonsmooth-")
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(temporary, ignore_errors=True))
    os.environ["NUMBA_CACHE_DIR"] = temporary  # for its children
    warnings.warn(
        "compiled functions cannot be kept: none of "
        + ", ".join(map(str, places))
        + " can be written, or is open to nobody else. They are compiled "
        "again by every process; set NUMBA_CACHE_DIR to a directory of your own.",
        RuntimeWarning,
        stacklevel=3,
    )
    place = Path(temporary) / "nonsmooth"
    place.mkdir(mode=0o700)
    return place
