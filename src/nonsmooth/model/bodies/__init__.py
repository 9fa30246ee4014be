"""What a `World` is made of: bodies, shapes, materials, forces, contacts."""
