"""Event capturing of high order, compiled: `step` first."""
