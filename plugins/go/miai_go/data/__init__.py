"""Game records in bulk: read from SGF, kept in memory-mapped shards, served in batches."""
