"""Coordinates that do not add: rotations."""
