"""A watch on the progress of a run: one that no longer gets on is ended with an error that says where and why.

Looked at every `STEPS` steps, rejected ones included, so that nothing depends on the clock. A run is stalled if these steps took it on by
less than `NO_WAY` of its span (the whole would take 5e11 of them), or by little while one law changed its mode all the time.
"""

from __future__ import annotations

import math
from typing import Any

from nonsmooth.errors import StepLimitError

STEPS = 20_000
NO_WAY = 4e-8
LITTLE = 1e-3
CHATTER = STEPS // 4


class StallWatch:
    """Looks at a run at every `STEPS`-th step.

    Parameters
    ----------
    run : Run
        May have ``trials``, the number of steps made or rejected, and ``busiest()``: (name, changes of mode, text about modes) of the
        law that changed most since it was asked last.
    span : (float, float)
    door : str
    """

    def __init__(self, run: Any, span: tuple[float, float], door: str):
        self.run, self.door = run, door
        self.length = abs(span[1] - span[0]) if math.isfinite(span[1]) else 0.0
        self.next, self.t = self.trials + STEPS, run.t

    @property
    def trials(self) -> int:
        """Steps the run has made or rejected, as far as it knows."""
        return getattr(self.run, "trials", self.run.steps)

    def budget(self, wanted: int) -> int:
        """At most so many steps may be taken before the next look."""
        return max(min(wanted, self.next - self.trials), 1)

    def look(self) -> None:
        """Raise `StepLimitError` if the run is stalled."""
        run = self.run
        if self.trials < self.next or self.length == 0.0:
            return
        begin, self.t, self.next = self.t, run.t, self.trials + STEPS
        way = abs(run.t - begin)
        name, changes, modes = run.busiest() if hasattr(run, "busiest") else ("", 0, "")
        if not way <= LITTLE * self.length or (way > NO_WAY * self.length and changes < CHATTER):
            return
        what = (
            f"law {name!r} changed its mode {changes} times there ({modes})"
            if changes
            else "no law changed its mode there"
        )
        raise StepLimitError(
            f"{self.door}: stalled at t = {run.t:.9g}: {STEPS} steps led from t = {begin:.12g} on by {way:.3g}, {what}. Loosen rtol, "
            f'pass the place with steps of fixed length (simulate: method="moreau", dt=...), or check the functions there; '
            "result.profile() of exc.partial shows where steps were spent, watch=False turns this watch off."
        )
