"""A bridge rectifier with four diodes and a buffer capacitor: four switches, two of them at a time.

Substitute for the circuit of Carver 1978 (four states, four switching functions), whose data are not
available. Source 10 sin(100 pi t) V behind L = 1 mH and 0.5 Ohm; each diode 0.05 Ohm when it conducts and 10
Ohm when it blocks (so that an explicit method can be used); C = 2 mF, load 20 Ohm. With node voltages a and b
at the bridge and u at the capacitor, conductances d_1 (a -> u), d_2 (0 -> a), d_3 (b -> u), d_4 (0 -> b): the
source current i enters at a and leaves at b. g_k is the voltage over diode k.
"""

from __future__ import annotations

import numpy as np

from ..events.switch import Switch
from .ode import OdeProblem


def diode_circuit(periods: float = 3.0, on: float = 0.05, off: float = 10.0) -> OdeProblem:
    """State (i, u): source current and capacitor voltage."""
    L, R, C, load, amplitude, w = 1e-3, 0.5, 2e-3, 20.0, 10.0, 100.0 * np.pi

    def fun(t, y, mode):
        i, u = y[0], y[1]
        d1 = 1.0 / on if mode[0] > 0 else 1.0 / off
        d2 = 1.0 / on if mode[1] > 0 else 1.0 / off
        d3 = 1.0 / on if mode[2] > 0 else 1.0 / off
        d4 = 1.0 / on if mode[3] > 0 else 1.0 / off
        a = (i + d1 * u) / (d1 + d2)
        b = (-i + d3 * u) / (d3 + d4)
        into = d1 * (a - u) + d3 * (b - u)
        return np.array([(amplitude * np.sin(w * t) - R * i - (a - b)) / L, (into - u / load) / C])

    # The voltage over a diode has the sign of the current through it whatever its state: a - u > 0 iff i >
    # d_2 u, so that thresholds on i and u alone decide (d_2, d_4 blocking): a diode conducts as soon as the
    # other branch cannot carry i.
    def voltages(t, y):
        leak = y[1] / off
        return np.array([y[0] - leak, -y[0] - leak, -y[0] - leak, y[0] - leak])

    return OdeProblem(
        "diode_circuit",
        "substitute of our own for Carver 1978, problem 3",
        "bridge rectifier, four diodes, events in pairs",
        fun,
        np.array([0.0, 2.0]),
        (0.0, periods / 50.0),
        (Switch(voltages, size=4, name="diode"),),
        {"n_switches": 4},
        {"max_step": 1e-3},
    )
