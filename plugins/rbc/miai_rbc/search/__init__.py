"""`rbc-minimax`: what a player of Reconnaissance Blind Chess can guarantee, one or two moves deep.

`problem` draws roots, `valuing` values boards, `layers` applies moves and senses to arrays of
boards, `recursion` adapts `miai.beliefs.search` to them, and `minimax` searches a root; see
docs/rbc.md.
"""
