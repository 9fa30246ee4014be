"""``nonsmooth bench | warmup | info``: what this machine does with the library."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from .frame import UsageError, guarded, say, table, tell
from .names import mechanics, methods, problem_of


@guarded
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Problems; all of mechanics if left out.")] = None,
    steps: Annotated[int, typer.Option(help="Steps of the long run.")] = 500_000,
    repeat: Annotated[int, typer.Option(help="Timed runs; the fastest counts.")] = 3,
) -> None:
    """Time Moreau steps of the shipped problems: first result, and cost of a step.

    A step is timed as the difference of a long and a short run, so that the start of a run is not counted.
    """
    if steps < 10 or repeat < 1:
        raise UsageError("--steps must be at least 10 and --repeat at least 1.")
    rows = [["problem", "first result s", "µs/step", "steps/s"]]
    for name in names or mechanics():
        problem = problem_of(name, [])

        def seconds(count: int, problem: Any = problem) -> float:
            span = (problem.t_span[0], problem.t_span[0] + count * problem.dt)
            start = time.perf_counter()
            problem.simulate(span, dt=problem.dt, every=max(1, count // 10), audit=False)
            return time.perf_counter() - start

        first = seconds(10)
        short = min(seconds(steps // 10) for _ in range(repeat))
        long = min(seconds(steps) for _ in range(repeat))
        cost = max(long - short, 0.0) / (steps - steps // 10)
        rate = f"{1.0 / cost:.3g}" if cost > 0.0 else "-"
        rows.append([name, f"{first:.2f}", f"{1e6 * cost:.3f}", rate])
    table(rows, header=True)


@guarded
def warmup(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Beginnings of names, such as solve_ivp; everything if left out."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; as many as there are cores if left out.")
    ] = None,
) -> None:
    """Compile every kernel once, on all cores, by using every front door with each of its methods."""
    from nonsmooth.warmup import doors, warm

    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs is {jobs}; it must be at least 1.")
    chosen = [door for door in doors() if not names or door.startswith(tuple(names))]
    if not chosen:
        families = dict.fromkeys(door.partition(",")[0] for door in doors())
        raise UsageError(f"there is no front door {' or '.join(names or [])}; known: {', '.join(families)}.")
    start, compiled = time.perf_counter(), 0
    for outcome in warm(chosen, jobs):
        compiled += outcome.kernels
        say(f"{outcome.door:<36} {outcome.kernels:4d} kernels {outcome.seconds:7.2f} s")
    say(f"{'together':<36} {compiled:4d} kernels {time.perf_counter() - start:7.2f} s passed")


@guarded
def info() -> None:
    """Versions, methods and folders."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from nonsmooth import __version__, problems
    from nonsmooth._core.kernel_cache import library

    rows = [["nonsmooth", __version__], ["python", platform.python_version()]]
    for package in ("numpy", "scipy", "numba", "h5py", "matplotlib"):
        try:
            rows.append([package, version(package)])
        except PackageNotFoundError:
            rows.append([package, "not installed"])
    rows.append(["cores", str(os.cpu_count())])
    rows.append(["compiled kernels", ", ".join(str(found.directory) for found in library.readable())])
    rows.append(["methods", ", ".join(methods())])
    rows.append(["problems", ", ".join(problems.names())])
    table(rows)
    tell(dict(rows))
