"""A recorded game played again, position by position, as its players and its referee saw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from miai.errors import RecordError
from miai.game import Game, State
from miai.information import PlayerView
from miai.record import GameRecord, MoveRecord
from miai.render import DrawingRenderer, Renderer, renderer_for
from miai_tournaments.replays.beliefs import Followed, Worlds

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
      record: a record that `miai.replay.replay` accepts.
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
