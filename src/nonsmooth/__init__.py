"""Dynamical systems that impact, stick, slip and switch."""

__version__ = "0.1.0.dev0"
