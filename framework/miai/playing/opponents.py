"""Opponents of a game by strength, and who judges its games: the component kind ``opponents``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miai.search.protocol import Search


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyst:
    """The strongest agent for a game and board that is installed: it judges games and gives hints.

    Attributes:
      agent, parameters: the component and its parameters.
      budget: name of the parameter that limits a move, such as ``simulations``.
      truth: makes from a budget the search that values true positions of a game that hides
        information; None for `miai.search.worlds.OpenSearch`.
    """

    agent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: str = "simulations"
    truth: Callable[[int], Search] | None = None


@dataclass(frozen=True, slots=True)
class Opponents:
    """The opponents of a game, weakest first. Registered under the game's name, with ``game=`` set.

    Attributes:
      ranks: the opponents that can play this game here; those whose agent is not registered are
        not offered.
      analyst: who judges games; None for a tree search.
    """

    ranks: Sequence[Opponent]
    analyst: Analyst | None = None
