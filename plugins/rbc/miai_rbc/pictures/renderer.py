"""What a person is shown: own pieces, what was sensed, and what was told of moves."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final, cast

import chess

from miai_rbc.belief.belief import RbcBelief
from miai_rbc.kernels.board import NOTHING
from miai_rbc.pictures import in_pages
from miai_rbc.pictures.knowledge import Knowledge
from miai_rbc.rules.actions import (
    FIRST_UNDERPROMOTION,
    SENSE_NOTHING,
    action_name,
    move_name,
    square_name,
)
from miai_rbc.rules.rows import piece_at

if TYPE_CHECKING:
    from miai import BeliefState, Game, PlayerView, State
    from miai_rbc.rules.game import RbcGame
    from miai_rbc.rules.state import RbcState


_KEY: Final = "p: seen now, p': seen before, x: kind unknown, .: seen empty now, ?: not seen"
_WIDTH = 80


class RbcRenderer:
    """The renderer of Reconnaissance Blind Chess; it reads the player's observations alone."""

    def __init__(self, game: Game, parameters: object = None) -> None:
        self.game = cast("RbcGame", game)
        self._followed: dict[int, tuple[PlayerView, int, Knowledge]] = {}

    def render(self, view: PlayerView) -> str:
        """Return the board as the player knows it, and what it was told of senses and captures."""
        told = self._told(view)
        lines = [_headline(told, view), *_board_lines(told), _KEY]
        for news in _news(told):
            lines += textwrap.wrap(news, _WIDTH)
        return "\n".join(lines)

    def hint(self, view: PlayerView) -> str:
        """Return what can be typed in this half of the turn; empty when it is not the player's."""
        legal = view.legal_actions
        if SENSE_NOTHING in legal:
            return "Sense first: the middle of a 3x3 window, such as sense e5; sense - is none."
        if not legal:
            return ""
        example = action_name(legal[len(legal) // 2])
        hint = f"Now move, such as {example}, or pass. A blocked move is cut short or not made."
        promotions = [action for action in legal if action >= FIRST_UNDERPROMOTION]
        if promotions:
            name = action_name(promotions[0])
            hint += f"\nA pawn becomes a queen unless its move ends with n, b or r: {name}."
        return hint

    def svg_definitions(self) -> str:
        """Return the pieces and the empty boards as definitions."""
        return in_pages.definitions()

    def svg(self, view: PlayerView) -> str:
        """Return the board as the player knows it as a picture."""
        return in_pages.knowledge(self._told(view))

    def svg_state(self, state: State) -> str:
        """Return the true board as a picture."""
        return in_pages.position(cast("RbcState", state).board())

    def svg_belief(self, belief: BeliefState[State], view: PlayerView, truth: State) -> str:
        """Return what a player holds possible as a picture, the true pieces outlined.

        Raises:
          TypeError: the belief is none of this plugin's.
        """
        if not isinstance(belief, RbcBelief):
            raise TypeError(f"rbc draws its own beliefs, not {type(belief).__name__}")
        own = self._told(view).own.board
        return in_pages.belief(belief.boards, view.player, own, cast("RbcState", truth).board())

    def _told(self, view: PlayerView) -> Knowledge:
        """Return what a view was told; a view that has grown since is followed, not begun anew."""
        known, seen, told = self._followed.get(view.player, (None, 0, None))
        if told is None or known is not view or seen > len(view.observations):
            seen, told = 0, Knowledge(self.game.start, view.player)
        for observation in view.observations[seen:]:
            told.observe(observation)
        self._followed[view.player] = (view, len(view.observations), told)
        return told


def _headline(told: Knowledge, view: PlayerView) -> str:
    name = view.game.info.player_names[told.player]
    if told.result:
        return f"You are {name}. {told.result}"
    legal = view.legal_actions
    task = "sense" if SENSE_NOTHING in legal else "move" if legal else "wait for the opponent"
    return f"You are {name}, turn {told.turn}: {task}."


def _board_lines(told: Knowledge) -> list[str]:
    ranks = range(7, -1, -1) if told.player == 0 else range(8)
    files = range(8) if told.player == 0 else range(7, -1, -1)
    header = "   " + " ".join(f"{'abcdefgh'[file]} " for file in files).rstrip()
    lines = [header]
    for rank in ranks:
        cells = " ".join(f"{_cell(8 * rank + file, told):2}" for file in files)
        lines.append(f"{rank + 1}  {cells} {rank + 1}")
    return [*lines, header]


def _cell(square: int, told: Knowledge) -> str:
    own = told.own.board.piece_at(square)
    if own is not None:
        return own.symbol()
    fresh = square in told.fresh
    seen = told.theirs.get(square)
    if seen is None:
        return "." if fresh else "?"
    return seen.piece if fresh else f"{seen.piece}'"


def _news(told: Knowledge) -> list[str]:
    lines = [_capture_line(told), _sense_line(told), _move_line(told), _losses_line(told)]
    return [*filter(None, lines), _opponent_line(told)]


def _capture_line(told: Knowledge) -> str:
    if told.told_capture is None:
        return "In its last turn the opponent captured nothing." if told.lost or told.turn else ""
    piece, square = told.told_capture
    return f"In its last turn the opponent captured your {_called(piece)} on {square_name(square)}."


def _called(piece: str) -> str:
    return "piece" if piece == "?" else chess.piece_name(chess.Piece.from_symbol(piece).piece_type)


def _sense_line(told: Knowledge) -> str:
    if told.sensed is None:
        return "You have not sensed yet."
    sensed, turn = told.sensed
    when = "this turn" if turn == told.turn else f"in turn {turn}"
    squares = list(chess.SquareSet(sensed.window))
    if not squares:
        return f"Sensed last, {when}: nothing."
    found = [(piece_at(sensed.pieces, square), square) for square in squares]
    theirs = [
        f"{piece}{square_name(square)}"
        for piece, square in found
        if piece is not None and piece.isupper() == (told.player == 1)
    ]
    window = f"{square_name(squares[0])} to {square_name(squares[-1])}"
    return f"Sensed last, {when}, {window}: {' '.join(theirs) or 'none of theirs'}."


def _move_line(told: Knowledge) -> str:
    move = told.moved
    if move is None:
        return ""
    if move.requested == NOTHING:
        return "Your last move: a pass."
    asked = move_name(move.requested)
    if move.taken == NOTHING:
        return f"Your last move: {asked} was asked for and not made."
    made = asked if move.taken == move.requested else f"{asked}, made as {move_name(move.taken)}"
    captured = "" if move.captured is None else f"; it captured on {square_name(move.captured)}"
    return f"Your last move: {made}{captured}."


def _losses_line(told: Knowledge) -> str:
    if not told.lost:
        return ""
    lost = [f"{_called(piece)} {square_name(at)} (turn {turn})" for piece, at, turn in told.lost]
    return f"You have lost: {', '.join(lost)}."


def _opponent_line(told: Knowledge) -> str:
    left = told.count - len(told.captured)
    line = f"The opponent has {left} of {told.count} pieces"
    if told.captured:
        squares = [f"{square_name(at)} (turn {turn})" for at, turn in told.captured]
        line += f"; you captured on {', '.join(squares)}"
    kings = [(s, seen.turn) for s, seen in told.theirs.items() if seen.piece in "kK"]
    if kings and not told.result:
        line += f"; its king was last known on {square_name(kings[0][0])}, turn {kings[0][1]}"
    return f"{line}."
