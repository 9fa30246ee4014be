"""One line that says that kernels are being compiled, and about how long it will take.

It goes to the logger ``nonsmooth.compile`` as a warning, which Python shows on standard error unless the program has arranged
otherwise. A front door says what it is about to use (`first_use`); the line appears when the first kernel is really missing.
"""

import contextlib
import logging
from contextvars import ContextVar

logger = logging.getLogger("nonsmooth.compile")

_door: ContextVar[tuple[str, float] | None] = ContextVar("door", default=None)
_told: set[str] = set()
#: (module, function) of every kernel that was compiled by this process, in order.
log: list[tuple[str, str]] = []


@contextlib.contextmanager
def first_use(what, seconds, quiet=False):
    """Inside, kernels are compiled for `what`, in about `seconds` if none is there; not a word if `quiet`."""
    token = _door.set(("", 0.0) if quiet else (what, seconds))
    try:
        yield
    finally:
        _door.reset(token)


def compiling(function):
    """Numba is about to compile `function` of the library."""
    log.append((function.__module__, function.__qualname__))
    what, seconds = _door.get() or ("parts of the core", 10.0)
    if what and what not in _told:
        _told.add(what)
        logger.warning(
            "nonsmooth: compiling %s, once: up to %.0f s. `nonsmooth warmup` does it beforehand for everything.",
            what,
            seconds,
        )
