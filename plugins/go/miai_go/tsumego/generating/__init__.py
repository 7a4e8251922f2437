"""Problems made by rule: families whose answer Go theory knows, and random walled fights.

`diagrams` draws positions, `tables` says what players know, `families` makes positions of it,
`walled` draws random ones, `answers` proves, `canonical` says which problems are the same, `making`
makes many on several processes, with `journal`, and `collection` is the set that ships.
"""
