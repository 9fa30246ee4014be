"""``nonsmooth run``: a problem of the library or a model of the user, its summary and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .frame import RUN, UsageError, guarded, positive, say, table, tell, terminable
from .names import assignment, methods, problem_of, user_model

RTOL = 2.3e-15, 1.0  # what the schemes accept


@guarded
def run(
    name: Annotated[
        str, typer.Argument(help="Problem, see `nonsmooth list`, or a model of your own: FILE.py:NAME.")
    ],
    method: Annotated[str | None, typer.Option(help="Scheme, see `nonsmooth info`.")] = None,
    dt: Annotated[float | None, typer.Option(help="Step size.")] = None,
    rtol: Annotated[
        float | None, typer.Option(help="Relative tolerance of schemes with step control.")
    ] = None,
    t_end: Annotated[float | None, typer.Option(help="End of the run.")] = None,
    every: Annotated[int, typer.Option(help="Keep every k-th step.")] = 1,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter of the problem, name=value; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the picture and the result file.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace files of an earlier run.")] = False,
    on_failure: Annotated[str, typer.Option(help="Unconverged solve: raise, halve or accept.")] = "raise",
    q0: Annotated[
        str | None, typer.Option(help="Start of your own model: positions, comma separated.")
    ] = None,
    u0: Annotated[str | None, typer.Option(help="Velocities; zero if left out.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report of the run here (html).")] = None,
    animate: Annotated[
        Path | None, typer.Option(help="Write the moving scene here (html, gif, mp4).")
    ] = None,
) -> None:
    """Run a problem or a model of your own: summary, and files if asked for.

    With --out a picture (PNG) and the result (HDF5), with --report one offline page with everything.
    """
    positive("--dt", dt)
    positive("--rtol", rtol)
    if rtol is not None and not RTOL[0] <= rtol <= RTOL[1]:
        raise UsageError(f"--rtol is {rtol}; it must lie between {RTOL[0]:g} and {RTOL[1]:g}.")
    positive("--t-end", t_end)
    if every < 1:
        raise UsageError(f"--every is {every}; it must be at least 1.")
    if on_failure not in ("raise", "halve", "accept"):
        raise UsageError(f"--on-failure is {on_failure!r}; it must be raise, halve or accept.")
    problem = _target(name, set_ or [], q0, u0)
    settings = _settings(problem, method, dt, rtol, every, on_failure)
    files = _output_files(out, problem.name, overwrite)
    pages = _pages(report, animate, overwrite)
    end = problem.t_span[1] if t_end is None else t_end
    if end is None:
        raise UsageError("--t-end is missing: say when the run of your model ends.")
    span = (problem.t_span[0], end)

    start = time.perf_counter()
    try:
        with terminable():
            result = problem.simulate(span, **settings)
    except BaseException as error:
        _keep_partial(getattr(error, "partial", None), files)
        raise
    seconds = time.perf_counter() - start

    _summary(problem, result, seconds)
    _write(problem, result, files)
    for path, write in pages:
        write(result, path)
    tell(_digest(result, seconds, {**files, "report": report, "animation": animate}))
    unconverged = getattr(result.audit, "unconverged", 0) or 0
    if not result.success or unconverged:
        typer.echo(f"nonsmooth: {result.message} Unconverged solves: {unconverged}.", err=True)
        raise typer.Exit(RUN)


def _target(name: str, assignments: Sequence[str], q0: str | None, u0: str | None) -> Any:
    """What is to run: a problem of the library, or a model of the user."""
    from .model import is_file_target

    if not is_file_target(name):
        if q0 is not None or u0 is not None:
            raise UsageError(
                "--q0 and --u0 are for models of your own; problems bring their start (--set changes it)."
            )
        return problem_of(name, assignments)
    target = user_model(name, q0, u0)
    if assignments:
        if not hasattr(target.target, "with_params"):
            raise UsageError("--set needs a system with parameters.")
        target.target = target.target.with_params(**dict(assignment(text) for text in assignments))
    return target


def _pages(
    report: Path | None, animate: Path | None, overwrite: bool
) -> list[tuple[Path, Callable[..., None]]]:
    """Pages to write after the run, their places checked before it."""
    from nonsmooth.errors import InputError
    from nonsmooth.results.animation import checked_film
    from nonsmooth.results.report.write import checked_path

    pages: list[tuple[Path, Callable[..., None]]] = []
    try:
        if report is not None:
            checked_path(report, (".html", ".htm"), overwrite)
            pages.append((report, lambda result, path: result.report(path, overwrite=True)))
        if animate is not None:
            checked_film(animate, overwrite)
            pages.append((animate, lambda result, path: result.animate(path, overwrite=True)))
    except InputError as error:
        raise UsageError(str(error)) from error
    return pages


def _digest(result: Any, seconds: float, files: dict[str, Path | None]) -> dict[str, Any]:
    """A run in a few numbers and words, for programs."""
    from nonsmooth.results.events import count_kinds

    counters = ("nsteps", "nrejected", "nfev", "njev", "nlu", "nbase")
    audit = result.audit
    return {
        "problem": result.problem_name, "method": result.method, "status": result.status, "success": result.success,
        "message": result.message, "t": [float(result.t[0]), float(result.t[-1])], "instants": len(result),
        "q_end": result.q[:, -1].tolist(), "u_end": result.u[:, -1].tolist(), "y_end": result.y[:, -1].tolist(),
        **{name: getattr(result, name) for name in counters}, "events": count_kinds(result.events),
        "audit": None if audit is None else {"ok": bool(audit.ok), "failures": list(audit.failures())},
        "seconds": seconds, "files": {key: str(path) for key, path in files.items() if path is not None},
    }  # fmt: skip


def _constant_step(method) -> bool:
    """Whether a scheme of that name needs a step size."""
    from nonsmooth.schemes.base import ConstantStep
    from nonsmooth.simulate import METHODS

    return method in METHODS and issubclass(METHODS[method], ConstantStep)


def _settings(problem, method, dt, rtol, every, on_failure) -> dict[str, Any]:
    """Keyword arguments of `simulate` that were asked for."""
    settings: dict[str, Any] = {}
    if method is not None:
        known = methods()
        if problem.kind == "mechanics" and method not in known:
            raise UsageError(f"there is no method {method!r}; known: {', '.join(known)}.")
        settings["method"] = method
    if dt is not None:
        settings["dt"] = dt
    elif _constant_step(method) and rtol is None and problem.dt is not None:
        settings["dt"] = problem.dt
    if rtol is not None:
        settings["rtol"] = rtol
    if every != 1:
        settings["every"] = every
    if on_failure != "raise":
        settings["on_failure"] = on_failure
    return settings


def _output_files(out: Path | None, name: str, overwrite: bool) -> dict[str, Path]:
    """Paths of picture and result, checked before the first step."""
    from nonsmooth.errors import OutputExistsError

    if out is None:
        return {}
    files = {"picture": out / f"{name}.png", "result": out / f"{name}.h5"}
    if out.exists() and not out.is_dir():
        raise OutputExistsError(f"--out {out} is a file: give the name of a folder.")
    out.mkdir(parents=True, exist_ok=True)
    for path in files.values():
        if path.exists() and not overwrite:
            raise OutputExistsError(
                f"{path} exists; give --overwrite to replace it, or another folder with --out."
            )
    return files


def _write(problem, result, files: dict[str, Path]) -> None:
    if not files:
        return
    from nonsmooth.problems.base import Problem
    from nonsmooth.problems.pictures import figure

    picture = figure(problem, result) if isinstance(problem, Problem) else result.plot(title=problem.title)
    picture.savefig(files["picture"], dpi=110)
    result.save(files["result"], overwrite=True)
    say(f"\npicture: {files['picture']}\nresult:  {files['result']}")


def _keep_partial(partial, files: dict[str, Path]) -> None:
    """Save what was computed before a fault."""
    if partial is not None and files:
        partial.save(files["result"], overwrite=True)
        typer.echo(f"nonsmooth: the result so far is in {files['result']}.", err=True)


def _summary(problem, result, seconds: float) -> None:
    """What the result says of itself, the time it took, and the distance from the reference."""
    say(result.summary())
    rows = [["wall time", f"{seconds:.3g} s, compilation included"]]
    reference = getattr(problem, "reference", None)
    if reference is not None:
        off = reference.deviation(result.t, result.q, result.u)
        if off["points"]:
            found = f"position max {off['max_q']:.2e}, velocity mean {off['mean_u']:.2e}"
            rows.append(["against the reference", f"{found} ({off['points']} instants)"])
    say("")
    table(rows)
