"""Openings of chess as openings of Reconnaissance Blind Chess: games as PGN, positions as EPD."""
