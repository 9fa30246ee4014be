"""Discontinuous systems in the decomposed form of Stewart 1996, eqs. (6)-(8): a smooth part plus groups of
regions.

    x' = s(t, x) + sum_j f^j(t, x),    f^j = f_k^j  where  h_k^j(t, x) < h_l^j(t, x) for all l != k.

Region k of a group is where its indicator is the *smallest* (erratum 1 to the paper: ``sgn v`` has the
indicators ``-v`` and ``+v``, in this order for the regions ``v > 0`` and ``v < 0``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, is_dispatcher, user_kernel
from nonsmooth.errors import InputError, ModelError, NonFiniteError, ShapeError
from nonsmooth.names import Label, check_label

#: A function ``(t, x[, p])`` or, where it does not depend on anything, an array.
Field = Callable | Sequence[float] | np.ndarray


class Group:
    """Alternatives of one discontinuous term.

    Parameters
    ----------
    fields : sequence
        ``fields[k](t, x, p) -> (n,)``, or an array of shape (n,) for a constant field.
    indicators : sequence
        ``indicators[k](t, x, p) -> float``, or an array c of shape (n,) for the linear indicator ``c . x``.
        Region k is where indicator k is smallest.
    gradients : sequence, optional
        ``gradients[k](t, x, p) -> (n,)`` or an array: gradient of indicator k. Missing ones are found by
        complex step where that is safe, else by differences.
    rates : sequence, optional
        ``rates[k](t, x, p) -> float``: partial time derivative of indicator k.
    name : str, optional
    regions : sequence of str, optional
        Names of the regions.
    """

    name = Label()

    def __init__(self, fields, indicators, gradients=None, rates=None, *, name=None, regions=None):
        self.fields = _listed(fields, "fields")
        self.indicators = _listed(indicators, "indicators")
        count = len(self.fields)
        if count < 2:
            raise ModelError(
                f"Group: {count} region given; a discontinuity needs at least two, put a single field into `smooth`"
            )
        if len(self.indicators) != count:
            raise ShapeError(
                f"Group: {count} fields but {len(self.indicators)} indicators; every region needs one of each"
            )
        self.gradients = _listed(gradients, "gradients") if gradients is not None else [None] * count
        self.rates = _listed(rates, "rates") if rates is not None else [None] * count
        for label, values in (("gradients", self.gradients), ("rates", self.rates)):
            if len(values) != count:
                raise ShapeError(
                    f"Group: {count} regions but {len(values)} {label}; give one per region or none at all"
                )
        for i in range(count):
            if self.indicators[i] is None:
                raise InputError(f"Group: indicators[{i}] is None, wanted a function or an array")
            for k in range(i):
                if self.indicators[i] is self.indicators[k]:
                    raise ModelError(
                        f"Group: indicators {k} and {i} are the same function; their regions have no inside"
                    )
        #: True if indicator 0 is minus indicator 1: it is then evaluated and differentiated once.
        self.mirror = False
        self.name = name
        if regions is not None and not isinstance(regions, Iterable):
            raise InputError(f"Group: regions = {regions!r} must be a sequence of names")
        self.regions = list(regions) if regions is not None else [str(k) for k in range(count)]
        if len(self.regions) != count:
            raise ShapeError(f"Group: {count} regions but {len(self.regions)} region names")
        for k, region in enumerate(self.regions):
            check_label(region, f"Group: regions[{k}]")

    def __len__(self):
        return len(self.fields)


def _listed(values, label):
    if callable(values) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(
            f"Group: {label} must be a sequence with one entry per region, got {type(values).__name__}"
        )
    result = []
    for k, value in enumerate(values):
        if callable(value) or value is None:
            result.append(value)
            continue
        try:
            array = np.atleast_1d(np.array(value, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Group: {label}[{k}] must be a function or an array of numbers, got {value!r}"
            ) from error
        if array.ndim != 1:
            raise ShapeError(f"Group: {label}[{k}] must be a vector, got shape {array.shape}")
        if not np.all(np.isfinite(array)):
            raise NonFiniteError(f"Group: {label}[{k}] = {array} must be finite")
        result.append(array)
    return result


def _jitted(function):
    return function if not JIT_ENABLED or is_dispatcher(function) else user_kernel(function)


def _takes_p(function):
    """Whether ``function(t, x, p)`` is meant (three arguments) rather than ``function(t, x)``."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return code is not None and code.co_argcount >= 3


def _three_arguments(function):
    """`function` as a compilable ``(t, x, p)``."""
    inner = _jitted(function)
    if _takes_p(function):
        return inner
    return _jitted(lambda t, x, p: inner(t, x))


def _scaled_field(factor, direction):
    """``factor * direction`` as a constant array or as a function (t, x, p); both may be constants or
    functions.
    """
    if not callable(factor) and not callable(direction):
        return _real(factor, "amplitude") * _vector(direction, "direction")
    f = _three_arguments(factor) if callable(factor) else None
    d = _three_arguments(direction) if callable(direction) else None
    if d is None:
        constant = _vector(direction, "direction")
        return lambda t, x, p: f(t, x, p) * constant
    if f is None:
        number = _real(factor, "amplitude")
        return lambda t, x, p: number * d(t, x, p)
    return lambda t, x, p: f(t, x, p) * d(t, x, p)


def _real(value, name):
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"sign_term, relay: {name} = {value!r} must be a number or a function") from error


def _vector(value, name):
    try:
        return np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"sign_term, relay: {name} = {value!r} must be an array of numbers or a function"
        ) from error


def _negative(value):
    if value is None:
        return None
    if not callable(value):
        return -_vector(value, "indicator or gradient")
    f = _three_arguments(value)
    return lambda t, x, p: -f(t, x, p)


def sign_term(amplitude, direction, indicator, gradient=None, rate=None, *, name=None) -> Group:
    """The term ``amplitude * direction * sgn(indicator)`` as a group of two regions.

    Parameters
    ----------
    amplitude : float or function (t, x, p) -> float
        Negative for a term that opposes its indicator (friction).
    direction : array_like, shape (n,), or function (t, x, p) -> (n,)
    indicator : array_like, shape (n,), or function (t, x, p) -> float
        Argument of sgn; an array c means ``c . x``.
    gradient, rate : optional
        Gradient (n,) of the indicator and its partial time derivative.
    """
    return relay(_negative_factor(amplitude), amplitude, direction, indicator, gradient, rate, name=name)


def _negative_factor(amplitude):
    if callable(amplitude):
        return _negative(amplitude)
    return -_real(amplitude, "amplitude")


def relay(lower, upper, direction, indicator, gradient=None, rate=None, *, name=None) -> Group:
    """A relay: ``upper * direction`` where the indicator is positive, ``lower * direction`` where it is
    negative.

    Parameters
    ----------
    lower, upper : float or function (t, x, p) -> float
    direction, indicator, gradient, rate
        As in `sign_term`.
    """
    # Stewart 1996, sec. 2: h_1 = -v, h_2 = +v (erratum 1).
    gradients = None if gradient is None else [_negative(gradient), gradient]
    rates = None if rate is None else [_negative(rate), rate]
    group = Group(
        [_scaled_field(upper, direction), _scaled_field(lower, direction)],
        [_negative(indicator), indicator],
        gradients,
        rates,
        name=name,
        regions=["+", "-"],
    )
    group.mirror = True
    return group


class FilippovSystem:
    """``x' = smooth(t, x) + sum of groups`` in the sense of Filippov.

    Parameters
    ----------
    smooth : callable, array or None
        ``smooth(t, x, p) -> (n,)``; None means zero.
    groups : sequence of Group
    params : mapping, optional
        Parameters handed to every function as ``p``; changing them does not recompile.
    names : sequence of str, optional
        Names of the states.
    """

    def __init__(self, smooth, groups=(), params: Mapping[str, Any] | None = None, *, names=None):
        if smooth is not None and not callable(smooth):
            try:
                smooth = np.atleast_1d(np.array(smooth, dtype=np.float64))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"FilippovSystem: smooth = {smooth!r} must be a function, an array of numbers or None"
                ) from error
            if not np.all(np.isfinite(smooth)):
                raise NonFiniteError(f"FilippovSystem: smooth = {smooth} must be finite")
        if isinstance(groups, Group):
            groups = [groups]
        if not isinstance(groups, Iterable):
            raise InputError(f"FilippovSystem: groups = {groups!r} must be a sequence of Group")
        if params is not None and not isinstance(params, Mapping):
            raise InputError(f"FilippovSystem: params = {params!r} must be a mapping from names to numbers")
        if names is not None and not isinstance(names, Iterable):
            raise InputError(f"FilippovSystem: names = {names!r} must be a sequence of str")
        self.groups = list(groups)
        for k, group in enumerate(self.groups):
            if not isinstance(group, Group):
                raise InputError(
                    f"FilippovSystem: groups[{k}] is {type(group).__name__}, wanted a Group (or sign_term, relay)"
                )
        self.smooth = smooth
        self.params = dict(params or {})
        self.names = None if names is None else list(names)
        for k, name in enumerate(self.names or ()):
            check_label(name, f"FilippovSystem: names[{k}]")
        self._compiled: dict = {}

    def __repr__(self):
        listed = ", ".join(f"{self.group_name(j)} ({len(g)} regions)" for j, g in enumerate(self.groups))
        return f"<FilippovSystem: {listed or 'no groups'}>"

    def _repr_html_(self):
        from nonsmooth.results.notebook import table

        rows = [(self.group_name(j), f"regions {', '.join(g.regions)}") for j, g in enumerate(self.groups)]
        rows += [("states", ", ".join(self.names))] if self.names else []
        return table(
            "FilippovSystem", rows + [(f"parameter {name}", str(v)) for name, v in self.params.items()]
        )

    @property
    def n_regions(self):
        """Number of regions of all groups."""
        return sum(len(group) for group in self.groups)

    def group_name(self, j):
        """Name of group j."""
        return self.groups[j].name or f"group {j}"
