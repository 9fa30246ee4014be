"""Functions of the user inside compiled loops."""
