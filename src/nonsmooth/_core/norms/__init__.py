"""Distances between trajectories."""
