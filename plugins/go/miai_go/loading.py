"""Loading kernels, or compiling them, before a clock runs.

Each function does its work once in a process. After an installation that takes some seconds, later
a fraction of one, which reads the cache on disk; see `miai.kernels.cache`.
"""

from functools import cache

import numpy as np

from miai_go.board import BLACK, Board, KoRule
from miai_go.kernels import FAMILY
from miai_go.playout import Playouts
from miai_go.tree import Tree

_SIZE = 3
_CENTRE = 4


@cache
def load_rules() -> None:
    """Load what the moves of a game call."""
    with FAMILY.compiling("rules"):
        board = Board(_SIZE)
        points = board.legal_points(BLACK)
        board.without_repeats(BLACK, points, np.zeros(1, np.uint64), KoRule.POSITIONAL)
        board.is_legal(BLACK, _CENTRE)
        board.hash_after(BLACK, _CENTRE)
        board.play(BLACK, _CENTRE)
        board.owners()
        board.stones()


@cache
def load_playouts() -> None:
    """Load playouts, and what else judging dead stones by them calls."""
    load_rules()
    with FAMILY.compiling("playouts"):
        board = Board(_SIZE)
        board.play(BLACK, _CENTRE)
        board.group_at(_CENTRE)
        Board.from_stones(board.stones())  # as counting without the dead stones does
        Playouts(_SIZE, 0).run(board, BLACK, 1, komi=0.0)


@cache
def load_search() -> None:
    """Load the tree search, and the rules that it needs between moves."""
    load_rules()
    with FAMILY.compiling("search"):
        tree = Tree(_SIZE, seed=0, max_nodes=1000)
        tree.run(20)
        tree.advance(tree.best())
