"""What a run keeps on disk: the folder, the SQLite store, the exported records."""
