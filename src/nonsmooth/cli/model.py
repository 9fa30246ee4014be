"""Models of the user's own files for the command line: ``my_model.py:system``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nonsmooth.errors import InputError, ModelError


@dataclass
class UserRun:
    """A system, a world or a problem of the user, with what `run` needs of a problem of the library."""

    name: str
    title: str
    target: Any
    q0: Sequence[float] | None
    u0: Sequence[float] | None
    params: dict[str, Any] | None = None
    reference: Any = None
    kind: str = "mechanics"
    dt: float | None = None
    t_span: tuple[float, float | None] = (0.0, None)

    def simulate(self, span: tuple[float, float], **settings: Any) -> Any:
        """Run the model through its own front door."""
        if hasattr(self.target, "t_span"):
            return self.target.simulate(span, **settings)
        settings.setdefault("problem_name", self.name)
        if hasattr(self.target, "groups"):
            from nonsmooth.filippov import solve_filippov

            settings.pop("problem_name")
            return solve_filippov(self.target, span, self._start("--q0", self.q0), **settings)
        from nonsmooth.simulate import simulate

        if hasattr(self.target, "start"):  # a world knows where its bodies are, and can be told otherwise
            return simulate(self.target, span, self.q0, self.u0, **settings)
        q0 = self._start("--q0", self.q0)
        u0 = [0.0] * len(q0) if self.u0 is None else self.u0
        return simulate(self.target, span, q0, u0, **settings)

    def _start(self, option: str, value: Sequence[float] | None) -> Sequence[float]:
        if value is None:
            raise InputError(
                f"{option} is missing: give the start of {self.name}, for example {option} 0.5,0."
            )
        return value


def is_file_target(text: str) -> bool:
    """Whether `text` names something in a Python file rather than a problem of the library."""
    return ".py:" in text or text.endswith(".py")


def load_target(text: str, q0: Sequence[float] | None, u0: Sequence[float] | None) -> UserRun:
    """The object that ``FILE.py:NAME`` means; the file is run, as ``python FILE.py`` would.

    Raises
    ------
    InputError
        No such file or name.
    ModelError
        The file itself fails.
    """
    place, _, name = text.rpartition(":") if not text.endswith(".py") else (text, ":", "system")
    path = Path(place)
    if not path.is_file():
        raise InputError(f"there is no file {place!r}: write FILE.py:NAME, for example my_model.py:system.")
    found = _module(path)
    if not hasattr(found, name):
        names = [key for key in vars(found) if not key.startswith("_")]
        raise InputError(f"{place} has no name {name!r}; it has {', '.join(names) or 'none'}.")
    target = getattr(found, name)
    if callable(target) and not hasattr(target, "bind"):
        target = target()
    span = getattr(target, "t_span", (0.0, None))
    if not (
        hasattr(target, "bind")
        or hasattr(target, "groups")
        or hasattr(target, "t_span")
        or hasattr(target, "add")
    ):
        raise InputError(
            f"{text} is of class {type(target).__name__}: a system, a world or a problem is wanted."
        )
    kind = "filippov" if hasattr(target, "groups") else getattr(target, "kind", "mechanics")
    title = str(getattr(target, "name", None) or path.stem)
    return UserRun(path.stem, title, target, q0, u0, kind=kind, dt=getattr(target, "dt", None), t_span=span)


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))  # helpers beside the model
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(f"{path} fails when it is read: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def numbers(option: str, text: str | None) -> list[float] | None:
    """Numbers separated by commas or blanks."""
    if text is None:
        return None
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{option} is {text!r}: numbers separated by commas are wanted.") from None
