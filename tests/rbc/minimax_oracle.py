"""Values of beliefs by the definition, with python-chess and reconchess alone.

Only two things come from what is tested: which actions are tried under a public part, and what a
board is worth where the depth ends; both have tests of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import chess
from tests.rbc.games import chess_move, key, pushed, taken_moves

from miai_rbc.belief.scans import CENTRES
from miai_rbc.rules.rows import row_of_board
from miai_rbc.search.candidates import AT_ROOT, Candidates, own_pieces

WIN = 100_000
WORTH = {chess.PAWN: 100, chess.KNIGHT: 320, chess.BISHOP: 330, chess.ROOK: 500, chess.QUEEN: 950}
Leaf = Callable[[chess.Board], float]
Boards = Iterable[chess.Board]


def material(board: chess.Board, player: int) -> int:
    ours = player == 0
    return sum(
        worth * (len(board.pieces(kind, ours)) - len(board.pieces(kind, not ours)))
        for kind, worth in WORTH.items()
    )


class Oracle:
    """Values to a player, `king_loss` and `leaf` being as the rules say."""

    def __init__(self, player: int, tried: Candidates, leaf: Leaf, king_loss: int | None) -> None:
        self.player, self.candidates = player, tried
        self.leaf, self.king_loss = leaf, king_loss

    def sense(self, boards: Boards, depth: int, own: bytes, output: int = AT_ROOT) -> float:
        boards = list(boards)
        best = -float("inf")
        for centre in self.candidates.senses(own, output):
            assert centre in CENTRES
            parts: dict[object, list[chess.Board]] = {}
            for board in boards:
                parts.setdefault(seen(board, centre), []).append(board)
            best = max(best, min(self.move(part, depth, own, output) for part in parts.values()))
        return best

    def move(self, boards: Boards, depth: int, own: bytes, output: int = AT_ROOT) -> float:
        boards, requests = list(boards), self.candidates.requests(own, output)
        return max(self.request(boards, request, depth) for request in requests)

    def request(self, boards: list[chess.Board], request: int, depth: int) -> float:
        from reconchess.utilities import capture_square_of_move, revise_move

        worst = float(WIN)
        parts: dict[object, dict[object, chess.Board]] = {}
        for board in boards:
            asked = chess_move(request)
            taken = None if asked is None else revise_move(board, asked)
            captured = capture_square_of_move(board, taken)
            after = pushed(board, taken)
            if after.king(not self.colour) is None:
                continue
            parts.setdefault((taken, captured), {})[key(after)] = after
        for part in parts.values():
            if depth == 1:
                worst = min(worst, *map(self.leaf, part.values()))
            else:
                worst = min(worst, self.replied(part.values(), depth - 1))
        return worst

    def replied(self, boards: Boards, depth: int) -> float:
        from reconchess.utilities import capture_square_of_move

        boards = list(boards)
        own = own_pieces(row_of_board(boards[0]), self.player)
        worst = float(WIN)
        parts: dict[int | None, dict[object, chess.Board]] = {}
        for board in boards:
            for reply in [*taken_moves(board), None]:
                captured = capture_square_of_move(board, reply)
                after = pushed(board, reply)
                if after.king(self.colour) is None:
                    worst = min(worst, self.lost(board))
                else:
                    parts.setdefault(captured, {})[key(after)] = after
        for captured, part in parts.items():
            output = -1 if captured is None else captured
            worst = min(worst, self.sense(part.values(), depth, own, output))
        return worst

    def lost(self, board: chess.Board) -> float:
        if self.king_loss is None:
            return -WIN
        return material(board, self.player) - self.king_loss

    @property
    def colour(self) -> bool:
        return self.player == 0


def seen(board: chess.Board, centre: int) -> object:
    squares = [centre + 8 * up + right for up in (-1, 0, 1) for right in (-1, 0, 1)]
    return tuple(str(board.piece_at(square)) for square in squares)
