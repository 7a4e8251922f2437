"""What a player of Reconnaissance Blind Chess can guarantee, one to three moves deep.

`problem` draws roots, and `candidates` chooses what is tried below them and values boards.
`minimax` searches by `miai.beliefs.recursion` with any bounds; `compiled` is the same search as a
kernel. `agent` plays what they find; see docs/belief-search.md.
"""
