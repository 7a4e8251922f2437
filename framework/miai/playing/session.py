"""Games with people: moves are taken back, an interrupted game goes on later, agents give hints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from miai.agent import Decision
from miai.clock import ClockReading, TimeControl
from miai.game import Game, State
from miai.information import PlayerView
from miai.plain import one_line
from miai.playing.match import MoveHook, Seat, new_record
from miai.playing.replay import leave_unfinished
from miai.record import GameRecord, MoveRecord, PlayerRecord
from miai.render import action_text
from miai.seeds import derive_seed
from miai.values import Evaluation

Referee = Callable[[Sequence[MoveRecord], MoveHook], GameRecord]
"""Plays a game on after earlier moves; it calls the hook after each, those moves included."""
_SECONDS: Final = 5.0


class TakeBack(BaseException):
    """A person takes back the move at `ply`: the game continues from the position before it.

    Raised by the seat whose turn it is. It is neither an error nor a forfeit.
    """

    def __init__(self, ply: int) -> None:
        super().__init__(ply)
        self.ply = ply


class RevisableGame:
    """A game whose moves can be taken back.

    After a `TakeBack` the referee begins the game again with the moves that are left.

    Args:
      note: called with each new state and the move that led to it.

    Attributes:
      game: the game.
      moves: those played so far, without an opening; added to before an interrupted game goes on.
    """

    def __init__(self, game: Game, *, note: Callable[[State, MoveRecord], None]) -> None:
        self.game = game
        self.moves: list[MoveRecord] = []
        self._note = note
        self._again = 0  # moves of the game as it goes on that are not new

    def play(self, referee: Referee) -> GameRecord:
        """Return the record of the finished game. Raises what the referee raises."""
        while True:
            self.drop_pending()
            earlier = [replace(move) for move in self.moves]
            self._again = len(earlier)
            try:
                return referee(earlier, self._take)
            except TakeBack as undo:
                self.moves = [move for move in self.moves if move.ply < undo.ply]

    def drop_pending(self) -> None:
        """Drop the last moves if they belong to a decision that not all players have taken.

        Its players are asked again: nobody may learn what another has chosen.
        """
        if not self.game.info.simultaneous:
            return
        state = self.game.new_initial_state()
        for move in self.moves:
            state.apply_action(move.action)
        self.moves = self.moves[: len(self.moves) - len(state.pending_actions())]

    @property
    def catching_up(self) -> bool:
        """Whether moves that were played before are being played again."""
        return self._again > 0

    def last_ply_of(self, player: int) -> int | None:
        """Return the ply from which a player may take back; None if there is none.

        It is that of its last move, or of the first move of a decision that several players took at
        once.
        """
        own = [move.ply for move in self.moves if move.actor == player]
        if not own or not self.game.info.simultaneous:
            return own[-1] if own else None
        state, first = self.game.new_initial_state(), 0
        for move in self.moves:
            if not state.pending_actions():
                first = move.ply
            if move.ply == own[-1]:
                break
            state.apply_action(move.action)
        return first

    def unfinished_record(self, players: list[PlayerRecord], *, seed: int) -> GameRecord:
        """Return the record of the game so far."""
        state = self.game.new_initial_state()
        for move in self.moves:
            state.apply_action(move.action)
        record = new_record(self.game, players, seed=seed)
        record.moves = list(self.moves)
        leave_unfinished(record, "saved before its end")
        return record

    def _take(self, state: State, move: MoveRecord) -> None:
        if move.opening:
            return
        if self._again:
            self._again -= 1
            return
        self.moves.append(move)
        self._note(state, move)


def decision_in_place(seat: Seat, view: PlayerView, *, seed: int) -> Decision:
    """Return what an agent decides in a player's place.

    Args:
      seat: the agent's; this function closes it.
      view: what the player has observed; it is the player's turn.
      seed: of the game.

    Raises `AgentError` if the agent fails.
    """
    observations = list(view.observations)  # it may grow meanwhile
    try:
        seat.new_game(derive_seed(seed, "hint"), player=view.player, log=None)
        for observation in observations:
            seat.observe(observation)
        reading = ClockReading(control=TimeControl(move_deadline=_SECONDS), limit=_SECONDS)
        return seat.act(reading, deadline=2 * _SECONDS).decision
    finally:
        seat.close()


def hint_line(view: PlayerView, adviser: str, decision: Decision) -> str:
    """Return a line about an adviser's decision in a player's place."""
    if decision.resign or decision.action not in view.legal_actions:
        return f"{adviser} would resign"
    game = view.game
    position = view.state if game.info.perfect_information else game.new_initial_state()
    text = f"{adviser} suggests {action_text(position, decision.action)}"
    if (evaluation := Evaluation.from_statistics(decision.statistics)) is not None:
        text += f": {evaluation.text(game.info)}"
    return one_line(text)
