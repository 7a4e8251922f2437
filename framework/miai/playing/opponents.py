"""Opponents of a game by strength: the component kind ``opponents``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from miai.errors import UnknownComponentError
from miai.game import Game
from miai.plugins.kinds import AGENT, OPPONENTS
from miai.plugins.loader import registry

_SIMULATIONS: Final = (10, 100, 1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """An agent with parameters, as an opponent for people.

    Attributes:
      name: unique among the opponents of the game.
      agent, parameters: the component and its parameters.
      summary: a few words that end the sentence "You play against ...".
    """

    name: str
    agent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Opponents:
    """The opponents of a game, weakest first. Registered under the game's name, with ``game=`` set.

    Attributes:
      ranks: the opponents that can play this game here; those whose agent is not registered are
        not offered.
    """

    ranks: Sequence[Opponent]


def opponents_of(game: Game) -> list[Opponent]:
    """Return the opponents of a game that can play here, weakest first.

    A game without opponents of its own has random moves, and tree searches of growing budgets.
    """
    name = game.info.name
    try:
        component = registry().get(OPPONENTS, name, game=name)
    except UnknownComponentError:
        ranks: Sequence[Opponent] = list(_default(game))
    else:
        ranks = component.build(game, values={}).ranks
    return [opponent for opponent in ranks if _is_registered(opponent, name)]


def _default(game: Game) -> Iterator[Opponent]:
    yield Opponent(name="random", agent="random", summary="random moves")
    search = "mcts" if game.info.perfect_information else "ismcts"
    for simulations in _SIMULATIONS:
        yield Opponent(
            name=f"{search}-{simulations}",
            agent=search,
            parameters={"simulations": simulations},
            summary=f"{search}, {simulations:,} simulations per move",
        )


def _is_registered(opponent: Opponent, game: str) -> bool:
    try:
        registry().get(AGENT, opponent.agent, game=game)
    except UnknownComponentError:
        return False
    return True
