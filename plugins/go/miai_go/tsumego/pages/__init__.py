"""Pages of `miai web`: problems of life and death to solve."""
