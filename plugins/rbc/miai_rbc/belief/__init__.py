"""Beliefs: the set of all possible boards within limited memory, and scans."""
