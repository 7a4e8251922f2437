"""Openings: actions that the referee plays before it asks the agents, or another start.

Components of the kind ``opening-reader`` read them from files; a reader's name is the files' suffix
without the dot (``sgf``). The reader ``moves`` serves any game: each line has the moves of one
opening in the game's notation.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from miai.errors import ConfigError, GameError
from miai.files import absence, reading
from miai.game import Game, Player, State, sample_chance

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Maximum size of an opening file."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of a game.

    Attributes:
      actions: the actions that the referee plays first, outcomes of chance included; may be empty.
      settings: parameters of the game to override, such as a starting position. Agents receive
        them like all other parameters.
      name: its name in reports; may be empty.
    """

    actions: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


class OpeningReader(Protocol):
    """Reads openings of one game from a file."""

    def read(self, path: Path) -> Sequence[Opening]:
        """Return the openings; their actions are legal from the initial state with their settings.

        Raises `MiaiError`, which names file and place, if the file is malformed or a move illegal.
        """


class MovesReader:
    """Reads one opening per line; ``#`` begins a comment.

    Moves are in the game's notation, separated by white space; in a line with a semicolon, by
    semicolons, for notations with spaces.
    """

    def __init__(self, game: Game, parameters: object = None) -> None:
        self.game = game

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file. Raises `ConfigError` naming file and line."""
        openings = []
        for number, line in enumerate(read_text(path).splitlines(), 1):
            moves = _moves(line.partition("#")[0])
            if moves:
                openings.append(self._opening(moves, where=f"{path}:{number}"))
        if not openings:
            raise ConfigError(f"{path}: contains no opening; write one line of moves for each")
        return openings

    def _opening(self, moves: Sequence[str], *, where: str) -> Opening:
        state = self.game.new_initial_state()
        for ply, move in enumerate(moves, 1):
            try:
                state.apply_action(state.string_to_action(move))
            except GameError as error:
                raise ConfigError(f"{where}: move {ply} '{move[:40]}': {error}") from None
        if state.is_terminal():
            raise ConfigError(f"{where}: the opening ends the game; remove its last moves")
        if state.pending_actions():
            raise ConfigError(
                f"{where}: the opening ends with a decision that not all players have taken; add "
                f"moves of the players {', '.join(map(str, state.acting_players()))}"
            )
        return Opening(tuple(state.history()))


def _moves(line: str) -> list[str]:
    moves = line.split(";") if ";" in line else line.split()
    return [move.strip() for move in moves if not move.isspace() and move]


def moves_text(game: Game, actions: Iterable[int]) -> str:
    """Return actions as the line of moves that `MovesReader` reads."""
    state = game.new_initial_state()
    moves = []
    for action in actions:
        moves.append(state.action_to_string(action))
        state.apply_action(action)
    if all(len(move.split()) == 1 for move in moves):
        return " ".join(moves)
    return "; ".join(moves) + ";" * (len(moves) == 1)


def read_text(path: Path) -> str:
    """Return the text of an opening file. Raises `ConfigError` if it cannot be read."""
    check_file(path)
    try:
        with reading(path, ConfigError):
            return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error}") from error


def check_file(path: Path) -> None:
    """Check that a path is a regular file of at most `MAX_FILE_BYTES`; reading a pipe could block.

    Raises `ConfigError`.
    """
    with reading(path, ConfigError):
        if not path.exists():
            folder = path.parent
            beside = [p for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
            alike = [p.name for p in beside if p.suffix == path.suffix]
            raise ConfigError(f"{path}: {absence(path, alike or [p.name for p in beside])}")
        if not path.is_file():
            what = "a folder" if path.is_dir() else "a pipe or a device"
            raise ConfigError(f"{path}: is {what}; name a file of openings")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_FILE_BYTES} bytes; split the file")


def player_plies(game: Game, actions: Iterable[int]) -> int:
    """Return the number of actions from the initial state that are players', not chance's."""
    state = game.new_initial_state()
    plies = 0
    for action in actions:
        plies += not state.is_chance_node()
        state.apply_action(action)
    return plies


def random_opening(game: Game, *, plies: int, seed: int) -> list[int]:
    """Return `plies` random actions of players, and those of chance between them, from a seed.

    Players' actions are drawn uniformly from `State.opening_actions`. A decision that several
    players take at once is completed, even if that takes more actions.

    A sequence that ends the game is drawn again; after 100 such sequences the last one is shortened
    until the game is not over.
    """
    rng = random.Random(seed)
    for _ in range(100):
        state = _play_randomly(game, plies, rng)
        if not state.is_terminal():
            return state.history()
    # A game so short that random moves end it before the opening does.
    actions = state.history()
    while actions and (state.is_terminal() or state.pending_actions()):
        actions.pop()
        state = game.new_initial_state()
        for action in actions:
            state.apply_action(action)
    return actions


def _play_randomly(game: Game, plies: int, rng: random.Random) -> State:
    state = game.new_initial_state()
    count = 0
    while not state.is_terminal() and (
        count < plies or state.is_chance_node() or state.pending_actions()
    ):
        if state.current_player() == Player.CHANCE:
            state.apply_action(sample_chance(state, rng))
        else:
            state.apply_action(rng.choice(state.opening_actions()))
            count += 1
    return state
