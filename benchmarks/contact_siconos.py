"""`solve_contact` against Siconos on the same problems, in one run
(`python benchmarks/contact_siconos.py DIRECTORY`).

For every FCLIB file of the directory: the time of `solve_contact(problem, tol=1e-6)` (verdict in both
scalings included) and the best time among NSGS, NSN_AC and ADMM of Siconos (in the plane: NSGS), both the
fastest of several repeats, both called from Python with the problem ready in memory. A result counts only if
its residual, recomputed here, is below 1e-6; where Siconos stops above, its tolerance is tightened up to a
thousandfold. Needs a Python with Siconos (Debian: python3-siconos), found on the system path or named by the
environment variable SICONOS_PYTHON; without one, only our own column is printed.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import solve_contact

TOL = 1e-6
WORKER = Path(__file__).with_name("contact_siconos_worker.py")


def find_siconos():
    """A Python that can import siconos, or None."""
    for python in (os.environ.get("SICONOS_PYTHON"), shutil.which("python3", path=os.defpath)):
        if python:
            probe = subprocess.run([python, "-c", "import siconos.numerics"], capture_output=True)
            if probe.returncode == 0:
                return python
    return None


def write_text(path, problem):
    """The problem in Siconos' text format with sparse block storage."""
    n, d, b = problem.n_contacts, problem.dim, problem.blocks
    ends = [d * (i + 1) for i in range(n)]
    numbers = [
        d,
        n,
        1,
        d * n,
        d * n,
        b.indices.size,
        n,
        n,
        *ends,
        *ends,
        n + 1,
        b.indices.size,
        *b.indptr,
        *b.indices,
    ]
    with open(path, "w") as file:
        file.write("\n".join(str(k) for k in numbers) + "\n")
        for k, block in enumerate(b.data):
            file.write(f"{k}\n" + "\n".join(f"{x:.17e}" for x in block.T.ravel()) + "\n")
        file.write("\n".join(f"{x:.17e}" for x in np.concatenate([problem.q, problem.mu])) + "\n")


def siconos(python, problem, solver, folder):
    """Time of one Siconos solver to a recomputed residual below TOL; infinite if it fails."""
    text, out = Path(folder, "problem.dat"), Path(folder, "r.npy")
    for tighter in (1.0, 0.1, 0.01, 0.001):
        out.unlink(missing_ok=True)
        args = [
            python,
            str(WORKER),
            str(text),
            str(problem.dim),
            str(problem.q.size),
            solver,
            str(TOL * tighter),
            str(out),
        ]
        try:
            done = subprocess.run(args, capture_output=True, text=True, timeout=180)
        except subprocess.TimeoutExpired:
            return math.inf
        if done.returncode != 0 or not out.exists():
            return math.inf
        if residual(problem, np.load(out)).unit <= TOL:
            return json.loads(done.stdout.splitlines()[-1])["time"]
    return math.inf


def ours(problem):
    times = []
    while len(times) < 3 or (sum(times) < 0.3 and len(times) < 200):
        start = time.perf_counter()
        result = solve_contact(problem, tol=TOL)
        times.append(time.perf_counter() - start)
        if sum(times) > 20:
            break
    solved = result.success and residual(problem, result.r).unit <= TOL
    return (min(times) if solved else math.inf), result


def main(directory):
    python = find_siconos()
    if python is None:
        print("no Python with Siconos found: only our own times (set SICONOS_PYTHON)")
    wins, ratios, unsolved, compared = 0, [], 0, 0
    print(f"{'problem':38s} {'ours':>12s} {'NSGS':>12s} {'NSN_AC':>12s} {'ADMM':>12s} {'ratio':>8s}   stages")
    for path in sorted(Path(directory).glob("*.hdf5")):
        given = read_fclib(path)
        problem = ContactProblem(sp.csc_matrix(given.W), given.q, given.mu, given.dim)
        problem.blocks  # both sides start from the problem in memory  # noqa: B018
        solve_contact(problem, tol=TOL)  # compile
        mine, result = ours(problem)
        unsolved += mine == math.inf
        theirs = {}
        if python is not None:
            with tempfile.TemporaryDirectory() as folder:
                write_text(Path(folder, "problem.dat"), problem)
                for solver in ("NSGS", "NSN_AC", "ADMM") if problem.dim == 3 else ("NSGS",):
                    theirs[solver] = siconos(python, problem, solver, folder)
            best = min(theirs.values())
            compared += 1
            wins += mine < best
            if best < math.inf and mine < math.inf:
                ratios.append(best / mine)
        columns = " ".join(f"{_micro(theirs.get(k)):>12s}" for k in ("NSGS", "NSN_AC", "ADMM"))
        ratio = "" if python is None else ("inf" if best == math.inf else f"{best / mine:.2f}")
        print(f"{path.stem:38s} {_micro(mine):>12s} {columns} {ratio:>8s}   {result.method}", flush=True)
    print(f"unsolved by nonsmooth: {unsolved}")
    if python is not None:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"faster than the best of Siconos on {wins} of {compared} problems ({100 * wins / compared:.0f} %)"
        )
        print(
            f"geometric mean of best Siconos / ours over the {len(ratios)} problems Siconos solves: {mean:.2f}"
        )


def _micro(seconds):
    if seconds is None:
        return ""
    return "unsolved" if seconds == math.inf else f"{1e6 * seconds:.1f} us"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "tests" / "data" / "contact")
