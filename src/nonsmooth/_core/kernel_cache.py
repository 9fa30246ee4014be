"""Compiled kernels on disk: shipped with a wheel, or kept for the user after they were compiled here.

Numba keys what it keeps by the place and the content of one source file and by the exact processor: the files cannot be moved to
another machine or folder, and a kept caller does not notice an edited callee. Here a *set* of kernels is a folder whose key is a digest of
what all machine code depends on (versions of Python, NumPy, Numba, llvmlite; settings of the compiler, platform, processor class), with a
folder inside for each state of the core's sources; a kernel is kept under the digest of the sources it can be made of
(`source_keys`). Sets are found wherever the package lies:

- shipped sets, inside the package (``_kernels/``), read-only, compiled for a class of processors;
- the user's set, in a private folder (`cache_dir`), compiled for this very processor.

A file names its key and the digest of its content. Whatever does not fit or cannot be read is compiled again, never trusted.
"""

import contextlib
import hashlib
import inspect
import os
import pickle
import platform
import re
import shutil
import sys
import sysconfig
import tempfile
import time
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from nonsmooth._core import cache_dir, compile_notice
from nonsmooth._core.source_keys import CORE, Sources

#: Shipped sets lie here, beside the sources of the core.
SHIPPED = Path(__file__).resolve().parents[1] / "_kernels"
#: Environment variable: the processor class to take shipped kernels from, or "native" to compile for this processor.
CHOICE = "NONSMOOTH_KERNELS"
#: Processor classes of shipped sets and what LLVM calls the features they ask for, best first.
CLASSES = {
    "x86-64-v3": "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse4.1 sse4.2 ssse3 xsave".split(),
    "x86-64": [],
}
#: Folders of the user (sets, and states of the sources in each) that nothing was read from or written to for so many days go, and beyond
#: so many bytes the oldest; but for those of the last day, which other work trees may be using.
KEPT_DAYS, KEPT_BYTES, YOUNG_DAYS = 30, 2 * 2**30, 1

_MAGIC = b"nonsmooth kernel 1\n"


# -- keys ------------------------------------------------------------------------------------------------


# Settings of the compiler as the user has them; while a kernel is compiled some of them are changed.
_COMPILER = (
    "OPT BOUNDSCHECK DEBUGINFO_DEFAULT LOOP_VECTORIZE SLP_VECTORIZE LLVM_REFPRUNE_PASS DEBUG_NRT USING_SVML"
)
_SETTINGS = {name: str(getattr(config, name, None)) for name in _COMPILER.split()}


def surroundings():
    """What machine code depends on besides the sources and the processor."""
    return {
        "python": sysconfig.get_config_var("EXT_SUFFIX") or sys.implementation.cache_tag,
        "platform": f"{sys.platform}-{platform.machine()}",
        "numpy": np.__version__.split(".")[0],  # its binary interface
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "settings": _SETTINGS,
    }


@cache
def processor():
    """The processor Numba compiles for: the name of a class if it was told to, else all there is to know of this one."""
    name = config.CPU_NAME or binding.get_host_cpu_name()
    features = config.CPU_FEATURES
    if name in CLASSES and features == "":
        return name
    if features is None:
        features = get_host_cpu_features()
    return f"{name} {features}"


def classes():
    """Names of the classes this processor belongs to, best first, or the one asked for in the environment."""
    choice = os.environ.get(CHOICE, "")
    if choice == "native" or platform.machine().lower() not in ("x86_64", "amd64"):
        return []
    if config.CPU_NAME is not None:  # the user has named a processor to Numba
        return [processor()]
    features = binding.get_host_cpu_features()
    fitting = [
        name for name, needed in CLASSES.items() if all(features.get(feature, False) for feature in needed)
    ]
    if not choice:
        return fitting
    if choice not in fitting:
        raise ValueError(
            f"the environment variable {CHOICE} is {choice!r}; for this processor it may be "
            f"{', '.join(map(repr, fitting))} or 'native'."
        )
    return [choice]


class KernelSet:
    """The kernels of one key: a folder of folders, one for each state of the sources.

    Parameters
    ----------
    root : Path
        Folder of the set's folder.
    processor : str
        What they are compiled for.
    sources : str
        Digest of all sources of the core.
    """

    def __init__(self, root, processor, sources):
        known = repr(sorted((surroundings() | {"processor": processor}).items()))
        self.key = hashlib.sha256(known.encode()).hexdigest()
        label = processor if processor in CLASSES else "native"
        self.directory = Path(root) / f"{sys.implementation.cache_tag}-{label}-{self.key[:16]}"
        self.present = self.directory / sources[:16]

    @cached_property
    def _folders(self):
        """Where to look: what other states of the sources left is as good where the kernel's own sources are the same."""
        return [self.present, *(path for path in _newest_first(self.directory) if path != self.present)]

    def load(self, kernel):
        """The content of the file of `kernel`; None if there is none that fits."""
        for folder in self._folders:
            try:
                data = (folder / kernel.file).read_bytes()
            except OSError:
                continue
            head = self._head(kernel)
            content = data[len(head) + 32 :]
            if data.startswith(head) and data[len(head) : len(head) + 32] == hashlib.sha256(content).digest():
                self._mark_used(folder)
                return content
        return None

    @cache  # noqa: B019 (a set lives as long as the process)
    def _mark_used(self, folder):
        """The time of the folder, and of its set, is that of their last use."""
        for used in (folder, self.directory):
            with contextlib.suppress(OSError):  # a shipped set is read-only
                os.utime(used)

    def save(self, kernel, content):
        """Write the file of `kernel`; other processes see it whole or not at all."""
        for folder in (self.directory, self.present):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
                _forget(folder.parent)
        handle, draft = tempfile.mkstemp(dir=self.present, prefix=".draft-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self._head(kernel) + hashlib.sha256(content).digest() + content)
            os.replace(draft, self.present / kernel.file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    def _head(self, kernel):
        return _MAGIC + hashlib.sha256(f"{self.key} {kernel.identity}".encode()).digest()


def _newest_first(folder):
    try:
        return sorted(
            filter(Path.is_dir, folder.iterdir()), key=lambda path: path.stat().st_mtime, reverse=True
        )
    except OSError:
        return []


def _forget(folder):
    """Folders that were not used for long go when a new one begins, and the oldest ones where they take too much space."""
    taken, now = 0, time.time()
    for path in _newest_first(folder):
        with contextlib.suppress(OSError):
            days = (now - path.stat().st_mtime) / 86400
            taken += sum(file.stat().st_size for file in path.rglob("*.nbc"))
            if days > KEPT_DAYS or (taken > KEPT_BYTES and days > YOUNG_DAYS):
                shutil.rmtree(path, ignore_errors=True)


class Library:
    """The sets this process reads and the one it writes."""

    @cached_property
    def sources(self):
        """The sources of the core as the process found them; None where they are no files."""
        try:
            return Sources()
        except OSError:
            return None

    @cached_property
    def shipped(self):
        """Shipped sets for this processor, best first."""
        if not SHIPPED.is_dir():
            return []
        sets = [KernelSet(SHIPPED, name, self.sources.digest) for name in classes()]
        return [found for found in sets if found.directory.is_dir()]

    def readable(self):
        """Sets to look into, in this order."""
        places = [place for place in cache_dir.candidates() if cache_dir.private(place)]
        return [*self.shipped, *(self._own(place) for place in places)]

    def writable(self):
        """The user's set."""
        return self._own(cache_dir.ensure())

    def _own(self, place):
        return _own_set(place, processor(), self.sources.digest)


@cache
def _own_set(place, name, sources):
    return KernelSet(place, name, sources)


library = Library()


# -- one function ----------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """A compiled function as a file."""

    file: str  # its name
    identity: str  # what tells it from all others


class KernelCache:
    """What Numba asks for the compiled forms of one function (the interface of ``numba.core.caching``).

    A function from a file outside the core (a scheme or a law of somebody else) depends on that file and on the whole core.
    """

    cache_path = None  # asked for by Numba's statistics

    def __init__(self, function):
        self._function = function
        self._enabled = library.sources is not None

    def enable(self):
        """Numba's interface."""
        self._enabled = True

    def disable(self):
        """Numba's interface."""
        self._enabled = False

    def flush(self):
        """Numba's interface: files are never emptied, other sources have other files."""

    @cached_property
    def _origin(self):
        """(place of the function, digest of what it can be made of); None if it has no file."""
        path = Path(inspect.getfile(self._function)).resolve()
        if path.is_relative_to(CORE):
            return path.relative_to(CORE).with_suffix("").as_posix(), library.sources.digest_of(path)
        try:
            own = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:  # typed in, or made from text
            return None
        return path.stem, f"{own} {library.sources.digest}"

    def _kept(self, signature):
        """The file for a signature; None if it has no name that another process would find."""
        text = str(signature)
        if not self._enabled or self._origin is None or " at 0x" in text:
            return None
        place, sources = self._origin
        name, code = self._function.__qualname__, self._function.__code__
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        captured = hashlib.sha256(dumps(cells)).hexdigest() if cells else ""
        identity = repr((place, name, code.co_firstlineno, code.co_code, captured, sources, text))
        readable = re.sub(r"[^\w.]", "", f"{place}.{name}".replace("/", "."))[:120]
        return Kept(f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:20]}.nbc", identity)

    def load_overload(self, signature, target_context):
        """The compiled function for a signature, or None: then Numba compiles it."""
        target_context.refresh()
        kept = self._kept(signature)
        for found in library.readable() if kept else ():
            content = found.load(kept)
            if content is None:
                continue
            with contextlib.suppress(Exception):  # whatever is wrong with it: it is compiled again
                made_for, parts = pickle.loads(content)  # noqa: S301 (private folder, or the installation itself)
                if made_for == signature:
                    return CompileResult._rebuild(target_context, *parts)
        compile_notice.compiling(self._function)
        return None

    def save_overload(self, signature, compiled):
        """Keep the compiled function for a signature."""
        kept = self._kept(signature)
        dynamic = compiled.library.has_dynamic_globals or any(not part.can_cache for part in compiled.lifted)
        if kept and not dynamic and library.sources.unchanged():
            with contextlib.suppress(OSError):  # a full disk is no reason to stop
                library.writable().save(kept, dumps((signature, compiled._reduce())))
