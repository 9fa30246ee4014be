"""Calls of compiled functions at their addresses.

A loop over user code calls it at its address, with a fixed signature, so that the loop compiles once and caches, and a new model costs
only its own small functions. Model functions are *records* of words, the first of which is the address of their code (see
`calls.model_functions`).
"""

import weakref

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, typeof_impl

from nonsmooth._core.compiler.signatures import JIT_ENABLED, MODEL_SIGNATURES, float64, int64


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


@intrinsic
def _call_plain_compiled(typingctx, address):
    def codegen(context, builder, signature, args):
        number = context.get_value_type(types.int32)
        function = ir.FunctionType(number, [])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), [])

    return types.int32(int64), codegen


# ``call_python(function, t, q, u, p, out)`` calls a C function with the addresses of its arrays, ``call_plain(address)`` one without
# arguments. Where nothing is compiled, an "address" is a Python function, or a number that stands for none.
call_python = _call_python_compiled if JIT_ENABLED else lambda function, *arguments: function(*arguments)
call_plain = _call_plain_compiled if JIT_ENABLED else lambda function: function() if callable(function) else 0
