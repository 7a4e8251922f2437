"""Recorded games and positions: import, shards on disk, data sets, batches."""
