"""Relay with hysteresis on a first-order lag, and a buck converter: events change a logic state, not the
sign of a field.
"""

from __future__ import annotations

import numpy as np

from ..events.switch import Switch
from .ode import OdeProblem


def relay_hysteresis(low: float = 0.4, high: float = 0.6, t_end: float = 5.0) -> OdeProblem:
    """x' = -x + s, the relay state s goes off at `high` and on at `low`. Period log((1-low)/(1-high)) +
    log(high/low).
    """

    def fun(t, y, mode):
        return np.array([-y[0] + y[1], 0.0])

    def upper(t, y):
        return y[0] - high if y[1] > 0.5 else -1.0

    def lower(t, y):
        return low - y[0] if y[1] < 0.5 else -1.0

    def off(t, y):
        return np.array([y[0], 0.0])

    def on(t, y):
        return np.array([y[0], 1.0])

    up, down = np.log((1.0 - low) / (1.0 - high)), np.log(high / low)
    times, t, rising = [], 0.0, True
    while t < t_end:
        t += up if rising else down
        rising = not rising
        if t <= t_end:
            times.append(t)
    return OdeProblem(
        "relay_hysteresis",
        "textbook relay",
        "relay with hysteresis",
        fun,
        np.array([low, 1.0]),
        (0.0, t_end),
        (Switch(upper, direction=1, reset=off, name="off"), Switch(lower, direction=1, reset=on, name="on")),
        {"t_events": np.array(times)},
        {"max_step": 0.2},
    )


def buck_converter(t_end: float = 4e-3) -> OdeProblem:
    """DC-DC buck converter with proportional voltage control against a ramp (V_in 24 V, L 20 mH, C 47 uF, R
    22 Ohm, T 400 us).
    """
    v_in, L, C, R, gain, v_ref, v_low, v_up, T = 24.0, 20e-3, 47e-6, 22.0, 8.4, 11.3, 3.8, 8.2, 400e-6

    def fun(t, y, mode):
        # mode -1: the control voltage is below the ramp, the transistor conducts
        return np.array([(y[1] - y[0] / R) / C, ((v_in if mode[0] < 0 else 0.0) - y[0]) / L])

    def control(t, y):
        s = t / T
        return gain * (y[0] - v_ref) - (v_low + (v_up - v_low) * (s - np.floor(s)))

    def ramp_end(t, y):
        return np.sin(np.pi * t / T)

    return OdeProblem(
        "buck_converter",
        "voltage-controlled buck converter with usual laboratory values",
        "pulse-width modulation, discontinuous ramp",
        fun,
        np.array([11.0, 0.5]),
        (1e-6, t_end),
        (Switch(control, name="control"), Switch(ramp_end, name="ramp")),
        {},
        {"max_step": T / 4},
    )
