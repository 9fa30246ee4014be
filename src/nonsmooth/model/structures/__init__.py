"""Structures of a world: bars, beams, given matrices."""
