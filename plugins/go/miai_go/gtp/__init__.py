"""External engines that speak the Go Text Protocol, version 2, as players and as referees.

`GtpClient` speaks the protocol to one process, `EngineProcess` is that process, `GtpAgent` plays
Go by them. docs/gtp.md is the page for users. The specification is Gunnar Farnebäck's, GTP version
2, draft 2 (2002).
"""
