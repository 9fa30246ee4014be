"""Kernels of the frictional contact solvers."""
