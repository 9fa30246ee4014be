"""Numbers on their way into the page: base64 of little-endian arrays, JSON that cannot end a script."""

from __future__ import annotations

import base64
import html
import json
import math
import unicodedata
from typing import Any

import numpy as np

_TYPES = {"f8": "<f8", "f4": "<f4", "u2": "<u2", "u1": "|u1"}
_SMALL = 150_000  # numbers of a scene up to which positions keep single precision


def packed(values: Any, form: str) -> str:
    """Base64 of an array in one of the forms f8, f4, u2, u1."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=_TYPES[form]).tobytes()).decode("ascii")


def curve(values: np.ndarray) -> dict[str, Any]:
    """A row of a plot: single precision about its first finite value, so that small changes of large numbers survive."""
    finite = values[np.isfinite(values)]
    base = float(finite[0]) if finite.size else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        return {"base": base, "f4": packed(values - base, "f4")}


def track(values: np.ndarray, coarse: bool) -> dict[str, Any]:
    """A moving place, shape (frames or 1, ...): single precision, or 16 bits of its range in large scenes."""
    rows = values.reshape(values.shape[0], -1)
    n = rows.shape[1]
    if rows.shape[0] == 1 or (np.isfinite(rows).all() and np.ptp(rows, axis=0).max(initial=0.0) == 0.0):
        return {"n": n, "fixed": [_finite(v) for v in rows[0]]}
    if not coarse:
        return {"n": n, "f4": packed(rows, "f4")}
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    scale = np.where(high > low, (high - low) / 65535.0, 1.0)
    levels = np.rint(np.nan_to_num((rows - low) / scale))
    return {"n": n, "low": low.tolist(), "scale": scale.tolist(), "u2": packed(levels, "u2")}


def is_large(count: int) -> bool:
    """Whether a scene with `count` numbers is stored coarsely."""
    return count > _SMALL


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """`value` in terms of strict JSON: what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _finite(float(value))
    if value is None:
        return None
    return visible(str(value))


def island(data: Any) -> str:
    """JSON text that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(plain(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def visible(text: str) -> str:
    """Control characters and marks of writing direction, which could disguise a text, as escapes."""
    return "".join(
        f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t" else c
        for c in text
    )


def text(value: Any) -> str:
    """Any value as text of a page or of an attribute."""
    return html.escape(visible(str(value)), quote=True)
