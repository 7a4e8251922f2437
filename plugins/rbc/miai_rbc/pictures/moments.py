"""Pictures of one point in a recorded game, from one player's side."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import chess
import chess.svg

from miai import Observation, Parameters, parameter
from miai.errors import ConfigError
from miai.squares import FOG
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.kernels.board import NOTHING
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.pictures.board import LEFT, SIDES, SIZE, document, draw_board, frame, line_of_text
from miai_rbc.pictures.chances import draw_belief
from miai_rbc.reconchess.histories import History
from miai_rbc.rules.actions import move_name, square_name
from miai_rbc.rules.game import RbcState
from miai_rbc.rules.knowledge import Knowledge
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed
from miai_rbc.rules.rows import piece_at

# -- the observations of one turn ------------------------------------------------------------------


def draw_observation(
    events: Sequence[Event], player: int, *, own: chess.Board, heading: str = ""
) -> str:
    """Return the picture of a turn's observations as SVG, the player's side below.

    A cross marks the square where the player lost a piece, a ring the one where it captured. A blue
    arrow is the move taken, a pale one the move requested if that was another.

    Args:
      events: those of one turn, in order; the last ones may be missing.
      player: 0 for White.
      own: a board with the player's own pieces before its move; the opponent's are not drawn.
      heading: the first line, any text.
    """
    mine = own.occupied_co[player == 0]
    position = own.transform(lambda squares: squares & mine)
    clear, crosses = mine, 0
    arrows: list[chess.svg.Arrow] = []
    frames = []
    for event in events:
        match event:
            case OpponentMoved(captured=int(square)):
                crosses |= 1 << square
            case Sensed(window=window) if window:
                clear |= window
                _add_sensed(position, event, mine)
                frames.append(frame(player, chess.SquareSet(window)))
            case Moved():
                arrows += _arrows(event)
    fog = dict.fromkeys(chess.SquareSet(~clear & chess.BB_ALL), FOG)
    texts = [text for event in events if (text := _text(event))]
    return document(
        draw_board(player, position, fill=fog, crosses=crosses, arrows=arrows),
        *frames,
        *(line_of_text(text, LEFT, SIZE + 18 + 15 * line) for line, text in enumerate(texts)),
        legend_height=62,
        heading=heading or f"What {SIDES[player]} observed",
        subheading=f"{SIDES[player]}'s view of one turn; fog where nothing was observed",
    )


def _add_sensed(position: chess.Board, event: Sensed, mine: int) -> None:
    for square in chess.SquareSet(event.window & ~mine):
        piece = piece_at(event.pieces, square)
        if piece is not None:
            position.set_piece_at(square, chess.Piece.from_symbol(piece))


def _arrows(event: Moved) -> list[chess.svg.Arrow]:
    arrows = []
    if event.requested not in (NOTHING, event.taken):
        arrows.append(_arrow(event.requested, "yellow"))
    if event.taken != NOTHING:
        arrows.append(_arrow(event.taken, "blue"))
    if event.captured is not None:  # an arrow to its own square is a ring
        arrows.append(chess.svg.Arrow(event.captured, event.captured, color="red"))
    return arrows


def _arrow(move: int, colour: str) -> chess.svg.Arrow:
    return chess.svg.Arrow(move & 63, move >> 6 & 63, color=colour)


def _text(event: Event) -> str:
    match event:
        case OpponentMoved(captured=None):
            return "The opponent captured nothing."
        case OpponentMoved(captured=int(square)):
            return f"The opponent captured on {square_name(square)} (cross)."
        case Sensed(window=0):
            return "Nothing was sensed."
        case Sensed(window=window):
            first, *_, last = map(square_name, chess.SquareSet(window))
            return f"Sensed from {first} to {last} (frame)."
        case Moved():
            return _move_text(event)
    return ""


def _move_text(event: Moved) -> str:
    if event.requested == NOTHING:
        return "Passed."
    text = f"Moved {move_name(event.taken)}"
    if event.requested != event.taken:
        outcome = "no move was made" if event.taken == NOTHING else text.lower()
        text = f"Requested {move_name(event.requested)} (pale); {outcome}"
    if event.captured is not None:
        text += f"; captured on {square_name(event.captured)} (ring)"
    return f"{text}."


# -- a point of a recorded game --------------------------------------------------------------------

PhaseName = Literal["before-sense", "after-sense", "after-move"]

_LAST_EVENT: dict[PhaseName, type[Event]] = {
    "before-sense": OpponentMoved,
    "after-sense": Sensed,
    "after-move": Moved,
}
_SECONDS_BETWEEN_LINES = 2.0


class PictureParameters(Parameters):
    """A point in a game, and what is drawn of it: the options of ``miai rbc picture``."""

    player: Literal["white", "black"] = parameter(help="Player whose view is drawn")
    turn: int = parameter(ge=0, help="Number of the player's own turn, from 0")
    phase: PhaseName = parameter("after-sense", help="Point in the turn")
    show: Literal["belief", "observation"] = parameter(
        "belief", help="Picture of the player's belief, or of its observations in the turn"
    )
    truth: bool = parameter(False, help="Outline the opponent's true pieces on a belief")
    limit: int = parameter(
        200_000, ge=MAX_MOVES, unit="boards", help="Maximum boards of a belief; then a sample"
    )

    @property
    def side(self) -> int:
        """The number of the player: 0 for White, 1 for Black."""
        return SIDES.index(self.player)

    def heading(self, history: History) -> str:
        """Return the first line of the picture."""
        point = f"{self.player}'s turn {self.turn}, {self.phase.replace('-', ' its ')}"
        name = history.players[self.side]
        return f"{point} ({name})" if name else point


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """What a player observed at one point.

    Attributes:
      turn: the player's own turn, counted from 0.
      observation: as the player received it.
      event: its content; None where only the game's start is observed.
      state: the true state then.
      own: the player's own pieces then.
    """

    turn: int
    observation: Observation
    event: Event | None
    state: RbcState
    own: chess.Board


def steps_of(history: History, player: int) -> list[HistoryStep]:
    """Return all observations of a player, oldest first.

    A turn begins with the opponent's move, so it has at most three steps.
    """
    knowledge = Knowledge(history.game.start, player)
    steps = []
    for state in history.states():
        observation = state.observation(player)
        if observation is not None:
            turn = knowledge.turn
            event = knowledge.observe(observation)
            steps.append(HistoryStep(turn, observation, event, state, knowledge.own.board.copy()))
    return steps


def picture_of(history: History, parameters: PictureParameters) -> str:
    """Return the picture of a player's belief at a point, or of its observations of the turn.

    Progress is printed on standard error if following the belief takes seconds.

    Raises:
      ConfigError: the game has no such point, or observations are to show the truth.
    """
    if parameters.truth and parameters.show != "belief":
        raise ConfigError("--truth: applies to beliefs only; leave it out with --show observation")
    steps = steps_of(history, parameters.side)
    last = _step_at(parameters, steps)
    if parameters.show == "observation":
        return _observation(history, parameters, steps[: last + 1])
    if any(steps[last].state.returns()):
        raise ConfigError(
            f"--turn {parameters.turn} --phase {parameters.phase}: that move captured the king, "
            "after which nothing is hidden; use --phase after-sense"
        )
    belief = RbcBelief(history.game, parameters.side, limit=parameters.limit)
    _follow(belief, steps[: last + 1])
    board = steps[last].state.board() if parameters.truth else None
    sensed = steps[last].observation.action if parameters.phase == "after-sense" else None
    return draw_belief(belief, truth=board, sensed=sensed, heading=parameters.heading(history))


def _observation(history: History, parameters: PictureParameters, steps: list[HistoryStep]) -> str:
    """Return the picture of the last turn of some steps."""
    turn = [step for step in steps if step.turn == parameters.turn and step.event is not None]
    before_move = [step for step in turn if not isinstance(step.event, Moved)]
    return draw_observation(
        [step.event for step in turn if step.event is not None],
        parameters.side,
        own=before_move[-1].own,
        heading=parameters.heading(history),
    )


def _step_at(parameters: PictureParameters, steps: list[HistoryStep]) -> int:
    """Return the number of the step that ends a phase."""
    name, turn = parameters.player, parameters.turn
    turns = sum(isinstance(step.event, Sensed) for step in steps)
    if turn >= turns:
        there = f"has turns 0 to {turns - 1}" if turns else "has no turn"
        raise ConfigError(f"--turn {turn}: {name} {there} in this game")
    for number, step in enumerate(steps):
        if step.turn == turn and isinstance(step.event, _LAST_EVENT[parameters.phase]):
            return number
    raise ConfigError(
        f"--turn {turn} --phase {parameters.phase}: the game stopped before {name} moved; "
        "use --phase after-sense"
    )


def _follow(belief: RbcBelief, steps: list[HistoryStep]) -> None:
    printed = time.monotonic()
    for step in steps:
        belief.observe(step.observation)
        if time.monotonic() - printed > _SECONDS_BETWEEN_LINES:
            printed = time.monotonic()
            print(
                f"turn {step.turn} of {steps[-1].turn}: {len(belief):,} boards",
                file=sys.stderr,
                flush=True,
            )
