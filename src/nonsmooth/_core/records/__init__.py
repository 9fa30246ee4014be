"""Names of everything the compiled loops share."""
