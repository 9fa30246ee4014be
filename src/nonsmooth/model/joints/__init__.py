"""Joints between bodies."""
