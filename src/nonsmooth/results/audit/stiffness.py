"""Whether a step resolves the forces it takes from one place.

An explicit step holds the force of one place for its whole length. Where the force at the end is another one, the velocity is off by
``dt M^-1 (h_E - h)``: for a spring of frequency w this is (w dt)^2/2 of the velocity, for a damper of rate c it is (c dt)^2. The
midpoint rule is stable up to w dt = 2 and c dt = 2, where these are 2 and 4: beyond, rounding grows until nothing but it is seen,
while the work of the forces still explains all energy.
"""

from __future__ import annotations

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import dot, relative
from nonsmooth.results.audit.steps import Steps

_EPS = np.finfo(np.float64).eps
_HELD = 1e-8  # of the velocity forces would make in one step: what a body at rest under a contact solver's tolerance may have


def force_change(batch: Batch, s: Steps, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """What forces at the end instead of at (t, q), the middle, would change in the velocity of each step, as a part of the largest
    velocity of all; both measured by M. Zero for bodies that move no more than rounding does, or than a contact solver lets
    them within its tolerance while laws hold them at rest against a force.

    The largest of all, not of the step: a start from rest, or a force that sets in, is no matter of stiffness.
    """
    low, high = np.minimum(s.q_B, s.q_E).min(axis=0), np.maximum(s.q_B, s.q_E).max(axis=0)
    if np.all(high - low <= 1e3 * _EPS * np.maximum(np.abs(low), np.abs(high)).max(initial=0.0)):
        return np.zeros(len(s))
    force = batch.force(t, q, s.u_B)
    change = batch.force(s.t_E, s.q_E, s.u_E) - force
    energy = 0.5 * s.dt**2 * dot(change, batch.free_accelerations(t, q, change))
    T = np.maximum(batch.kinetic(s.t_B, s.q_B, s.u_B), batch.kinetic(s.t_E, s.q_E, s.u_E))
    free = 0.5 * s.dt**2 * dot(force, batch.free_accelerations(t, q, force))
    if np.max(T) <= _HELD**2 * np.max(free):
        return np.zeros(len(s))
    return relative(np.sqrt(np.maximum(energy, 0.0)), np.sqrt(np.max(T)))
