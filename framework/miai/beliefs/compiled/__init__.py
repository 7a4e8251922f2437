"""The search over beliefs, compiled: for games whose states can all be numbered."""
