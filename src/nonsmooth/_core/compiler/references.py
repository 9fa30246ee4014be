"""Records with named fields, handed to compiled functions by reference."""

from ctypes import addressof, c_char
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

from nonsmooth._core.compiler.calls import address
from nonsmooth._core.compiler.signatures import JIT_ENABLED


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
    of_records = np.dtype((np.record, dtype))

    def make():
        return np.zeros(1, of_records)[0]

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
    made = _addresses_by_name(tuple(functions))()
    for name, value in functions.items():
        made[name] = address(*value) if isinstance(value, tuple) else getattr(value, "address", value)
    return made


@cache
def _addresses_by_name(names):
    """The type of record with these addresses."""
    return scalars("Addresses", **dict.fromkeys(names, int))


class Reference:
    """A record of arrays as a kernel takes it: `address` is what the compiled function `at` of its type expects.

    Taken in Python, because a kernel that is handed the record itself spends seconds of compilation on unpacking it. Keeps
    the arrays alive; they must not be replaced by others.
    """

    def __init__(self, record):
        self.record = record
        if JIT_ENABLED:
            words: list[int] = []
            self._add_words((record,), words)
            self._words = np.array(words, dtype=np.int64)
        self.address = self._words.ctypes.data if JIT_ENABLED else record

    @classmethod
    def _add_words(cls, members, words):
        """The words of Numba's array structure (owner, parent, size, item size, data, shape, strides), record by record.

        (A short run takes no longer than this: hence the plain loop, and addresses by what is quickest.)
        """
        for value in members:
            if isinstance(value, np.ndarray):
                words += (
                    0,
                    0,
                    value.size,
                    value.itemsize,
                    _address_of_data(value),
                    *value.shape,
                    *value.strides,
                )
            elif isinstance(value, np.record):
                alone = isinstance(value.base, np.ndarray) and value.base.size == 1
                words.append(_address_of_data(value.base) if alone else value.__array_interface__["data"][0])
            else:
                cls._add_words(value, words)


def _address_of_data(array):
    """Where the numbers of an array are."""
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, empty, or with gaps
        return array.ctypes.data
