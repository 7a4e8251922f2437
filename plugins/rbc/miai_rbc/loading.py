"""Loading kernels, or compiling them, before a clock runs.

It does its work once in a process. After an installation that takes some seconds, later a fraction
of one, which reads the cache on disk; see `miai.kernels.cache`. The embedded engine loads its own
kernels when it is made.
"""

from functools import cache

import chess
import numpy as np

from miai_rbc import scans
from miai_rbc.board_set import BoardSet
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.choice import (
    count_king_captures,
    find_checks,
    find_escapes,
    play_requests,
)
from miai_rbc.kernels.filters import keep_kings
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.parts import move_tables
from miai_rbc.kernels.scan import WINDOWS, move_entries

_BLACK_CAPTURES = "4k3/8/8/3p4/4P3/8/8/4K3 b - - 0 1"


@cache
def load_beliefs() -> None:
    """Load what a belief, the scans and the choice of a move call."""
    with FAMILY.compiling("beliefs"):
        boards = BoardSet.of_fens([_BLACK_CAPTURES])
        boards.after_opponent(None)
        boards.after_opponent(None, limit=MAX_MOVES, threads=2)
        after, _ = boards.after_opponent(chess.E4)
        after.union(boards)
        _load_looks(after)
        window = 1 << chess.A8
        after.sensed(window, np.zeros(7, np.uint64))
        (request, *_) = after.requests()
        after.moved(request, request, None)
        keep_kings(after.rows)
        empty = np.zeros((WINDOWS, 4), np.uint64)
        move_tables(empty, empty)
        move_entries(empty[0], empty[0].view(float), empty[1], empty[1].view(float))


def _load_looks(boards: BoardSet) -> None:
    weights = np.ones(len(boards))
    boards.occupancy()
    for scan in scans.SCANS.values():
        scan(boards, 0, weights)
    requests = np.array(boards.requests(), np.int32)
    count_king_captures(boards.rows, requests, weights, np.empty(len(requests)))
    find_checks(boards.rows, np.empty(len(boards), np.bool_))
    find_escapes(boards.rows, requests, np.empty((len(boards), len(requests)), np.bool_))
    play_requests(boards.rows, requests, np.empty((len(boards), len(requests), 8), np.uint64))
    boards.copy().play(int(requests[0]))


@cache
def load_minimax(bounds: str) -> None:
    """Load what the search over beliefs calls, two moves deep, with bounds of a name."""
    from miai.belief_search import named_bounds
    from miai_rbc.belief_minimax.kernels import FAMILY as MINIMAX
    from miai_rbc.belief_minimax.parameters import MinimaxProblemParameters
    from miai_rbc.belief_minimax.problem import RbcProblem, RbcRoot
    from miai_rbc.belief_minimax.search import RbcMinimaxSearch

    load_beliefs()
    boards = BoardSet.of_fens([_BLACK_CAPTURES])
    after, _ = boards.after_opponent(None)
    with MINIMAX.compiling("minimax"):
        for forgiven in (0, 1):
            problem = RbcProblem(MinimaxProblemParameters(forgiven=forgiven, senses=2))
            search = RbcMinimaxSearch(problem, named_bounds(bounds), blind_first=True, singles=True)
            search.search(RbcRoot(after), 2)
