"""Learning of the opponent model from recorded games."""
