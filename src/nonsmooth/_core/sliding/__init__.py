"""Filippov systems: Stewart's active sets."""
