"""The result every front door returns: arrays, events, counters, audit; plots and files.

Arrays are ``(n_components, n_times)`` as in SciPy. Column 0 is the start; ``dt``, ``order``, ``P_*`` and
``modes`` at column k belong to the step that ends there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ShapeError
from nonsmooth.results.audit import Audit
from nonsmooth.results.audit.lazy import LazyAudit
from nonsmooth.results.events import Event, EventList, count_kinds, counts_text
from nonsmooth.results.views import Pictured

#: Meaning of `Result.status`. 0, 1 and -1 are SciPy's.
STATUS: dict[int, str] = {
    0: "reached the end",
    1: "stopped by a terminal event",
    -1: "failed",
    -2: "interrupted",
    -3: "unfinished",
}
UNFINISHED = -3

_COUNTERS = ("nfev", "njev", "nlu", "nsteps", "nrejected", "nbase")


class Result(Pictured):
    """What a run left behind.

    Parameters
    ----------
    t : ndarray, shape (n_t,)
        Instants.
    q, u : ndarray, shape (n_q, n_t), (n_u, n_t)
        Coordinates and velocities; empty ``(0, n_t)`` for systems given as y' = f.
    y : ndarray, shape (n_q + n_u, n_t), optional
        State; default: q above u.
    P_N, P_T : ndarray, shape (n, n_t)
        Normal and tangential impulses of the step that ends at this instant.
    modes : ndarray of int8, shape (n_laws, n_t)
        0 open, 1 constraint, +2 / -2 impressed at the upper / lower bound.
    dt, order : ndarray, shape (n_t,)
        Step size and order of the step that ends at this instant.
    events : sequence of Event
        In order of time.
    status, success, message
        `status` as in `STATUS`; `success` is True for 0 and 1.
    nfev, njev, nlu, nsteps, nrejected, nbase : int
        Evaluations of forces and Jacobians, factorisations, accepted and rejected steps, base steps.
    audit : Audit or None
        Independent check of the run.
    residual, iterations : ndarray, shape (n_t,)
        Residual and iterations of the contact solver in the step that ends at this instant.
    law_names, coordinate_names : sequence of str
        Names of the rows of `modes` and of q.
    method, method_options, problem_name, params
        What was run.
    extra : dict
        Further fields of a front door; they are attributes of the result as well (``result.t_events``).
    """

    def __init__(
        self,
        t: np.ndarray,
        q: np.ndarray | None = None,
        u: np.ndarray | None = None,
        P_N: np.ndarray | None = None,
        P_T: np.ndarray | None = None,
        modes: np.ndarray | None = None,
        dt: np.ndarray | None = None,
        order: np.ndarray | None = None,
        events: Sequence[Event] = (),
        status: int = 0,
        success: bool | None = None,
        message: str = "",
        nfev: int = 0,
        njev: int = 0,
        nlu: int = 0,
        nsteps: int = 0,
        nrejected: int = 0,
        nbase: int = 0,
        audit: Audit | LazyAudit | None = None,
        y: np.ndarray | None = None,
        law_names: Sequence[str] = (),
        coordinate_names: Sequence[str] = (),
        method: str = "",
        method_options: Mapping[str, Any] | None = None,
        problem_name: str | None = None,
        params: Mapping[str, Any] | None = None,
        residual: np.ndarray | None = None,
        iterations: np.ndarray | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.extra = dict(extra or {})
        self.t = np.asarray(t, dtype=np.float64)
        if self.t.ndim != 1:
            raise ShapeError(f"`t` of a result has shape {self.t.shape}, wanted (n_t,).")
        nt = self.t.size
        self.q = _rows("q", q, nt, np.float64)
        self.u = _rows("u", u, nt, np.float64)
        if y is None:
            self.y = np.vstack([self.q, self.u])
        else:
            y = np.asarray(y)
            self.y = _rows("y", y, nt, np.complex128 if y.dtype.kind == "c" else np.float64)
        self.P_N = _rows("P_N", P_N, nt, np.float64)
        self.P_T = _rows("P_T", P_T, nt, np.float64)
        self.modes = _rows("modes", modes, nt, np.int8)
        self.dt = _row("dt", dt, nt, np.float64)
        self.order = _row("order", order, nt, np.int64)
        self.residual = _row("residual", residual, nt, np.float64)
        self.iterations = _row("iterations", iterations, nt, np.int64)
        self.events = events if hasattr(events, "of") else EventList(events)
        self.status = int(status)
        self.success = bool(self.status >= 0 if success is None else success)
        self.message = str(message) or STATUS.get(self.status, "")
        self.nfev, self.njev, self.nlu = int(nfev), int(njev), int(nlu)
        self.nsteps, self.nrejected, self.nbase = int(nsteps), int(nrejected), int(nbase)
        self.audit = audit
        self.law_names = _names("law", law_names, self.modes.shape[0])
        default = "q" if self.q.shape[0] else "y"
        self.coordinate_names = _names(
            default, coordinate_names, (self.q if self.q.shape[0] else self.y).shape[0]
        )
        self.method = str(method or "")
        self.method_options = dict(method_options or {})
        self.problem_name = problem_name
        self.params = dict(params or {})

    @property
    def audit(self) -> Any:
        """What a recomputation by a second route found, an `Audit`; None if none was asked for. Made when it is first looked at."""
        found = self.__dict__.get("audit")
        if isinstance(found, LazyAudit):
            found = self.__dict__["audit"] = found.make()
        return found

    @audit.setter
    def audit(self, value: Audit | LazyAudit | None) -> None:
        self.__dict__["audit"] = value

    def __getattr__(self, name: str) -> Any:
        # Only called when the usual look-up fails: fields a front door put into `extra`.
        if name != "extra" and name in self.__dict__.get("extra", ()):
            return self.extra[name]
        raise AttributeError(f"the result has no field {name!r}; it has {', '.join(sorted(self.keys()))}")

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError as error:
            view = getattr(self._model, "view", None)  # a world has bodies, joints, ... by name
            if view is None:
                raise KeyError(str(error)) from None
            return view(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.extra})

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        extra = self.__dict__.get("extra", {})
        if name in extra:  # a field of a front door
            extra[name] = value
        else:
            super().__setattr__(name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or `default`."""
        return self[name] if name in self else default

    def values(self) -> list[Any]:
        """All fields, in the order of `keys`."""
        return [self[name] for name in self.keys()]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values of all fields."""
        return [(name, self[name]) for name in self.keys()]

    def keys(self) -> list[str]:
        """Names of all fields, those of `extra` included."""
        own = [name for name in self.__dict__ if not name.startswith("_")]
        return own + list(self.__dict__.get("extra", ()))

    @property
    def unfinished(self) -> bool:
        """True if this was recovered from a run whose writer never came to its end."""
        return self.status == UNFINISHED

    def __len__(self) -> int:
        return len(self.t)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:.6g} ... {self.t[-1]:.6g}" if len(self) else "empty"
        what = self.problem_name or ""
        state = f"n_q = {self.q.shape[0]}" if self.q.shape[0] else f"n_y = {self.y.shape[0]}"
        parts = [
            part
            for part in (
                what,
                self.method,
                span,
                f"{len(self)} instants",
                state,
                f"{self.modes.shape[0]} laws" if self.modes.shape[0] else "",
                f"{self.nsteps} steps",
                f"events: {counts_text(count_kinds(self.events))}",
                "" if self.success else f"NOT SUCCESSFUL: {self.message}",
                "" if self.audit is None or self.audit.ok else "audit: NOT ok",
            )
            if part
        ]
        return f"<Result {' | '.join(parts)}>"

    def summary(self) -> str:
        """Text table: what was run, how far it came, what it cost, what happened, how large its error is, what the audit says.

        The error of a run with a tolerance takes a second pass (see `error_estimate`), once.
        """
        rows: list[tuple[str, str]] = []
        if self.problem_name:
            rows.append(("problem", self.problem_name))
        if self.method:
            options = ", ".join(f"{k}={_short(v)}" for k, v in self.method_options.items())
            rows.append(("method", self.method + (f" ({options})" if options else "")))
        rows.append(
            ("status", f"{self.status} ({'success' if self.success else 'NO success'}) {self.message}")
        )
        if len(self):
            rows.append(("time", f"{self.t[0]:.10g} ... {self.t[-1]:.10g}, {len(self)} instants stored"))
        counts = [(name, getattr(self, name)) for name in _COUNTERS]
        rows.append(("counters", "  ".join(f"{name} {value}" for name, value in counts if value) or "none"))
        steps = self.dt[self.dt > 0] if self.dt.size else self.dt
        if steps.size:
            rows.append(("step size", f"{steps.min():.4g} ... {steps.max():.4g}"))
        if self.order.size and self.order.max() > 1:
            rows.append(("order", f"up to {self.order.max()}"))
        if self.iterations.size and self.iterations.any():
            rows.append(("iterations", f"up to {self.iterations.max()} per stored step"))
        rows.append(("events", counts_text(count_kinds(self.events))))
        if self.error_estimate is not None:
            rows.append(("error", str(self.error_estimate)))
        if self.verification is not None:
            rows.append(("deviation", str(self.verification)))
        if len(self):
            rows += self._state_rows()
        width = max(len(name) for name, _ in rows)
        text = "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
        return text if self.audit is None else f"{text}\n\n{self.audit}"

    def _state_rows(self) -> list[tuple[str, str]]:
        """Start, end and range of every coordinate (at most twelve)."""
        values = self.q if self.q.shape[0] else self.y.real
        rows = [("", f"{'start':>14} {'end':>14} {'smallest':>14} {'largest':>14}")]
        for name, row in list(zip(self.coordinate_names, values))[:12]:
            rows.append((name, f"{row[0]:14.6g} {row[-1]:14.6g} {row.min():14.6g} {row.max():14.6g}"))
        if values.shape[0] > 12:
            rows.append(("...", f"{values.shape[0] - 12} more"))
        return rows

    #: What says how an adaptive run is repeated with another tolerance, and which; what came of it.
    _second: Any = None
    _estimate: Any = None
    #: Deviation from a second scheme (``verify=True``), an `ErrorEstimate`; None if none was asked for.
    verification: Any = None

    @property
    def error_estimate(self) -> Any:
        """Global error at the end and at events, an `ErrorEstimate`; None for runs without a tolerance.

        Made when it is first looked at, by a second pass with another tolerance: that costs about as much as the run.
        """
        if self._estimate is None and self._second is not None:
            from nonsmooth.results.error_estimate import estimate

            self._estimate = estimate(self, *self._second())
        return self._estimate

    @property
    def ambiguous(self) -> list[dict[str, Any]]:
        """Instants at which the laws led on in several ways (strong friction, Painleve), in the order of time; most often none.

        Each is a dictionary: `t`; `of`, "accelerations" or "impulses"; `solutions`, each with `text`, `modes` by law (`alike`: all modes in
        which the same happens), `rates` (of u, or u after the impact) and `forces` (or impulses) by row; `taken`, which of them the run
        went on with (None for the start).
        """
        return self.extra.get("ambiguous", [])

    def gaps(self, system: Any = None) -> np.ndarray:
        """Gaps of all contacts at the stored instants, shape (n_N, n_t); a result read from a file needs the `system`."""
        from nonsmooth.results.quantities import gaps, model_of

        return gaps(self, model_of(self, system, "gaps"))

    def forces(self) -> np.ndarray:
        """Mean forces of all laws over the step that ends at each instant, shape (n_rows, n_t): normal, tangential, joints.

        NaN at the start, and where a contact closes: impulses are no forces, see `P_N` and `P_T`.
        """
        from nonsmooth.results.quantities import forces

        return forces(self)

    def energy(self, system: Any = None) -> Any:
        """Named tuple of ``kinetic``, ``potential``, ``total`` at the stored instants, shape (n_t,) each; the last two are None
        where the model has no potential. A result read from a file needs the `system`."""
        from nonsmooth.results.quantities import energies, model_of

        return energies(self, model_of(self, system, "energy"))

    def profile(self) -> Any:
        """What the steps were spent on, a `Profile` to print: laws by events, where steps were small and why, accumulations, chatter."""
        from nonsmooth.results.profile import profile

        return profile(self)

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write the result to one HDF5 file; crash-safe, an existing file stays untouched unless `overwrite`.

        With the ending ``.csv`` only the columns are written, as text that spreadsheets read.

        Raises
        ------
        OutputExistsError, OutputLockedError, StorageError
        """
        if Path(path).suffix.lower() == ".csv":
            from nonsmooth.results.tables import save_csv

            return save_csv(self, Path(path), overwrite)
        from nonsmooth.results.store import save_result

        save_result(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> Result:
        """Read a file written by `save` or a directory written by a streaming run.

        Parameters
        ----------
        path : path-like
        **options
            ``max_bytes`` (limit on the size of the content, default 4 GiB), ``salvage`` (keep what is intact
            of a damaged streaming run), ``untrusted`` (read in a child process), ``lazy`` (read the arrays of
            a streaming run when they are first used).

        Raises
        ------
        ResultFormatError
            Not a result, damaged, of a newer format, or larger than `max_bytes`.
        """
        from nonsmooth.results.store import load_result

        return load_result(path, **options)

    def to_pandas(self) -> Any:
        """State, impulses and modes as a `pandas.DataFrame` with the instants as index.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        from nonsmooth.results.tables import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> Any:
        """The arrays as an `xarray.Dataset` with named dimensions.

        Raises
        ------
        InputError
            If xarray is not installed.
        """
        if importlib.util.find_spec("xarray") is None:
            raise InputError(
                "`to_xarray` needs the package xarray; install it with: pip install 'nonsmooth[xarray]'"
            )
        import xarray as xr

        def dims(name: str) -> tuple[str, str]:
            return (name, "t")

        data: dict[str, Any] = {}
        coords: dict[str, Any] = {"t": ("t", self.t)}
        if self.q.shape[0]:
            data["q"] = (("coordinate", "t"), self.q)
            coords["coordinate"] = list(self.coordinate_names)
            if self.u.shape[0] == self.q.shape[0]:
                data["u"] = (("coordinate", "t"), self.u)
            elif self.u.shape[0]:
                data["u"] = (dims("velocity"), self.u)
        else:
            data["y"] = (("component", "t"), self.y)
            coords["component"] = list(self.coordinate_names)
        if self.modes.shape[0]:
            data["modes"] = (dims("law"), self.modes)
            coords["law"] = list(self.law_names)
        for name, dim in (("P_N", "normal"), ("P_T", "tangential")):
            if getattr(self, name).shape[0]:
                data[name] = (dims(dim), getattr(self, name))
        for name in ("dt", "order", "residual", "iterations"):
            if getattr(self, name).size:
                data[name] = (("t",), getattr(self, name))
        attributes = {"method": self.method, "status": self.status, "message": self.message}
        return xr.Dataset(data, coords=coords, attrs=attributes)


def _rows(name: str, value: Any, nt: int, dtype: Any) -> np.ndarray:
    """`value` as an array of shape (n, nt); None becomes (0, nt)."""
    if value is None:
        return np.zeros((0, nt), dtype=dtype)
    array = np.asarray(value, dtype=dtype)
    if array.ndim != 2 or array.shape[1] != nt:
        raise ShapeError(
            f"`{name}` of a result has shape {array.shape}, wanted (n, {nt}) as `t` has {nt} instants."
        )
    return array


def _row(name: str, value: Any, nt: int, dtype: Any) -> np.ndarray:
    """`value` as an array of shape (nt,); None becomes an empty array."""
    if value is None:
        return np.zeros(0, dtype=dtype)
    array = np.asarray(value, dtype=dtype)
    if array.shape not in ((nt,), (0,)):
        raise ShapeError(
            f"`{name}` of a result has shape {array.shape}, wanted ({nt},) as `t` has {nt} instants."
        )
    return array


def _names(prefix: str, names: Sequence[str], n: int) -> tuple[str, ...]:
    if len(names) not in (0, n):
        raise ShapeError(f"{len(names)} names for {n} rows ({prefix}); give one name per row or none.")
    return tuple(str(name) for name in names) or tuple(f"{prefix}[{i}]" for i in range(n))


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
