"""The functions of a Filippov system made fit for the compiled run.

Three compiled functions hold all that is special of a system: its fields, its indicators and their gradients, each writing
what a mask asks for. `nonsmooth._core.sliding.functions` makes of them the sliding field and the switching function; it
reaches them at their addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as default

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, user_kernel
from nonsmooth._core.sliding.records import PART, SYSTEM
from nonsmooth.errors import ModelError, ShapeError
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.parameters import Parameters


@dataclass
class CompiledSystem:
    """What a run needs of a system.

    Attributes
    ----------
    functions : dict
        Compiled fields, indicators and gradients with their signature, as `address_record` takes them.
    n, starts
        Number of states, first region of each group.
    derivatives : dict
        Where the gradients come from.
    keep : list
        Scratch arrays that the compiled functions point to.
    python : PythonSystem
        The same functions for calls from Python.
    """

    functions: dict
    n: int
    starts: np.ndarray
    parameters: Parameters
    derivatives: dict
    keep: list
    python: PythonSystem
    seen: dict = default(default_factory=dict)
    named: dict = default(default_factory=dict)

    @property
    def n_regions(self):
        """Number of regions of all groups."""
        return int(self.starts[-1])


class PythonSystem:
    """The functions of a system called from Python, checked: used for validation and by plain-Python methods."""

    def __init__(self, system, n, parameters):
        self.n, self.parameters = n, parameters
        self.smooth = _function(system.smooth, "smooth", n, parameters)
        self.fields, self.indicators, self.gradients, self.rates = [], [], [], []
        self.mirror = []  # region whose indicator is minus this one, or -1
        for j, group in enumerate(system.groups):
            label = system.group_name(j)
            mirrored = group.mirror and callable(group.indicators[1])
            self.mirror += [len(self.fields) + 1 if mirrored and k == 0 else -1 for k in range(len(group))]
            for k in range(len(group)):
                where = f"of region {k} of {label!r}"
                self.fields.append(_function(group.fields[k], f"field {where}", n, parameters))
                self.indicators.append(_indicator(group.indicators[k], f"indicator {where}", n, parameters))
                self.gradients.append(_function(group.gradients[k], f"gradient {where}", n, parameters))
                self.rates.append(_scalar(group.rates[k], f"rate {where}", parameters))
        self.starts = np.cumsum([0] + [len(group) for group in system.groups])

    def field(self, k, t, x):
        """f_k (n,); k = R is the smooth part."""
        f = self.smooth if k == len(self.fields) else self.fields[k]
        if f is None:
            return np.zeros(self.n)
        return f.call(t, x, x) if isinstance(f, UserFunction) else f

    def indicator(self, k, t, x):
        """h_k."""
        if self.mirror[k] >= 0:
            return -self.indicator(self.mirror[k], t, x)
        h = self.indicators[k]
        return float(h.call(t, x, x)[0]) if isinstance(h, UserFunction) else float(h @ x)

    def check_finite(self, t, x):
        """Raise typed errors for values at the start that are not finite or of wrong shape."""
        own = [h for h, other in zip(self.indicators, self.mirror) if other < 0]
        for f in [*self.fields, self.smooth, *own]:
            if isinstance(f, UserFunction):
                f.check_finite(t, x, x)

    def check(self, t, x):
        """`check_finite`, and `ModelError` for regions that coincide."""
        self.check_finite(t, x)
        count = len(self.fields)
        rng = np.random.default_rng(1996)
        size = max(1.0, float(np.max(np.abs(x), initial=0.0)))
        points = [x] + [x + 0.1 * size * rng.uniform(-1, 1, self.n) for _ in range(5)]
        values = np.empty((len(points), count))
        for i, point in enumerate(points):
            for k in range(count):
                values[i, k] = self.indicator(k, t + 0.01 * i, point)
        for j in range(len(self.starts) - 1):
            for a in range(self.starts[j], self.starts[j + 1]):
                for b in range(self.starts[j], a):
                    if np.array_equal(values[:, a], values[:, b]):
                        raise ModelError(
                            f"indicators {b - self.starts[j]} and {a - self.starts[j]} of group {j} are equal everywhere "
                            f"(seen at {len(points)} points): their regions have no inside"
                        )
        for k in range(count):
            self.check_gradient(k, t, points)

    def check_gradient(self, k, t, points):
        """Raise `ModelError` if the gradient or rate given for indicator k contradicts differences of the indicator.

        At a kink of the indicator they may: only a contradiction at most of the points counts.
        """
        given, rate, h = self.gradients[k], self.rates[k], self.indicators[k]
        if self.mirror[k] >= 0 or not isinstance(h, UserFunction) or (given is None and rate is None):
            return
        wrong = {"gradient": [], "rate": []}
        for i, x in enumerate(points):
            s = t + 0.01 * i
            d = 6e-6 * np.maximum(np.abs(x), max(float(np.abs(x).max()), 1e-3))
            found = np.array([
                (self.indicator(k, s, x + step) - self.indicator(k, s, x - step)) / (2.0 * d[i])
                for i, step in enumerate(np.diag(d))
            ])  # fmt: skip
            d_t = 6e-6 * max(abs(s), 1.0)
            found_t = (self.indicator(k, s + d_t, x) - self.indicator(k, s - d_t, x)) / (2.0 * d_t)
            if not np.all(np.isfinite(found)) or not np.isfinite(found_t):
                continue
            if given is not None:
                value = given.call(s, x, x) if isinstance(given, UserFunction) else given
                size = max(float(np.abs(found).max()), float(np.abs(value).max()), 1e-8)
                wrong["gradient"].append((float(np.abs(value - found).max()) > 1e-3 * size, x, value, found))
            if rate is not None:
                value = float(rate.call(s, x, x)[0])
                size = max(abs(found_t), abs(value), 1e-3 * float(np.abs(found).max(initial=0.0)), 1e-8)
                wrong["rate"].append((abs(value - found_t) > 1e-3 * size, x, value, found_t))
        for what, seen in wrong.items():
            bad = [item for item in seen if item[0]]
            if len(bad) > len(seen) // 2:
                _, x, value, found = bad[0]
                raise ModelError(
                    f"{what} of {h.name} is {value} at x = {x}, but differences of the indicator give {found}; "
                    f"correct it, or leave it out and let it be found"
                )


def _function(value, name, n, parameters):
    if value is None:
        return None
    if callable(value):
        return UserFunction(value, name, (n,), False, parameters)
    if value.shape != (n,):
        raise ShapeError(f"{name} has shape {value.shape}; the state has {n} components, so ({n},) is wanted")
    return value


def _indicator(value, name, n, parameters):
    if callable(value):
        return UserFunction(value, name, (1,), False, parameters)
    return _function(value, name, n, parameters)


def _scalar(value, name, parameters):
    if value is None or callable(value):
        return None if value is None else UserFunction(value, name, (1,), False, parameters)
    raise ShapeError(f"{name} must be a function (t, x, p) -> float")


def compile_system(system, t0, x0) -> CompiledSystem:
    """Compile the functions of `system` around the start (t0, x0)."""
    n = x0.size
    key = (n, _parameter_key(system.params))
    if key in system._compiled:
        compiled = system._compiled[key]
        if not _same_numbers(system.params, compiled.seen):
            compiled.seen = dict(system.params)
            compiled.parameters = compiled.parameters.replaced(system.params)
            compiled.python.parameters = compiled.parameters
            for f in _user_functions(compiled.python):
                f.parameters = compiled.parameters
        compiled.python.check_finite(t0, x0)
        return compiled
    parameters = Parameters(system.params)
    python = PythonSystem(system, n, parameters)
    python.check(t0, x0)
    compiled = _build(python, t0, x0)
    compiled.seen = dict(system.params)
    system._compiled[key] = compiled
    return compiled


def _same_numbers(params, seen):
    """Whether nothing changed; arrays may have been written into, so only plain numbers can tell."""
    return all(isinstance(value, (int, float)) and value == seen.get(name) for name, value in params.items())


def _user_functions(python):
    lists = [python.fields, python.indicators, python.gradients, python.rates, [python.smooth]]
    return [f for values in lists for f in values if isinstance(f, UserFunction)]


def _parameter_key(params):
    return tuple((name, np.shape(value)) for name, value in params.items())


def _build(python, t0, x0):
    n = python.n
    differ = Differentiator(t0, x0, x0, python.parameters.flat)
    functions = (
        _rows_function(python.fields + [python.smooth], n, x0, t0),
        _indicator_function(python.indicators, python.mirror, n, x0, t0),
        _gradient_function(python, differ, n, x0, t0),
    )
    return CompiledSystem(
        {name: (function, PART) for name, function in zip(SYSTEM, functions)},
        n,
        np.array(python.starts, dtype=np.int64),
        python.parameters,
        differ.sources,
        differ.keep,
        python,
    )


def _compile(function):
    return user_kernel(function, PART, inner=True) if JIT_ENABLED else function


# -- chains: evaluate the rows that are asked for
# -------------------------------------------------------------------


def _constant_rows(values, n):
    """(flags, data) of the rows that are arrays; None means zero."""
    flags = np.zeros(len(values))
    data = np.zeros((len(values), n))
    for k, value in enumerate(values):
        if not isinstance(value, UserFunction):
            flags[k] = 1.0
            data[k] = 0.0 if value is None else value
    return flags, data


def _rows_function(values, n, x0, t0):
    """Fields: rows of F whose mask is set; the last row (smooth part) always."""
    flags, data = _constant_rows(values, n)
    last = len(values) - 1

    def constants(t, x, p, mask, F):
        for k in range(last + 1):
            if flags[k] > 0.0 and (k == last or mask[k] > 0.0):
                for i in range(n):
                    F[k * n + i] = data[k, i]

    chain = _compile(constants)
    for k, value in enumerate(values):
        if isinstance(value, UserFunction):
            chain = _compile(_then_row(chain, value.writer(x0, x0, t0), k, n, k == last))
    return chain


def _then_row(first, writer, k, n, always):
    def both(t, x, p, mask, F):
        first(t, x, p, mask, F)
        if always or mask[k] > 0.0:
            writer(t, x, x, p, F[k * n : (k + 1) * n])

    return both


def _indicator_function(values, mirror, n, x0, t0):
    flags, data = _constant_rows(values, n)
    R = len(values)

    def constants(t, x, p, mask, h):
        for k in range(R):
            if flags[k] > 0.0 and mask[k] > 0.0:
                s = 0.0
                for i in range(n):
                    s += data[k, i] * x[i]
                h[k] = s

    chain = _compile(constants)
    for k, value in enumerate(values):
        if isinstance(value, UserFunction) and mirror[k] < 0:
            other = mirror.index(k) if k in mirror else k
            chain = _compile(_then_entry(chain, value.writer(x0, x0, t0), k, other))
    return chain


def _then_entry(first, writer, k, other):
    """Entry k, and minus it for the mirrored region `other` (k itself if there is none)."""

    def both(t, x, p, mask, h):
        first(t, x, p, mask, h)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, h[k : k + 1])
            if other != k:
                h[other] = -h[k]

    return both


def _gradient_function(python, differ, n, x0, t0):
    """Gradients and time derivatives: given, constant (linear indicators), or found by `Differentiator`."""
    R = len(python.fields)
    constant = [None] * R
    chain_parts = []
    for k in range(R):
        h, given, rate = python.indicators[k], python.gradients[k], python.rates[k]
        if python.mirror[k] >= 0:
            continue
        if not isinstance(h, UserFunction):
            constant[k] = h  # linear indicator: its coefficients
        elif given is not None and not isinstance(given, UserFunction):
            constant[k] = given
        elif given is not None:
            chain_parts.append((k, given.writer(x0, x0, t0), None))
            differ.sources[given.name] = "given"
        else:
            writer = differ.jacobian(h, "q", slice(0, 1), f"gradient of {h.name}")
            chain_parts.append((k, None, writer))
        if isinstance(rate, UserFunction):
            chain_parts.append((-1 - k, rate.writer(x0, x0, t0), None))
        elif isinstance(h, UserFunction) and h.depends_on("t"):
            chain_parts.append((-1 - k, differ.time_derivative(h, slice(0, 1), f"rate of {h.name}"), None))
    for k in range(R):
        if python.mirror[k] >= 0 and constant[python.mirror[k]] is not None:
            constant[k] = -constant[python.mirror[k]]
    flags = np.array([0.0 if value is None else 1.0 for value in constant])
    data = np.zeros((R, n))
    for k, value in enumerate(constant):
        if value is not None:
            data[k] = value
    mirror = python.mirror

    def constants(t, x, p, mask, G):
        for k in range(R):
            if mask[k] > 0.0:
                row = k * (n + 1)
                G[row + n] = 0.0
                if flags[k] > 0.0:
                    for i in range(n):
                        G[row + i] = data[k, i]

    chain = _compile(constants)
    for k, vector, matrix in chain_parts:
        region = -1 - k if k < 0 else k
        other = mirror.index(region) if region in mirror else region
        if k < 0:
            chain = _compile(_then_rate(chain, vector, region, other, n))
        elif matrix is None:
            chain = _compile(_then_gradient(chain, vector, region, other, n))
        else:
            chain = _compile(_then_jacobian(chain, matrix, region, other, n))
    return chain


def _then_gradient(first, writer, k, other, n):
    a, b = k * (n + 1), other * (n + 1)

    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, G[a : a + n])
            if other != k:
                for i in range(n):
                    G[b + i] = -G[a + i]

    return both


def _then_jacobian(first, writer, k, other, n):
    a, b = k * (n + 1), other * (n + 1)

    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, G[a : a + n].reshape((1, n)))
            if other != k:
                for i in range(n):
                    G[b + i] = -G[a + i]

    return both


def _then_rate(first, writer, k, other, n):
    a, b = k * (n + 1) + n, other * (n + 1) + n

    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, G[a : a + 1])
            if other != k:
                G[b] = -G[a]

    return both
