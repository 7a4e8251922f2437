"""The Go Text Protocol, version 2, from both sides.

External engines as players: `agent` plays by an engine, `client` sends commands to its process.

miai as an engine: an `engine_session` answers a controller by `session_commands`, those of an
`analysis_protocol` included, about the game on its `session_table`; `players` choose its moves
within its `clocks`.

`wire` (the text of the protocol) and `kata_rules` serve both.
"""
