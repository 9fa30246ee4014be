"""Runs of the shipped problems, bit for bit against those of an earlier commit.

    python benchmarks/same_runs.py REVISION [--steps 2000] [--methods moreau psor event-driven ...]

REVISION is checked out into a temporary folder and runs there, in a process of its own with the same interpreter. A run that differs is
printed with the first column that does, and by how much there and at the end, relative to the largest entry of the run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import nonsmooth as ns

ROOT = Path(__file__).parents[1]
ASKED = {
    "moreau": lambda dt: ns.Moreau(dt=dt, solver=ns.Exact()),
    "psor": lambda dt: ns.Moreau(dt=dt, solver=ns.PSOR()),
    "theta": lambda dt: ns.Theta(dt=dt),
    "schatzman-paoli": lambda dt: ns.SchatzmanPaoli(dt=dt),
    "generalized-alpha": lambda dt: ns.GeneralizedAlpha(dt=dt),
    "extrapolated-moreau": lambda dt: ns.ExtrapolatedMoreau(rtol=1e-6),
    "adaptive-moreau": lambda dt: ns.AdaptiveMoreau(tol=1e-4),
    "event-driven": lambda dt: ns.EventDriven(rtol=1e-6),
    "event-driven, stiff": lambda dt: ns.EventDriven(rtol=1e-6, integrator="Radau"),
    "event-driven, energetic": lambda dt: ns.EventDriven(rtol=1e-6, restitution="energetic"),
    "event-capturing": lambda dt: ns.EventCapturing("radau5", dt=10 * dt),
    "event-capturing, complementary": lambda dt: ns.EventCapturing("rk4", dt=dt, stages="complementarity"),
    "event-capturing, index 2": lambda dt: ns.EventCapturing("radau3", dt=dt, form="index-2"),
}
METHODS = ("moreau", "psor", "extrapolated-moreau")


def run(name, method, steps):
    """The columns (t, q, u, modes) of a run, or the name of the error that ended it."""
    problem = ns.problems.get(name)
    dt = problem.dt or 1e-3
    try:
        result = ns.simulate(
            problem.system,
            (0.0, steps * dt),
            problem.q0,
            problem.u0,
            audit=False,
            method=ASKED[method](dt),
        )
    except ns.errors.NonsmoothError as error:
        partial = getattr(error, "partial", None)
        if partial is None:
            return np.array([[np.nan]])
        result = partial
    return np.vstack([result.t, result.q, result.u, result.modes])


def keep(file, methods, steps):
    """All runs of the package that is imported here, into `file`."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ns.problems.REGISTRY:
            for method in methods:
                found[f"{name}, {method}"] = run(name, method, steps)
    np.savez(file, **found)


def runs_of(source, folder, options):
    """All runs of the package below `source`."""
    file = Path(folder, f"{len(list(Path(folder).glob('*.npz')))}.npz")
    command = [
        sys.executable,
        __file__,
        "--keep",
        file,
        "--steps",
        str(options.steps),
        "--methods",
        *options.methods,
    ]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(source)}, cwd=folder, check=True)
    with np.load(file) as runs:
        return dict(runs)


def difference(old, new):
    """How `new` differs from `old`; empty if it does not."""
    if np.array_equal(old, new, equal_nan=True):
        return ""
    if old.shape != new.shape:
        return f"{old.shape[1]} columns before, {new.shape[1]} now"
    size = np.max(np.abs(new - old), axis=0) / np.max(np.abs(old))
    first = int(np.argmax(np.any(new != old, axis=0)))
    return f"from column {first} of {old.shape[1]} (t = {old[0, first]:.6g}): {size[first]:.1e} there, {size[-1]:.1e} at the end"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=tuple(ASKED))
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep:
        return keep(options.keep, options.methods, options.steps)
    if not options.revision:
        parser.error("name a commit to compare with")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(
            ["git", "-C", ROOT, "worktree", "add", "-q", "--detach", tree, options.revision], check=True
        )
        try:
            old, new = (runs_of(source, folder, options) for source in (tree / "src", ROOT / "src"))
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    same = 0
    for name, columns in new.items():
        said = difference(old[name], columns) if name in old else "new"
        same += not said
        if said:
            print(f"{name:<44} {said}")
    print(f"{same} of {len(new)} runs identical to those of {options.revision}")


if __name__ == "__main__":
    main()
