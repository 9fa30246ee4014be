"""Plain Python functions inside compiled loops, at about half a microsecond each.

A loop calls functions at their addresses; for Python functions it gets one of the four trampolines below, compiled
once for all of them. The last entry of ``p`` names the object that holds the Python functions. An exception
is kept there and the output filled with NaN, which ends the loop; the front door raises it again, unchanged.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import types
from functools import cache

import numpy as np

from nonsmooth._core.calls.interrupts import interruptible
from nonsmooth._core.calls.signatures import JACOBIAN, RESET, VALUE
from nonsmooth._core.jit import JIT_ENABLED, user_kernel

_handles = itertools.count(1)
_table: dict[float, PythonFunctions] = {}


class PythonFunctions:
    """Python functions of one run: ``f(t, y)``, ``g(t, y)``, ``jac(t, y)``, ``reset(i, t, y)`` returning
    arrays.

    Used as a context manager: the functions can be called from a loop while it is open. An exception that arises before
    a callback has entered its own `try` (a signal handler that raises there, as Ctrl-C does) would only be printed; while
    a run is open it is kept as every other one.
    """

    def __init__(self, n, m, f=None, g=None, jac=None, reset=None):
        self.n, self.m = n, m
        self.f, self.g, self.jac, self.reset = f, g, jac, reset
        self.error: BaseException | None = None
        self.where = ("", 0.0)
        self.handle = float(next(_handles))
        self.thread = 0
        self._views: dict[tuple[int, int], np.ndarray] = {}

    def __enter__(self):
        self.thread = threading.get_ident()
        _open_hook()
        _table[self.handle] = self
        return self

    def __exit__(self, *exc):
        _table.pop(self.handle, None)
        _close_hook()

    def view(self, address, size):
        """The array of `size` numbers at `address` (the work arrays of a run stay where they are)."""
        found = self._views.get((address, size))
        if found is None:
            if size == 0 or not address:
                found = np.zeros(size)
            else:
                found = np.frombuffer((ctypes.c_double * size).from_address(address))
            self._views[address, size] = found
        return found

    def fail(self, name, t, exc):
        """Remember the first exception."""
        if self.error is None:
            self.error, self.where = exc, (name, t)


@interruptible
def _call_f(handle, t, y, out):
    run = _table[handle]
    try:
        result = run.view(out, run.n)
        if run.error is not None:
            result[:] = np.nan
            return
        result[:] = run.f(t, run.view(y, run.n).copy())
    except BaseException as exc:
        run.fail("fun", t, exc)
        run.view(out, run.n)[:] = np.nan


@interruptible
def _call_g(handle, t, y, out):
    run = _table[handle]
    try:
        result = run.view(out, run.m)
        if run.error is not None:
            result[:] = np.nan
            return
        run.g(t, run.view(y, run.n).copy(), result)
    except BaseException as exc:
        run.fail("g", t, exc)
        run.view(out, run.m)[:] = np.nan


@interruptible
def _call_jac(handle, t, y, out):
    run = _table[handle]
    try:
        result = run.view(out, run.n * run.n)
        result[:] = np.asarray(run.jac(t, run.view(y, run.n).copy()), dtype=float).ravel()
    except BaseException as exc:
        run.fail("jac", t, exc)
        run.view(out, run.n * run.n)[:] = np.nan


@interruptible
def _call_reset(handle, i, t, y, out):
    run = _table[handle]
    try:
        result = run.view(out, run.n)
        result[:] = run.reset(i, t, run.view(y, run.n).copy())
    except BaseException as exc:
        run.fail("reset", t, exc)
        run.view(out, run.n)[:] = np.nan


_CALLS = {_call_f: "fun", _call_g: "g", _call_jac: "jac", _call_reset: "reset"}
_hook_lock = threading.RLock()
_hook_users = 0
_hook_before = None


def _keep_lost(unraisable):
    """Hook for exceptions that have nowhere to go: those of the callbacks are kept by the run of this thread."""
    name = _CALLS.get(unraisable.object) if isinstance(unraisable.object, types.FunctionType) else None
    runs = [run for run in _table.values() if run.thread == threading.get_ident()] if name else []
    if runs:
        runs[-1].fail(name, np.nan, unraisable.exc_value)
    elif _hook_before is not None:
        _hook_before(unraisable)


def _open_hook():
    global _hook_users, _hook_before
    with _hook_lock:
        if _hook_users == 0:
            _hook_before = sys.unraisablehook
            sys.unraisablehook = _keep_lost
        _hook_users += 1


def _close_hook():
    global _hook_users
    with _hook_lock:
        _hook_users -= 1
        if _hook_users == 0 and sys.unraisablehook is _keep_lost:
            sys.unraisablehook = _hook_before


_ARGS = (ctypes.c_double, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
_c_f = ctypes.CFUNCTYPE(None, *_ARGS)(_call_f)
_c_g = ctypes.CFUNCTYPE(None, *_ARGS)(_call_g)
_c_jac = ctypes.CFUNCTYPE(None, *_ARGS)(_call_jac)
_c_reset = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, *_ARGS[1:])(_call_reset)


# What a callback that is broken off leaves behind must not look like a value: outputs are NaN before every call.


def _f(t, y, p, out):
    for k in range(out.size):
        out[k] = np.nan
    _c_f(p[p.size - 1], t, y.ctypes, out.ctypes)


def _g(t, y, p, out):
    for k in range(out.size):
        out[k] = np.nan
    _c_g(p[p.size - 1], t, y.ctypes, out.ctypes)


def _jac(t, y, p, out):
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = np.nan
    _c_jac(p[p.size - 1], t, y.ctypes, out.ctypes)


def _reset(i, t, y, p, out):
    for k in range(out.size):
        out[k] = np.nan
    _c_reset(p[p.size - 1], i, t, y.ctypes, out.ctypes)


def _plain(call):
    """Without the compiler the same calls go through the addresses of the arrays."""

    def run(*args):
        *head, y, p, out = args
        call(float(p[-1]), *head, y.ctypes.data, out.ctypes.data)

    return run


@cache
def python_f():
    """Trampoline for the right-hand side."""
    return user_kernel(_f, VALUE, inner=True) if JIT_ENABLED else _plain(_call_f)


@cache
def python_g():
    """Trampoline for the switching functions."""
    return user_kernel(_g, VALUE, inner=True) if JIT_ENABLED else _plain(_call_g)


@cache
def python_jac():
    """Trampoline for the Jacobian."""
    return user_kernel(_jac, JACOBIAN, inner=True) if JIT_ENABLED else _plain(_call_jac)


@cache
def python_reset():
    """Trampoline for reset maps."""
    return user_kernel(_reset, RESET, inner=True) if JIT_ENABLED else _plain(_call_reset)
