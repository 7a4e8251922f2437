"""`singles`: a table, and every state of a belief tried alone first (B4)."""

from __future__ import annotations

from miai.belief_search.bounds.plain import TableBounds


class SinglesBounds(TableBounds):
    """Knows equal beliefs again; single states among them, which refute most lost beliefs."""

    singles = True
