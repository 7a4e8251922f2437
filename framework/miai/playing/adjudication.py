"""Adjudication: games that are decided before their end, by rules that the organiser has chosen.

`protocol` says what a rule is, `panel` asks the rules of a game after each move, `agreement` and
`solved` are those that serve any game.

What an adjudicator is: the component kind ``adjudicator``.

The rules that a game may be adjudicated by, asked in their order after each move.

Games that the players themselves hold for decided: an agreed loss, an agreed draw.

As in engine tournaments of chess, such as cutechess-cli's options ``-resign`` (with ``twosided``)
and ``-draw``: https://github.com/cutechess/cutechess. What a player holds of the game is the
``value`` among the statistics of its decisions, a utility for itself.

Which games a rule can judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from miai.errors import PluginError
from miai.game import Game, State
from miai.record import MoveRecord, VerdictRecord
from miai.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game is held to end.

    Attributes:
      returns: each player's utility, in player order.
      reason: why, in a few words for people.
    """

    returns: tuple[float, ...]
    reason: str


@runtime_checkable
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


KIND = "adjudicator"

LONGEST_REASON = 200
"""Most characters of a reason that are kept."""

_SEEDS = 2**63
_TOLERANCE = 1e-9


def held_out(seed: int, share: float) -> bool:
    """Return whether a game of that seed belongs to a share, 0 to 1, that is played to its end."""
    return derive_seed(seed, "hold-out") < share * _SEEDS


def make_panel(
    game: Game,
    rules: Mapping[str, Mapping[str, Any]],
    *,
    hold_out: float = 0.0,
    where: str = "adjudication",
) -> Panel:
    """Return the panel of adjudicators by name, each with its parameters.

    Args:
      where: what the rules are part of, for messages.

    Raises:
      UnknownComponentError: there is no such adjudicator for the game.
      ParameterError: its parameters are wrong.
      UnsuitableGameError: it cannot judge this game.
    """
    from miai.plugins.loader import registry

    found = {name: registry().get(KIND, name, game=game.info.name) for name in rules}
    built = {
        name: component.build(game, values=rules[name], where=f"{where}[{name}]")
        for name, component in found.items()
    }
    return Panel(game, built, hold_out=hold_out)


class Panel:
    """The adjudicators of one game after the other.

    Args:
      rules: by name, in the order in which they are asked; the first verdict counts.
      hold_out: share of the games, 0 to 1, that no verdict ends. It is drawn by the game's seed,
        so that the two games of a pair share it. How they end tells how often a rule is wrong.

    Attributes:
      held_out: whether verdicts on this game are only noted.
      verdicts: on this game so far, the first of each rule.
    """

    def __init__(
        self, game: Game, rules: Mapping[str, Adjudicator], *, hold_out: float = 0.0
    ) -> None:
        self._game, self._rules, self._share = game, dict(rules), hold_out
        self.held_out = False
        self.verdicts: list[VerdictRecord] = []

    def new_game(self, seed: int) -> None:
        """Begin with a game of that seed."""
        self.held_out = held_out(seed, self._share)
        self.verdicts = []
        for name, rule in self._rules.items():
            rule.new_game(derive_seed(seed, "adjudicator", name))

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> VerdictRecord | None:
        """Return the verdict that ends the game after the last of its moves, or None.

        Raises:
          PluginError: a verdict does not fit the game.
        """
        told = {verdict.rule for verdict in self.verdicts}
        for name, rule in self._rules.items():
            if name in told:
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
                f"{KIND} '{name}': decided {info.name} by returns {returns}, which no such game "
                "has; a defect of the plugin that brings it"
            )
        return VerdictRecord(
            rule=name, ply=ply, returns=returns, reason=verdict.reason[:LONGEST_REASON]
        )


__all__ = ["Adjudicator", "Panel", "Verdict", "held_out", "make_panel"]
