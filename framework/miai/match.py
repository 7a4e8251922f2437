"""The referee: plays one game between seats, by the rules of the game and of the clock.

A player's failure is that player's forfeit and ends the game with a record. A failure of the game
itself, or of the referee, is an exception and leaves none: the game is void. docs/errors.md has
the whole table.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from miai.adjudication.panel import Panel
from miai.agent import Agent
from miai.clock import TimeControl
from miai.errors import ConfigError
from miai.game import Game, Json
from miai.plain import to_plain
from miai.plugins.loader import PluginWarning, plugin_host
from miai.record import GameRecord, PlayerRecord
from miai.referee import Match, MoveHook
from miai.seat import InProcessSeat, Reply, Seat
from miai.seeds import derive_seed
from miai.versions import versions_of

__all__ = ["InProcessSeat", "MoveHook", "Reply", "Seat", "play", "play_game"]


def play_game(
    game: Game,
    seats: Sequence[Seat],
    *,
    seed: int,
    time_control: TimeControl | None = None,
    move_limit: int | None = None,
    opening: Sequence[int] = (),
    seeds: Sequence[int] | None = None,
    tags: Mapping[str, Json] | None = None,
    log_dir: Path | None = None,
    on_move: MoveHook | None = None,
    panel: Panel | None = None,
) -> GameRecord:
    """Play one game and return its record. The seats are left open for the next game.

    Args:
      seats: in player order.
      seed: what the seeds of chance and of the players derive from: ``derive_seed(seed,
        "chance")`` and ``derive_seed(seed, "player", number)``.
      time_control: the clock of every player; by default none.
      move_limit: most plies, those of the opening included and chance excluded; past it the game
        is truncated. By default the game's own greatest length.
      opening: actions that the referee plays first, outcomes of chance included.
      seeds: the players' seeds instead of derived ones, in player order.
      tags: what the organiser adds to the record; plain data.
      log_dir: folder for one log a player, named after it: ``black.log``. Made when missing.
      on_move: called after every action.
      panel: the adjudicators that may end the game before its end, asked after every move of a
        player; by default none. One panel judges one game at a time.

    Raises:
      ConfigError: the number of seats or seeds is not the number of players, or the move limit
        is less than 1.
      TypeError: tags or a seat's parameters are not plain data.
      OSError: a log cannot be written.
      Exception: whatever the game itself raises; the game is void.
    """
    players = game.num_players()
    if len(seats) != players or (seeds is not None and len(seeds) != players):
        raise ConfigError(
            f"{game.info.name} is a game of {players} players: give as many seats (and seeds), "
            f"not {len(seats)}" + ("" if seeds is None else f" (and {len(seeds)})")
        )
    if move_limit is not None and move_limit < 1:
        raise ConfigError(f"move_limit is {move_limit}; give 1 or more, or none")
    if seeds is None:
        seeds = [derive_seed(seed, "player", number) for number in range(players)]
    control = time_control or TimeControl()
    record = _head(game, seats, seed, seeds, control, move_limit)
    record.tags = _plain_mapping(tags or {}, what="tags")
    _check_opening(game, opening)
    match = Match(game, seats, seeds, control, record)
    match.on_move, match.panel = on_move, panel
    match.play(opening, _logs(game, log_dir))
    _tell_plugins(record)
    return record


def play(
    game: Game,
    agents: Sequence[Agent],
    *,
    seed: int = 0,
    time_control: TimeControl | None = None,
    move_limit: int | None = None,
    opening: Sequence[int] = (),
    tags: Mapping[str, Json] | None = None,
    log_dir: Path | None = None,
    on_move: MoveHook | None = None,
    panel: Panel | None = None,
) -> GameRecord:
    """Play one game between agents in this process and return its record.

    An agent made with a seed of its own (`Agent.default_seed`) plays by that; the others' seeds
    derive from `seed`. The rest is as in `play_game`. A game that ends by an agent's failure has
    a record too; the agent's exception is logged with its traceback by the logger ``miai.match``.
    """
    seeds = [
        derive_seed(seed, "player", number) if agent.default_seed is None else agent.default_seed
        for number, agent in enumerate(agents)
    ]
    return play_game(
        game,
        [InProcessSeat(agent) for agent in agents],
        seed=seed,
        seeds=seeds,
        time_control=time_control,
        move_limit=move_limit,
        opening=opening,
        tags=tags,
        log_dir=log_dir,
        on_move=on_move,
        panel=panel,
    )


def _head(
    game: Game,
    seats: Sequence[Seat],
    seed: int,
    seeds: Sequence[int],
    control: TimeControl,
    move_limit: int | None,
) -> GameRecord:
    parameters = getattr(game, "parameters", None)
    return GameRecord(
        game=game.info.name,
        game_version=game.info.version,
        game_parameters={} if parameters is None else parameters.model_dump(mode="json"),
        players=[
            PlayerRecord(
                name=s.name,
                agent=s.agent,
                parameters=_plain_mapping(s.parameters, what=f"parameters of '{s.name}'"),
                seed=number,
            )
            for s, number in zip(seats, seeds, strict=True)
        ],
        seed=seed,
        time_control=asdict(control),
        move_limit=move_limit,
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        versions=versions_of(game.info.name, {seat.agent for seat in seats}),
    )


def _check_opening(game: Game, opening: Sequence[int]) -> None:
    """Refuse an illegal opening before any agent has heard of the game."""
    if opening:
        state = game.new_initial_state()
        for action in opening:
            state.apply_action(action)


def _plain_mapping(values: Mapping[str, Any], *, what: str) -> Mapping[str, Json]:
    plain = to_plain(values, what=what)
    assert isinstance(plain, Mapping)
    return plain


def _logs(game: Game, folder: Path | None) -> list[Path | None]:
    if folder is None:
        return [None] * game.num_players()
    folder.mkdir(parents=True, exist_ok=True)
    names = [re.sub(r"[^\w.-]", "_", name) for name in game.info.player_names]
    return [folder / f"{name}.log" for name in names]


def _tell_plugins(record: GameRecord) -> None:
    manager = plugin_host().manager
    for implementation in manager.hook.miai_game_finished.get_hookimpls():
        plugin = implementation.plugin
        others = [p for p in manager.get_plugins() if p is not plugin]
        try:
            manager.subset_hook_caller("miai_game_finished", others)(record=record)
        except Exception as error:
            warnings.warn(
                f"plugin '{implementation.plugin_name}' failed when told of a finished game: "
                f"{type(error).__name__}: {error}",
                PluginWarning,
                stacklevel=3,
            )
