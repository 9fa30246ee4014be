"""An audit that is made when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nonsmooth.results.audit.report import Audit


class LazyAudit:
    """Stands for the audit until it is looked at.

    Parameters
    ----------
    make : callable
        Without arguments, returns the audit.
    """

    def __init__(self, make: Callable[[], Audit]):
        self._make: Callable[[], Audit] | None = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_make", "_made"):
            raise AttributeError(name)
        return getattr(self._audit(), name)

    def _audit(self) -> Audit:
        made: Any = self.__dict__.get("_made")
        if made is None and self._make is not None:
            made = self.__dict__["_made"] = self._make()
            self._make = None
        return made

    def __str__(self) -> str:
        return str(self._audit())

    def __repr__(self) -> str:
        return repr(self._audit())
