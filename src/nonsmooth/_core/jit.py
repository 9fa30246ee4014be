"""The one module that imports Numba: the decorators of the core, its types, and the home of its flags.

``fastmath`` stays off and the order of sums is fixed, so that runs are bit-reproducible. Library kernels use
``kernel`` (cached on disk); small functions made around user code use ``user_kernel`` (never cached: a closure has
no stable identity between processes).

A loop over user code calls it at its address, with one of the signatures below (`caller`, `addresses`), so that the loop
compiles once and caches, and a new model costs only its own small functions. Inputs are read-only: a model function that writes into
its arguments does not compile and is caught when it runs.
"""

import warnings
import weakref
from types import SimpleNamespace

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import objmode, typeof, types
from numba.core import cgutils
from numba.core import errors as numba_errors
from numba.extending import intrinsic, typeof_impl
from numba.np import arrayobj

from nonsmooth._core.lazy_kernel import LazyKernel, kept_cfunc

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
    "address_of",
    "address_record",
    "addresses",
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
    "checked_dispatcher",
    "code_of",
    "complex128",
    "complexes_at",
    "f8_1",
    "f8_2",
    "f8_ro",
    "first_class",
    "float64",
    "floats_at",
    "function_type",
    "i8_1",
    "i8_2",
    "int8",
    "int64",
    "is_dispatcher",
    "kernel",
    "known_to_numba",
    "matrix_at",
    "noinline",
    "numba_errors",
    "objmode",
    "parameter_unpacker",
    "phase",
    "record_of",
    "scalars",
    "static_array",
    "typeof",
    "types",
    "user_kernel",
    "void",
    "with_record",
    "word",
]

# First-class functions are what the core is built on; that Numba calls them experimental need not trouble a user.
warnings.filterwarnings("ignore", message="First-class function type feature is experimental")

JIT_ENABLED = not numba.config.DISABLE_JIT

float64 = types.float64
complex128 = types.complex128
int64 = types.int64
int8 = types.int8
void = types.void
f8_1 = types.Array(types.float64, 1, "C")
f8_2 = types.Array(types.float64, 2, "C")
f8_ro = types.Array(types.float64, 1, "C", readonly=True)
c16_1 = types.Array(types.complex128, 1, "C")
i8_1 = types.Array(types.int64, 1, "C")
b1_1 = types.Array(types.int8, 1, "C")
i8_2 = types.Array(types.int64, 2, "C")

# Signatures of model functions inside the loops: (t, q, u, p, out), p the flat parameter array.
VECTOR = void(float64, f8_ro, f8_ro, f8_ro, f8_1)
MATRIX = void(float64, f8_ro, f8_ro, f8_ro, f8_2)
# Projection of a user-defined convex set: (law, x, out).
PROJECT = void(int64, f8_ro, f8_1)


# The same on complex numbers, for derivatives by the complex step.
c16_ro = types.Array(types.complex128, 1, "C", readonly=True)
COMPLEX_VECTOR = void(complex128, c16_ro, c16_ro, f8_ro, c16_1)
COMPLEX_MATRIX = void(complex128, c16_ro, c16_ro, f8_ro, types.Array(types.complex128, 2, "C"))
MODEL_SIGNATURES = (VECTOR, MATRIX, COMPLEX_VECTOR, COMPLEX_MATRIX)


def function_type(signature):
    """The first-class function type of `signature`: a loop taking it compiles once for every model."""
    return types.FunctionType(signature)


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


def first_class(function, signature, cache=False):
    """`function` as a first-class value of exactly `signature`: a loop taking it compiles once for all of them.

    With ``cache=True`` for functions of the library: kept on disk, and not compiled again inside each of its callers.
    """
    if not JIT_ENABLED:
        return function
    if cache:
        return kept_cfunc(function, signature, error_model="numpy")
    return numba.cfunc(signature, error_model="numpy")(function)


def address_of(function):
    """Address of a first-class function (the function itself where nothing is compiled): handing it over costs nothing."""
    return function.address if JIT_ENABLED else function


def caller(signature):
    """A compiled call ``call(address, *arguments)`` of the function of `signature` that lives at an address.

    A first-class function of Numba costs 35 microseconds to hand over from Python, and every place that calls one is
    compiled three times (compiled code, C function, fallback through the interpreter). Loops over model functions take
    their addresses instead (`addresses`). Exceptions pass through.
    """
    if not JIT_ENABLED:
        return lambda function, *arguments: function(*arguments)
    if signature in MODEL_SIGNATURES:
        return _record_caller(signature)

    @intrinsic
    def call(typingctx, address, *arguments):
        def codegen(context, builder, sig, args):
            convention = context.call_conv
            function_type = convention.get_function_type(signature.return_type, signature.args)
            pointer = builder.inttoptr(args[0], function_type.as_pointer())
            values = cgutils.unpack_tuple(builder, args[1])
            status, result = convention.call_function(
                builder, pointer, signature.return_type, signature.args, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return signature.return_type(types.int64, types.Tuple(signature.args)), codegen

    return call


def addresses(functions, signatures):
    """What `caller` needs: the addresses of compiled functions, in an array (where nothing is compiled, themselves).

    Model functions (see `_core.calls.model_functions`) are called through their records. The caller keeps the functions alive.
    """
    if not JIT_ENABLED:
        return tuple(functions)
    return np.array([address(f, signature) for f, signature in zip(functions, signatures)], dtype=np.int64)


def address(function, signature):
    """Address of a compiled function, as `caller` takes it."""
    if not JIT_ENABLED:
        return function
    return record_of(function, signature) if signature in MODEL_SIGNATURES else code_of(function, signature)


def code_of(function, signature):
    """Address of the machine code of a compiled function."""
    if function not in _known_addresses:  # looking one up takes longer than a short run
        compiled = function.get_compile_result(signature)
        _known_addresses[function] = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return _known_addresses[function]


def record_of(function, signature):
    """Address of the record of a model function; one that is plain compiled code gets a record of this one word."""
    if hasattr(function, "words"):
        return function.address
    if function not in _plain_records:
        _plain_records[function] = np.array([code_of(function, signature)])
    return _plain_records[function].ctypes.data


_plain_records: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_known_addresses: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


# -- model functions: records of words, the first of which is the address of their code ------------------------------------


def with_record(signature):
    """Signature of code that reads its own record: one more argument, the record's address, at the end.

    (Code that does not read it is compiled without: a last argument that nobody asks for does no harm.)
    """
    return signature.return_type(*signature.args, int64)


def _record_call(context, builder, signature, address, values):
    """Emit the call of a model function; where it raises, remember which one it was, and when (see `FAULT`)."""
    convention = context.call_conv
    types_of_arguments = (*signature.args, int64)
    word = context.get_value_type(types.int64)
    code = builder.load(builder.inttoptr(address, word.as_pointer()))
    function_type = convention.get_function_type(types.void, types_of_arguments)
    pointer = builder.inttoptr(code, function_type.as_pointer())
    status, _ = convention.call_function(builder, pointer, types.void, types_of_arguments, [*values, address])
    with cgutils.if_unlikely(builder, status.is_error):
        cell_type = ir.ArrayType(word, 2)
        module = builder.module
        cell = module.globals.get(FAULT_SYMBOL) or ir.GlobalVariable(module, cell_type, FAULT_SYMBOL)
        first = cgutils.gep_inbounds(builder, cell, 0, 0)
        with builder.if_then(builder.icmp_unsigned("==", builder.load(first), word(0))):
            builder.store(address, first)
            t = values[0] if signature.args[0] == float64 else builder.extract_value(values[0], 0)
            builder.store(builder.bitcast(t, word), cgutils.gep_inbounds(builder, cell, 0, 1))
        convention.return_status_propagate(builder, status)
    return context.get_dummy_value()


#: Record of the model function that raised last, and the bits of the time it was called at; zero when nothing did.
FAULT = np.zeros(2, dtype=np.int64)
FAULT_SYMBOL = "nonsmooth_fault"
if JIT_ENABLED:
    llvm.add_symbol(FAULT_SYMBOL, FAULT.ctypes.data)


def _record_caller(signature):
    @intrinsic
    def call(typingctx, address, *arguments):
        def codegen(context, builder, sig, args):
            return _record_call(context, builder, signature, args[0], cgutils.unpack_tuple(builder, args[1]))

        return types.void(types.int64, types.Tuple(signature.args)), codegen

    return call


def call_of_record(address, signature):
    """A compiled call ``call(t, q, u, p, out)`` of the model function with the record at `address`."""

    @intrinsic
    def call(typingctx, t, q, u, p, out):
        def codegen(context, builder, sig, args):
            place = context.get_constant(types.int64, address)
            return _record_call(context, builder, signature, place, args)

        return signature, codegen

    return call


def callable_inside(cls, intrinsic_of):
    """Let compiled functions call instances of `cls` that they name: as the intrinsic that `intrinsic_of` finds for one."""
    if JIT_ENABLED:

        @typeof_impl.register(cls)
        def _(value, c):
            found, context = intrinsic_of(value), numba.core.registry.cpu_target.typing_context
            context.refresh()  # it may have been made just now
            return context.resolve_value_type(found)


@intrinsic
def _word_compiled(typingctx, record, k):
    def codegen(context, builder, sig, args):
        words = builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())
        return builder.load(builder.gep(words, [args[1]]))

    return types.int64(types.int64, types.int64), codegen


def _array_at(array_type):
    """A compiled function from an address (and extents) to the array there, which somebody else keeps alive."""
    size = 16 if array_type.dtype == complex128 else 8

    def fill(context, builder, address, extents):
        view = context.make_array(array_type)(context, builder)
        itemsize = context.get_constant(types.intp, size)
        strides = [itemsize]
        for extent in extents[:0:-1]:
            strides.insert(0, builder.mul(strides[0], extent))
        arrayobj.populate_array(
            view, data=builder.inttoptr(address, view.data.type), shape=list(extents), strides=strides, itemsize=itemsize,
            meminfo=None,
        )  # fmt: skip
        return view._getvalue()

    @intrinsic
    def vector(typingctx, address, n):
        def codegen(context, builder, sig, args):
            return fill(context, builder, args[0], args[1:])

        return array_type(types.int64, types.int64), codegen

    @intrinsic
    def matrix(typingctx, address, m, n):
        def codegen(context, builder, sig, args):
            return fill(context, builder, args[0], args[1:])

        return array_type(types.int64, types.int64, types.int64), codegen

    return vector if array_type.ndim == 1 else matrix


@intrinsic
def _call_python_compiled(typingctx, function, t, q, u, p, out):
    def codegen(context, builder, sig, args):
        word = context.get_value_type(types.int64)
        number = context.get_value_type(types.int32)
        kind = ir.FunctionType(number, [context.get_value_type(float64)] + 4 * [word])
        data = [
            builder.ptrtoint(context.make_array(array_type)(context, builder, array).data, word)
            for array_type, array in zip(sig.args[2:], args[2:])
        ]
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1], *data])

    return types.int32(types.int64, float64, q, u, p, out), codegen


# ``word(record, k)`` is a word of a record; ``floats_at(address, n)``, ``matrix_at(address, m, n)``, ``complexes_at(address, n)``
# are arrays whose addresses stand in one; ``call_python(function, t, q, u, p, out)`` calls a C function with the addresses of
# its arrays. Where nothing is compiled, a record is a tuple, and addresses are the objects themselves.
word = _word_compiled if JIT_ENABLED else lambda record, k: record[k]
floats_at = _array_at(f8_1) if JIT_ENABLED else lambda array, n: array
matrix_at = _array_at(f8_2) if JIT_ENABLED else lambda array, m, n: array
complexes_at = _array_at(c16_1) if JIT_ENABLED else lambda array, n: array
call_python = _call_python_compiled if JIT_ENABLED else lambda function, *arguments: function(*arguments)


def _shared(context, builder, array_type, array, place):
    """Address of one entry of an array that several threads use."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [place])


@intrinsic
def _atomic_add_compiled(typingctx, array, place, value):
    def codegen(context, builder, signature, args):
        address = _shared(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return int64(i8_1, int64, int64), codegen


@intrinsic
def _atomic_load_compiled(typingctx, array, place):
    def codegen(context, builder, signature, args):
        address = _shared(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(address, "seq_cst", 8)

    return int64(i8_1, int64), codegen


@intrinsic
def _atomic_replace_compiled(typingctx, array, place, old, new):
    def codegen(context, builder, signature, args):
        address = _shared(context, builder, signature.args[0], args[0], args[1])
        return builder.extract_value(builder.cmpxchg(address, args[2], args[3], "seq_cst", "seq_cst"), 1)

    return types.boolean(i8_1, int64, int64, int64), codegen


@intrinsic
def _call_plain_compiled(typingctx, address):
    def codegen(context, builder, signature, args):
        number = context.get_value_type(types.int32)
        function = ir.FunctionType(number, [])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), [])

    return types.int32(int64), codegen


def _atomic_add_in_python(array, place, value):
    before = array[place]
    array[place] = before + value
    return before


def _atomic_replace_in_python(array, place, old, new):
    same = array[place] == old
    if same:
        array[place] = new
    return same


# For kernels that several threads run at once, on int64 arrays. ``atomic_add(array, place, value)`` adds to an entry and returns
# what it held, ``atomic_load(array, place)`` reads one, ``atomic_replace(array, place, old, new)`` replaces `old`, and says whether
# that was what it found; whatever a thread wrote before it changed an entry, another sees after it has read the new value.
# ``call_plain(address)`` calls a C function without arguments. Where nothing is compiled there is one thread, and an "address" is a
# Python function, or a number that stands for none.
atomic_add = _atomic_add_compiled if JIT_ENABLED else _atomic_add_in_python
atomic_replace = _atomic_replace_compiled if JIT_ENABLED else _atomic_replace_in_python
atomic_load = _atomic_load_compiled if JIT_ENABLED else lambda array, place: array[place]
call_plain = _call_plain_compiled if JIT_ENABLED else lambda function: function() if callable(function) else 0


def by_reference(example):
    """Two compiled functions (reference, at) for records like `example` (named tuples of arrays and of `scalars`): a record to
    its address, valid while the function that took the address runs, and back.

    A kernel with two dozen arrays has some two hundred arguments, which costs more than a small time step to hand over;
    the alternative, inlining one kernel into another, is what takes longest to compile. With a reference, parts of a loop
    are functions of a few numbers, each compiled once for all loops.
    """
    if not JIT_ENABLED:
        return (lambda record: record), (lambda record: record)
    record_type = example if isinstance(example, types.Type) else typeof(example)

    def leaves(llvm_type, path=()):
        elements = getattr(llvm_type, "elements", None)
        if elements is None:
            count = getattr(llvm_type, "count", None)
            if count is None:
                yield path
                return
            elements = [llvm_type.element] * count
        for k, element in enumerate(elements):
            yield from leaves(element, (*path, k))

    def pointer(builder, base, path):
        return cgutils.gep_inbounds(builder, base, 0, *path)

    @intrinsic
    def reference(typingctx, record):
        def codegen(context, builder, sig, args):
            llvm_type = context.get_value_type(record_type)
            slot = cgutils.alloca_once(builder, llvm_type)
            for path in leaves(llvm_type):
                builder.store(builder.extract_value(args[0], path), pointer(builder, slot, path))
            return builder.ptrtoint(slot, context.get_value_type(types.int64))

        return types.int64(record_type), codegen

    @intrinsic
    def at(typingctx, address):
        def codegen(context, builder, sig, args):
            llvm_type = context.get_value_type(record_type)
            base = builder.inttoptr(args[0], llvm_type.as_pointer())
            value = cgutils.get_null_value(llvm_type)
            # the record does not change while a function uses it: loads may be moved to where their values are wanted
            constant = builder.module.add_metadata([])
            for path in leaves(llvm_type):
                leaf = builder.load(pointer(builder, base, path))
                leaf.set_metadata("invariant.load", constant)
                value = builder.insert_value(value, leaf, path)
            return value

        return record_type(types.int64), codegen

    return reference, at


def scalars(name, **fields):
    """A type of record with named numbers, ``scalars("Info", residual=float, iterations=int)``: call it for a new one, all zero.

    Kernels and Python read and write its fields by name; it is handed over by reference.
    """
    dtype = np.dtype([(field, np.float64 if kind is float else np.int64) for field, kind in fields.items()])

    def make():
        return np.zeros(1, dtype).view(np.recarray)[0]

    make.__name__ = make.__qualname__ = name
    make.dtype = dtype
    return make


def address_record(**functions):
    """Addresses by name, as a kernel takes them: of pairs (compiled function, signature), of `Reference`s, or numbers.

    Where nothing is compiled, the functions and records themselves. The caller keeps what lives there alive.
    """
    if not JIT_ENABLED:
        return SimpleNamespace(
            **{
                name: getattr(f, "record", f[0] if isinstance(f, tuple) else f)
                for name, f in functions.items()
            }
        )
    made = scalars("Addresses", **dict.fromkeys(functions, int))()
    for name, value in functions.items():
        setattr(made, name, address(*value) if isinstance(value, tuple) else getattr(value, "address", value))
    return made


class Reference:
    """A record of arrays as a kernel takes it: `address` is what the compiled function `at` of its type expects.

    Taken in Python, because a kernel that is handed the record itself spends seconds of compilation on unpacking it. Keeps
    the arrays alive; they must not be replaced by others.
    """

    def __init__(self, record):
        self.record = record
        self._words = np.array(list(self._layout(record)), dtype=np.int64) if JIT_ENABLED else None
        self.address = self._words.ctypes.data if JIT_ENABLED else record

    @classmethod
    def _layout(cls, value):
        """The words of Numba's array structure: owner, parent, size, item size, data, shape, strides."""
        if isinstance(value, tuple):
            for member in value:
                yield from cls._layout(member)
        elif isinstance(value, np.record):
            yield value.__array_interface__["data"][0]
        else:
            yield from (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)


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


def parameter_unpacker(record, shapes):
    """A compiled function from the flat parameter array to the named tuple `record`.

    Parameters
    ----------
    record : namedtuple class
    shapes : sequence of tuple
        Shape of each field, ``()`` for a number. Array fields become read-only views of the flat array.
    """
    fields, sizes = [], []
    for shape in shapes:
        size = 1
        for extent in shape:
            size *= extent
        sizes.append(size)
        fields.append(types.Array(float64, len(shape), "C", readonly=True) if shape else float64)
    if all(not shape for shape in shapes):
        record_type = types.NamedUniTuple(float64, len(shapes), record)
    else:
        record_type = types.NamedTuple(fields, record)

    @intrinsic
    def unpack(typingctx, p):
        def codegen(context, builder, signature, args):
            flat = context.make_array(signature.args[0])(context, builder, args[0])
            values, offset = [], 0
            for shape, size, field in zip(shapes, sizes, fields):
                pointer = builder.gep(flat.data, [context.get_constant(types.intp, offset)])
                offset += size
                if not shape:
                    values.append(builder.load(pointer))
                    continue
                view = context.make_array(field)(context, builder)
                strides, stride = [], 8
                for extent in reversed(shape):
                    strides.insert(0, context.get_constant(types.intp, stride))
                    stride *= extent
                arrayobj.populate_array(
                    view,
                    data=pointer,
                    shape=[context.get_constant(types.intp, extent) for extent in shape],
                    strides=strides,
                    itemsize=context.get_constant(types.intp, 8),
                    meminfo=None,
                )
                values.append(view._getvalue())
            return context.make_tuple(builder, signature.return_type, values)

        return record_type(p), codegen

    return unpack


def static_array(array):
    """A function without arguments that returns `array` inside compiled code, writable and without a copy.

    Numba freezes the arrays a closure captures; derivative wrappers need scratch space that costs no allocation per
    call. The caller keeps `array` alive. Safe because a compiled slice holds the interpreter lock throughout.
    """
    if not JIT_ENABLED:
        return lambda: array
    array_type = types.Array(typeof(array).dtype, array.ndim, "C")
    address, shape, itemsize = array.ctypes.data, array.shape, array.itemsize

    @intrinsic
    def pointer(typingctx):
        def codegen(context, builder, signature, args):
            view = context.make_array(array_type)(context, builder)
            data = builder.inttoptr(context.get_constant(types.intp, address), view.data.type)
            strides, stride = [], itemsize
            for extent in reversed(shape):
                strides.insert(0, context.get_constant(types.intp, stride))
                stride *= extent
            arrayobj.populate_array(
                view,
                data=data,
                shape=[context.get_constant(types.intp, extent) for extent in shape],
                strides=strides,
                itemsize=context.get_constant(types.intp, itemsize),
                meminfo=None,
            )
            return view._getvalue()

        return array_type(), codegen

    return pointer
