"""Filippov systems by Stewart's active sets: the system, its compiled form, the run, Taubert's methods."""
