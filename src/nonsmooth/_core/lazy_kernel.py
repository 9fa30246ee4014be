"""Kernels that are compiled, or fetched from the disk, when they are first used and not when their module is imported.

A run then costs what it uses: the parts of a loop that lies compiled on the disk are never touched.
"""

from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from nonsmooth._core.kernel_cache import KernelCache


class LazyKernel(CPUDispatcher):
    """A dispatcher of Numba that knows its signatures before they are compiled.

    Whoever asks for the compiled forms (a call from Python, another kernel that is being compiled, an address) finds them in
    `overloads`: there they are made.
    """

    _declared = ()  # signatures that are still to be made
    _exact = _making = False

    @classmethod
    def declare(cls, function, signatures, options, keep=True):
        """A kernel for exactly `signatures` (for any if None)."""
        kernel = cls(function, targetoptions={"nopython": True, "boundscheck": None, **options})
        if keep:
            kernel._cache = KernelCache(function)
        if signatures is not None:
            kernel._declared = tuple(signatures)
            kernel._exact, kernel._can_compile = True, False
        return kernel

    @property
    def overloads(self):
        """Compiled forms by types of arguments."""
        if self._declared:
            self._make()
        return self._made

    @overloads.setter
    def overloads(self, made):
        self._made = made

    def _make(self):
        with global_compiler_lock:
            if self._making or not self._declared:  # this thread is at it, or another one has done it
                return
            self._making = self._can_compile = True
            try:
                for signature in self._declared:
                    self.compile(signature)
                self._declared = ()
            finally:
                self._making = self._can_compile = False

    def _compile_for_args(self, *args, **kws):
        if not self._exact:
            return super()._compile_for_args(*args, **kws)
        with global_compiler_lock:  # another thread is compiling: afterwards the call finds its form
            return self
