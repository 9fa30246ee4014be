"""Functions inside compiled loops as plain addresses.

A first-class function of Numba is three addresses, and every place that calls one is compiled three times:
compiled code, C function, fallback through the interpreter. Here a function is the address of its C function
alone: each call is one instruction of machine code, and the loops compile and run faster. A first-class
function is accepted wherever an address is wanted.
"""

from __future__ import annotations

from nonsmooth._core.jit import JIT_ENABLED, function_type, intrinsic, numba, types
from nonsmooth._core.lazy_kernel import kept_cfunc

_FIRST_CLASS = types.FunctionType


def _no_pointer(function):
    raise TypeError("addresses of functions are made inside compiled code only")


class FunctionPointer(types.ExternalFunctionPointer):
    """Type of the address of a C function of signature `signature`."""

    def __init__(self, signature):
        super().__init__(signature, _no_pointer)
        # kernels on disk are told apart by the names of their types
        self.name = f"FunctionPointer({signature})"

    def can_convert_from(self, typingctx, other):
        """First-class functions of the same signature convert."""
        if isinstance(other, _FIRST_CLASS) and other.signature == self.sig:
            return numba.core.typeconv.Conversion.safe
        return None

    def __reduce__(self):
        return FunctionPointer, (self.sig,)


def pointer_type(signature):
    """Type of the address of a function of `signature`."""
    return FunctionPointer(signature) if JIT_ENABLED else function_type(signature)


if JIT_ENABLED:
    numba.extending.register_model(FunctionPointer)(numba.core.datamodel.models.ExternalFuncPointerModel)

    @numba.extending.lower_cast(types.FunctionType, FunctionPointer)
    def _first_class_to_pointer(context, builder, fromty, toty, value):
        function = numba.core.cgutils.create_struct_proxy(fromty)(context, builder, value)
        return builder.bitcast(function.c_addr, context.get_value_type(toty))


def pointer_at(signature):
    """A compiled conversion from an integer to the function of `signature` that lives there."""
    if not JIT_ENABLED:
        return lambda function: function
    pointer = FunctionPointer(signature)

    @intrinsic
    def convert(typingctx, address):
        def codegen(context, builder, sig, args):
            return builder.inttoptr(args[0], context.get_value_type(pointer))

        return pointer(types.int64), codegen

    return convert


def library_function(function, signature):
    """A function of the library that only works on arrays handed in, to be called by address; kept on disk."""
    if not JIT_ENABLED:
        return function
    return kept_cfunc(function, signature, error_model="numpy", _nrt=False)
