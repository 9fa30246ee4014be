"""Digests of the core's sources: of all of them, and of those that one module's kernels can be made of.

A kernel is made of functions of its own module and of modules imported there, directly or not. Their digest is the name under which
it is kept: an edited helper is noticed by every kernel it could be part of, and by no other.
"""

import hashlib
import re
from pathlib import Path

CORE = Path(__file__).resolve().parent
_PACKAGE = "nonsmooth._core"
# Imported by all and part of no kernel: where kernels are kept, and what is said about them.
_APART = {"kernel_cache.py", "compile_notice.py", "cache_dir.py", "source_keys.py"}
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)


class Sources:
    """The sources of a core as they are now; edits that follow do not change what it says."""

    def __init__(self, core=CORE):
        self.core = core
        self.stamp = self._stamp()
        self._text = {path: path.read_bytes() for path, *_ in self.stamp}
        self._hash = {path: hashlib.sha256(text).digest() for path, text in self._text.items()}
        self._imports: dict[Path, list[Path]] = {}
        self.digest = self._digest(self._text)

    def unchanged(self):
        """Whether the files are still the same."""
        try:
            return self._stamp() == self.stamp
        except OSError:
            return False

    def digest_of(self, path):
        """Digest of the file and of all it imports from the core."""
        seen, waiting = set(), [path]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                if current not in self._imports:
                    self._imports[current] = self._imported(current)
                waiting += self._imports[current]
        return self._digest(seen)

    def _stamp(self):
        found = []
        for path in sorted(self.core.rglob("*.py")):
            status = path.stat()
            found.append((path, status.st_mtime_ns, status.st_size))
        return found

    def _digest(self, paths):
        digest = hashlib.sha256()
        for path in sorted(paths):
            digest.update(f"{path.relative_to(self.core).as_posix()}\0".encode())
            digest.update(self._hash[path])
        return digest.hexdigest()

    def _imported(self, path):
        """Files of the core that a file imports (of modules and of names in them: whatever there is)."""
        here = [_PACKAGE, *path.relative_to(self.core).parts[:-1]]
        names = set()
        for source, members, plain in _IMPORT.findall(self._text[path].decode()):
            if plain:
                names.update(name.split()[0] for name in plain.split(",") if name.strip())
                continue
            dots = len(source) - len(source.lstrip("."))
            if dots:
                source = ".".join([*here[: len(here) - dots + 1], *filter(None, [source[dots:]])])
            names.add(source)
            names.update(f"{source}.{member}" for member in re.findall(r"\w+", members))
        return list({found for name in names if name.startswith(_PACKAGE) for found in self._files(name)})

    def _files(self, name):
        """The file of a module and those of the packages it lies in; none if it is no module of the core."""
        if name != _PACKAGE and not name.startswith(_PACKAGE + "."):
            return
        place = self.core
        for part in [None, *name.removeprefix(_PACKAGE).split(".")[1:]]:
            place = place / part if part else place
            for found in (place / "__init__.py", place.with_suffix(".py")):
                if found in self._text and found.name not in _APART:
                    yield found
