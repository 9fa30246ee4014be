"""Differential-algebraic equations that are not mechanical: index forms, post-stabilisation, consistent initial values."""
