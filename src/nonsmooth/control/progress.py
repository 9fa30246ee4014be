"""A progress bar over the span of a run; unless asked for, only where a run takes long enough to be watched."""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any

#: Seconds after which a bar appears that was not asked for.
DELAY = 0.5


class Progress:
    """A bar from `t_0` to `t_1`; `show` None means: on a terminal or in a notebook, after a moment."""

    def __init__(self, t_0: float, t_1: float, show: bool | None, label: str):
        self.t_0, self.length, self.label = t_0, abs(t_1 - t_0), label
        self.show, self.began = show, time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, t: float) -> None:
        """The run has reached `t`."""
        if self._bar is None and not self._wanted():
            return
        if self._bar is None:
            self._bar = bar_class()(
                total=self.length, unit="s", unit_scale=True, leave=False, desc=self.label, mininterval=0.2
            )
        self._bar.update(abs(t - self.t_0) - self._bar.n)

    def _wanted(self) -> bool:
        if self.length == float("inf"):
            return False
        if self.show is None:
            return time.monotonic() - self.began >= DELAY and (sys.stderr.isatty() or in_notebook())
        return self.show


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (which has no terminal, but shows bars)."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def bar_class() -> Any:
    """A bar of widgets in a notebook that has them, else one of text."""
    from tqdm import tqdm

    if in_notebook() and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as widget

        return widget
    return tqdm
