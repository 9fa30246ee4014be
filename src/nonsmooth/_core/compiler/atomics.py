"""Entries of int64 arrays that several threads read and change at once."""

from numba import types
from numba.extending import intrinsic

from nonsmooth._core.compiler.signatures import JIT_ENABLED, i8_1, int64


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


def _atomic_add_in_python(array, place, value):
    before = array[place]
    array[place] = before + value
    return before


def _atomic_replace_in_python(array, place, old, new):
    same = array[place] == old
    if same:
        array[place] = new
    return same


# ``atomic_add(array, place, value)`` adds to an entry and returns what it held, ``atomic_load(array, place)`` reads one,
# ``atomic_replace(array, place, old, new)`` replaces `old`, and says whether that was what it found; whatever a thread wrote before it
# changed an entry, another sees after it has read the new value. Where nothing is compiled there is one thread.
atomic_add = _atomic_add_compiled if JIT_ENABLED else _atomic_add_in_python
atomic_replace = _atomic_replace_compiled if JIT_ENABLED else _atomic_replace_in_python
atomic_load = _atomic_load_compiled if JIT_ENABLED else lambda array, place: array[place]
