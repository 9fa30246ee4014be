"""Where Numba keeps compiled kernels: a place that can be written.

Numba looks at ``NUMBA_CACHE_DIR``, then beside the source files, then in the user's cache directory, and gives up with an error
if it can write to none of them (an installation owned by someone else and a read-only home). Then a private directory (mode
0700) is made for this process and its children: everything works, but is compiled again the next time.
"""

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path


def _writable(path) -> bool:
    """Whether the directory can be written, or made."""
    path = Path(path).absolute()
    while not path.exists():
        if path == path.parent:
            return False
        path = path.parent
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def candidates() -> list[Path]:
    """The places Numba tries, in its order."""
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
    places = [Path(__file__).parent / "__pycache__", user / "numba"]
    return [Path(given), *places] if given else places


def ensure() -> None:
    """Give Numba a private directory where it could not write anywhere, with a warning."""
    places = candidates()
    if any(_writable(place) for place in places):
        return
    private = tempfile.mkdtemp(prefix="nonsmooth-")
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(private, ignore_errors=True))
    os.environ["NUMBA_CACHE_DIR"] = private
    numba = sys.modules.get("numba")
    if numba is not None:  # it has read its environment already
        numba.config.CACHE_DIR = private
    warnings.warn(
        "compiled functions cannot be kept: none of "
        + ", ".join(map(str, places))
        + " can be written. They are compiled "
        "again by every process; set NUMBA_CACHE_DIR to a directory of your own.",
        RuntimeWarning,
        stacklevel=2,
    )
