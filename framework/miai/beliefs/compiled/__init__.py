"""The compiled search over beliefs, for games whose states can be enumerated."""
