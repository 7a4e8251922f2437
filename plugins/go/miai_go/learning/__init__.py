"""Learning: recorded games, self-play, training loops, life-and-death lessons."""
