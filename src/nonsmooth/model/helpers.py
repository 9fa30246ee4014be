"""A user's function together with the helpers it calls, made ready for the compiler.

Numba compiles a call only if what is called is compiled too. `prepared` therefore makes a copy of the function in which every
plain Python function it names (as a global, in its closure, or in a module) is such a copy itself. Helpers the user has
compiled himself are compiled again from their Python source, so that the bounds checks reach them.

On the way everything the code depends on is seen: the `key` of a function is equal for two functions that compile to the same
machine code, whichever system they belong to. (Compiled code is never unloaded: it is worth sharing.)
"""

from __future__ import annotations

import dis
import functools
import hashlib
import operator
import types
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, checked_dispatcher, is_dispatcher, known_to_numba, numba_errors

#: What reaches memory past the bounds checks: such a function runs in Python.
UNCHECKED = frozenset({"flat", "as_strided", "ctypes", "carray", "farray", "address_as_void_pointer"})

#: Functions of the library with a form of their own for compiled code.
COMPILED_FORMS: dict[Any, Any] = {}


class Prepared(NamedTuple):
    """`dispatcher`: compiled on demand, with bounds checks; `key`: equal for functions of the same code, None for unknown."""

    dispatcher: Any
    key: Hashable | None


def prepared(function, inline=False) -> Prepared:
    """The compilable copy of `function` (its helpers are never inlined); raises a Numba error where there cannot be one."""
    walk = _Walk(inline=inline)
    dispatcher, key = walk.function(function.py_func if is_dispatcher(function) else function)
    return Prepared(dispatcher, None if walk.private else key)


def plain(function):
    """`function` for calls from Python: the source of a compiled one, and helpers the user has compiled with bounds checks."""
    if is_dispatcher(function):
        function = function.py_func
    if not JIT_ENABLED:
        return function
    if isinstance(function, functools.partial):
        return functools.partial(plain(function.func), *function.args, **function.keywords)
    if isinstance(function, types.MethodType):
        return types.MethodType(plain(function.__func__), function.__self__)
    if isinstance(function, types.FunctionType):
        return _with_checked_helpers(function, {})
    call = type(function).__dict__.get("__call__")
    if isinstance(call, types.FunctionType):
        checked = _with_checked_helpers(call, {})
        return function if checked is call else types.MethodType(checked, function)
    return function


def _with_checked_helpers(function, seen):
    """`function` itself if it reaches no compiled helper, else a copy that calls them with bounds checks."""
    if function in seen:
        return seen[function]
    seen[function] = function
    reads, attributes = _names(function.__code__)
    found = {name: function.__globals__[name] for name in reads & function.__globals__.keys()}
    given = [_content(cell) for cell in function.__closure__ or ()]
    values = {name: _checked_value(value, attributes, seen) for name, value in found.items()}
    enclosed = [_checked_value(value, attributes, seen) for value in given]
    if all(values[name] is found[name] for name in found) and all(map(operator.is_, enclosed, given)):
        return function
    cells = tuple(
        cell if new is old else types.CellType(new)
        for cell, new, old in zip(function.__closure__ or (), enclosed, given)
    )
    seen[function] = _copy(function, function.__globals__ | values, cells)
    return seen[function]


def _checked_value(value, attributes, seen):
    if is_dispatcher(value):
        if value not in seen:
            seen[value] = _Walk(from_python=True).function(value.py_func)[0]
        return seen[value]
    if isinstance(value, types.FunctionType) and not (value.__module__ or "").startswith(
        ("numpy", "scipy", "nonsmooth.")
    ):
        return _with_checked_helpers(value, seen)
    if isinstance(value, types.ModuleType):
        used = {
            name: getattr(value, name) for name in attributes if is_dispatcher(getattr(value, name, None))
        }
        if used:
            stand_in = types.ModuleType(value.__name__)
            stand_in.__dict__.update(value.__dict__)
            stand_in.__dict__.update(
                {name: _checked_value(helper, (), seen) for name, helper in used.items()}
            )
            return stand_in
    return value


def _content(cell):
    """What a cell of a closure holds (nothing, while the enclosing function has not set it)."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _copy(function, values, cells):
    """`function` with other globals and another closure."""
    copy = types.FunctionType(function.__code__, values, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


class _Walk:
    """From a function through everything it names."""

    def __init__(self, from_python=False, inline=False):
        self.from_python, self.inline = from_python, inline
        self.seen: dict[types.FunctionType, tuple[Any, Hashable]] = {}
        self.private = False  # something was met that no other system can be known to share

    def function(self, function) -> tuple[Any, Hashable]:
        """Dispatcher and key of a plain Python function."""
        if function in self.seen:  # a helper used twice, or one that calls itself
            return self.seen[function]
        if not isinstance(function, types.FunctionType):
            raise numba_errors.NumbaError(
                f"an object of class {type(function).__name__} is called, not a plain function"
            )
        source = COMPILED_FORMS.get(function, function)
        reads, attributes = _names(source.__code__)
        forbidden = sorted(attributes & UNCHECKED)
        if forbidden:
            raise numba_errors.NumbaError(f"`.{forbidden[0]}` cannot be checked for bounds when compiled")
        values: dict[str, Any] = {
            "__builtins__": source.__globals__["__builtins__"],
            "__name__": source.__module__,
        }
        cells = tuple(types.CellType() for _ in source.__closure__ or ())
        first = not self.seen
        dispatcher = checked_dispatcher(_copy(source, values, cells), self.from_python, self.inline and first)
        self.seen[function] = dispatcher, ("met before", len(self.seen))
        keys = [self.constant((source.__defaults__, tuple((source.__kwdefaults__ or {}).items())))]
        for name in sorted(reads & source.__globals__.keys()):
            values[name], key = self.value(source.__globals__[name], attributes)
            keys.append((name, key))
        for name, cell, given in zip(source.__code__.co_freevars, cells, source.__closure__ or ()):
            cell.cell_contents, key = self.value(_content(given), attributes)
            keys.append((name, key))
        key = (source.__code__, tuple(keys))
        self.seen[function] = dispatcher, key
        return dispatcher, key

    def value(self, value, attributes) -> tuple[Any, Hashable]:
        """What the copy sees in place of `value`, and its key."""
        if isinstance(value, types.ModuleType):
            return self.module(value, attributes)
        if is_dispatcher(value):
            return self.function(value.py_func)
        if isinstance(value, types.FunctionType) and (value in COMPILED_FORMS or not known_to_numba(value)):
            return self.function(value)
        return _frozen(value), self.constant(value)

    def module(self, module, attributes) -> tuple[Any, Hashable]:
        """`module`, or a stand-in that holds copies of its functions that are used."""
        used = {name: getattr(module, name) for name in sorted(attributes) if hasattr(module, name)}
        replaced, keys = {}, []
        for name, value in used.items():
            if isinstance(value, types.ModuleType | types.FunctionType) or is_dispatcher(value):
                found, key = self.value(value, attributes)
                keys.append((name, key))
                if found is not value:
                    replaced[name] = found
            elif not callable(value):
                keys.append((name, self.constant(value)))
        if replaced:
            stand_in = types.ModuleType(module.__name__)
            stand_in.__dict__.update(used | replaced)
            return stand_in, (module.__name__, tuple(keys))
        return module, (module.__name__, tuple(keys))

    def constant(self, value) -> Hashable:
        """Key of a value that the compiler freezes."""
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiubc":
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
            return "array", value.dtype.str, value.shape, value.flags.c_contiguous, content
        if isinstance(value, tuple | list):
            return type(value), tuple(self.constant(entry) for entry in value)
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            return type(value), repr(value)
        if isinstance(value, type | types.BuiltinFunctionType | types.FunctionType | np.ufunc):
            return "object", value
        self.private = True
        return None


def _frozen(value):
    """Lists as tuples: compiled code takes constants of this form only."""
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value


def _names(code) -> tuple[set[str], set[str]]:
    """Global names and names of attributes in `code` and in the functions defined inside it."""
    reads, attributes = set(), set()
    for part in _codes(code):
        for instruction in dis.get_instructions(part):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                reads.add(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(instruction.argval)
    return reads, attributes


def _codes(code) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
