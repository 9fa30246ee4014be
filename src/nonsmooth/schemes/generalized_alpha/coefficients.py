"""Coefficients (alpha_m, alpha_f, gamma, beta) of generalized-alpha methods, and what they say of a method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError


def chung_hulbert(rho_inf: float) -> tuple[float, float, float, float]:
    """Coefficients (61) with this spectral radius at infinite frequency."""
    alpha_m, alpha_f = (2 * rho_inf - 1) / (rho_inf + 1), rho_inf / (rho_inf + 1)
    gamma = 0.5 + alpha_f - alpha_m
    return alpha_m, alpha_f, gamma, 0.25 * (gamma + 0.5) ** 2


def newmark(gamma: float = 0.5, beta: float = 0.25) -> tuple[float, float, float, float]:
    """Coefficients of Newmark's method (of second order for gamma = 1/2 only)."""
    return 0.0, 0.0, gamma, beta


def hht(alpha: float = 0.1) -> tuple[float, float, float, float]:
    """Coefficients of Hilber, Hughes and Taylor, 0 <= alpha <= 1/3."""
    if not 0.0 <= alpha <= 1.0 / 3.0:
        raise RangeError(f"`alpha` is {alpha:g}: it must lie between 0 and 1/3.")
    return 0.0, alpha, 0.5 + alpha, 0.25 * (1.0 + alpha) ** 2


def checked_coefficients(value: Any) -> tuple[float, float, float, float] | None:
    """alpha_m, alpha_f, gamma, beta as a user gives them."""
    if value is None:
        return None
    try:
        alpha_m, alpha_f, gamma, beta = (float(x) for x in value)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`coefficients` is {value!r}: four numbers (alpha_m, alpha_f, gamma, beta) are wanted."
        ) from exc
    if not all(math.isfinite(x) for x in (alpha_m, alpha_f, gamma, beta)):
        raise NonFiniteError(f"`coefficients` is {value!r}: they must be finite.")
    if not (alpha_m < 1.0 and alpha_f < 1.0 and gamma > 0.0 and beta > 0.0):
        raise RangeError(f"`coefficients` is {value!r}: alpha_m, alpha_f < 1 and gamma, beta > 0 are wanted.")
    return alpha_m, alpha_f, gamma, beta


def radius_at_infinity(alpha_m: float, alpha_f: float, gamma: float, beta: float) -> float:
    """Largest factor of a step at infinite frequency: roots of (1 - alpha_f) z + alpha_f and of Newmark's quadratic."""
    roots = [*np.roots([beta, 0.5 + gamma - 2.0 * beta, 0.5 - gamma + beta]), alpha_f / (1.0 - alpha_f)]
    return float(np.max(np.abs(roots)))


def velocity_error(alpha_m: float, alpha_f: float, gamma: float, beta: float) -> float:
    """Local error of velocities by h^3 d^2 w/dt^2 (see `_core.stepping.alpha.control`)."""
    sigma = alpha_m - alpha_f
    c = 0.5 * ((1.0 - alpha_f) - (1.0 - alpha_m) * (1.0 + 2.0 * sigma) - sigma**2)
    return abs(1.0 / 12.0 + c - 0.5 * sigma**2)
