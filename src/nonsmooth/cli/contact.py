"""`nonsmooth contact`: solve contact problems stored as FCLIB files and compare methods on a folder of
them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nonsmooth.errors import InputError, StorageError

app = typer.Typer(help="Frictional-contact problems in FCLIB files.", no_args_is_help=True)

NOT_SOLVED, STORAGE, USAGE = 4, 5, 2


@app.command()
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
            typer.echo(
                f"{file} holds {len(problem.guesses)} guesses; number {guess} was asked for.", err=True
            )
            raise typer.Exit(USAGE)
        start = problem.guesses[guess - 1] if guess else None
        options = {} if facets is None else {"facets": facets}
        result = solve_contact(problem, method, tol=tol, max_iter=max_iter, guess=start, **options)
        if output is not None:
            write_fclib(output, problem, solution=result, overwrite=overwrite)
    except StorageError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(STORAGE) from None
    except InputError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from None
    typer.echo(f"{file.name}: {problem.n_contacts} contacts in {problem.dim}-D")
    typer.echo(f"  {'solved' if result.success else 'NOT solved'}: {result.message}")
    typer.echo(
        f"  residual  unit {result.residual_unit:.3e}   scaled {result.residual_scaled:.3e}   cone {result.cone:.1e}"
    )
    typer.echo(f"  method    {result.method}, {result.iterations} iterations")
    if not result.success:
        raise typer.Exit(NOT_SOLVED)


@app.command()
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
        typer.echo(f"unknown methods: {', '.join(unknown)}; choose from {', '.join(METHODS)}.", err=True)
        raise typer.Exit(USAGE)
    if not files:
        typer.echo(f"{directory}: no *.hdf5 files found.", err=True)
        raise typer.Exit(STORAGE)
    try:
        problems = {path.stem: read_fclib(path) for path in files}
    except StorageError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(STORAGE) from None
    first = next(iter(problems.values()))

    def show(name, method, seconds, result):
        state = "ok" if result.success else "--"
        typer.echo(
            f"{name:40s} {method:14s} {state}  {1e3 * seconds:10.3f} ms  residual {result.residual:.1e}  {result.method}"
        )

    try:
        for method in names:
            solve_contact(first, method, tol=tol, max_iter=20)  # compile outside the clock
        profile = measure_methods(problems, names, tol=tol, time_limit=time_limit, progress=show)
    except InputError as error:  # a method that cannot take one of the problems
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from None
    for j, method in enumerate(names):
        solved = int((profile.seconds[:, j] < float("inf")).sum())
        typer.echo(f"{method:14s} solves {solved} of {len(files)} to {tol:.0e}")
    plot_profile(profile, picture, title=f"{len(files)} contact problems, residual {tol:.0e}")
    typer.echo(f"performance profile written to {picture}")
