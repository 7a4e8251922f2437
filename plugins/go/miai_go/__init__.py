"""go for miai."""
