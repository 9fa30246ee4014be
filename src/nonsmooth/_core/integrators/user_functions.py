"""The functions of a user as a problem the integrators can solve: right-hand side, switching functions, Jacobian.

They have the signature ``(t, y, p, out)`` and live at the addresses in a record `Functions`, whose own address is the
context `c` of the parts below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.calls.signatures import call_jacobian, call_value
from nonsmooth._core.integrators.records import FIELD, JACOBIAN
from nonsmooth._core.jit import address_record, by_reference


class Functions(NamedTuple):
    """Functions of a user, and the parameters handed to them."""

    at: Any  # addresses: f, g, jacobian, reset
    p: np.ndarray


_, functions_at = by_reference(Functions(address_record(f=0, g=0, jacobian=0, reset=0), np.zeros(1)))


@part(FIELD)
def user_field(c, t, y, out):
    """The right-hand side."""
    user = functions_at(c)
    call_value(user.at.f, t, y, user.p, out)


@part(FIELD)
def user_switches(c, t, y, out):
    """All switching functions."""
    user = functions_at(c)
    call_value(user.at.g, t, y, user.p, out)


@part(JACOBIAN)
def user_jacobian(c, t, y, out):
    """The Jacobian of the right-hand side."""
    user = functions_at(c)
    call_jacobian(user.at.jacobian, t, y, user.p, out)
