"""What the decorators of `jit` stand on: types and signatures, calls at addresses, records by reference, arrays at addresses, atomics."""
