"""Steps in time of mechanical systems, and what wraps them."""
