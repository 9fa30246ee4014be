"""Steps and processor time of the default of ``simulate(rtol=...)`` against ``extrapolated-moreau``, the default before it.

    python benchmarks/default_cost.py [--rtol 1e-6] [--gauntlet]

Shipped problems; with ``--gauntlet`` every system of it that both get right, too. A step of the extrapolation is a column of base steps
(their number beside it), a step of event-driven a Runge-Kutta step with its stages.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import nonsmooth as ns

PROBLEMS = (
    "falling_ball",
    "impact_oscillator",
    "woodpecker",
    "belt_oscillator",
    "acary_ball",
    "sliding_mass",
)


def measured(problem, scheme):
    """(result, smallest processor time of three runs after the first, in ms)."""
    found, best = problem.simulate(method=scheme, audit=False), np.inf
    for _ in range(3):
        start = time.process_time()
        problem.simulate(method=scheme, audit=False)
        best = min(best, time.process_time() - start)
    return found, 1e3 * best


def shipped(rtol):
    print(
        f"rtol {rtol:g}{'':16s}{'steps':>8s}{'before':>8s}{'ratio':>8s}{'base':>8s}{'ms':>9s}{'before':>9s}"
    )
    for name in PROBLEMS:
        problem = ns.problems.get(name)
        new, ms = measured(problem, ns.EventDriven(rtol=rtol))
        old, ms_old = measured(problem, ns.ExtrapolatedMoreau(rtol=rtol))
        print(
            f"{name:21s}{new.nsteps:8d}{old.nsteps:8d}{new.nsteps / old.nsteps:8.2f}{old.nbase:8d}{ms:9.2f}{ms_old:9.2f}"
        )


def gauntlet(rtol):
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.gauntlet.judge import attempt, judge, load

    ratios = []
    for record in load():
        verdicts = []
        for method in ("event-driven", "extrapolated-moreau"):
            found, heard = attempt(record, rtol, method=method, time_limit=10.0)
            verdicts.append(judge(record, rtol, found, heard))
        if all(verdict.kind == "within" for verdict in verdicts):
            ratios.append((verdicts[0].steps / max(verdicts[1].steps, 1), record["name"]))
    values = np.array([ratio for ratio, _ in ratios])
    print(
        f"gauntlet, rtol {rtol:g}: {values.size} systems that both get right; steps against before: median {np.median(values):.2f}, "
        f"above 1.3 in {np.count_nonzero(values > 1.3)}, largest {values.max():.2f} ({max(ratios)[1]})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rtol", type=float, default=1e-6)
    parser.add_argument("--gauntlet", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    shipped(given.rtol)
    if given.gauntlet:
        gauntlet(given.rtol)


if __name__ == "__main__":
    main()
