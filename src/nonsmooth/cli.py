"""Command line: ``nonsmooth list | run NAME | bench | warmup | info``.

Exit codes: 0 good, 2 usage, 3 model or start state, 4 solver or integration (what was computed is kept),
5 storage, 130 interrupted, 143 terminated. A traceback is shown only with ``--debug``.

Heavy modules are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

USAGE, MODEL, RUN, STORAGE, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143
RTOL = 2.3e-15, 1.0  # what the schemes accept

app = typer.Typer(
    name="nonsmooth",
    help="Simulate systems that impact, stick, slip and switch.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class UsageError(Exception):
    """A wrong option or argument."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn exceptions into exit codes with one line on standard error; `--debug` keeps the traceback."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        from .errors import InputError, IntegrationError, SolverError, StorageError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                command(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt as stop:
            _fail("terminated." if _state["terminated"] else "interrupted.", stop)
            raise typer.Exit(TERMINATED if _state["terminated"] else INTERRUPTED) from stop
        except UsageError as error:
            _fail(str(error), error)
            raise typer.Exit(USAGE) from error
        except InputError as error:
            _fail(str(error), error)
            raise typer.Exit(MODEL) from error
        except (SolverError, IntegrationError) as error:
            _fail(str(error), error)
            raise typer.Exit(RUN) from error
        except (
            BrokenPipeError
        ):  # whoever reads has seen enough (`| head`): no error, and nothing more to write
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (StorageError, OSError) as error:
            _fail(str(error), error)
            raise typer.Exit(STORAGE) from error

    return wrapper


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    if not _state["quiet"]:
        typer.echo(f"warning: {message}", err=True)


def _fail(message: str, error: BaseException) -> None:
    if _state["debug"]:
        raise error
    typer.echo(f"nonsmooth: {message}", err=True)
    _tell({"error": type(error).__name__, "message": message})


_state = {"debug": False, "terminated": False, "json": False, "quiet": False}


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM inside acts like Ctrl-C: the run stops at a step boundary and keeps what it has."""

    def stop(signum: int, frame: Any) -> None:
        _state["terminated"] = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        typer.echo(f"nonsmooth {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Results as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Simulate systems that impact, stick, slip and switch."""
    _state.update(debug=debug, json=json_, quiet=quiet)


def _say(text: str) -> None:
    """A line for people: not with --json or --quiet."""
    if not (_state["json"] or _state["quiet"]):
        typer.echo(text)


def _tell(data: Any) -> None:
    """The same for programs: with --json only."""
    if _state["json"]:
        import json

        from .results.report.encode import plain

        typer.echo(json.dumps(plain(data), allow_nan=False))


# -- list ------------------------------------------------------------------------------------------------


@app.command("list")
@guarded
def list_problems(
    name: Annotated[str | None, typer.Argument(help="Show one problem with its parameters.")] = None,
) -> None:
    """List the benchmark problems, or the parameters of one."""
    from . import problems

    if name is not None:
        problem = _problem(name, [])
        _table([["name", problem.name], ["title", problem.title], ["source", problem.source]])
        _say("\nparameters (change with --set name=value):")
        _table([[f"  {key}", _text(value)] for key, value in (problem.params or {}).items()])
        _tell(
            {
                "name": problem.name,
                "title": problem.title,
                "source": problem.source,
                "params": dict(problem.params or {}),
            }
        )
        return
    rows = [["problem", "kind", "what", "reference"]]
    for key in problems.names():
        problem = problems.get(key)
        reference = getattr(problem, "reference", None)
        known = "-" if reference is None else reference.origin.split(",")[0].split(";")[0]
        rows.append([key, problem.kind, problem.title, known])
    _table(rows, header=True)
    _tell([dict(zip(rows[0], row)) for row in rows[1:]])


# -- run -------------------------------------------------------------------------------------------------


@app.command()
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
    _positive("--dt", dt)
    _positive("--rtol", rtol)
    if rtol is not None and not RTOL[0] <= rtol <= RTOL[1]:
        raise UsageError(f"--rtol is {rtol}; it must lie between {RTOL[0]:g} and {RTOL[1]:g}.")
    _positive("--t-end", t_end)
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
    _tell(_digest(result, seconds, {**files, "report": report, "animation": animate}))
    unconverged = getattr(result.audit, "unconverged", 0) or 0
    if not result.success or unconverged:
        typer.echo(f"nonsmooth: {result.message} Unconverged solves: {unconverged}.", err=True)
        raise typer.Exit(RUN)


@app.command("report")
@guarded
def report_file(
    file: Annotated[Path, typer.Argument(help="Result: an HDF5 file, or the folder of a streamed run.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; beside FILE if left out.")] = None,
    model: Annotated[
        str | None, typer.Option(help="FILE.py:NAME of the model, for the scene, gaps and energy.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a file that is no page.")] = False,
) -> None:
    """Write the report of a stored run: one offline page."""
    from .results.report.write import checked_path, write_report
    from .results.result import Result

    target = checked_path(out or file.with_suffix(".html"), (".html", ".htm"), overwrite)
    result = Result.load(file, lazy=True) if file.is_dir() else Result.load(file)
    _attach_model(result, model)
    write_report(result, target, title=title, overwrite=True)
    _say(f"report: {target}")
    _tell({"report": str(target)})


def _attach_model(result: Any, model: str | None) -> None:
    """The model of a stored run, from the user's file or, for a problem of the library, from its name."""
    from . import problems

    if model is not None:
        system = _user_model(model, None, None).target
    elif result.problem_name in problems.REGISTRY:
        try:
            system = problems.get(result.problem_name).system.with_params(**result.params)
        except ValueError:  # parameters of another version of the problem: a report without a scene
            return
    else:
        return
    system = getattr(system, "system", system)
    if not hasattr(system, "bind") or not len(result):
        return
    reader = getattr(result, "_reader", None)  # of a streamed run, however long, only the first piece is read
    first = result if reader is None else SimpleNamespace(**reader.read(0, only=("t", "q", "u"))[0])
    if first.q.shape[0]:
        result._model = system.bind(float(first.t[0]), first.q[:, 0], first.u[:, 0])


def _target(name: str, assignments: Sequence[str], q0: str | None, u0: str | None) -> Any:
    """What is to run: a problem of the library, or a model of the user."""
    from .cli_model import is_file_target

    if not is_file_target(name):
        if q0 is not None or u0 is not None:
            raise UsageError(
                "--q0 and --u0 are for models of your own; problems bring their start (--set changes it)."
            )
        return _problem(name, assignments)
    target = _user_model(name, q0, u0)
    if assignments:
        if not hasattr(target.target, "with_params"):
            raise UsageError("--set needs a system with parameters.")
        target.target = target.target.with_params(**dict(_assignment(text) for text in assignments))
    return target


def _user_model(text: str, q0: str | None, u0: str | None) -> Any:
    from .cli_model import load_target, numbers
    from .errors import InputError, ModelError

    try:
        return load_target(text, numbers("--q0", q0), numbers("--u0", u0))
    except ModelError:
        raise
    except InputError as error:
        raise UsageError(str(error)) from error


def _pages(
    report: Path | None, animate: Path | None, overwrite: bool
) -> list[tuple[Path, Callable[..., None]]]:
    """Pages to write after the run, their places checked before it."""
    from .errors import InputError
    from .results.report.write import checked_path

    pages: list[tuple[Path, Callable[..., None]]] = []
    try:
        if report is not None:
            checked_path(report, (".html", ".htm"), overwrite)
            pages.append((report, lambda result, path: result.report(path, overwrite=True)))
        if animate is not None:
            checked_path(animate, (".html", ".htm", ".gif", ".mp4"), overwrite)
            pages.append((animate, lambda result, path: result.animate(path, overwrite=True)))
    except InputError as error:
        raise UsageError(str(error)) from error
    return pages


def _digest(result: Any, seconds: float, files: dict[str, Path | None]) -> dict[str, Any]:
    """A run in a few numbers and words, for programs."""
    from .results.events import count_kinds

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
        known = _methods()
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
    from .errors import OutputExistsError

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
    from .problems.base import Problem
    from .problems.pictures import figure

    picture = figure(problem, result) if isinstance(problem, Problem) else result.plot(title=problem.title)
    picture.savefig(files["picture"], dpi=110)
    result.save(files["result"], overwrite=True)
    _say(f"\npicture: {files['picture']}\nresult:  {files['result']}")


def _keep_partial(partial, files: dict[str, Path]) -> None:
    """Save what was computed before a fault."""
    if partial is not None and files:
        partial.save(files["result"], overwrite=True)
        typer.echo(f"nonsmooth: the result so far is in {files['result']}.", err=True)


def _summary(problem, result, seconds: float) -> None:
    """What the result says of itself, the time it took, and the distance from the reference."""
    _say(result.summary())
    rows = [["wall time", f"{seconds:.3g} s, compilation included"]]
    reference = getattr(problem, "reference", None)
    if reference is not None:
        off = reference.deviation(result.t, result.q, result.u)
        if off["points"]:
            found = f"position max {off['max_q']:.2e}, velocity mean {off['mean_u']:.2e}"
            rows.append(["against the reference", f"{found} ({off['points']} instants)"])
    _say("")
    _table(rows)


# -- bench, warmup, info ---------------------------------------------------------------------------------


@app.command()
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
    for name in names or _mechanics():
        problem = _problem(name, [])

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
    _table(rows, header=True)


@app.command()
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
    from .warmup import doors, warm

    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs is {jobs}; it must be at least 1.")
    chosen = [door for door in doors() if not names or door.startswith(tuple(names))]
    if not chosen:
        families = dict.fromkeys(door.partition(",")[0] for door in doors())
        raise UsageError(f"there is no front door {' or '.join(names or [])}; known: {', '.join(families)}.")
    start, compiled = time.perf_counter(), 0
    for outcome in warm(chosen, jobs):
        compiled += outcome.kernels
        _say(f"{outcome.door:<36} {outcome.kernels:4d} kernels {outcome.seconds:7.2f} s")
    _say(f"{'together':<36} {compiled:4d} kernels {time.perf_counter() - start:7.2f} s passed")


@app.command()
@guarded
def info() -> None:
    """Versions, methods and folders."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from . import __version__, problems
    from ._core.kernel_cache import library

    rows = [["nonsmooth", __version__], ["python", platform.python_version()]]
    for package in ("numpy", "scipy", "numba", "h5py", "matplotlib"):
        try:
            rows.append([package, version(package)])
        except PackageNotFoundError:
            rows.append([package, "not installed"])
    rows.append(["cores", str(os.cpu_count())])
    rows.append(["compiled kernels", ", ".join(str(found.directory) for found in library.readable())])
    rows.append(["methods", ", ".join(_methods())])
    rows.append(["problems", ", ".join(problems.names())])
    _table(rows)
    _tell(dict(rows))


# -- helpers ---------------------------------------------------------------------------------------------


def _problem(name: str, assignments: Sequence[str]):
    """The problem `name` with ``key=value`` assignments applied."""
    from . import problems
    from .errors import InputError

    params = dict(_assignment(text) for text in assignments)
    for key, value in params.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"--set {key}={value}: the value must be finite.")
    try:
        return problems.get(name, **params)
    except InputError as error:
        raise UsageError(str(error)) from error
    except TypeError as error:
        known = ", ".join(problems.get(name).params or ())
        raise UsageError(
            f"--set: {', '.join(params)} does not fit {name}; its parameters are {known}."
        ) from error


def _assignment(text: str) -> tuple[str, int | float | str]:
    key, separator, value = text.partition("=")
    key = key.strip()
    if not separator or not key.isidentifier():
        raise UsageError(f"--set {text!r}: write name=value.")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, value.strip()


def _methods() -> list[str]:
    import nonsmooth as ns

    return list(ns.METHODS)


def _mechanics() -> list[str]:
    from . import problems

    return [name for name in problems.names() if problems.get(name).kind == "mechanics"]


def _positive(option: str, value: float | None) -> None:
    if value is not None and not 0.0 < value < float("inf"):
        raise UsageError(f"{option} is {value}; it must be positive and finite.")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Sequence[str]], header: bool = False) -> None:
    if not rows or _state["json"] or _state["quiet"]:
        return
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for number, row in enumerate(rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if header and number == 0:
            typer.echo("  ".join("-" * width for width in widths))


if importlib.util.find_spec("nonsmooth.cli_contact") is not None:
    from .cli_contact import app as contact_app

    app.add_typer(contact_app, name="contact")


def main() -> None:
    """Entry point of the ``nonsmooth`` command; --json, --quiet and --debug may stand anywhere."""
    given = sys.argv[1:]
    anywhere = [word for word in given if word in ("--json", "--quiet", "--debug")]
    sys.exit(app([*anywhere, *(word for word in given if word not in anywhere)]))


if __name__ == "__main__":
    main()
