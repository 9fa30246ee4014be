"""Switching functions along an integration: scan, location, order, what happens at an event."""
