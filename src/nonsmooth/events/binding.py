"""User functions bound to the loops: compiled where that is wanted and possible, as Python callbacks
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.callbacks import (
    PythonFunctions,
    python_f,
    python_g,
    python_jac,
    python_reset,
)
from nonsmooth._core.calls.signatures import RESET, VALUE
from nonsmooth._core.events.records import BILATERAL, SWITCH, UNILATERAL
from nonsmooth._core.jit import (
    JIT_ENABLED,
    is_dispatcher,
    numba_errors,
    static_array,
    user_kernel,
)
from nonsmooth.errors import InputError, ModelError, ShapeError
from nonsmooth.model.functions import say_callback
from nonsmooth.model.helpers import prepared

from .switch import Switch, extra_arguments, positional_count


def takes_mode(fun: Callable, n_args: int, has_switches: bool) -> bool:
    """Whether `fun` wants the mode vector: one argument more than ``2 + len(args)``."""
    return has_switches and positional_count(fun) == 3 + n_args


def checked_value(value: Any, n: int, name: str) -> np.ndarray:
    """`value` of a right-hand side as a float64 array of shape (n,), or a typed error."""
    if value is None:
        raise InputError(f"`{name}` returned None; an array of shape ({n},) is wanted.")
    try:
        array = np.asarray(value)
    except ValueError as exc:
        raise ShapeError(f"`{name}` returned no rectangular array; shape ({n},) is wanted.") from exc
    if array.dtype.kind == "c":
        raise InputError(
            f"`{name}` returned complex values for a real state; give a complex `y0` or real values."
        )
    if array.dtype.kind not in "fiub":
        raise InputError(f"`{name}` returned values of type {array.dtype}; real numbers are wanted.")
    if array.shape != (n,) and not (n == 1 and array.size == 1):
        raise ShapeError(f"`{name}` returned shape {array.shape}; shape ({n},) is wanted.")
    return array.astype(float).reshape(n)


class Plan(NamedTuple):
    """What a run needs to know of its functions, the same for every run with them."""

    m: int
    with_mode: bool
    owner: list[tuple[int, int]]
    names: list[str]
    g_calls: list
    reset_calls: list
    table: np.recarray  # of dtype SWITCH
    rates: list[tuple[int, int]]  # switches with a given rate, and their first function
    functions: tuple
    compiled: bool


def make_plan(fun, switches: tuple[Switch, ...], n: int, args: tuple, compiled: bool) -> Plan:
    """Layout and, where `compiled` is wanted and possible, compiled forms of the functions."""
    owner = [(k, q) for k, switch in enumerate(switches) for q in range(switch.size)]
    g_calls = [
        (switch.g, extra_arguments(switch.g, 2, switch.record(), args), switch.size) for switch in switches
    ]
    reset_calls = [
        None
        if switch.reset is None
        else (
            switch.reset,
            extra_arguments(switch.reset, 2 if switch.size == 1 else 3, switch.record(), args),
        )
        for switch in switches
    ]
    m = len(owner)
    table = np.zeros(m, SWITCH).view(np.recarray)
    for row, (k, _) in zip(table, owner):
        switch = switches[k]
        row.kind = UNILATERAL if switch.kind == "unilateral" else BILATERAL
        row.direction, row.tol = switch.direction, switch.tol
        row.has_reset = switch.reset is not None
        row.terminal = int(switch.terminal)
        row.group = k
    with_mode = takes_mode(fun, len(args), bool(switches))
    functions = [python_f(), python_g(), python_reset()]
    is_compiled = False
    if compiled:
        makers: list[tuple[str, Callable]] = [
            ("fun", lambda: _compiled_f(fun, with_mode, args, m, n, n == 1)),
            ("g", lambda: _compiled_g(tuple(g_calls))),
            ("reset", lambda: _compiled_reset(tuple(_reset_table(owner, switches, reset_calls)), n)),
        ]
        for k, (name, make) in enumerate(makers):
            if (name == "g" and m == 0) or (name == "reset" and not any(reset_calls)):
                continue
            try:
                functions[k] = make()
                is_compiled = is_compiled or name == "fun"
            except (numba_errors.NumbaError, TypeError, NotImplementedError) as exc:
                said = {
                    "fun": [fun],
                    "g": [g for g, *_ in g_calls],
                    "reset": [r[0] for r in reset_calls if r],
                }
                say_callback(f"`{name}`", said[name][0], exc)
    return Plan(
        m,
        with_mode,
        owner,
        _distinct([name for k, switch in enumerate(switches) for name in switch.names(k)]),
        g_calls,
        reset_calls,
        table,
        [(k, i) for i, (k, q) in enumerate(owner) if switches[k].rate is not None and q == 0],
        tuple(functions),
        is_compiled,
    )


def _distinct(names: list[str]) -> list[str]:
    """`names`, if no two are the same: events could not be told apart."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ModelError(
                f"the name {name!r} belongs to switches {names.index(name)} and {i}: rename one."
            )
    return names


def _reset_table(owner, switches, reset_calls):
    for k, q in owner:
        call = reset_calls[k]
        yield None if call is None else (*call, q if switches[k].size > 1 else -1)


@lru_cache(maxsize=64)
def _known_plan(fun, n, args, fields):
    return make_plan(fun, tuple(Switch(*values) for values in fields), n, args, True)


class Bound:
    """The functions of a run in the form the loops take.

    ``p`` is laid out as modes (m), then the handle of the Python functions.
    """

    def __init__(self, fun, switches: Sequence[Switch], n: int, args: tuple, jac=None, compile=False):
        self.fun, self.switches, self.args, self.n = fun, tuple(switches), tuple(args), n
        compiled = JIT_ENABLED and (compile or is_dispatcher(fun))
        plan = None
        if compiled and not args and all(switch.params is None for switch in self.switches):
            # Compiled functions are the same for switches that say the same: a new run starts at once.
            try:
                plan = _known_plan(fun, n, (), tuple(switch.fields() for switch in self.switches))
            except TypeError:  # a callable without hash
                plan = None
        if plan is None:
            plan = make_plan(fun, self.switches, n, self.args, compiled)
        self.plan, self.m, self.with_mode = plan, plan.m, plan.with_mode
        self.owner, self.names = plan.owner, plan.names
        self._g_calls, self._reset_calls = plan.g_calls, plan.reset_calls
        self.functions, self.compiled = plan.functions, plan.compiled
        self.p = np.ones(self.m + 1)
        self.python = PythonFunctions(n, self.m, self.f, self.g, jac, self.reset)
        self.p[-1] = self.python.handle
        self.jac = python_jac() if jac is not None else None

    # -- Python side
    # ------------------------------------------------------------------------------------------

    def mode(self) -> np.ndarray:
        """Mode vector, int8."""
        return self.p[: self.m].astype(np.int8)

    def f(self, t, y):
        """Right-hand side in the present modes."""
        if self.with_mode:
            return self.fun(t, y, self.p[: self.m].astype(np.int8), *self.args)
        return self.fun(t, y, *self.args)

    def f_in(self, t, y, mode):
        """Right-hand side in given modes."""
        value = self.fun(t, y, mode, *self.args) if self.with_mode else self.fun(t, y, *self.args)
        return np.array(value, dtype=float).reshape(self.n)

    def g(self, t, y, out):
        """All switching functions into `out`."""
        at = 0
        for g, extra, size in self._g_calls:
            value = g(t, y, *extra)
            if size > 1 or isinstance(value, np.ndarray):
                out[at : at + size] = value
            else:
                out[at] = value
            at += size

    def g_values(self, t, y) -> np.ndarray:
        """All switching functions, shape (m,)."""
        out = np.empty(self.m)
        self.g(t, y, out)
        return out

    def reset(self, i, t, y):
        """State after the reset of switching function i."""
        k, q = self.owner[i]
        reset, extra = self._reset_calls[k]
        value = reset(t, y, *extra) if self.switches[k].size == 1 else reset(t, y, q, *extra)
        return checked_value(value, self.n, f"reset of {self.names[i]}")


_scratch: list[np.ndarray] = []


def _jitted(function):
    """`function` and its helpers, compiled with bounds checks."""
    return prepared(function).dispatcher


@lru_cache(maxsize=64)
def _compiled_f(fun, with_mode, args, m, n, scalar):
    inner = _jitted(fun)
    if with_mode:
        kept = np.ones(m, np.int8)
        _scratch.append(kept)  # the compiled function writes into it: keep it alive
        scratch = static_array(kept)

        def value(t, y, p):
            mode = scratch()
            for i in range(m):
                mode[i] = np.int8(p[i])
            return inner(t, y, mode, *args)

    else:

        def value(t, y, p):
            return inner(t, y, *args)

    value = user_kernel(value)

    def write(t, y, p, out):
        for i in range(n):
            out[i] = np.nan  # what a function that raises leaves behind must not look like a value
        result = value(t, y, p)
        if len(result) != n:
            raise ShapeError("`fun` changed the length of its value during the run.")
        for i in range(n):
            out[i] = result[i]

    def write_scalar(t, y, p, out):
        out[0] = value(t, y, p)

    try:
        return user_kernel(write, VALUE, inner=True)
    except numba_errors.NumbaError:
        if not scalar:
            raise
        return user_kernel(write_scalar, VALUE, inner=True)


@lru_cache(maxsize=64)
def _compiled_g(calls):
    writers = []
    at = 0
    for g, extra, size in calls:
        writers.append(_g_writer(_jitted(g), extra, at, size))
        at += size
    while len(writers) > 1:
        writers = [
            _both(*writers[k : k + 2]) if k + 1 < len(writers) else writers[k]
            for k in range(0, len(writers), 2)
        ]
    last = writers[0]

    def call(t, y, p, out):
        last(t, y, p, out)

    return user_kernel(call, VALUE, inner=True)


def _g_writer(g, extra, at, size):
    def write(t, y, p, out):
        out[at] = g(t, y, *extra)

    def write_all(t, y, p, out):
        value = g(t, y, *extra)
        for i in range(size):
            out[at + i] = value[i]

    if size == 1:
        try:
            return user_kernel(write, VALUE)
        except numba_errors.NumbaError:  # an array of one value, or nothing that compiles
            pass
    return user_kernel(write_all, VALUE)


def _both(first, second):
    def write(t, y, p, out):
        first(t, y, p, out)
        second(t, y, p, out)

    return user_kernel(write)


@lru_cache(maxsize=64)
def _compiled_reset(table, n):
    chain = user_kernel(_no_reset)
    start = 0
    while start < len(table):
        entry = table[start]
        stop = start + 1
        while entry is not None and entry[2] >= 0 and stop < len(table) and table[stop] is not None:
            if table[stop][0] is not entry[0] or table[stop][2] <= table[stop - 1][2]:
                break
            stop += 1
        if entry is not None:
            chain = _reset_writer(chain, _jitted(entry[0]), entry[1], entry[2] >= 0, start, stop, n)
        start = stop
    last = chain

    def call(i, t, y, p, out):
        last(i, t, y, p, out)

    return user_kernel(call, RESET, inner=True)


def _no_reset(i, t, y, p, out):
    for k in range(out.size):
        out[k] = y[k]


def _reset_writer(rest, reset, extra, indexed, start, stop, n):
    if indexed:

        def write(i, t, y, p, out):
            if start <= i < stop:
                value = reset(t, y, i - start, *extra)
                for k in range(n):
                    out[k] = value[k]
            else:
                rest(i, t, y, p, out)

    else:

        def write(i, t, y, p, out):
            if i == start:
                value = reset(t, y, *extra)
                for k in range(n):
                    out[k] = value[k]
            else:
                rest(i, t, y, p, out)

    return user_kernel(write)
