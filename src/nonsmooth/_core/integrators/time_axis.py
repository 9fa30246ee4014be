"""Where steps begin and end."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel, phase


@kernel(references=False, forceinline=False)
def spacing(t):
    """Distance from |t| to the next larger number."""
    return abs(np.nextafter(abs(t), np.inf) - abs(t))


@phase
def cut_to_bound(now, h_abs):
    """A step of length `h_abs` in the direction of time, cut where it would pass `t_bound`."""
    direction = 1.0 if now.t_bound >= now.t else -1.0
    h = direction * h_abs
    if direction * (now.t + h - now.t_bound) > 0.0:
        h = now.t_bound - now.t
    return h


@phase
def end_of_step(now, h):
    """The instant reached by a step of size h: the end of the span exactly, if it is meant."""
    return now.t_bound if h == now.t_bound - now.t else now.t + h
