"""Impacts followed as a process, compiled: `process` first."""
