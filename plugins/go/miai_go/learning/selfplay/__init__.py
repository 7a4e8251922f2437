"""Games that networks play to learn from: by tree search, or by their policies alone."""
