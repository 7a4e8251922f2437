"""What an adjudicator is: the component kind ``adjudicator``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from miai.game import State
from miai.record import MoveRecord


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game is held to end.

    Attributes:
      returns: each player's utility, in player order.
      reason: why, in a few words for people.
    """

    returns: tuple[float, ...]
    reason: str


class Adjudicator(Protocol):
    """Decides games before their end, where its rule allows it; ``factory(game, parameters)``.

    What it says is a function of the seed and of the game so far, whatever it judged before: the
    same game has the same verdict at the same ply on any machine. It is the organiser's, not a
    player's: it sees the true state, also where the game hides it from the players.
    """

    def new_game(self, seed: int) -> None:
        """Forget the last game.

        Args:
          seed: of all randomness in this game.
        """

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the verdict on a game after a player's move; None to let it go on.

        It is asked once after every move that a player has decided, from the first one on, as
        long as it has not spoken.

        Args:
          state: the true state, not terminal; not to be changed.
          moves: all actions so far, those of chance and of the opening included, with what the
            players have said of theirs; not to be changed, nor believed.
        """
