"""Arrays and numbers at addresses: words of a record by name, scratch space, parameters.

Where nothing is compiled, a record is a tuple, and addresses are the objects themselves.
"""

from collections import namedtuple

import numpy as np
from numba import from_dtype, typeof, types
from numba.extending import intrinsic
from numba.np import arrayobj

from nonsmooth._core.compiler.signatures import JIT_ENABLED, c16_1, complex128, f8_1, f8_2, float64, i8_1


@intrinsic
def _word_compiled(typingctx, record, k):
    def codegen(context, builder, sig, args):
        words = builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())
        return builder.load(builder.gep(words, [args[1]]))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _own_compiled(typingctx, record):
    def codegen(context, builder, sig, args):
        words = builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())
        return builder.load(builder.gep(words, [context.get_constant(types.intp, 1)]))

    return types.int64(types.int64), codegen


def words(name, fields):
    """Records of model functions with named words: ``Product, product_at = words("Product", "first second scratch")``.

    ``Product(first=f, ...)`` are the words behind the code, as `ModelFunction` takes them; ``product_at(record).first`` is one of
    them inside the code, which knows the record by its address.
    """
    made = namedtuple(name, fields)
    if not JIT_ENABLED:
        return made, lambda record: made._make(record[1:])
    layout = from_dtype(np.dtype([(field, np.int64) for field in ("code", *made._fields)]))

    @intrinsic
    def at(typingctx, record):
        def codegen(context, builder, sig, args):
            return builder.inttoptr(args[0], context.get_value_type(layout))

        return layout(types.int64), codegen

    return made, at


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


# ``word(record, k)`` is a word of a record (see `words` for their names), ``own(record)`` the one behind the code;
# ``floats_at(address, n)``, ``matrix_at(address, m, n)``, ``complexes_at(address, n)`` are arrays whose addresses stand in one,
# ``cell_at(address, 2)`` is a cell.
word = _word_compiled if JIT_ENABLED else lambda record, k: record[k]
own = _own_compiled if JIT_ENABLED else lambda record: record[1]
floats_at = _array_at(f8_1) if JIT_ENABLED else lambda array, n: array
matrix_at = _array_at(f8_2) if JIT_ENABLED else lambda array, m, n: array
complexes_at = _array_at(c16_1) if JIT_ENABLED else lambda array, n: array
cell_at = _array_at(i8_1) if JIT_ENABLED else lambda cell, n: cell


@intrinsic
def _array_in_compiled(typingctx, cell):
    def codegen(context, builder, sig, args):
        words = context.make_array(sig.args[0])(context, builder, args[0]).data
        address, n = (builder.load(builder.gep(words, [context.get_constant(types.intp, k)])) for k in (0, 1))
        view = context.make_array(f8_1)(context, builder)
        itemsize = context.get_constant(types.intp, 8)
        data = builder.inttoptr(address, view.data.type)
        arrayobj.populate_array(
            view, data=data, shape=[n], strides=[itemsize], itemsize=itemsize, meminfo=None
        )
        return view._getvalue()

    return f8_1(cell), codegen


# A cell holds an array of floats that can be replaced by another one while compiled code knows the cell: where it lies and its size
# (without the compiler: the array itself). ``array_in(cell)`` is the array; whoever puts it in keeps it alive.
array_in = _array_in_compiled if JIT_ENABLED else lambda cell: cell[0]


def new_cell():
    """A cell with an empty array in it."""
    return np.zeros(2, dtype=np.int64) if JIT_ENABLED else [np.zeros(0)]


def put(cell, array):
    """Replace what is in a cell."""
    if JIT_ENABLED:
        cell[0], cell[1] = array.ctypes.data, array.size
    else:
        cell[0] = array


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
