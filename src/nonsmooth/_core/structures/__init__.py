"""Compiled kernels of structures: bars, beams, given matrices."""
