"""Switching by a square wave, and its relatives: substitutes for the cited problems of Carver and of Birta
et al.

The defining equations of those problems are not available; these have the same difficulty and closed-form
event times. They are declared as substitutes wherever they are used.
"""

from __future__ import annotations

import numpy as np

from ..events.switch import Switch
from .ode import OdeProblem

SUBSTITUTE = "substitute of our own; the cited original is not available"


def square_wave(frequency: float = 2.0, t_end: float = 0.9) -> OdeProblem:
    """y' = sign sin(2 pi f t): a triangle; needs that no event is stepped over (in place of Carver 1)."""
    w = 2.0 * np.pi * frequency

    def fun(t, y, mode):
        return np.array([float(mode[0])])

    def wave(t, y):
        return np.sin(w * t)

    times = np.arange(1, int(2 * frequency * t_end + 1e-12) + 1) / (2.0 * frequency)
    return OdeProblem(
        "square_wave",
        SUBSTITUTE,
        "square-wave input, events at multiples of half a period",
        fun,
        np.zeros(1),
        (0.0, t_end),
        (Switch(wave, name="wave"),),
        {"t_events": times},
        {"max_step": 0.1},
    )


def tangential(A: float = 0.35) -> OdeProblem:
    """g = ((x - 1)^2 + A - 0.405)(2.2 - x), x' = 1: a pair of roots that vanishes between A = 0.40 and 0.41
    (BOK 1).
    """

    def fun(t, y, mode):
        return np.array([1.0, y[2] if mode[0] > 0 else -y[2], -y[1]])

    def g(t, y):
        return ((y[0] - 1.0) ** 2 + (A - 0.405)) * (2.2 - y[0])

    half = np.sqrt(0.405 - A) if A < 0.405 else None
    times = [2.2] if half is None else [1.0 - half, 1.0 + half, 2.2]
    return OdeProblem(
        "tangential",
        SUBSTITUTE,
        "double root pair that disappears with a parameter",
        fun,
        np.array([0.0, 0.5, 1.0]),
        (0.0, 3.0),
        (Switch(g, name="g"),),
        {"t_events": np.array(times)},
        {"max_step": 0.1},
    )


def closing_events(count: int = 16) -> OdeProblem:
    """Damped oscillator driven by sign sin(t^2): events at sqrt(k pi), ever closer (in place of BOK 2)."""

    def fun(t, y, mode):
        return np.array([y[1], -y[0] - 0.2 * y[1] + 0.5 * mode[0]])

    def g(t, y):
        return np.sin(t * t)

    times = np.sqrt(np.pi * np.arange(1, count + 1))
    t_end = float(np.sqrt(np.pi * (count + 0.5)))
    return OdeProblem(
        "closing_events",
        SUBSTITUTE,
        "bilateral events getting closer",
        fun,
        np.array([1.0, 0.0]),
        (0.1, t_end),
        (Switch(g, name="g"),),
        {"t_events": times},
        {"max_step": 0.1},
    )
