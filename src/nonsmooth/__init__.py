"""Dynamical systems that impact, stick, slip and switch: one model, any scheme, at compiled speed."""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Public names and the modules they live in. They are imported when first used, so that `import nonsmooth` is quick.
_PUBLIC = {
    "simulate": "simulate",
    "METHODS": "simulate",
    "MechanicalSystem": "model.system",
    "Contact": "model.elements",
    "FrictionElement": "model.elements",
    "SetValuedElement": "model.elements",
    "Interval": "model.elements",
    "Ball": "model.elements",
    "ConvexSet": "model.elements",
    "Joint": "model.elements",
    "NonholonomicConstraint": "model.elements",
    "Moreau": "schemes.moreau",
    "ExtrapolatedMoreau": "schemes.extrapolation",
    "Exact": "contact.solvers",
    "PSOR": "contact.solvers",
    "PJOR": "contact.solvers",
    "Result": "results.result",
    "Event": "results.events",
}
_MODULES = ("errors", "problems")

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"nonsmooth.{_PUBLIC[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"nonsmooth.{name}")
    else:
        raise AttributeError(f"module 'nonsmooth' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(types.ModuleType):
    """Importing the file simulate.py must not hide the function `simulate`: public names win over submodules."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if TYPE_CHECKING:
    from nonsmooth import errors, problems
    from nonsmooth.contact.solvers import PJOR, PSOR, Exact
    from nonsmooth.model.elements import (
        Ball,
        Contact,
        ConvexSet,
        FrictionElement,
        Interval,
        Joint,
        NonholonomicConstraint,
        SetValuedElement,
    )
    from nonsmooth.model.system import MechanicalSystem
    from nonsmooth.results.events import Event
    from nonsmooth.results.result import Result
    from nonsmooth.schemes.extrapolation import ExtrapolatedMoreau
    from nonsmooth.schemes.moreau import Moreau
    from nonsmooth.simulate import METHODS, simulate
