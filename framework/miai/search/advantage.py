"""How far a position is from equal, as an evaluator or a search sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from miai.errors import HiddenInformationError, ParameterError, UnsuitableGameError
from miai.game import Game, State
from miai.search.evaluators import utilities
from miai.search.limits import require_decision
from miai.search.protocol import Evaluator, Search, Seedable

Kind = Literal["evaluator", "search"]


class Appraiser:
    """Tells the advantage of the player who is first in a game for two.

    Args:
      kind, name, values: an evaluator, or a search that is asked for the value of its root, with
        its parameters.
      where: path of the parameters in their file, for messages.

    Raises:
      MiaiError: there is no such component, its parameters are wrong, or the game is not for it.
    """

    def __init__(
        self, game: Game, kind: Kind, name: str, values: Mapping[str, Any], *, where: str = ""
    ) -> None:
        from miai.plugins.loader import registry

        require_suitable_game(game, kind, name)
        component = registry().get(kind, name, game=game.info.name)
        made = component.build(game, values=values, where=where)
        self._search: Search | None = made if kind == "search" else None
        self._evaluator: Evaluator | None = made if kind == "evaluator" else None

    def advantage(self, state: State, *, seed: int) -> float:
        """Return half of what the first player's utility is above the second's; 0 is equal.

        In a game of utilities 1 and -1 it is 1 where the first player wins, and so its utility.

        Args:
          state: a position in which a player is to move.
          seed: of all randomness; what was asked before has no influence.

        Raises:
          GameError: the state is terminal or a chance node.
          PluginError: the component's answer is none.
        """
        player = require_decision(state)
        if self._search is not None:
            self._search.new_game(seed)
            above = self._search.search(state).value - (state.game.info.utility_sum or 0.0) / 2
            return above if player == 0 else 0.0 - above
        assert self._evaluator is not None
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(seed)
        first, second = utilities(self._evaluator.evaluate, [state])[0]
        return (first - second) / 2

    def close(self) -> None:
        """Release what a search holds."""
        close = getattr(self._search, "close", None)
        if close is not None:
            close()


def require_suitable_game(game: Game, kind: Kind, name: str) -> None:
    """Check that the component can tell a first player's advantage in the game.

    Raises:
      UnsuitableGameError: it is not for two players, or a search would need a constant sum.
      HiddenInformationError: a search would look at what the game hides.
    """
    info = game.info
    if info.num_players != 2:
        raise UnsuitableGameError(f"{info.name} has {info.num_players} players, not two")
    if kind == "search" and not info.perfect_information:
        raise HiddenInformationError(
            f"{info.name} hides information, which the search {name} cannot handle; name an "
            "evaluator, which values the true state"
        )
    if kind == "search" and info.utility_sum is None:
        raise UnsuitableGameError(
            f"the utilities of {info.name} have no constant sum, so the search {name} tells but "
            "one player's; name an evaluator"
        )


def refuse_seconds(filled: BaseModel, *, where: str) -> None:
    """Raise `ParameterError` where a parameter in seconds is given: values would differ."""
    for name, info in type(filled).model_fields.items():
        extra = info.json_schema_extra
        unit = extra.get("unit") if isinstance(extra, dict) else None
        if unit == "seconds" and getattr(filled, name) is not None:
            raise ParameterError(
                f"{where}.{name}: a budget in seconds gives other values each time; give one in "
                "simulations, nodes or plies"
            )
