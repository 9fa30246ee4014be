"""One line that says that kernels are being compiled, and about how long it will take.

It goes to the logger ``nonsmooth.compile`` as a warning, which Python shows on standard error unless the program has arranged
otherwise. A front door says what it is about to use (`first_use`); the line appears when the first kernel is really missing.
"""

import contextlib
import logging
from contextvars import ContextVar

logger = logging.getLogger("nonsmooth.compile")

#: CPU seconds to a first result when no kernel is there (`benchmarks/start_up.py`, source tree); schemes bring their own.
SECONDS = {
    "solve_ivp": 10,
    "solve_ivp with switches": 30,
    "solve_filippov": 50,
    "solve_contact": 10,
    "solve_lcp": 6,
}
# Small problems are solved in microseconds: these doors do not announce themselves, their kernels tell.
_BY_FOLDER = {"contact": "solve_contact", "lcp": "solve_lcp"}

_door: ContextVar[str | None] = ContextVar("door", default=None)
_told: set[str] = set()
#: (module, function) of every kernel that this process has compiled, in order.
log: list[tuple[str, str]] = []


@contextlib.contextmanager
def first_use(what, progress=None, seconds=None):
    """Inside, kernels are compiled for `what`, which takes about so many `seconds`; not a word if `progress` is False."""
    if seconds is not None:
        SECONDS.setdefault(what, seconds)
    token = _door.set("" if progress is False else what)
    try:
        yield
    finally:
        _door.reset(token)


def compiling(function):
    """Numba is about to compile `function` of the library."""
    log.append((function.__module__, function.__qualname__))
    what = _door.get()
    if what is None:
        folder = function.__module__.removeprefix("nonsmooth._core.").partition(".")[0]
        what = _BY_FOLDER.get(folder, "the core")
    if what and what not in _told:
        _told.add(what)
        about = f"about {SECONDS[what]} s" if what in SECONDS else "some seconds"
        logger.warning(
            "nonsmooth: compiling the kernels of %s, once, %s (`nonsmooth warmup` does it beforehand).",
            what,
            about,
        )
