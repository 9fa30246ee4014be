"""Coloured NSGS on several threads against plain NSGS (`python benchmarks/contact_threads.py [spheres ...] [collapsing] [DIRECTORY]`).

For spheres that are poured or rest (5,000 by default), with ``collapsing`` also for a column that falls into its box, and for the
problems of 400 contacts and more among the FCLIB files of a directory, it prints

*per sweep*  wall time of a sweep, plain and in coloured order with one thread and with more, as fast as it was in many short calls
             made in turn, so that all see the same machine;
*sweeps*     to residuals 1e-3, 1e-4 and 1e-6 in natural and in coloured order;
*solve*      wall time to residual 1e-4 including the colouring, and whether impulses are the same to the last bit for every number
             of threads.

Where other programs use the cores the gain shrinks to nothing; look at the load that is printed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from contact_spheres import poured, resting

from nonsmooth.contact import colours
from nonsmooth.contact.colours import coloured, coloured_order, usable_threads
from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.nsgs import sweeps
from nonsmooth.contact.run import Run
from nonsmooth.contact.solve import solve_contact

TOLERANCES = (1e-3, 1e-4, 1e-6)
#: Seconds of one timed call, and of all calls for one problem.
CALL, BUDGET = 4e-3, 6.0


def in_turn(functions, budget):
    """Shortest time of each function, called in turn until `budget` seconds are over, at least three times."""
    best = [np.inf] * len(functions)
    end, turns = time.perf_counter() + budget, 0
    while turns < 3 or time.perf_counter() < end:
        for k, function in enumerate(functions):
            best[k] = min(best[k], function())
        turns += 1
    return best


def per_sweep(problem, counts):
    """Seconds per sweep: plain, and coloured for each number of threads in `counts`."""
    n = problem.n_contacts

    def timed(sweep):
        def call(count=None):
            r, alpha = np.zeros(problem.q.size), np.zeros(n)
            sweep(problem, r, alpha, 1, -1.0)  # the matrix is in the cache as it is in the middle of a solve
            colours._crowd = (
                colours._Crowd()
            )  # helpers are called also after a call in which other programs were in the way
            start = time.perf_counter()
            sweep(problem, r, alpha, count or length, -1.0)
            return (time.perf_counter() - start) / (count or length)

        return call

    variants = [timed(sweeps)]
    variants += [timed(lambda *a, threads=threads: coloured_order(*a, threads)) for threads in counts]
    length = max(1, int(CALL / variants[0](3)))
    return in_turn(variants, BUDGET)


def to_tolerances(problem, sweep, limit=5000):
    """Sweeps until the residual is below each of `TOLERANCES`; None where `limit` was not enough."""
    run = Run(problem, TOLERANCES[-1])
    r, alpha = np.zeros(problem.q.size), np.zeros(problem.n_contacts)
    found, done, residual = [], 0, np.inf
    for tol in TOLERANCES:
        while residual > tol and done < limit:
            step = 5 if done < 500 else 25
            sweep(problem, r, alpha, step, -1.0)
            done += step
            residual = run.measure(r)
        found.append(done if residual <= tol else None)
    return found


def measure(name, problem, counts):
    """Print the lines of one problem."""
    assert problem.blocks.indices.size and problem.rho.size  # formed before the clock starts
    n, b = problem.n_contacts, problem.blocks
    coloured(problem)
    problem.__dict__.pop("_coloured")
    start = time.perf_counter()
    form = coloured(problem)
    took = time.perf_counter() - start
    sizes = np.diff(form.bounds[form.colours])
    print(
        f"{name}: {n} contacts in {problem.dim}-D, {b.indices.size / n:.1f} blocks per row, {sizes.size} colours "
        f"({sizes.max()} to {sizes.min()} contacts), groups of {form.bounds[1]}; load {os.getloadavg()[0]:.1f}"
    )
    plain, *times = per_sweep(problem, counts)
    parts = [f"plain {1e6 * plain:.0f} us"]
    parts += [f"{k} threads {1e6 * t:.0f} us ({plain / t:.2f}x)" for k, t in zip(counts, times)]
    print(f"  per sweep: {', '.join(parts)}; colouring takes as long as {took / plain:.0f} sweeps")
    natural, other = to_tolerances(problem, sweeps), to_tolerances(problem, coloured_order)
    print(f"  sweeps to 1e-3, 1e-4, 1e-6: natural order {natural}, coloured {other}")
    if natural[1] is None:
        print("  solve: left out, residual 1e-4 is out of reach of sweeps", flush=True)
        return
    results: dict = {}

    def solve(method, **options):
        def call():
            for kept in ("_coloured", "_coloured_plans"):
                problem.__dict__.pop(kept, None)
            start = time.perf_counter()
            result = solve_contact(problem, method, tol=1e-4, **options)
            took = time.perf_counter() - start
            results[(method, *options.values())] = result.r
            return took

        return call

    whole = [solve("nsgs"), *(solve("nsgs-coloured", threads=threads) for threads in counts)]
    plain, *times = in_turn(whole, BUDGET)
    parts = [f"nsgs {1e3 * plain:.1f} ms"]
    parts += [f"coloured, {k} threads {1e3 * t:.1f} ms ({plain / t:.2f}x)" for k, t in zip(counts, times)]
    first = results["nsgs-coloured", counts[0]]
    same = all(np.array_equal(first, results["nsgs-coloured", k]) for k in counts)
    print(f"  solve to 1e-4: {', '.join(parts)}; same bits {same}", flush=True)


def main(sizes, collapsing, directory):
    counts = sorted({1, 2, usable_threads()})
    for count in sizes:
        measure(f"poured, {count} spheres", poured(count), counts)
        measure(f"resting, {count} spheres", resting(count), counts)
        if collapsing:
            from contact_spheres import collapse

            for step, problem in collapse(count, 0.3, (100,)).items():
                measure(f"collapsing, {count} spheres, step {step}", problem, counts)
    for path in sorted(Path(directory).glob("*.hdf5")) if directory else []:
        problem = read_fclib(path)
        if problem.n_contacts >= 400 and problem.q_norm > 0.0:
            measure(path.stem, problem, counts)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    folders = [a for a in sys.argv[1:] if not a.isdigit() and a != "collapsing"]
    main(numbers or [5000], "collapsing" in sys.argv[1:], folders[0] if folders else None)
