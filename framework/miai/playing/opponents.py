"""Opponents of a game by strength: the component kind ``opponents``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


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
