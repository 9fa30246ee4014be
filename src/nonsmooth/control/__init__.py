"""Run loop and driver of all front doors: slices, signals, progress, limits, partial results."""
