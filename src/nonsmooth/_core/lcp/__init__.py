"""Kernels of the linear complementarity solvers."""
