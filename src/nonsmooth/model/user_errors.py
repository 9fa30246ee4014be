"""Exceptions that come out of compiled loops, as a user should see them."""

from __future__ import annotations

from nonsmooth._core.calls.faults import explained
from nonsmooth.errors import FunctionIndexError, InputError, ShapeError


def user_error(exception: BaseException) -> BaseException:
    """The exception to raise for one that came out of a compiled loop: the user's own, or a typed one that names the function."""
    exception, function, t = explained(exception)
    if function is None:
        return exception
    where = f"{function.name} ({function.where})"
    if type(exception) is IndexError:
        return FunctionIndexError(f"{where} reached beyond the size of an array at t = {t:.9g}: {exception}.")
    if type(exception) is ShapeError and str(exception).startswith("changed the shape"):
        return ShapeError(f"{where} {exception}, at t = {t:.9g}.")
    if type(exception) is TypeError and str(exception).endswith("got None"):  # from compiled code
        return InputError(f"{where} returned None at t = {t:.9g}: return its value on every path.")
    return exception
