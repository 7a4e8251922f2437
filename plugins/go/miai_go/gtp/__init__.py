"""The Go Text Protocol, version 2: engines as players and judges, and miai as an engine."""
