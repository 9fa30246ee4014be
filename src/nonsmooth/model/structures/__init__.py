"""Structures of a world: bars, cables, beams, given matrices."""
