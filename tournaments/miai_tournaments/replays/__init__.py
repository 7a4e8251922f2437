"""One game as a page: every position, what each player knew, and what its search said."""
