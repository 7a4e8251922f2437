"""The pattern policy: moves by small patterns and tactics, fast enough for playouts."""
