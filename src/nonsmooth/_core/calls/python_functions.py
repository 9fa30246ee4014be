"""Model functions that only Python can run, called from compiled loops.

The word behind the code is the address of a C function made around the Python function. An exception is kept here and the loop stopped;
whoever runs the loop raises it again, unchanged (see `faults`).
"""

import ctypes

import numpy as np

from nonsmooth._core.calls.faults import CallbackFault, keep
from nonsmooth._core.calls.interrupts import interruptible
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import JIT_ENABLED, MATRIX, VECTOR, call_python, kernel, own, with_record

DONE = 1


@kernel(with_record(VECTOR))
def python_vector(t, q, u, p, out, record):
    """Call a Python function for a vector."""
    if call_python(own(record), t, q, u, p, out) != DONE:
        raise CallbackFault


@kernel(with_record(MATRIX))
def python_matrix(t, q, u, p, out, record):
    """Call a Python function for a matrix."""
    if call_python(own(record), t, q, u, p, out) != DONE:
        raise CallbackFault


def python_function(fill, sizes, shape, name, where) -> ModelFunction:
    """The Python function ``fill(t, q, u, p, out)`` as a model function.

    Parameters
    ----------
    sizes : (int, int, int)
        Entries of q, u and p.
    shape : tuple
        Of `out`.
    """
    signature = VECTOR if len(shape) == 1 else MATRIX
    if not JIT_ENABLED:
        return ModelFunction(fill, signature, name=name)
    counts = (*sizes, int(np.prod(shape)))
    views: dict[tuple, list[np.ndarray]] = {}

    @interruptible  # Ctrl-C acts at once in what it calls: an exception there is kept
    def call(t, *places):
        try:
            if places not in views:  # the work arrays of a run stay where they are
                if len(views) > 64:
                    views.clear()
                views[places] = [_view(place, count) for place, count in zip(places, counts)]
            q, u, p, out = views[places]
            fill(t, q, u, p, out.reshape(shape))
            return DONE
        except BaseException as exc:
            keep(exc)
            return 0

    c_function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, *4 * [ctypes.c_int64])(call)
    address = ctypes.cast(c_function, ctypes.c_void_p).value
    code = python_vector if signature == VECTOR else python_matrix
    return ModelFunction(code, signature, [address], name, where, keep=c_function)


def _view(address, count):
    """The `count` numbers at `address`."""
    return np.frombuffer((ctypes.c_double * count).from_address(address)) if count else np.zeros(0)
