"""Pages of `miai web`: tournaments and comparisons, running or finished."""
