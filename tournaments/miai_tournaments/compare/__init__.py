"""Comparing searches over beliefs: every arm on the same roots, and what each takes and errs."""
