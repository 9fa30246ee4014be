"""Extrapolation of a base scheme with step-size adjustment, compiled: `step` first, `main_step` inside."""
