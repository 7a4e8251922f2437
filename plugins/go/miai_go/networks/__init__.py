"""Networks: planes of a position in, moves and values out, by name (kind ``go.network``)."""
