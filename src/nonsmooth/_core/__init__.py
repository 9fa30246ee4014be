"""Everything compiled: arrays and floats in, arrays and an integer status out. Imports NumPy, Numba and itself."""

from nonsmooth._core import cache_dir

cache_dir.ensure()
