"""A recorded game played again, position by position, as its players and its referee saw it.

What a player held possible, found out again from what it was told.

What agents said of their decisions, as far as a replay can show it.

Agents are free in what they say (`MoveRecord.statistics`); searches of the framework say ``value``,
``pv`` and ``top`` (see `miai.search.agent`). What is malformed is left out, and what is unknown is
shown as it is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeGuard

from miai.errors import (
    BeliefTooLargeError,
    EmptyBeliefError,
    GameError,
    ParameterError,
    RecordError,
)
from miai.game import Game, Observation, State
from miai.information import BeliefState, PlayerView
from miai.plain import Json
from miai.plugins.loader import registry
from miai.record import GameRecord, MoveRecord
from miai.render import BeliefDrawingRenderer, DrawingRenderer, Renderer, action_text, renderer_for

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


TRUTH = "truth"
"""The name of the view that sees everything; the players' are their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One position as somebody saw it.

    Attributes:
      name: `TRUTH` or a player's number.
      text: the position as lines of text; empty where it is drawn.
      picture: the same as an ``svg`` element; empty where the game draws none.
      worlds: what the player held possible; None for the truth, and where it was not followed.
    """

    name: str
    text: str = ""
    picture: str = ""
    worlds: Worlds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The position before the first action, or after one.

    Attributes:
      move: the action that led here; None at the start.
      before: the state in which it was taken; None at the start.
      views: the truth first, then the players', if the game hides anything.
    """

    move: MoveRecord | None
    before: State | None
    views: tuple[View, ...]


def frames_of(record: GameRecord, game: Game, *, worlds: int) -> Iterator[Frame]:
    """Yield the frames of a recorded game, one more than it has actions.

    Args:
      record: a record that `miai.playing.replay.replay` accepts.
      game: its game.
      worlds: most worlds of a belief that is followed; 0 to follow none.

    Raises:
      RecordError: an action is not legal.
    """
    renderer = renderer_for(game)
    state = game.new_initial_state()
    hidden = not game.info.perfect_information
    players = [_Watcher(game, p, worlds) for p in range(game.num_players())] if hidden else []
    _tell(players, state)
    yield Frame(move=None, before=None, views=_views(renderer, state, players))
    for move in record.moves:
        before = state.clone()
        try:
            state.apply_action(move.action)
        except ValueError as error:
            raise RecordError(f"{record.game}: ply {move.ply}: {error}") from error
        _tell(players, state)
        yield Frame(move=move, before=before, views=_views(renderer, state, players))


def definitions(game: Game) -> str:
    """Return what the pictures of a game refer to."""
    renderer = renderer_for(game)
    return renderer.svg_definitions() if isinstance(renderer, DrawingRenderer) else ""


class _Watcher:
    """What one player was told, and holds possible."""

    def __init__(self, game: Game, player: int, worlds: int) -> None:
        self.view = PlayerView(game, player)
        self.followed = Followed(game, player, limit=worlds) if worlds else None

    def observe(self, state: State) -> None:
        observation = state.observation(self.view.player)
        if observation is not None:
            self.view.observe(observation)
            if self.followed is not None:
                self.followed.observe(observation)


def _tell(players: Sequence[_Watcher], state: State) -> None:
    for player in players:
        player.observe(state)


def _views(renderer: Renderer, state: State, players: Sequence[_Watcher]) -> tuple[View, ...]:
    return (_truth(renderer, state), *(_seen(renderer, state, player) for player in players))


def _truth(renderer: Renderer, state: State) -> View:
    if isinstance(renderer, DrawingRenderer):
        return View(name=TRUTH, picture=renderer.svg_state(state))
    if state.game.info.perfect_information:
        return View(name=TRUTH, text=renderer.render(PlayerView.at(state, 0)))
    return View(name=TRUTH, text=str(state))


def _seen(renderer: Renderer, state: State, player: _Watcher) -> View:
    worlds = None
    if player.followed is not None:
        worlds = player.followed.told(renderer, player.view, state)
    name = str(player.view.player)
    if isinstance(renderer, DrawingRenderer):
        return View(name=name, picture=renderer.svg(player.view), worlds=worlds)
    return View(name=name, text=renderer.render(player.view), worlds=worlds)


_KNOWN: Final = frozenset(("value", "pv", "top", "priors"))
_MOST_LISTED = 12
_MOST_PLIES = 20
_MOST_FIGURES = 24
_LONGEST = 200
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An action that was considered.

    Attributes:
      text: the action in the game's notation.
      visits: of it; None where only a prior was told.
      value: estimated utility for whoever decided; None where not told.
      prior: its probability before the search; None where not told.
    """

    text: str
    visits: float | None = None
    value: float | None = None
    prior: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an agent said of one decision.

    Attributes:
      value: of the position, for whoever decided; None where not told.
      line: the principal variation in the game's notation; empty where not told.
      candidates: actions, the most considered first.
      figures: everything else, as name and text.
    """

    value: float | None
    line: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    figures: tuple[tuple[str, str], ...]


def said(move: MoveRecord, before: State) -> Said:
    """Return what the agent said of a move.

    Args:
      before: the state in which it was decided; not changed.
    """
    told = move.statistics
    return Said(
        value=_number(told.get("value")),
        line=_line(told.get("pv"), before),
        candidates=_candidates(told, before),
        figures=_figures(told),
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Nothing of a game is larger: an axis could not show it, and an integer may be no float at all.
    return float(value) if abs(value) <= _LARGEST else None


def _line(actions: Json, before: State) -> tuple[str, ...]:
    """Return a line in the game's notation; from where it cannot be followed, as numbers."""
    if not _is_list(actions):
        return ()
    state: State | None = before.clone()
    line = []
    for action in actions[:_MOST_PLIES]:
        if type(action) is not int:
            break
        line.append(str(action) if state is None else action_text(state, action))
        state = _after(state, action)
    return tuple(line)


def _after(state: State | None, action: int) -> State | None:
    """Return the state after an action of a line; None where it is not legal there."""
    try:
        if state is not None:
            state.apply_action(action)
    except GameError:
        return None
    return state


def _candidates(told: Mapping[str, Json], before: State) -> tuple[Candidate, ...]:
    priors = {row[0]: _number(row[1]) for row in _rows(told.get("priors"), 2)}
    rows = _rows(told.get("top"), 3)
    found = [
        Candidate(
            text=action_text(before, row[0]),
            visits=_number(row[1]),
            value=_number(row[2]),
            prior=priors.get(row[0]),
        )
        for row in rows
    ]
    if not rows:
        found = [Candidate(text=action_text(before, a), prior=p) for a, p in priors.items()]
    return tuple(found[:_MOST_LISTED])


def _rows(value: Json, width: int) -> list[list[Any]]:
    """Return lists of an action and numbers, as far as they are such."""
    if not _is_list(value):
        return []
    return [
        list(row)
        for row in value[:_MOST_LISTED]
        if _is_list(row) and len(row) >= width and type(row[0]) is int
    ]


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _figures(told: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    rest = [(key, value) for key, value in told.items() if key not in _KNOWN]
    return tuple((str(key), _shown(value)) for key, value in rest[:_MOST_FIGURES])


def _shown(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    told = value if isinstance(value, str) else json.dumps(value, default=str)
    return told if len(told) <= _LONGEST else told[: _LONGEST - 3] + "..."
