"""`rbc-minimax`: what a player of Reconnaissance Blind Chess can guarantee, one or two moves deep.

`rules` says what a value is, `problem` where a search begins, `layers` what moves and senses do to
boards in arrays, `recursion` is the search itself; see docs/rbc.md.
"""
