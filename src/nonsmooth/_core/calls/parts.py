"""Parts of the library's loops, called at their addresses and compiled when a run first needs them.

A loop that calls its parts at their addresses neither contains nor recompiles them, and a run compiles nothing that it
does not use. The calls are those of `nonsmooth._core.jit.caller`: exceptions of user code pass through all of them.
"""

from __future__ import annotations

from functools import cached_property

from nonsmooth._core.jit import address, kernel


class Part:
    """A function of the library with its signature; `address` says where it lives."""

    def __init__(self, function, signature, allocates=False):
        self.function, self.signature = function, signature
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if allocates else {"part": True}
        self.compiled = kernel(signature, **options)(function)
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    @cached_property
    def address(self):
        """What `caller` takes; asking for it compiles the function."""
        return address(self.compiled, self.signature)

    def __call__(self, *arguments):
        """Where nothing is compiled, a part is called as it is."""
        return self.function(*arguments)


def part(signature, allocates=False):
    """Decorator: the function becomes a `Part`; one that `allocates` arrays has to count references."""
    return lambda function: Part(function, signature, allocates)
