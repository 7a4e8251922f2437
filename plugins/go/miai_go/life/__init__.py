"""Life and death: can a block be captured? Proved, not guessed.

`problems` reads positions, `zones` finds where the fight is, `prover` answers one question about
it, and `solver` all questions of a problem: its status for both first movers, the moves that solve
it, seki, ko. `proof_tree` writes proofs down. `families` and `walled` make problems, whose
`answer_keys` are proved.
"""
