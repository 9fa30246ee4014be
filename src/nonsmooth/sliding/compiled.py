"""The functions of a Filippov system made fit for the compiled run: three functions with the integrators'
signature.

``field`` is the sliding vector field of the active set that stands in `p`, ``switch`` the components of the
switching function, ``model`` fills fields and gradients of a candidate set for the LCP. All of them count
evaluations of f, h and grad h one by one, as Stewart 1996 does in Tables 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as default
from typing import Any

import numpy as np

from nonsmooth._core.filippov_run import COUNT, N_COUNT, SIZE, WORST
from nonsmooth._core.jit import JIT_ENABLED, first_class, user_kernel
from nonsmooth._core.rk import RHS
from nonsmooth._core.sliding_functions import ENTRIES, ROWS, evaluate_function
from nonsmooth.errors import ModelError, NonFiniteError, ShapeError
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.parameters import Parameters


@dataclass
class CompiledSystem:
    """What a run needs of a system: first-class functions, layout of `p`, names.

    Attributes
    ----------
    field, switch, model : first-class functions ``(t, y, p, out)``
    n, starts, lay
        Number of states, first region of each group, offsets into p (see `_core.filippov_run`).
    values : UserFunction lists and arrays for calls from Python (audit, Taubert's methods)
    derivatives : dict
        Where the gradients come from.
    keep : list
        Scratch arrays that compiled code points into.
    """

    field: Any
    switch: Any
    model: Any
    n: int
    starts: np.ndarray
    lay: np.ndarray
    parameters: Parameters
    derivatives: dict
    keep: list
    python: PythonSystem
    seen: dict = default(default_factory=dict)

    def new_p(self):
        """A fresh parameter array: the user's values, the rest zero."""
        p = np.zeros(int(self.lay[SIZE]))
        p[: self.parameters.flat.size] = self.parameters.flat
        p[self.lay[COUNT] + WORST] = 1.0
        return p


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


def _layout(n_p, n, R, m):
    sizes = [R, R, R, R, (R + 1) * n, R * (n + 1), N_COUNT]
    offsets = np.concatenate([[n_p], n_p + np.cumsum(sizes)])
    return np.array([n, R, m, *offsets], dtype=np.int64)


def _build(python, t0, x0):
    n, R = python.n, len(python.fields)
    starts = np.array(python.starts, dtype=np.int64)
    lay = _layout(python.parameters.flat.size, n, R, len(starts) - 1)
    differ = Differentiator(t0, x0, x0, python.parameters.flat)

    fields = _rows_function(python.fields + [python.smooth], n, x0, t0)
    indicators = _indicator_function(python.indicators, python.mirror, n, x0, t0)
    gradients = _gradient_function(python, differ, n, x0, t0)
    parts = (
        first_class(_rows_caller(fields, R), ROWS),
        first_class(_entries_caller(indicators), ENTRIES),
        first_class(_rows_caller(gradients, -1), ROWS),
    )
    generic = evaluate_function()
    field, switch, model = (first_class(_operation(generic, *parts, starts, lay, op), RHS) for op in range(3))
    return CompiledSystem(
        field, switch, model, n, starts, lay, python.parameters, differ.sources, [differ.keep, parts], python
    )


def _operation(generic, fields, indicators, gradients, starts, lay, op):
    def call(t, y, p, out):
        generic(fields, indicators, gradients, starts, lay, t, y, p, out, op)

    return call


def _compile(function, signature):
    return user_kernel(function, signature) if JIT_ENABLED else function


# An exception of user code ends at the boundary of a first-class function: the values it should have written
# stay NaN, which ends the run, and `FilippovRun` raises it again.


def _rows_caller(chain, always):
    """First-class form of a chain of rows; `always` is the row written whatever the mask says (or -1)."""

    def call(t, x, p, mask, out):
        for k in range(mask.size):
            if mask[k] > 0.0:
                out[k, 0] = np.nan
        if always >= 0:
            out[always, 0] = np.nan
        chain(t, x, p, mask, out)

    return call


def _entries_caller(chain):
    def call(t, x, p, mask, out):
        for k in range(mask.size):
            if mask[k] > 0.0:
                out[k] = np.nan
        chain(t, x, p, mask, out)

    return call


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
                    F[k, i] = data[k, i]

    chain = _compile(constants, ROWS)
    for k, value in enumerate(values):
        if isinstance(value, UserFunction):
            chain = _compile(_then_row(chain, value.writer(x0, x0, t0), k, k == last), ROWS)
    return chain


def _then_row(first, writer, k, always):
    def both(t, x, p, mask, F):
        first(t, x, p, mask, F)
        if always or mask[k] > 0.0:
            writer(t, x, x, p, F[k])

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

    chain = _compile(constants, ENTRIES)
    for k, value in enumerate(values):
        if isinstance(value, UserFunction) and mirror[k] < 0:
            other = mirror.index(k) if k in mirror else k
            chain = _compile(_then_entry(chain, value.writer(x0, x0, t0), k, other), ENTRIES)
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
                G[k, n] = 0.0
                if flags[k] > 0.0:
                    for i in range(n):
                        G[k, i] = data[k, i]

    chain = _compile(constants, ROWS)
    for k, vector, matrix in chain_parts:
        region = -1 - k if k < 0 else k
        other = mirror.index(region) if region in mirror else region
        if k < 0:
            chain = _compile(_then_rate(chain, vector, region, other, n), ROWS)
        elif matrix is None:
            chain = _compile(_then_gradient(chain, vector, region, other, n), ROWS)
        else:
            chain = _compile(_then_jacobian(chain, matrix, region, other, n), ROWS)
    return chain


def _then_gradient(first, writer, k, other, n):
    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, G[k, :n])
            if other != k:
                for i in range(n):
                    G[other, i] = -G[k, i]

    return both


def _then_jacobian(first, writer, k, other, n):
    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            row = np.empty((1, n))
            writer(t, x, x, p, row)
            for i in range(n):
                G[k, i] = row[0, i]
                if other != k:
                    G[other, i] = -row[0, i]

    return both


def _then_rate(first, writer, k, other, n):
    def both(t, x, p, mask, G):
        first(t, x, p, mask, G)
        if mask[k] > 0.0 or mask[other] > 0.0:
            writer(t, x, x, p, G[k, n : n + 1])
            if other != k:
                G[other, n] = -G[k, n]

    return both


def check_start(x0):
    """The start state as a float64 vector, or a typed error."""
    x = np.array(x0, dtype=np.float64, ndmin=1)
    if x.ndim != 1:
        raise ShapeError(f"solve_filippov: x0 must be a vector, got shape {x.shape}")
    if not np.all(np.isfinite(x)):
        k = int(np.flatnonzero(~np.isfinite(x))[0])
        raise NonFiniteError(f"solve_filippov: x0[{k}] = {x[k]} must be finite")
    return x
