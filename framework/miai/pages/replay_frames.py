"""A recorded game played again: positions, what each player saw and believed, what agents said.

Agents may record anything (`MoveRecord.statistics`); searches of the framework record ``value``,
``value_unit``, ``pv`` and ``top`` (see `miai.search.agent`). Malformed entries are left out,
unknown ones are shown unchanged.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from miai.analysis.analysis import Outlook
from miai.api import renderer_for
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
from miai.playing.replay import variation_actions
from miai.plugins.loader import registry
from miai.record import GameRecord, MoveRecord
from miai.render import (
    BeliefDrawingRenderer,
    DrawingRenderer,
    EstimatingRenderer,
    Renderer,
    action_text,
)
from miai.values import Evaluation, ValueUnit

MOST_DRAWN: Final = 2000
"""Number of the positions in variations that are part of a page on disk."""

WORLDS: Final = 2000
"""Default maximum size of a belief, in worlds."""

SECONDS: Final = 20.0
"""Maximum total time for following the belief of one player."""

_LEAST = 512  # the minimum that every plugin's belief accepts
_MOST_COMPARED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBelief:
    """A belief at one moment.

    Attributes:
      count: number of worlds; None if the belief could not be followed so far.
      complete: whether these are all possible worlds, not a sample.
      note: reason why the belief could not be followed.
      picture: an ``svg`` element; empty if the game draws none.
      certain: the position as text, with a question mark where worlds differ; empty if they cannot
        be compared.
    """

    count: int | None
    complete: bool = True
    note: str = ""
    picture: str = ""
    certain: str = ""


class BeliefFollower:
    """Follows the belief of one player while it is small enough."""

    def __init__(self, game: Game, player: int, *, limit: int) -> None:
        self._limit = max(limit, _LEAST)
        self._belief: Any = _belief(game, player, self._limit)
        self._lost = ""
        self._spent = 0.0
        self._last: ShownBelief | None = None

    def observe(self, observation: Observation) -> None:
        """Update the belief with an observation."""
        self._last = None
        if self._lost:
            return
        # Worlds are limited in number, but a single observation of many may take minutes.
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

    def worlds(
        self, renderer: Renderer, view: PlayerView, truth: State | None = None
    ) -> ShownBelief:
        """Return the current belief, drawn beside the true state if it is given."""
        if self._lost:
            return ShownBelief(count=None, note=self._lost)
        belief: BeliefState[State] = self._belief
        complete = bool(getattr(belief, "complete", True))
        if isinstance(renderer, BeliefDrawingRenderer):
            picture = renderer.svg_belief(belief, view, truth) if len(belief) else ""
            return ShownBelief(count=len(belief), complete=complete, picture=picture)
        # Unlike a picture it does not show the truth, so it changes only with an observation.
        if self._last is None:
            certain = certain_text(map(str, belief)) if len(belief) <= _MOST_COMPARED else ""
            self._last = ShownBelief(count=len(belief), complete=complete, certain=certain)
        return self._last


def certain_text(texts: Iterable[str]) -> str:
    """Return texts of one shape as one, with a question mark where they differ.

    Empty without texts, or if they differ in shape.
    """
    unique = list(dict.fromkeys(texts))
    if not unique or len({tuple(map(len, text.split("\n"))) for text in unique}) > 1:
        return ""
    columns = zip(*unique, strict=True)
    return "".join(column[0] if len(set(column)) == 1 else "?" for column in columns)


def _belief(game: Game, player: int, limit: int) -> Any:
    """Return the game's own belief, or the enumerating one for small games."""
    own = [c for c in registry().components("belief", game=game.info.name) if c.game]
    component = next(iter(own), None) or registry().get("belief", "enumerated")
    limits = "limit" in component.load_parameters().model_fields
    try:
        return component.build(game, player, values={"limit": limit} if limits else {})
    except ParameterError:
        return component.build(game, player, values={})


TRUTH = "truth"
"""The name of the view that sees everything; the players' are their numbers."""
ESTIMATE = "estimate"
"""The name of the view of how the game may end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameView:
    """One position from one point of view.

    Attributes:
      name: `TRUTH` or a player's number.
      text: the position as lines of text; empty if it is drawn.
      picture: the position as an ``svg`` element; empty if the game draws none.
      worlds: the player's belief; None for the truth, and if beliefs are not followed.
      lead: of an estimate, who leads by how much.
    """

    name: str
    text: str = ""
    picture: str = ""
    worlds: ShownBelief | None = None
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The position before the first action, or after one.

    Attributes:
      move: the action that led here; None at the start.
      before: the state in which it was taken; None at the start, and in variations.
      views: the truth first, then the players', if the game hides anything, or what an analyst
        expects; empty in variations that are not drawn.
    """

    move: MoveRecord | None
    before: State | None
    views: tuple[FrameView, ...]


def frames_of(
    record: GameRecord,
    game: Game,
    *,
    worlds: int,
    drawn: int = MOST_DRAWN,
    outlooks: Mapping[int, Outlook] | None,
) -> Iterator[Frame]:
    """Yield the frames of a recorded game, one more than it has actions; then its variations'.

    Of a position in a variation, which nobody met, only the truth is shown.

    Args:
      record: a record that `miai.playing.replay.replay` accepts.
      worlds: maximum size of a belief; 0 to follow none.
      drawn: number of the positions in variations that are drawn; others have no views.
      outlooks: what an analyst expects, by the number of the position.

    Raises:
      RecordError: an action is not legal.
    """
    renderer = renderer_for(game)
    state = game.new_initial_state()
    hidden = not game.info.perfect_information
    players = [_Watcher(game, p, worlds) for p in range(game.num_players())] if hidden else []

    def views() -> tuple[FrameView, ...]:
        for player in players:
            player.observe(state)
        outlook = (outlooks or {}).get(len(state.history()))
        return (
            truth_of(renderer, state),
            *(_seen(renderer, state, player) for player in players),
            *([] if outlook is None else _expected(renderer, state, outlook)),
        )

    yield Frame(move=None, before=None, views=views())
    for move in record.moves:
        # Decisions are read in the state before them: their numbers are actions of that state.
        before = state.clone()
        try:
            state.apply_action(move.action)
        except ValueError as error:
            raise RecordError(f"{record.game}: ply {move.ply}: {error}") from error
        yield Frame(move=move, before=before, views=views())
    for number, (move, state) in enumerate(variation_actions(record, game)):
        views_ = (truth_of(renderer, state),) if number < drawn else ()
        yield Frame(move=move, before=None, views=views_)


def definitions(game: Game) -> str:
    """Return the shared SVG definitions of a game's pictures."""
    renderer = renderer_for(game)
    return renderer.svg_definitions() if isinstance(renderer, DrawingRenderer) else ""


class _Watcher:
    """One player's view and belief."""

    def __init__(self, game: Game, player: int, worlds: int) -> None:
        self.view = PlayerView(game, player)
        self.followed = BeliefFollower(game, player, limit=worlds) if worlds else None

    def observe(self, state: State) -> None:
        observation = state.observation(self.view.player)
        if observation is not None:
            self.view.observe(observation)
            if self.followed is not None:
                self.followed.observe(observation)


def truth_of(renderer: Renderer, state: State) -> FrameView:
    """Return a whole position."""
    if isinstance(renderer, DrawingRenderer):
        return FrameView(name=TRUTH, picture=renderer.svg_state(state))
    if state.game.info.perfect_information:
        return FrameView(name=TRUTH, text=renderer.render(PlayerView.at(state, 0)))
    return FrameView(name=TRUTH, text=str(state))


def _seen(renderer: Renderer, state: State, player: _Watcher) -> FrameView:
    worlds = None
    if player.followed is not None:
        worlds = player.followed.worlds(renderer, player.view, state)
    name = str(player.view.player)
    if isinstance(renderer, DrawingRenderer):
        return FrameView(name=name, picture=renderer.svg(player.view), worlds=worlds)
    return FrameView(name=name, text=renderer.render(player.view), worlds=worlds)


def _expected(renderer: Renderer, state: State, outlook: Outlook) -> Iterator[FrameView]:
    if isinstance(renderer, EstimatingRenderer):
        picture = renderer.svg_estimate(PlayerView.at(state, 0), outlook.estimate)
        yield FrameView(name=ESTIMATE, picture=picture, lead=outlook.text(state.game.info))


_KNOWN: Final = frozenset(("value", "value_unit", "pv", "top", "priors", "visits", "truth", "loss"))
_MOST_LISTED = 12
_MOST_PLIES = 20
_MOST_FIGURES = 24
_LONGEST = 200
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An action that an agent considered.

    Attributes:
      action: the action.
      text: the action in the game's notation.
      visits: number of visits; None if not recorded.
      value: value for the player to move, in the decision's unit; None if not recorded.
      prior: probability before the search; None if not recorded.
    """

    action: int
    text: str
    visits: float | None = None
    value: float | None = None
    prior: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDecision:
    """What an agent recorded about one decision.

    Attributes:
      evaluation: value of the position for the player to move; None if not recorded.
      unit: unit of the candidates' values.
      line: principal variation in the game's notation; empty if not recorded.
      candidates: actions, the most visited first.
      figures: everything else, as name and text.
    """

    evaluation: Evaluation | None
    unit: ValueUnit
    line: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    figures: tuple[tuple[str, str], ...]


def decision_of(statistics: Mapping[str, Json], before: State) -> ReplayDecision:
    """Return what an agent recorded about a decision.

    Args:
      before: the state before it; not changed.
    """
    rest = [(key, value) for key, value in statistics.items() if key not in _KNOWN]
    return ReplayDecision(
        evaluation=Evaluation.from_statistics(statistics),
        unit=ValueUnit.of(statistics),
        line=_line(statistics.get("pv"), before),
        candidates=_candidates(statistics, before),
        figures=tuple((str(key), _shown(value)) for key, value in rest[:_MOST_FIGURES]),
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An axis could not show larger values, and huge integers are not floats.
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


def _candidates(statistics: Mapping[str, Json], before: State) -> tuple[Candidate, ...]:
    priors = {row[0]: _number(row[1]) for row in _rows(statistics.get("priors"), 2)}
    rows = _rows(statistics.get("top"), 3)
    candidates = [
        Candidate(
            action=row[0],
            text=action_text(before, row[0]),
            visits=_number(row[1]),
            value=_number(row[2]),
            prior=priors.get(row[0]),
        )
        for row in rows
    ]
    if not rows:
        candidates = [
            Candidate(action=a, text=action_text(before, a), prior=p) for a, p in priors.items()
        ]
    return tuple(candidates[:_MOST_LISTED])


def _rows(value: Json, width: int) -> list[list[Any]]:
    """Return the well-formed lists of an action and numbers."""
    if not _is_list(value):
        return []
    return [
        list(row)
        for row in value[:_MOST_LISTED]
        if _is_list(row) and len(row) >= width and type(row[0]) is int
    ]


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
