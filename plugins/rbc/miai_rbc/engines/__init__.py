"""The embedded engine, which values chess positions."""
