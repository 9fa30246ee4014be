"""Small dense linear algebra in plain loops."""
