"""Studer, Leine, Glocker 2008, Fig. 13 and Table VII: the woodpecker toy, dt_min = 1e-7, dt_max = 5e-3, order <= 6."""

import warnings

import numpy as np
from _table import save, show

from nonsmooth import ExtrapolatedMoreau, problems

TABLE = (
    "friction 2: slip -> stick", "friction 2: stick -> slip", "contact 2: closed -> open", "contact 3: open -> closed",
    "contact 3: closed -> open", "contact 1: open -> closed", "contact 1: closed -> open", "contact 3: open -> closed",
    "contact 3: closed -> open", "contact 2: open -> closed", "contact 2: closed -> open", "contact 2: open -> closed",
)  # fmt: skip
NUMBER = {"beak": 1, "lower sleeve": 2, "upper sleeve": 3}


def lines(events):
    """Events as lines of Table VII: (text, instant); an impact gives two."""
    for event in events:
        kind = "friction" if event.name.endswith("friction") else "contact"
        who = f"{kind} {NUMBER[event.name.removesuffix(' friction')]}: "
        if event.kind in ("close", "impact"):
            yield who + "open -> closed", event.t
        if event.kind in ("open", "impact"):
            yield who + "closed -> open", event.t
        if event.kind in ("stick", "slip"):
            yield who + ("slip -> stick" if event.kind == "stick" else "stick -> slip"), event.t


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    problem = problems.woodpecker()
    exact = [t for _, t in lines(problem.reference.events)][:12]
    for title, options in (
        ("bisection", {"locate": False}), ("location", {}), ("location, rtol 1e-9, dt_min 1e-9", {"rtol": 1e-9, "dt_min": 1e-9}),
    ):  # fmt: skip
        run = problem.simulate(
            (0.0, 0.14), method=ExtrapolatedMoreau(**{"dt_min": 1e-7, "dt_max": 5e-3} | options)
        )
        found = list(lines(run.events))
        rows = [(f"line {k + 1}", TABLE[k], f"{text}  t = {t:.9f}  error {t - exact[k]:+.1e}")
                for k, (text, t) in enumerate(found)]  # fmt: skip
        worst = np.max(np.abs(np.array([t for _, t in found]) - exact))
        rows.append(("largest error of an instant", "-", f"{worst:.1e}"))
        rows.append(
            ("steps, base steps, order", "order <= 6", f"{run.nsteps}, {run.nbase}, <= {run.order.max()}")
        )
        show(f"Table VII: {title}", rows)
    save(
        problem.simulate((0.0, 0.3), method=ExtrapolatedMoreau(dt_min=1e-7, dt_max=5e-3)).plot(),
        "studer2008_fig13.png",
    )
