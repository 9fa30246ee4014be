"""What moves: models, laws, constraints."""
