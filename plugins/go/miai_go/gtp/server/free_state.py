"""Positions as a controller makes them: either player moves, and play goes on after two passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from miai_go.board import Board, KoRule
from miai_go.game import GoGame
from miai_go.phases import Phase, Start
from miai_go.state import GoState


class FreeState(GoState):
    """A position of Go that a controller may lead anywhere.

    The history alternates between the players, as searches and encoders expect: where one player
    moves twice, a pass of the other is put in between, which lifts the ko and counts for nothing
    else. Superko looks back over all of it.
    """

    def __init__(self, game: GoGame, start: Start, board: Board) -> None:
        super().__init__(game, start, board)
        self._choices: frozenset[int] | None = None

    def turn_to(self, player: int) -> bool:
        """Let `player` move next, also after the end of play.

        Returns whether that took more than the ordinary course of the game.
        """
        resumed = self.phase != Phase.PLAY
        if resumed:
            self.phase, self.ending, self.dead = Phase.PLAY, None, ()
            self._passes = 0
            self._legal = self._score = None
        if player != self._player:
            self._skip()
            return True
        return resumed

    def restricted(self, actions: Iterable[int]) -> Self:
        """Return a copy in which the player to move has no other choice than these actions.

        Where the pass is none of them, a pass made just before is forgotten, which it could answer.
        """
        other = self.clone()
        other._choices = frozenset(actions)
        if self.game.pass_action not in other._choices:
            other._passes = 0
        other._legal = None
        return other

    def legal_actions(self) -> list[int]:
        """Return the legal actions, ascending, as far as they are among the choices."""
        legal = super().legal_actions()
        if self._choices is None:
            return legal
        return [action for action in legal if action in self._choices]

    def is_legal(self, action: int) -> bool:
        """Return whether the current player may take `action`, superko included."""
        return (self._choices is None or action in self._choices) and super().is_legal(action)

    def _skip(self) -> None:
        """Pass on the turn, as a pass that is none."""
        actor = self._player
        self.board.play_unchecked(actor, self.game.pass_action)
        self._player, self._passes = 1 - actor, 0
        if self.game.ko_rule == KoRule.SITUATIONAL:
            self._remember()
        self._legal = self._score = None
        self._history.append(self.game.pass_action)
        self._actors.append(actor)

    def _apply(self, action: int) -> None:
        self._choices = None
        super()._apply(action)

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._choices = self._choices
