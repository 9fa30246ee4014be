"""Single-step integrators of smooth phases."""
