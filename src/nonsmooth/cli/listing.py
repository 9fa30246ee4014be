"""``nonsmooth list``: the benchmark problems."""

from __future__ import annotations

from typing import Annotated

import typer

from .frame import guarded, say, table, tell, text
from .names import problem_of


@guarded
def list_problems(
    name: Annotated[str | None, typer.Argument(help="Show one problem with its parameters.")] = None,
) -> None:
    """List the benchmark problems, or the parameters of one."""
    from nonsmooth import problems

    if name is not None:
        problem = problem_of(name, [])
        table([["name", problem.name], ["title", problem.title], ["source", problem.source]])
        say("\nparameters (change with --set name=value):")
        table([[f"  {key}", text(value)] for key, value in (problem.params or {}).items()])
        tell(
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
    table(rows, header=True)
    tell([dict(zip(rows[0], row)) for row in rows[1:]])
