"""Life and death: can a block be captured? Proved, not guessed.

`problem_sgf` reads positions, `zones` finds where the fight is. In the room `solver`, the prover
answers one question about a zone, on the `kernels`, and the solver all questions of a problem. The
room `problems` makes problems, `data` makes positions to learn from, and `networks` are trained on
them. `adviser` gives advice to searches in play; `commands` and `pages` are for people.
"""
