"""Life and death: can a block be captured? Proved, not guessed.

`zones` finds where the fight is, `prover` answers one question about it, `solver` the questions of
a problem: its status for both movers, the moves that solve it, seki, ko.
"""
