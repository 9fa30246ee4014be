"""Differential-algebraic equations: index forms, post-stabilisation, consistent initial values; the stabilised form of mechanics."""
