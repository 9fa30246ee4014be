"""One hundred bouncing balls with heights 1e-9 apart (Compere 2001, sec. 5.3.3).

Given: 200 states, 100 switching functions, spring-damper contact (bilateral) or restitution (unilateral),
tolerances eps_x = 1e-3, eps_d = 1e-10, eps_c = 1e-7, eps_ROC = 1e-6. The spacing of events of 2.26e-10 s
forces a drop height of 1 m. Chosen here (the document is silent): k/m = 1e4 1/s^2, damping ratio 0.15,
t_final = 1.92 s, which gives 12 events a ball; restitution 0.8.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, RangeError
from ..events.switch import Switch
from .ode import OdeProblem


def bouncing_balls(
    n: int = 100,
    contact: str = "spring",
    stiffness: float = 1e4,
    damping_ratio: float = 0.15,
    restitution: float = 0.8,
    offset: float = 1e-9,
    t_end: float = 1.92,
    tol: float = 1e-10,
) -> OdeProblem:
    """`n` balls dropped from 1 m, 1 m + offset, ...; contact "spring" or "restitution"."""
    if contact not in ("spring", "restitution"):
        raise InputError(f'`contact` is {contact!r}; use "spring" or "restitution".')
    if n < 1:
        raise RangeError(f"`n` is {n}; at least one ball is wanted.")
    damping = 2.0 * damping_ratio * np.sqrt(stiffness)
    y0 = np.concatenate([1.0 + offset * np.arange(n), np.zeros(n)])

    def heights(t, y):
        return y[:n]

    if contact == "spring":

        def fun(t, y, mode):
            out = np.empty(2 * n)
            for i in range(n):
                out[i] = y[n + i]
                out[n + i] = -9.81
                if mode[i] < 0:
                    out[n + i] -= stiffness * y[i] + damping * y[n + i]
            return out

        switch = Switch(heights, size=n, tol=tol, name="ball")
    else:

        def fun(t, y, mode):
            out = np.empty(2 * n)
            for i in range(n):
                out[i] = y[n + i]
                out[n + i] = -9.81
            return out

        def rebound(t, y, i):
            out = y.copy()
            out[n + i] = -restitution * y[n + i]
            return out

        def rebound_of_one(t, y):
            out = y.copy()
            out[1] = -restitution * y[1]
            return out

        reset = rebound if n > 1 else rebound_of_one
        switch = Switch(heights, kind="unilateral", size=n, tol=tol, reset=reset, name="ball")
    return OdeProblem(
        name="bouncing_balls",
        source="Compere 2001, sec. 5.3.3; stiffness, damping, t_final chosen here",
        summary=f"{n} balls, {contact} contact, events 2.26e-10 s apart",
        fun=fun,
        y0=y0,
        t_span=(0.0, t_end),
        switches=(switch,),
        reference={"t_first": float(np.sqrt(2.0 / 9.81)), "spacing": float(offset / np.sqrt(2 * 9.81))},
        options={"rtol": 1e-3, "atol": 1e-3, "max_step": 0.1, "controller": "compere"},
    )
