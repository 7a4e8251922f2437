"""What a player held possible, found out again from what it was told."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from miai.errors import BeliefTooLargeError, EmptyBeliefError, ParameterError
from miai.game import Game, Observation, State
from miai.information import BeliefState, PlayerView
from miai.plugins.loader import registry
from miai.render import BeliefDrawingRenderer, Renderer

WORLDS: Final = 2000
"""Worlds up to which a belief is followed unless it is told otherwise."""

SECONDS: Final = 20.0
"""How long the belief of one player is followed, in all."""

_LEAST = 512  # that every belief of a plugin can live with
_MOST_COMPARED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Worlds:
    """A belief at one moment.

    Attributes:
      count: its worlds; None where it could not be followed so far.
      complete: whether they are all that there are, not a sample.
      note: what else is to be said, such as why it could not be followed.
      picture: an ``svg`` element; empty where the game draws none.
      certain: the true position as text, with a question mark where worlds differ; empty where
        they cannot be compared.
    """

    count: int | None
    complete: bool = True
    note: str = ""
    picture: str = ""
    certain: str = ""


class Followed:
    """The belief of one player, as far as it stays small enough."""

    def __init__(self, game: Game, player: int, *, limit: int) -> None:
        self._limit = max(limit, _LEAST)
        self._belief: Any = _belief(game, player, self._limit)
        self._lost = ""
        self._spent = 0.0
        self._last: Worlds | None = None

    def observe(self, observation: Observation) -> None:
        """Follow what the player was told."""
        self._last = None
        if self._lost:
            return
        if self._spent > SECONDS:
            self._lost = f"not followed further: it took more than {SECONDS:g} s"
            return
        began = time.monotonic()
        try:
            self._belief.observe(observation)
            self._spent += time.monotonic() - began
        except BeliefTooLargeError:
            self._lost = f"more than {self._limit} worlds"
        except EmptyBeliefError as error:
            self._lost = f"not followed further: {error}"

    def told(self, renderer: Renderer, view: PlayerView, truth: State) -> Worlds:
        """Return the belief beside the true state."""
        if self._lost:
            return Worlds(count=None, note=self._lost)
        belief: BeliefState[State] = self._belief
        complete = bool(getattr(belief, "complete", True))
        if isinstance(renderer, BeliefDrawingRenderer):
            picture = renderer.svg_belief(belief, view, truth) if len(belief) else ""
            return Worlds(count=len(belief), complete=complete, picture=picture)
        if self._last is None:
            certain = certain_text(map(str, belief)) if len(belief) <= _MOST_COMPARED else ""
            self._last = Worlds(count=len(belief), complete=complete, certain=certain)
        return self._last


def certain_text(texts: Iterable[str]) -> str:
    """Return texts of one shape as one, with a question mark where they differ.

    Empty where there is none, or where they differ in shape.
    """
    found = list(dict.fromkeys(texts))
    if not found or len({tuple(map(len, text.split("\n"))) for text in found}) > 1:
        return ""
    columns = zip(*found, strict=True)
    return "".join(column[0] if len(set(column)) == 1 else "?" for column in columns)


def _belief(game: Game, player: int, limit: int) -> Any:
    """Return the belief that the game brings, or the one for small games of any kind."""
    found = [c for c in registry().components("belief", game=game.info.name) if c.game]
    component = next(islice(found, 1), None) or registry().get("belief", "enumerated")
    values: dict[str, Any] = {"limit": limit, "spill_mb": 0}
    known = component.load_parameters().model_fields
    try:
        return component.build(
            game, player, values={key: v for key, v in values.items() if key in known}
        )
    except ParameterError:
        return component.build(game, player, values={})
