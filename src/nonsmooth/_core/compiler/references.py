"""Records with named fields, handed to compiled functions by reference."""

from array import array
from ctypes import addressof, c_char
from functools import cache
from operator import itemgetter
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

    Kernels and Python read and write its fields by name; it is handed over by reference. (NumPy's own records look a field up in
    Python whenever it is read or written, hundreds of times in the set-up of a run: here fields are properties.)
    """
    dtype = np.dtype([(field, np.float64 if kind is float else np.int64) for field, kind in fields.items()])
    members = {field: _field(field) for field in fields if not hasattr(np.record, field)}
    quick = {
        "__getattribute__": object.__getattribute__, "__setattr__": object.__setattr__, "__getitem__": np.void.__getitem__,
    }  # fmt: skip
    of_records = np.dtype((type(name, (np.record,), quick | members), dtype))

    def make():
        return np.zeros(1, of_records)[0]

    make.__name__ = make.__qualname__ = name
    make.dtype = dtype
    return make


def _field(name):
    """A field of a record as a property."""

    def put(record, value):
        record[name] = value

    return property(itemgetter(name), put)


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
    the arrays alive; they must not be replaced by others. `members` are references to records inside this one: their words are
    taken over.
    """

    def __init__(self, record, *members):
        self.record = record
        if JIT_ENABLED:
            words: list[int] = []
            known = {id(member.record): member.words for member in members}
            self._add_words((record,), words, known)
            self.words = array("q", words)
        self.address = self.words.buffer_info()[0] if JIT_ENABLED else record

    @classmethod
    def _add_words(cls, members, words, known):
        """The words of Numba's array structure (owner, parent, size, item size, data, shape, strides), record by record.

        (A short run takes no longer than this: hence the plain loop, and addresses by what is quickest.)
        """
        for value in members:
            if isinstance(value, np.ndarray):
                try:
                    data = addressof(c_char.from_buffer(value))
                except (TypeError, ValueError):  # read-only, empty, or with gaps
                    data = value.ctypes.data
                if value.ndim == 1:
                    words += 0, 0, value.size, value.itemsize, data, value.size, value.strides[0]
                else:
                    words += (0, 0, value.size, value.itemsize, data, *value.shape, *value.strides)
            elif isinstance(value, np.record):
                alone = isinstance(value.base, np.ndarray) and value.base.size == 1
                words.append(
                    addressof(c_char.from_buffer(value.base))
                    if alone
                    else value.__array_interface__["data"][0]
                )
            elif id(value) in known:
                words += known[id(value)]
            else:
                cls._add_words(value, words, known)
