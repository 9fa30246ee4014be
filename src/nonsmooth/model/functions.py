"""User functions made fit for the compiled loops.

A user writes ``f(t, q, p)`` or ``f(t, q, u, p)``; ``p`` may be left out, and a trailing ``out`` may be written into
instead of returning. `UserFunction` finds out which form it is (once, by calling it), and hands out

* ``call(t, q, u, p)``: the plain Python call, result as a float64 array of the declared shape, checked;
* ``writer(...)``: a Numba function ``(t, q, u, p_flat, out)`` for use inside other compiled functions.

It is compiled with bounds checks and with the helpers it calls (see `helpers`). What Numba cannot compile runs as a Python
callback in the same loop; a `CallbackWarning` says so, once for each function.
"""

from __future__ import annotations

import dis
import inspect
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from nonsmooth._core.calls.interrupts import interruptible
from nonsmooth._core.jit import (
    JIT_ENABLED,
    MATRIX,
    VECTOR,
    complex128,
    f8_ro,
    is_dispatcher,
    numba_errors,
    objmode,
    types,
    user_kernel,
    void,
)
from nonsmooth.errors import CallbackWarning, InputError, NonFiniteError, ShapeError
from nonsmooth.model.helpers import Prepared, plain, prepared
from nonsmooth.model.parameters import Parameters

#: What Numba may raise for a function it cannot compile.
COMPILE_ERRORS = (numba_errors.NumbaError, numba_errors.UnsupportedBytecodeError, NotImplementedError)

c16_ro = types.Array(complex128, 1, "C", readonly=True)


class UserFunction:
    """One user function of a model.

    Parameters
    ----------
    function : callable
        ``f(t, q[, u][, p][, out])``.
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
        self.function = function
        self.python = plain(function)
        self.name = name
        self.shape = tuple(shape)
        self.takes_u = takes_u
        self.parameters = parameters
        self.transposed = transposed
        self.has_p, self.has_out, self.argument_names = _form(self.python, name, 3 if takes_u else 2)
        self.compiled: bool | None = None  # None until a writer was asked for
        self._prepared: Prepared | None = None

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
        if array.dtype == object or array.dtype.kind not in "fiub":
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
    def prepared(self) -> Prepared:
        """The user's function as a Numba dispatcher (not yet compiled), and its key."""
        if self._prepared is None:
            self._prepared = prepared(self.function)
        return self._prepared

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

    def writer(self, q0, u0, t0=0.0, rows: slice | None = None):
        """Numba function ``(t, q, u, p, out)``; with `rows` it writes into that part of `out` only.

        Falls back to a Python callback when Numba cannot compile the user's function.
        """
        out_type_signature = VECTOR if len(self.shape) == 1 else MATRIX
        offset = 0 if rows is None else rows.start
        if JIT_ENABLED:
            sample = self.raw(float(t0), _read_only(q0), _read_only(u0)) if not self.has_out else None
            try:
                compiled = self._shared("writer", offset, sample, out_type_signature)
                self.compiled = True
                return compiled
            except COMPILE_ERRORS as exc:
                self.compiled = False
                say_callback(self.name, self.python, exc)
            return user_kernel(self._callback_body(offset), out_type_signature)
        return self._python_body(offset)

    def _shared(self, role, offset, sample, signature, inner=False):
        """The compiled function in one of its roles: made once for all systems whose functions have the same code."""
        function = self.prepared
        if function.key is None:
            return user_kernel(self._compiled_body(offset, sample), signature, inner)
        form = None if sample is None else (np.ndim(sample), isinstance(sample, np.ndarray))
        layout = (self.parameters.names, self.parameters.shapes) if self.has_p else None
        key = (function.key, role, self.shape, self.transposed, self.takes_u, offset, form, layout)
        if key not in _COMPILED:
            _COMPILED[key] = user_kernel(self._compiled_body(offset, sample), signature, inner)
        return _COMPILED[key]

    def _compiled_body(self, offset, sample):
        f = _canonical(
            self.prepared.dispatcher, self.takes_u, self.has_p, self.has_out, self.parameters.unpack
        )
        n = self.shape[0]
        if len(self.shape) == 1:
            if self.has_out:
                return _vector_out(f, offset, n)
            if np.ndim(sample) == 0:
                return _vector_scalar(f, offset)
            return _vector_return(f, offset, n)
        m = self.shape[1]
        if self.has_out:
            return _matrix_out_transposed(f, offset, n) if self.transposed else _matrix_out(f, offset, n)
        if np.ndim(sample) == 0:
            return _matrix_scalar(f, offset)
        if np.ndim(sample) == 1:  # one row given as a plain vector
            return _matrix_row(f, offset, m) if n == 1 else _matrix_column(f, offset, n)
        if isinstance(sample, np.ndarray):
            return (
                _matrix_return_transposed(f, offset, n, m)
                if self.transposed
                else _matrix_return(f, offset, n, m)
            )
        return _matrix_nested(f, offset, n, m)

    def _callback_body(self, offset):
        fill = self._python_body(offset)
        if JIT_ENABLED:

            def callback(t, q, u, p, out):
                with objmode():
                    fill(t, q, u, p, out)

            return callback
        return fill

    def _python_body(self, offset):
        stop = offset + self.shape[0]

        @interruptible
        def fill(t, q, u, p, out):
            out[offset:stop] = self.call(t, q, u, p)

        return fill

    def complex_evaluator(self, t0, q0, u0):
        """Numba function ``(t, q, u, p, out)`` on complex ``t, q`` and `out`, or None if it does not compile.

        Used for derivatives by the complex step.
        """
        if not JIT_ENABLED:
            return None
        if self.has_out:
            sample = None
        else:
            sample = self.raw(float(t0), _read_only(q0), _read_only(u0))
        signature = void(complex128, c16_ro, c16_ro, f8_ro, types.Array(complex128, len(self.shape), "C"))
        try:
            return self._shared("complex", 0, sample, signature, inner=True)
        except COMPILE_ERRORS:
            return None


def compilable(function):
    """`function` and its helpers as a Numba dispatcher."""
    return prepared(function).dispatcher


def say_callback(name, function, exc):
    """Warn, once for each function, that `function` runs in Python: where it is, why, and what helps."""
    code = getattr(function, "__code__", None)
    if (code or name) in _SAID:
        return
    _SAID.add(code or name)
    where = (
        f"{code.co_filename}:{code.co_firstlineno}"
        if code
        else f"an object of class {type(function).__name__}"
    )
    lines = [line.strip() for line in str(exc).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("Failed in nopython")), type(exc).__name__)
    place = next((line for line in lines if line.startswith('File "')), "")
    warnings.warn(
        f"{name} ({where}) cannot be compiled and runs in Python, many times slower. Numba says: "
        f"{' '.join((reason, place)).rstrip(' :')}. Write it, and the helpers it calls, as plain functions with numbers, loops "
        "and NumPy arrays.",
        CallbackWarning,
        stacklevel=2,
    )


# Compiled functions by what they are made of, for all systems (compiled code cannot be unloaded); what was said already.
_COMPILED: dict[Hashable, Any] = {}
_SAID: set[Any] = set()


def _read_only(array):
    view = array.view() if isinstance(array, np.ndarray) else np.array(array)
    view.flags.writeable = False
    return view


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


# -- small closures: one for each form a user function can have ---------------------------------------------------


def _canonical(f, takes_u, has_p, has_out, unpack):
    """`f` with its arguments brought to ``(t, q, u, p)`` or ``(t, q, u, p, out)``."""
    if has_out:
        if takes_u and has_p:
            return user_kernel(lambda t, q, u, p, out: f(t, q, u, unpack(p), out), inner=True)
        if takes_u:
            return user_kernel(lambda t, q, u, p, out: f(t, q, u, out), inner=True)
        if has_p:
            return user_kernel(lambda t, q, u, p, out: f(t, q, unpack(p), out), inner=True)
        return user_kernel(lambda t, q, u, p, out: f(t, q, out), inner=True)
    if takes_u and has_p:
        return user_kernel(lambda t, q, u, p: f(t, q, u, unpack(p)), inner=True)
    if takes_u:
        return user_kernel(lambda t, q, u, p: f(t, q, u), inner=True)
    if has_p:
        return user_kernel(lambda t, q, u, p: f(t, q, unpack(p)), inner=True)
    return user_kernel(lambda t, q, u, p: f(t, q), inner=True)


def _vector_out(f, offset, n):
    def write(t, q, u, p, out):
        f(t, q, u, p, out[offset : offset + n])

    return write


def _vector_scalar(f, offset):
    def write(t, q, u, p, out):
        out[offset] = f(t, q, u, p)

    return write


def _vector_return(f, offset, n):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        if len(value) != n:
            raise ValueError("a model function changed the length of its return value during the run")
        for i in range(n):
            out[offset + i] = value[i]

    return write


def _matrix_out(f, offset, n):
    def write(t, q, u, p, out):
        f(t, q, u, p, out[offset : offset + n])

    return write


def _matrix_out_transposed(f, offset, n):
    def write(t, q, u, p, out):
        f(t, q, u, p, out[offset : offset + n].T)

    return write


def _matrix_scalar(f, offset):
    def write(t, q, u, p, out):
        out[offset, 0] = f(t, q, u, p)

    return write


def _matrix_row(f, offset, m):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        if len(value) != m:
            raise ValueError("a model function changed the length of its return value during the run")
        for j in range(m):
            out[offset, j] = value[j]

    return write


def _matrix_column(f, offset, n):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        if len(value) != n:
            raise ValueError("a model function changed the length of its return value during the run")
        for i in range(n):
            out[offset + i, 0] = value[i]

    return write


def _matrix_return(f, offset, n, m):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        if value.shape[0] != n or value.shape[1] != m:
            raise ValueError("a model function changed the shape of its return value during the run")
        for i in range(n):
            for j in range(m):
                out[offset + i, j] = value[i, j]

    return write


def _matrix_return_transposed(f, offset, n, m):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        if value.shape[0] != m or value.shape[1] != n:
            raise ValueError("a model function changed the shape of its return value during the run")
        for i in range(n):
            for j in range(m):
                out[offset + i, j] = value[j, i]

    return write


def _matrix_nested(f, offset, n, m):
    def write(t, q, u, p, out):
        value = f(t, q, u, p)
        for i in range(n):
            for j in range(m):
                out[offset + i, j] = value[i][j]

    return write


def chain(writers: list, signature):
    """One function calling all `writers` (each writes its own rows of `out`)."""
    if not writers:
        raise ValueError("nothing to chain")
    while len(writers) > 1:
        paired = [_pair(a, b) for a, b in zip(writers[::2], writers[1::2])]
        if len(writers) % 2:
            paired.append(writers[-1])
        writers = [user_kernel(pair, signature) if callable(pair) and not is_dispatcher(pair) and JIT_ENABLED else pair
                   for pair in paired]  # fmt: skip
    return writers[0]


def _pair(first, second):
    def both(t, q, u, p, out):
        first(t, q, u, p, out)
        second(t, q, u, p, out)

    return both
