"""The engine's side of the Go Text Protocol, version 2: any agent or search of Go by its name.

`serve` answers one controller over two pipes; `Session` is the conversation, without pipes.
docs/gtp-engine.md is the page for users. The specification is Gunnar Farnebäck's, GTP version 2,
draft 2 (2002); ``lz-`` commands are Leela Zero's, ``kata-`` commands KataGo's, ``kgs-`` commands
kgsGtp's, ``gomill-`` commands gomill's.
"""
