"""What a player of Reconnaissance Blind Chess can guarantee, one to three moves deep.

`problem` draws roots. `minimax` searches a root with any bounds: `layers` applies moves and senses
to arrays of boards, and `recursion` adapts `miai.beliefs.search` to them. `compiled` is the same
search as a kernel. `agent` plays what they find; see docs/rbc.md.
"""
