"""``nonsmooth report``: the page of a stored run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from .frame import guarded, say, tell
from .names import user_model


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
    from nonsmooth.results.report.write import checked_path, write_report
    from nonsmooth.results.result import Result

    target = checked_path(out or file.with_suffix(".html"), (".html", ".htm"), overwrite)
    result = Result.load(file, lazy=True) if file.is_dir() else Result.load(file)
    _attach_model(result, model)
    write_report(result, target, title=title, overwrite=True)
    say(f"report: {target}")
    tell({"report": str(target)})


def _attach_model(result: Any, model: str | None) -> None:
    """The model of a stored run, from the user's file or, for a problem of the library, from its name."""
    from nonsmooth import problems

    if model is not None:
        system = user_model(model, None, None).target
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
