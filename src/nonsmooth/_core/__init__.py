"""Everything compiled: arrays and floats in, arrays and an integer status out. Imports NumPy, Numba and itself."""
