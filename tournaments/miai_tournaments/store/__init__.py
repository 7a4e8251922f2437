"""What a run keeps on disk: its folder, its store and exported records."""
