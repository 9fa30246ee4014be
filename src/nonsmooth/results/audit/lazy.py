"""An audit that is made when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable

from nonsmooth.results.audit.report import Audit


class LazyAudit:
    """Stands for the audit in a result until it is looked at.

    Parameters
    ----------
    make : callable
        Without arguments, returns the audit.
    """

    def __init__(self, make: Callable[[], Audit | None]):
        self.make = make

    def __reduce__(self):
        # copies and pickles carry what is found
        return _as_it_is, (self.make(),)


def _as_it_is(audit: Audit) -> Audit:
    return audit
