"""Compiled kernels of structures: bars, cables, beams, given matrices."""
