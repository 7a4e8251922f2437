"""Adjudication: ending games early, by rules that the organiser chooses.

An `Adjudicator`, the component kind ``adjudicator``, is one rule. A `Panel` asks the rules of a
game in order after each move.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from miai.errors import PluginError
from miai.game import Game, State
from miai.record import MoveRecord, VerdictRecord
from miai.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result that an adjudicator assigns to an unfinished game.

    Attributes:
      returns: each player's utility, in player order.
      reason: a short explanation for people.
    """

    returns: tuple[float, ...]
    reason: str


class Adjudicator(Protocol):
    """A rule that ends games early; built by ``factory(game, parameters)``.

    A verdict is a function of the seed and of the game so far: the same game has the same verdict
    at the same ply on any machine. An adjudicator serves the organiser and sees the true state even
    if the game hides it from the players.
    """

    def new_game(self, seed: int) -> None:
        """Forget the last game; `seed` is for all randomness in the next."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the verdict on a game after a player's move; None to let it continue.

        Called once after every decision of a player until it returns a verdict. The true state,
        which is not terminal, and the moves must not be changed. The moves include chance and the
        opening; the players' statistics in them are claims, not facts.
        """


LONGEST_REASON = 200
"""Maximum length of a reason in characters; longer ones are cut."""

_SEEDS = 2**63
_TOLERANCE = 1e-9


def held_out(seed: int, share: float) -> bool:
    """Return whether the game of a seed is in the share, 0 to 1, that is played to its end."""
    # By the seed, not by a draw: a run that is resumed decides alike.
    return derive_seed(seed, "hold-out") < share * _SEEDS


class Panel:
    """The adjudicators of a series of games.

    Args:
      rules: adjudicators by name, in the order in which they are asked; the first verdict counts.
      hold_out: share of the games, 0 to 1, that no verdict ends, to measure how often a rule is
        wrong; drawn by the game's seed, which the two games of a pair share.

    Attributes:
      held_out: whether verdicts on this game are only recorded.
      verdicts: verdicts on this game so far, the first of each rule.
    """

    def __init__(
        self, game: Game, rules: Mapping[str, Adjudicator], *, hold_out: float = 0.0
    ) -> None:
        self._game, self._rules, self._share = game, dict(rules), hold_out
        self.held_out = False
        self.verdicts: list[VerdictRecord] = []

    def new_game(self, seed: int) -> None:
        """Begin a game with its seed."""
        self.held_out = held_out(seed, self._share)
        self.verdicts = []
        for name, rule in self._rules.items():
            rule.new_game(derive_seed(seed, "adjudicator", name))

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> VerdictRecord | None:
        """Return the verdict that ends the game after the last of its moves, or None.

        Raises `PluginError` if a verdict does not fit the game.
        """
        finished = {verdict.rule for verdict in self.verdicts}
        for name, rule in self._rules.items():
            # In a game that is held out every rule speaks once: its first verdict is what counts.
            if name in finished:
                continue
            verdict = rule.judge(state, moves)
            if verdict is None:
                continue
            self.verdicts.append(self._checked(verdict, name, ply=len(moves) - 1))
            if not self.held_out:
                return self.verdicts[-1]
        return None

    def _checked(self, verdict: Verdict, name: str, *, ply: int) -> VerdictRecord:
        info, returns = self._game.info, tuple(map(float, verdict.returns))
        sound = len(returns) == info.num_players and all(
            math.isfinite(value)
            and info.min_utility - _TOLERANCE <= value <= info.max_utility + _TOLERANCE
            for value in returns
        )
        if sound and info.utility_sum is not None:
            sound = abs(sum(returns) - info.utility_sum) <= _TOLERANCE
        if not sound:
            raise PluginError(
                f"adjudicator '{name}': decided {info.title} by returns {returns}, which the game "
                "does not allow; a defect of its plugin"
            )
        return VerdictRecord(
            rule=name, ply=ply, returns=returns, reason=verdict.reason[:LONGEST_REASON]
        )
