"""Loading kernels, or compiling them, before a clock runs.

It does its work once in a process. After an installation that takes some seconds, later a fraction
of one, which reads the cache on disk; see `miai.kernels.cache`. The embedded engine loads its own
kernels when it is made.
"""

from functools import cache

import chess
import numpy as np

from miai_rbc.belief import scans
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.choice import count_king_captures, find_checks, find_escapes, play_requests
from miai_rbc.kernels.filters import keep_kings
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.parts import move_tables
from miai_rbc.kernels.scan import WINDOWS, move_entries
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import BLACK_CAPTURES


@cache
def load_beliefs() -> None:
    """Load what a belief, the scans and the choice of a move call."""
    with FAMILY.compiling("beliefs"):
        boards = BoardSet.of_fens([BLACK_CAPTURES])
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
