"""Games for learning: many at once, so that networks see them in batches."""
