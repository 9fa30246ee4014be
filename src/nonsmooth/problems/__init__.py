"""Benchmark problems of the literature, each with parameters, source and reference solution.

>>> import nonsmooth as ns
>>> problem = ns.problems.woodpecker()
>>> result = ns.simulate(problem.system, (0, 0.4), problem.q0, problem.u0, dt=problem.dt)

One file, one problem; a file holds a factory function of the problem's name whose keyword arguments are the
parameters. To add a problem, write the file, import its factory here and add it to ``REGISTRY``. The files
are light: systems are built, data read and SciPy imported only when a problem is used.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ..errors import InputError
from .acary_ball import acary_ball
from .acary_oscillator import acary_oscillator
from .base import Problem, Reference, ReferenceEvent
from .belt_oscillator import belt_oscillator
from .compere_pendulum import compere_pendulum
from .falling_ball import falling_ball
from .impact_oscillator import impact_oscillator
from .incline_block import incline_block
from .rod_rough_plane import rod_rough_plane
from .rolling_spheres import rolling_spheres
from .slider_crank_clearance import slider_crank_clearance
from .sliding_mass import sliding_mass
from .woodpecker import woodpecker

#: Name of a problem -> its factory function.
REGISTRY: dict[str, Callable[..., Problem]] = {
    # mechanics
    "falling_ball": falling_ball,
    "sliding_mass": sliding_mass,
    "impact_oscillator": impact_oscillator,
    "woodpecker": woodpecker,
    "acary_ball": acary_ball,
    "acary_oscillator": acary_oscillator,
    "incline_block": incline_block,
    "belt_oscillator": belt_oscillator,
    "rod_rough_plane": rod_rough_plane,
    "slider_crank_clearance": slider_crank_clearance,
    "compere_pendulum": compere_pendulum,
    "rolling_spheres": rolling_spheres,
}

#: Problems of `solve_ivp` and `solve_filippov`: factory -> file. They are imported when first used.
OTHERS = {
    "bouncing_balls": "bouncing_balls",
    "marble_jar": "marble_jar",
    "square_wave": "square_wave",
    "tangential": "square_wave",
    "closing_events": "square_wave",
    "diode_circuit": "diode_circuit",
    "relay_hysteresis": "relay_hysteresis",
    "buck_converter": "relay_hysteresis",
    "three_mass": "three_mass",
    "coupled_relays": "relays",
    "filippov_spiral": "relays",
}

__all__ = [
    "OTHERS",
    "REGISTRY",
    "Problem",
    "Reference",
    "ReferenceEvent",
    "acary_ball",
    "acary_oscillator",
    "belt_oscillator",
    "compere_pendulum",
    "factory",
    "falling_ball",
    "get",
    "impact_oscillator",
    "incline_block",
    "names",
    "rod_rough_plane",
    "rolling_spheres",
    "slider_crank_clearance",
    "sliding_mass",
    "woodpecker",
]


def names() -> list[str]:
    """Names of all problems."""
    return list(REGISTRY)


def factory(name: str) -> Callable[..., Problem]:
    """The factory function of the problem `name`."""
    if name not in REGISTRY:
        near = get_close_matches(name, REGISTRY, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"There is no problem named {name!r}.{hint} Known: {', '.join(REGISTRY)}.")
    return REGISTRY[name]


def get(name: str, **params: Any) -> Problem:
    """The problem `name`, with parameters changed by keyword."""
    return factory(name)(**params)


def __getattr__(name: str) -> Any:
    if name not in OTHERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{OTHERS[name]}"), name)
    globals()[name] = value
    return value


class _Problems(types.ModuleType):
    """Importing the file three_mass.py must not hide the factory `three_mass`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in OTHERS and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Problems
