"""Results as plain data: JSON text for small things, plain arrays for large ones, and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nonsmooth.errors import ResultFormatError
from nonsmooth.results.audit import Audit
from nonsmooth.results.error_estimate import ErrorEstimate
from nonsmooth.results.events import EVENT_KINDS, Event, EventList, EventTable, kind_code
from nonsmooth.results.result import Result

_log = logging.getLogger("nonsmooth")

#: Fields with one column per instant, in the order of the file.
COLUMNS = ("t", "q", "u", "P_N", "P_T", "modes", "dt", "order", "residual", "iterations")
#: Fields that are one number or text each.
SCALARS = ("status", "success", "message", "nfev", "njev", "nlu", "nsteps", "nrejected", "nbase")
#: Fields that say what was run.
ORIGIN = ("method", "method_options", "problem_name", "params", "law_names", "coordinate_names")

_ARRAY_TYPES = {"<f8", "<i8", "|i1", "|u1", "|b1", "<c16"}
_INT, _FLOAT, _NONE = -2, -3, -1  # counts below zero in a column of event sides


# --- small things -----------------------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """`value` in terms of JSON; what JSON does not know becomes its `repr`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return to_plain(value.item()) if value.dtype.kind in "biufU" else to_plain(np.asarray(value))
    if isinstance(value, complex):
        return {"__array__": [value.real, value.imag], "dtype": "<c16", "shape": []}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        code = {"b": "|b1", "i": "<i8", "u": "<i8", "f": "<f8", "c": "<c16"}[value.dtype.kind]
        array = np.ascontiguousarray(value.astype(code))
        flat = array.view(np.float64).ravel() if code == "<c16" else array.ravel()
        return {"__array__": flat.tolist(), "dtype": code, "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    return {"__repr__": repr(value)}


def from_plain(value: Any) -> Any:
    """Inverse of `to_plain`; tuples come back as lists."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__repr__" in value:
        return str(value["__repr__"])
    if "__array__" not in value:
        return {key: from_plain(item) for key, item in value.items()}
    if value.get("dtype") not in _ARRAY_TYPES:
        raise ResultFormatError(
            f"an array of type {value.get('dtype')!r} in the text of a result; it is refused"
        )
    code = value["dtype"]
    flat = np.array(value["__array__"], dtype="<f8" if code == "<c16" else code)
    array = (flat.view(code) if code == "<c16" else flat).reshape(value["shape"])
    return array if value["shape"] else array[()]


# --- events -----------------------------------------------------------------------------------------------


def pack_events(events: Sequence[Event]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Events as a small table of names and columns."""
    n = len(events)
    if isinstance(events, EventTable):
        columns: dict[str, np.ndarray] = {
            "ev_t": events.t,
            "ev_kind": events.kind,
            "ev_law": events.law,
            "ev_bracket": events.bracket,
            "ev_before": events.before,
            "ev_after": events.after,
        }
        return {"form": "table", "names": list(events.names)}, columns
    names = list(dict.fromkeys(event.name for event in events))
    index = {name: i for i, name in enumerate(names)}
    columns = {
        "ev_t": np.array([event.t for event in events], dtype=np.float64),
        "ev_kind": np.array([kind_code(event.kind) for event in events], dtype=np.uint8),
        "ev_law": np.array([event.law for event in events], dtype=np.int64),
        "ev_bracket": np.array([event.bracket for event in events], dtype=np.float64).reshape(n, 2).T,
        "ev_name": np.array([index[event.name] for event in events], dtype=np.int64),
    }
    for side in ("before", "after"):
        values = [_pack_side(getattr(event, side)) for event in events]
        columns[f"ev_{side}_count"] = np.array([count for count, _ in values], dtype=np.int64)
        flat = [number for _, numbers in values for number in numbers]
        columns[f"ev_{side}"] = np.array(flat, dtype=np.float64)
    extras = {str(i): to_plain(event.extra) for i, event in enumerate(events) if event.extra}
    return {"form": "list", "names": names, "extra": extras}, columns


def _pack_side(value: Any) -> tuple[int, Sequence[float]]:
    if value is None:
        return _NONE, ()
    array = np.asarray(value)
    if array.ndim == 0:
        return (_INT if array.dtype.kind in "biu" else _FLOAT), (float(array.real),)
    return array.size, array.ravel().real.tolist()


def unpack_events(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Sequence[Event]:
    """Inverse of `pack_events`."""
    if "ev_t" not in arrays:
        return []
    if meta["form"] == "table":
        t, kind, law, bracket = (arrays[key] for key in ("ev_t", "ev_kind", "ev_law", "ev_bracket"))
        return EventTable(t, kind, law, arrays["ev_before"], arrays["ev_after"], meta["names"], bracket)
    names, n = meta["names"], arrays["ev_t"].size
    before, after = (_unpack_side(arrays, side, n) for side in ("before", "after"))
    bracket, extra = arrays["ev_bracket"], meta.get("extra", {})
    return [
        Event(
            t=float(arrays["ev_t"][i]),
            kind=EVENT_KINDS[arrays["ev_kind"][i]],
            name=names[arrays["ev_name"][i]],
            before=before[i],
            after=after[i],
            law=int(arrays["ev_law"][i]),
            bracket=(float(bracket[0, i]), float(bracket[1, i])),
            extra=from_plain(extra.get(str(i), {})),
        )
        for i in range(n)
    ]


def _unpack_side(arrays: Mapping[str, np.ndarray], side: str, n: int) -> list[Any]:
    counts, flat = arrays[f"ev_{side}_count"], arrays[f"ev_{side}"]
    if counts.shape != (n,) or (n and counts.min() < _FLOAT):
        raise ValueError(f"sides of the events ({side}) have wrong counts")
    wanted = int(np.sum(np.where(counts >= 0, counts, np.where(counts == _NONE, 0, 1))))
    if flat.shape != (wanted,):
        raise ValueError(f"sides of the events ({side}) hold {flat.size} numbers, wanted {wanted}")
    values: list[Any] = []
    at = 0
    for count in counts[:n]:
        if count == _NONE:
            values.append(None)
        elif count in (_INT, _FLOAT):
            values.append(int(flat[at]) if count == _INT else float(flat[at]))
            at += 1
        else:
            values.append(flat[at : at + count].copy())
            at += count
    return values


def join_events(parts: Sequence[Sequence[Event]]) -> Sequence[Event]:
    """Events of several pieces of one run as one sequence; a table if all parts are tables."""
    parts = [part for part in parts if len(part)]
    tables = [part for part in parts if isinstance(part, EventTable)]
    if not parts or len(tables) < len(parts) or any(table.names != tables[0].names for table in tables):
        return EventList(sorted((event for part in parts for event in part), key=lambda event: event.t))
    t, kind, law, before, after = (
        np.concatenate([getattr(table, column) for table in tables])
        for column in ("t", "kind", "law", "before", "after")
    )
    bracket = np.concatenate([table.bracket for table in tables], axis=1)
    order = np.argsort(
        t, kind="stable"
    )  # what is known at the end only (accumulation points) comes with the last piece
    t, kind, law, before, after = (column[order] for column in (t, kind, law, before, after))
    return EventTable(t, kind, law, before, after, tables[0].names, bracket[:, order])


# --- whole results ----------------------------------------------------------------------------------------


def pack_result(result: Result) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A result as JSON text and arrays."""
    arrays = {name: np.asarray(getattr(result, name)) for name in COLUMNS}
    if np.iscomplexobj(result.y):
        arrays["y_re"], arrays["y_im"] = result.y.real, result.y.imag
    elif len(result) and not np.array_equal(result.y, np.vstack([result.q, result.u]), equal_nan=True):
        arrays["y"] = result.y
    meta = pack_closing(result)
    meta.update({name: to_plain(getattr(result, name)) for name in ORIGIN})
    meta["library"] = library_version()
    meta["events"], event_arrays = pack_events(result.events)
    return meta, arrays | event_arrays


def pack_closing(result: Result) -> dict[str, Any]:
    """Status, counters, audit and extra fields: what is known at the end of a run."""
    meta = {name: to_plain(getattr(result, name)) for name in SCALARS}
    meta["audit"] = None if result.audit is None else to_plain(result.audit.as_dict())
    meta["extra"] = pack_extra(result.extra)
    for name, estimate in (("estimate", result._estimate), ("verification", result.verification)):
        if estimate is not None:
            meta[name] = to_plain(estimate.as_dict())
    return meta


def unpack_estimates(result: Result, meta: Mapping[str, Any]) -> Result:
    """Estimates of the error that were made before the result was written."""
    for name, attribute in (("estimate", "_estimate"), ("verification", "verification")):
        if meta.get(name) is not None:
            setattr(result, attribute, ErrorEstimate(**from_plain(meta[name])))
    return result


def pack_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Extra fields that are data; callables (a dense output) cannot be stored and are left out."""
    left_out = [name for name, value in extra.items() if callable(value)]
    if left_out:
        _log.info("not stored in the file, because they are functions: %s", ", ".join(left_out))
    return {name: to_plain(value) for name, value in extra.items() if name not in left_out}


def unpack_result(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], events: Sequence[Event] | None = None
) -> Result:
    """Inverse of `pack_result`.

    Raises
    ------
    ResultFormatError
        If a field is missing or does not fit the others.
    """
    try:
        y = arrays.get("y")
        if "y_re" in arrays:
            y = arrays["y_re"] + 1j * arrays["y_im"]
        audit = meta.get("audit")
        fields: dict[str, Any] = {name: arrays.get(name) for name in COLUMNS}
        fields |= {name: meta[name] for name in SCALARS}
        fields |= {name: from_plain(meta.get(name)) for name in ORIGIN}
        fields["events"] = unpack_events(meta["events"], arrays) if events is None else events
        fields["audit"] = None if audit is None else Audit.from_dict(from_plain(audit))
        fields["extra"] = from_plain(meta.get("extra", {}))
        return unpack_estimates(Result(y=y, **fields), meta)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ResultFormatError(
            f"the file does not hold a consistent result: {error!r}; use a copy"
        ) from error


def library_version() -> str:
    """Version of the library that writes the file."""
    from importlib import metadata  # takes a tenth of a second, so only when a file is written

    try:
        return metadata.version("nonsmooth")
    except metadata.PackageNotFoundError:  # pragma: no cover - run from a source tree that is not installed
        return "unknown"
