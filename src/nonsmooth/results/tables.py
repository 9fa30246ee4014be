"""Results as tables of named columns: pandas, and text that spreadsheets read."""

from __future__ import annotations

import csv
import importlib.util
import io
from pathlib import Path
from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.files import claim_output, write_file
from nonsmooth.results.row_names import impulse_names, state_names, velocity_names


def named_columns(result: Any) -> dict[str, np.ndarray]:
    """Time, state, impulses and modes by name, one array of shape (n_t,) each."""
    table = {"t": result.t}
    if result.q.shape[0]:
        table |= dict(zip(state_names(result, result), result.q))
        table |= dict(zip(velocity_names(result, result), result.u))
    else:
        table |= dict(zip(result.coordinate_names, result.y))
    for which in ("P_N", "P_T"):
        names = impulse_names(result, result, which)
        table |= {f"impulse {name}": row for name, row in zip(names, getattr(result, which))}
    table |= {f"mode {name}": row for name, row in zip(result.law_names, result.modes)}
    if result.dt.size:
        table["dt"] = result.dt
    return table


def to_pandas(result: Any) -> Any:
    """The columns as a `pandas.DataFrame` with the instants as index."""
    if importlib.util.find_spec("pandas") is None:
        raise InputError("`to_pandas` needs the package pandas; install it with: pip install pandas")
    import pandas as pd

    table = named_columns(result)
    return pd.DataFrame(table, index=pd.Index(table.pop("t"), name="t"))


def save_csv(result: Any, path: Path, overwrite: bool) -> None:
    """The columns as comma-separated values, every number with all its digits.

    Names that a spreadsheet would take for a formula get an apostrophe in front.
    """
    table = named_columns(result)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([f"'{name}" if name[:1] in "=+-@\t\r" else name for name in table])
    writer.writerows(zip(*(column.tolist() for column in table.values())))
    with claim_output(path, overwrite=overwrite):
        write_file(path, [text.getvalue().encode()])
