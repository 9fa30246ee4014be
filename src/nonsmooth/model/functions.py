"""User functions made fit for the compiled loops.

A user writes ``f(t, q, p)`` or ``f(t, q, u, p)``; ``p`` may be left out, and a trailing ``out`` may be written into
instead of returning. `UserFunction` finds out which form it is (once, by calling it), and hands out

* ``call(t, q, u, p)``: the plain Python call, result as a float64 array of the declared shape, checked;
* ``writer(...)``: a compiled `ModelFunction` ``(t, q, u, p_flat, out)``, the same on complex numbers by ``complex_evaluator``.

It is compiled with bounds checks and with the helpers it calls (see `helpers`). What Numba cannot compile runs as a Python
callback in the same loop; a `CallbackWarning` says so, once for each function.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.calls.python_functions import python_function
from nonsmooth._core.calls.rows import WHOLE, rows_of
from nonsmooth._core.compiler import powers  # noqa: F401  (tells Numba)
from nonsmooth._core.jit import (
    COMPLEX_MATRIX,
    COMPLEX_VECTOR,
    JIT_ENABLED,
    MATRIX,
    VECTOR,
    numba_errors,
    user_kernel,
)
from nonsmooth.errors import CallbackWarning, FunctionIndexError, InputError, NonFiniteError, ShapeError
from nonsmooth.model.forms import source
from nonsmooth.model.helpers import plain, prepared
from nonsmooth.model.parameters import Parameters
from nonsmooth.warn import warn_user

#: What Numba may raise for a function it cannot compile.
COMPILE_ERRORS = (
    numba_errors.NumbaError, numba_errors.UnsupportedBytecodeError, NotImplementedError, AssertionError, TypeError, KeyError,
)  # fmt: skip


class UserFunction:
    """One user function of a model.

    Parameters
    ----------
    function : callable or ndarray
        ``f(t, q[, u][, p][, out])``, or a constant value.
    name : str
        How error messages call it, e.g. ``"force"`` or ``"gap of contact 'wall'"``.
    shape : tuple of int
        Shape of the value; ``(1,)`` also accepts a scalar. With ``transposed=True`` the user sees the transposed
        array (``tangent`` has directions in columns, the loops keep them in rows).
    takes_u : bool
        Whether the velocity is an argument.
    parameters : Parameters
    """

    def __init__(self, function, name, shape, takes_u, parameters: Parameters, transposed=False):
        self.function = _constant(function, takes_u) if isinstance(function, np.ndarray) else function
        self.python = plain(self.function)
        self.name = name
        self.shape = tuple(shape)
        self.takes_u = takes_u
        self.parameters = parameters
        self.transposed = transposed
        self.has_p, self.has_out, self.argument_names = _form(self.python, name, 3 if takes_u else 2)
        self.compiled: bool | None = None  # None until a writer was asked for
        self._written: ModelFunction | None = None

    # -- plain Python -------------------------------------------------------------------------------------------

    def raw(self, t, q, u, p_flat=None, dtype=np.float64):
        """The user's own return value (or its filled `out`), unchecked."""
        args: list[Any] = [t, q, u] if self.takes_u else [t, q]
        if self.has_p:
            args.append(self.parameters.record(p_flat))
        out = None
        if self.has_out:
            user_shape = self.shape[::-1] if self.transposed else self.shape
            out = np.full(user_shape, np.nan, dtype=dtype)
            args.append(out)
        try:
            value = self.python(*args)
        except BaseException as exc:  # the user's own exception goes on, with a note where it came from
            if type(exc) is IndexError:  # ... unless compiled code would not tell either
                raise FunctionIndexError(
                    f"{self.name} reached beyond the size of an array at t = {float(np.real(t)):.9g}: {exc}."
                ) from exc
            exc.add_note(f"raised in {self.name}, called at t = {float(np.real(t)):.9g}")
            raise
        return value if out is None else out

    def call(self, t, q, u, p_flat=None):
        """Value as a checked float64 array of `shape`."""
        return self.checked(self.raw(float(t), _read_only(q), _read_only(u), p_flat))

    def checked(self, value):
        """`value` as float64 array of `shape`, or a typed error naming the function."""
        if value is None:
            raise InputError(
                f"{self.name} returned None: return its value, or take a trailing `out` and fill it."
            )
        try:
            array = np.asarray(value)
        except ValueError as exc:
            raise ShapeError(f"{self.name} returned {value!r}, which is no rectangular array.") from exc
        if (
            array.dtype.kind not in "fiu"
        ):  # truth values, too: no gap, event or force passes through zero as they do
            raise InputError(f"{self.name} returned values of type {array.dtype}: real numbers are wanted.")
        array = array.astype(np.float64)
        if array.shape == self.shape and not self.transposed and array.flags.c_contiguous:
            return array
        if self.transposed:
            array = array[:, None] if array.ndim == 1 else array
            array = array.T
        if array.ndim < len(self.shape) and array.size == int(np.prod(self.shape)) and min(self.shape) <= 1:
            array = array.reshape(self.shape)
        if array.shape != self.shape:
            wanted = self.shape[::-1] if self.transposed else self.shape
            got = array.T.shape if self.transposed else array.shape
            raise ShapeError(f"{self.name} returned an array of shape {got}; shape {wanted} is wanted.")
        return np.ascontiguousarray(array)

    def check_finite(self, t, q, u):
        """Raise `NonFiniteError` if the value at the start is not finite."""
        value = self.call(t, q, u)
        if not np.all(np.isfinite(value)):
            where = np.argwhere(~np.isfinite(value))[0]
            raise NonFiniteError(
                f"{self.name} is {value[tuple(where)]} in entry {tuple(int(i) for i in where)} at t = {t:.6g}: "
                "check its formula and the parameters."
            )
        return value

    # -- compiled -----------------------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        """File and line of the function."""
        return place(self.python)

    def depends_on(self, *names: str) -> bool:
        """Whether the function's code reads one of its arguments "t", "q", "u" (True when it cannot be told)."""
        positions = {"t": 0, "q": 1, "u": 2}
        if self.argument_names is None:
            return True
        wanted = {self.argument_names[positions[name]] for name in names if name != "u" or self.takes_u}
        code = self.python.__code__
        if wanted & set(code.co_cellvars):
            return True
        return any(
            str(instruction.argval) in wanted
            or (isinstance(instruction.argval, tuple) and wanted & set(instruction.argval))
            for instruction in dis.get_instructions(code)
            if "FAST" in instruction.opname or "DEREF" in instruction.opname
        )

    def writer(self, q0, u0, t0=0.0, rows: slice | None = None) -> ModelFunction:
        """Model function ``(t, q, u, p, out)``; with `rows` it writes into that part of `out` only.

        Falls back to a Python callback when Numba cannot compile the user's function.
        """
        signature = VECTOR if len(self.shape) == 1 else MATRIX
        if self._written is None:
            self._written = self._made(signature, t0, q0, u0)
        function = self._written
        return function if rows is None else rows_of([(function, rows.start, self.shape[0])], signature)

    def _made(self, signature, t0, q0, u0) -> ModelFunction:
        """The writer of the whole value: made once."""
        if JIT_ENABLED:
            self.compiled = True
            try:
                return ModelFunction(
                    self._compiled_for(signature, t0, q0, u0), signature, (), self.name, self.where
                )
            except COMPILE_ERRORS as exc:
                say_callback(self.name, self.python, exc)
            self.compiled = False
        sizes = len(q0), len(u0), self.parameters.flat.size
        return python_function(self._fill, sizes, self.shape, self.name, self.where)

    def complex_evaluator(self, t0, q0, u0) -> ModelFunction | None:
        """The same on complex ``t, q`` and `out`, or None if it does not compile.

        Used for derivatives by the complex step.
        """
        if not JIT_ENABLED:
            return None
        signature = COMPLEX_VECTOR if len(self.shape) == 1 else COMPLEX_MATRIX
        try:
            return ModelFunction(
                self._compiled_for(signature, t0, q0, u0), signature, (), self.name, self.where
            )
        except COMPILE_ERRORS:
            return None

    def _compiled_for(self, signature, t0, q0, u0):
        """Machine code for `signature`: made once for all systems whose functions have the same code."""
        sample = None if self.has_out else self.raw(float(t0), _read_only(q0), _read_only(u0))
        text = source(self.takes_u, self.has_p, self.has_out, self.shape, self.transposed, sample)
        inlined, key = prepared(self.function, inline=True)
        if key is None:
            key = object()  # found by nobody else
        layout = (self.parameters.names, self.parameters.shapes) if self.has_p else None
        key = (key, text, layout, signature)
        if key not in _COMPILED:
            try:
                _COMPILED[key] = self._compiled_around(inlined, text, signature)
            except COMPILE_ERRORS:  # a function that calls itself, say, compiles only as one of its own
                _COMPILED[key] = self._compiled_around(prepared(self.function).dispatcher, text, signature)
        return _COMPILED[key]

    def _compiled_around(self, dispatcher, text, signature):
        unpack = self.parameters.unpack if self.has_p else None
        names = {"f": dispatcher, "unpack": unpack, "nan": np.nan, "ShapeError": ShapeError}
        exec(text, names)  # noqa: S102  (a text of `forms`, in which nothing of the user stands)
        return user_kernel(names["write"], signature, inner=True, checked=True)

    def _fill(self, t, q, u, p, out):
        out[:] = self.call(t, q, u, p)


def compilable(function):
    """`function` and its helpers as a Numba dispatcher."""
    return prepared(function).dispatcher


def place(function) -> str:
    """File and line of a function, or what else it is."""
    code = getattr(function, "__code__", None)
    return (
        f"{code.co_filename}:{code.co_firstlineno}" if code else f"object of class {type(function).__name__}"
    )


def say_callback(name, function, exc):
    """Warn, once for each function, that `function` runs in Python: where it is, why, and what helps."""
    code = getattr(function, "__code__", None)
    if (code or name) in _SAID:
        return
    _SAID.add(code or name)
    lines = [line.strip() for line in str(exc).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("Failed in nopython")), type(exc).__name__)
    at_line = next((line for line in lines if line.startswith('File "')), "")
    warn_user(
        f"{name} ({place(function)}) cannot be compiled and runs in Python, many times slower. Numba says: "
        f"{' '.join((reason, at_line)).rstrip(' :')}. Write it, and the helpers it calls, as plain functions with numbers, loops "
        "and NumPy arrays.",
        CallbackWarning,
    )


# Compiled functions by what they are made of, for all systems (compiled code cannot be unloaded); what was said already.
_COMPILED: dict[Hashable, Any] = {}
_SAID: set[Any] = set()


def _read_only(array):
    view = array.view() if isinstance(array, np.ndarray) else np.array(array)
    view.flags.writeable = False
    return view


def _constant(value: np.ndarray, takes_u: bool) -> Callable:
    """The function that always returns `value`."""

    def of_position(t, q):
        return value

    def of_motion(t, q, u):
        return value

    return of_motion if takes_u else of_position


def _form(function: Callable, name: str, base: int):
    """Whether `function` takes `p` and `out`, and its argument names (None if they cannot be read)."""
    if not callable(function):
        raise InputError(f"{name} is {function!r}: a function is wanted.")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True, False, None
    positional = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        return True, False, None
    # an argument with a default value keeps it, unless its name says that it is meant
    while (
        len(positional) > base
        and positional[-1].default is not inspect.Parameter.empty
        and positional[-1].name not in ("p", "params", "out")
    ):
        positional.pop()
    extra = len(positional) - base
    roles = "(t, q, u" if base == 3 else "(t, q"
    if extra < 0 or extra > 2:
        raise InputError(
            f"{name} takes {len(positional)} arguments; it is called as {roles}), {roles}, p) or with a trailing `out`."
        )
    names: tuple[str, ...] | None = tuple(parameter.name for parameter in positional)
    code = getattr(function, "__code__", None)
    if code is None or not set(names or ()) <= set(code.co_varnames[: code.co_argcount]):
        names = None  # a wrapper: its own code does not show what the wrapped function reads
    if extra == 0:
        return False, False, names
    if extra == 1:
        is_out = positional[-1].name == "out"
        return not is_out, is_out, names
    return True, True, names


def chain(writers: list, signature) -> ModelFunction:
    """One function calling all `writers` (each writes its own rows of `out`)."""
    if not writers:
        raise ValueError("nothing to chain")
    return rows_of([part for writer in writers for part in _parts(writer)], signature)


def _parts(writer):
    """What `rows_of` was given to make `writer`; the whole of `out` for any other."""
    return getattr(writer, "parts", None) or [(writer, 0, WHOLE)]
