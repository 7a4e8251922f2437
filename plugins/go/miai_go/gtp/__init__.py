"""The Go Text Protocol, version 2, from both sides.

External engines as players: `agent` plays by an engine, `engine_setup` sends it the game, `client`
sends commands to its process in `engine`.

miai as an engine: `session` answers a controller by `commands` and `analysis`, about the game on
its `table`; `players` choose its moves within its `clocks`.

`wire` (the text of the protocol) and `kata_rules` serve both.
"""
