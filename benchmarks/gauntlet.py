"""The gauntlet: how many of its systems each method gets right, declares, stalls on, or gets wrong without a word.

    python benchmarks/gauntlet.py [--rtol 1e-4 1e-6 1e-8 1e-10] [--methods default moreau] [--families belt rod ...]
                                  [--every 6] [--jobs 2] [--json failures.json] [--markdown] [--cases] [--estimates]

Prints one table per method and tolerance (families by verdicts, steps, worst error in units of rtol) and writes every run
that is not within tolerance to the JSON file; `cpu/ms` is the median of processor time of a run with its audit. Systems and
references: `tests/gauntlet`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.gauntlet.cases import cases, judge_case
from tests.gauntlet.judge import attempt, estimate_holds, judge, load

KINDS = ("within", "declared", "stalled", "wrong")
STEPS = 10_000  # of plain time-stepping, whatever the tolerance


def options(method, record):
    """Arguments of `simulate` for a method."""
    if method == "default":
        return {}
    if method == "moreau":
        return {"method": "moreau", "dt": record["T"] / STEPS, "max_steps": 2 * STEPS}
    return {"method": method}


def run_family(family, method, rtols, time_limit, every, estimated):
    """Verdicts on each `every`-th system of a family, with processor seconds; the first one compiles what the others share."""
    verdicts = []
    for record in load(family)[::every]:
        found = None
        for rtol in rtols:
            if (
                found is None or method != "moreau"
            ):  # steps of plain time-stepping do not depend on a tolerance
                begin = time.process_time()
                found, heard = attempt(record, rtol, **{"time_limit": time_limit, **options(method, record)})
                seconds = time.process_time() - begin if verdicts else np.nan
            verdicts.append((family, method, judge(record, rtol, found, heard, estimated), seconds))
    return verdicts


def table(rows, families):
    heads = [*KINDS, "steps", "worst/rtol", "cpu/ms"]
    lines = [f"{'family':24s}" + "".join(f"{head:>12s}" for head in heads)]
    for family in [*families, "all"]:
        mine = [v for f, _, v, _ in rows if family in (f, "all")]
        count = Counter(v.kind for v in mine)
        steps = int(np.median([v.steps for v in mine])) if mine else 0
        worst = max((v.error for v in mine if v.kind == "within"), default=np.nan)
        cost = 1e3 * np.nanmedian([s for f, _, _, s in rows if family in (f, "all")] or [np.nan])
        cells = [*(count[kind] for kind in KINDS), steps, f"{worst:.2g}", f"{cost:.1f}"]
        lines.append(f"{family:24s}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def markdown(rows, methods, rtols, families):
    """The table of the documentation: systems within tolerance by family; the last rows count all verdicts."""
    columns = [(method, rtol) for method in methods for rtol in rtols]
    count = Counter((f, method, v.rtol, v.kind) for f, method, v, _ in rows)
    total = Counter((f, method, v.rtol) for f, method, v, _ in rows)
    head = "| family | systems | " + " | ".join(f"{method} {rtol:g}" for method, rtol in columns) + " |"
    lines = [head, "| --- " * (len(columns) + 2) + "|"]
    for family in families:
        cells = [str(count[family, method, rtol, "within"]) for method, rtol in columns]
        lines.append(
            f"| {family.replace('_', ' ')} | {total[family, *columns[0]]} | " + " | ".join(cells) + " |"
        )
    for kind in KINDS:
        cells = [str(sum(count[f, method, rtol, kind] for f in families)) for method, rtol in columns]
        everything = sum(total[f, *columns[0]] for f in families)
        lines.append(f"| **{kind}** | {everything} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def estimates(rows):
    """How the runs' own estimates of their errors compare with the true ones, of runs within tolerance."""
    holds = [estimate_holds(v) for _, _, v, _ in rows if v.kind == "within" and np.isfinite(v.estimate)]
    if not holds:
        return ""
    good, too_small = np.mean(holds, axis=0)
    return (
        f"estimate between a tenth and thirty times the error, or both below rtol/10: {good:.1%} of {len(holds)}; "
        f"below a tenth of it: {too_small:.1%}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rtol", type=float, nargs="+", default=[1e-4, 1e-6, 1e-8, 1e-10])
    parser.add_argument("--methods", nargs="+", default=["default", "moreau"])
    parser.add_argument(
        "--families", nargs="+", default=sorted({r["name"].rsplit("-", 1)[0] for r in load()})
    )
    parser.add_argument("--every", type=int, default=1, help="only each such system of a family")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/gauntlet.md, too")
    parser.add_argument("--cases", action="store_true", help="run the single cases instead of the families")
    parser.add_argument(
        "--estimates", action="store_true", help="judge the runs' estimates of their errors, too"
    )
    given = parser.parse_args()

    if given.cases:
        for case, rtol in product(cases(), given.rtol):
            v = judge_case(case, rtol, time_limit=given.time_limit)
            print(f"{v.name:24s}{rtol:8.0e} {v.kind:9s}{v.error:10.2g}{v.steps:8d}  {v.why[:90]}", flush=True)
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        pending = [
            pool.submit(
                run_family, family, method, given.rtol, given.time_limit, given.every, given.estimates
            )
            for method in given.methods
            for family in given.families
        ]
        rows = [row for future in pending for row in future.result()]
    for method in given.methods:
        for rtol in given.rtol:
            part = [row for row in rows if row[1] == method and row[2].rtol == rtol]
            print(f"\n{method}, rtol = {rtol:g}\n{table(part, given.families)}\n{estimates(part)}")
    if given.markdown:
        print("\n" + markdown(rows, given.methods, given.rtol, given.families))
    if given.json:
        failures = [
            {"family": family, "method": method, **asdict(v)}
            for family, method, v, _ in rows
            if v.kind != "within"
        ]
        given.json.write_text(json.dumps(failures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
