"""Names on the command line: problems of the library with ``--set``, methods, models of the user."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .frame import UsageError


def problem_of(name: str, assignments: Sequence[str]):
    """The problem `name` with ``key=value`` assignments applied."""
    from nonsmooth import problems
    from nonsmooth.errors import InputError

    params = dict(assignment(text) for text in assignments)
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


def assignment(text: str) -> tuple[str, int | float | str]:
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


def methods() -> list[str]:
    import nonsmooth as ns

    return list(ns.METHODS)


def mechanics() -> list[str]:
    from nonsmooth import problems

    return [name for name in problems.names() if problems.get(name).kind == "mechanics"]


def user_model(text: str, q0: str | None, u0: str | None) -> Any:
    from nonsmooth.errors import InputError, ModelError

    from .model import load_target, numbers

    try:
        return load_target(text, numbers("--q0", q0), numbers("--u0", u0))
    except ModelError:
        raise
    except InputError as error:
        raise UsageError(str(error)) from error
