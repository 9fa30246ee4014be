"""The decorators of the core, and the home of the compiler's flags; what they stand on is in `compiler/`.

``fastmath`` stays off and the order of sums is fixed, so that runs are bit-reproducible. Library kernels use
``kernel`` (cached on disk); small functions made around user code use ``user_kernel`` (never cached: a closure has
no stable identity between processes).

A loop over user code calls it at its address, with one of the signatures of `compiler.signatures` (`caller`, `addresses`), so that the
loop compiles once and caches, and a new model costs only its own small functions. Inputs are read-only: a model function that writes
into its arguments does not compile and is caught when it runs.

Kernels import from here: no module of the core but this one, `compiler/` and the two files of the cache knows Numba.
"""

import numba
from numba import objmode, typeof, types
from numba.core import errors as numba_errors
from numba.extending import intrinsic

from nonsmooth._core.compiler import tables  # noqa: F401  (tells Numba)
from nonsmooth._core.compiler.arrays import (
    array_in,
    cell_at,
    complexes_at,
    floats_at,
    matrix_at,
    new_cell,
    own,
    parameter_unpacker,
    put,
    static_array,
    word,
    words,
)
from nonsmooth._core.compiler.atomics import atomic_add, atomic_load, atomic_replace
from nonsmooth._core.compiler.calls import (
    FAULT,
    address,
    addresses,
    call_of_record,
    call_plain,
    call_python,
    callable_inside,
    caller,
    code_of,
    record_of,
    with_record,
)
from nonsmooth._core.compiler.references import Reference, address_record, by_reference, scalars
from nonsmooth._core.compiler.signatures import (
    COMPLEX_MATRIX,
    COMPLEX_VECTOR,
    JIT_ENABLED,
    MATRIX,
    PROJECT,
    VECTOR,
    b1_1,
    c16_1,
    complex128,
    f8_1,
    f8_2,
    f8_ro,
    float64,
    i8_1,
    i8_2,
    int8,
    int64,
    void,
)
from nonsmooth._core.lazy_kernel import LazyKernel

__all__ = [
    "COMPLEX_MATRIX",
    "COMPLEX_VECTOR",
    "FAULT",
    "JIT_ENABLED",
    "MATRIX",
    "PROJECT",
    "VECTOR",
    "Reference",
    "address",
    "address_record",
    "addresses",
    "array_in",
    "atomic_add",
    "atomic_load",
    "atomic_replace",
    "b1_1",
    "by_reference",
    "c16_1",
    "call_of_record",
    "call_plain",
    "call_python",
    "callable_inside",
    "caller",
    "cell_at",
    "checked_dispatcher",
    "code_of",
    "complex128",
    "complexes_at",
    "f8_1",
    "f8_2",
    "f8_ro",
    "float64",
    "floats_at",
    "i8_1",
    "i8_2",
    "int8",
    "int64",
    "is_dispatcher",
    "kernel",
    "known_to_numba",
    "matrix_at",
    "new_cell",
    "noinline",
    "numba_errors",
    "objmode",
    "own",
    "parameter_unpacker",
    "phase",
    "put",
    "record_of",
    "scalars",
    "static_array",
    "typeof",
    "types",
    "user_kernel",
    "void",
    "with_record",
    "word",
    "words",
]


def kernel(*args, **kwargs):
    """A library kernel: nopython, compiled when first used and kept on disk (`kernel_cache`), IEEE arithmetic.

    Division by zero gives an infinity or NaN that the kernels test for: status codes, not exceptions, leave the core
    (and the checks Numba would add around every division make loops larger and slower to compile).

    ``references=False``: for kernels that only work on arrays handed in. Numba counts references atomically whenever an
    array is touched, which costs more than a small time step; such kernels borrow their arguments instead.

    ``internal=True``: part of a larger loop, always inlined there (handing dozens of arrays over costs more than a small
    step), without the wrappers for Python and C, which take longer to compile than the function itself.

    ``part=True``: called by other kernels at its address (see `caller`): compiled when that is first asked for, once, and never
    linked into them. Its phases may stand below it, so that a step reads from top to bottom.
    """
    options = {"fastmath": False, "error_model": "numpy", "nogil": False, **kwargs}
    keep = options.pop("cache", True)
    if not options.pop("references", True):
        options["_nrt"] = False
    if options.pop("internal", False):
        options |= {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    if options.pop(
        "part", False
    ):  # (a caller that is inlined hands that on to what it calls, unless told otherwise)
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "forceinline": False}
    if args and callable(args[0]):
        return kernel(**kwargs)(args[0])
    signatures = None if not args else args[0] if isinstance(args[0], list) else [args[0]]

    def decorate(function):
        return LazyKernel.declare(function, signatures, options, keep) if JIT_ENABLED else function

    return decorate


def phase(function):
    """One phase of a step: a named part of a larger kernel, always inlined there, for whatever records it is handed."""
    return kernel(internal=True, cache=False)(function)


def user_kernel(function, signature=None, inner=False, checked=False):
    """Compile a function made around user code, at once for `signature` if one is given.

    ``inner=True``: only ever called by other compiled functions; without the wrappers for Python and C it compiles in half
    the time. ``checked=True``: every index is checked against its array. Division follows NumPy here (0/0 is NaN, as in the
    arrays the user sees); the loops check for NaN and stop.
    """
    options = {"fastmath": False, "error_model": "numpy", "cache": False, "boundscheck": checked}
    if inner:
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if signature is None:
        return numba.njit(**options)(function)
    return numba.njit(signature, **options)(function)


def checked_dispatcher(function, from_python=False, inline=False):
    """A user's function, compiled when it is called (by compiled functions, or `from_python`): every index is checked
    against its array.

    ``inline=True``: it becomes part of the function that calls it, which must be checked itself: one compilation, not two.
    """
    options = {} if from_python else {"no_cpython_wrapper": True}
    if inline:
        options["inline"] = "always"
    return numba.njit(
        boundscheck=True, fastmath=False, error_model="numpy", no_cfunc_wrapper=True, **options
    )(function)


def known_to_numba(value):
    """Whether compiled code can use `value` as it is (a function of NumPy, say, of which Numba has a version of its own)."""
    context = numba.core.registry.cpu_target.typing_context
    context.refresh()
    try:
        context.resolve_value_type(value)
    except (ValueError, numba_errors.NumbaError):
        return False
    return True


def _noinline_in_python():
    """Does nothing where nothing is compiled."""


@intrinsic
def _noinline_compiled(typingctx):
    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), codegen


#: Called first in a large kernel: it is then not copied into its callers, which keeps their compile time small.
noinline = _noinline_compiled if JIT_ENABLED else _noinline_in_python


def is_dispatcher(function):
    """Whether `function` is already a compiled Numba function."""
    return isinstance(function, numba.core.dispatcher.Dispatcher)
