"""`nonsmooth contact`: solve contact problems stored as FCLIB files and compare methods on a folder of
them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nonsmooth.errors import InputError, StorageError

from .frame import UsageError, guarded, say, tell

app = typer.Typer(help="Frictional-contact problems in FCLIB files.", no_args_is_help=True)

NOT_SOLVED = 4


@app.command()
@guarded
def solve(
    file: Annotated[Path, typer.Argument(help="FCLIB problem (HDF5).")],
    method: Annotated[
        str,
        typer.Option(
            help="One of auto, nsgs, nsgs-anderson, newton, newton-fb, interior-point, admm, apgd, pjor, lemke, "
            "enumeration."
        ),
    ] = "auto",
    tol: Annotated[float, typer.Option(help="Residual relative to |q|, in both scalings.")] = 1e-8,
    max_iter: Annotated[int | None, typer.Option(help="Limit on iterations.")] = None,
    facets: Annotated[
        int | None, typer.Option(help="Facets of the pyramid that lemke and enumeration use in space.")
    ] = None,
    guess: Annotated[int, typer.Option(help="Start from this guess stored in the file (0: from rest).")] = 0,
    output: Annotated[
        Path | None, typer.Option(help="Write problem and solution to this FCLIB file.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing output file.")] = False,
    untrusted: Annotated[bool, typer.Option(help="Parse the file in a child process first.")] = False,
) -> None:
    """Solve one problem and print how well. Exit code 4 if the tolerance was not reached, 5 for unreadable
    files."""
    # imported here, so that help is quick
    from nonsmooth.contact.fclib import read_fclib, write_fclib
    from nonsmooth.contact.solve import solve_contact

    try:
        problem = read_fclib(file, untrusted=untrusted)
        if guess > len(problem.guesses) or guess < 0:
            raise UsageError(f"{file} holds {len(problem.guesses)} guesses; number {guess} was asked for.")
        start = problem.guesses[guess - 1] if guess else None
        options = {} if facets is None else {"facets": facets}
        result = solve_contact(problem, method, tol=tol, max_iter=max_iter, guess=start, **options)
        if output is not None:
            write_fclib(output, problem, solution=result, overwrite=overwrite)
    except InputError as error:
        raise UsageError(str(error)) from error
    say(f"{file.name}: {problem.n_contacts} contacts in {problem.dim}-D")
    say(f"  {'solved' if result.success else 'NOT solved'}: {result.message}")
    say(
        f"  residual  laws {result.residual_laws:.3e}   unit {result.residual_unit:.3e}   scaled {result.residual_scaled:.3e}"
        f"   cone {result.cone:.1e}"
    )
    say(f"  method    {result.method}, {result.iterations} iterations")
    told = (
        "success",
        "message",
        "method",
        "iterations",
        "residual",
        "residual_laws",
        "residual_unit",
        "residual_scaled",
        "cone",
    )
    tell(
        {"file": str(file), "contacts": problem.n_contacts, "dim": problem.dim}
        | {name: getattr(result, name) for name in told}
    )
    if not result.success:
        raise typer.Exit(NOT_SOLVED)


@app.command()
@guarded
def bench(
    directory: Annotated[Path, typer.Argument(help="Folder with FCLIB problems.")],
    methods: Annotated[
        str, typer.Option(help="Methods to compare, separated by commas.")
    ] = "auto,nsgs,newton,newton-fb,interior-point,admm,apgd",
    tol: Annotated[float, typer.Option(help="Residual relative to |q|, in both scalings.")] = 1e-6,
    time_limit: Annotated[float, typer.Option(help="Seconds per problem and method.")] = 20.0,
    picture: Annotated[Path, typer.Option(help="Performance profile (Dolan and Moré).")] = Path(
        "contact_profile.png"
    ),
) -> None:
    """Time methods on every problem of a folder and draw their performance profiles."""
    from nonsmooth.contact.fclib import read_fclib
    from nonsmooth.contact.profiles import measure_methods, plot_profile
    from nonsmooth.contact.solve import METHODS, solve_contact

    names = [m.strip() for m in methods.split(",") if m.strip()]
    unknown = [m for m in names if m not in METHODS]
    files = sorted(directory.glob("*.hdf5")) if directory.is_dir() else []
    if unknown or not names:
        raise UsageError(f"unknown methods: {', '.join(unknown)}; choose from {', '.join(METHODS)}.")
    if not files:
        raise StorageError(f"{directory}: no *.hdf5 files found.")
    problems = {path.stem: read_fclib(path) for path in files}
    first = next(iter(problems.values()))

    def show(name, method, seconds, result):
        state = "ok" if result.success else "--"
        say(
            f"{name:40s} {method:14s} {state}  {1e3 * seconds:10.3f} ms  residual {result.residual:.1e}  {result.method}"
        )

    try:
        for method in names:
            solve_contact(first, method, tol=tol, max_iter=20)  # compile outside the clock
        profile = measure_methods(problems, names, tol=tol, time_limit=time_limit, progress=show)
    except InputError as error:  # a method that cannot take one of the problems
        raise UsageError(str(error)) from error
    solved = {m: int((profile.seconds[:, j] < float("inf")).sum()) for j, m in enumerate(names)}
    for method, count in solved.items():
        say(f"{method:14s} solves {count} of {len(files)} to {tol:.0e}")
    plot_profile(profile, picture, title=f"{len(files)} contact problems, residual {tol:.0e}")
    say(f"performance profile written to {picture}")
    tell({"problems": len(files), "tol": tol, "solved": solved, "picture": str(picture)})
