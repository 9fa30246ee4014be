"""All schemes by name, and which of them takes a run: the one asked for, the default, one that takes over, one that verifies."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nonsmooth.errors import InputError
from nonsmooth.schemes.adaptive import AdaptiveMoreau
from nonsmooth.schemes.base import ConstantStep, Scheme
from nonsmooth.schemes.event_capturing import EventCapturing
from nonsmooth.schemes.event_driven import EventDriven
from nonsmooth.schemes.extrapolation import ExtrapolatedMoreau
from nonsmooth.schemes.generalized_alpha import GeneralizedAlpha
from nonsmooth.schemes.moreau import Moreau
from nonsmooth.schemes.schatzman_paoli import SchatzmanPaoli
from nonsmooth.schemes.sliding_mode import SlidingMode
from nonsmooth.schemes.theta import Theta

#: Schemes by name. A value is a class of options; an instance of it is accepted as `method`, too.
METHODS: dict[str, Any] = {
    scheme.name: scheme
    for scheme in (
        Moreau,
        Theta,
        SchatzmanPaoli,
        AdaptiveMoreau,
        ExtrapolatedMoreau,
        EventDriven,
        EventCapturing,
        SlidingMode,
        GeneralizedAlpha,
    )
}

#: Of runs with a constant step, and of runs with a tolerance: the default, and what takes over where it cannot.
CONSTANT, TOLERANT = Moreau, (EventDriven, ExtrapolatedMoreau)


def chosen(method: Any, dt: float | None, options: dict[str, Any]) -> Any:
    """The scheme a user asks for by name, as an object, or not at all."""
    if method is None:
        method = _default(dt, options)
    if isinstance(method, str):
        return _by_name(method, options if dt is None else {"dt": dt, **options})
    if isinstance(method, type) or not hasattr(method, "start"):
        raise InputError(f"`method` is {method!r}: a name from METHODS or a configured scheme is wanted.")
    if dt is not None or options:
        given = ", ".join(["dt"] * (dt is not None) + list(options))
        raise InputError(f"{given}: options belong into the configured method object, not beside it.")
    return method


def _default(dt, options) -> str:
    """By `dt`; options that only a later one of `TOLERANT` has choose it."""
    if dt is not None:
        return CONSTANT.name
    known = [{entry.name for entry in fields(scheme)} for scheme in TOLERANT]
    later = zip(TOLERANT[1:], known[1:])
    return next((s.name for s, names in later if (names - known[0]).intersection(options)), TOLERANT[0].name)


def _by_name(method: str, options: dict[str, Any]) -> Any:
    if method not in METHODS:
        raise InputError(f"`method` is {method!r}: one of {', '.join(METHODS)} is wanted.")
    known = [entry.name for entry in fields(METHODS[method])]
    chosen_steps = {"dt", METHODS[method].tolerance}.intersection(known, options)
    if issubclass(METHODS[method], ConstantStep) and not chosen_steps:
        raise InputError(f'method "{method}" needs a step size: pass dt=..., for example dt=1e-3.')
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(
            f"method {method!r} does not take the option {unknown[0]!r}; it takes {', '.join(known)}."
        )
    return METHODS[method](**options)


def handed_over(scheme: Scheme, model) -> tuple[Scheme, str]:
    """The default, or what takes over a model that it refuses, and why."""
    why = scheme.refuses(model) if type(scheme) is TOLERANT[0] else ""
    if not why:
        return scheme, ""
    other = TOLERANT[1](rtol=scheme.rtol, atol=scheme.atol)  # type: ignore[attr-defined]
    return other, f"{other.name} instead of {scheme.name}: {why}"


def second_opinion(scheme: Any, model) -> Any:
    """A scheme to verify a run by: the first of `TOLERANT` that is another one and takes the model."""
    rtol = getattr(scheme, "rtol", None) or 1e-8
    others = (other(rtol=rtol) for other in TOLERANT if not isinstance(scheme, other))
    return next((other for other in others if not other.refuses(model)), TOLERANT[-1](rtol=rtol))
