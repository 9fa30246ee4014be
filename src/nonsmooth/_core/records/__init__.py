"""Names of everything the compiled loops share: a field has one meaning, and is defined here once."""
