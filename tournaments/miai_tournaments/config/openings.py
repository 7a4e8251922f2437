"""Openings: what the referee plays before the agents are asked, one for each pair of games."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miai.errors import ConfigError, UnknownComponentError
from miai.game import Game
from miai.openings import OpeningReader, check_file, player_plies, random_opening
from miai.plugins.loader import registry
from miai.seeds import derive_seed
from miai_tournaments.config.schema import OpeningsSection


@dataclass(frozen=True, slots=True)
class Openings:
    """Where openings come from.

    Attributes:
      game: the game.
      random_plies: random moves of each pair; 0 for none.
      lines: openings from a file; empty for none.
    """

    game: Game
    random_plies: int = 0
    lines: tuple[tuple[int, ...], ...] = ()

    def opening(self, round_number: int, seed: int) -> tuple[int, ...]:
        """Return the opening of a pair of games.

        Args:
          round_number: from 1; all pairings of a round take the same line of a file, and the
            lines begin again when there are more rounds than lines.
          seed: the pair's.
        """
        if self.lines:
            return self.lines[(round_number - 1) % len(self.lines)]
        if not self.random_plies:
            return ()
        drawn = random_opening(
            self.game, plies=self.random_plies, seed=derive_seed(seed, "opening")
        )
        return tuple(drawn)


def random_openings(plies: int, game: Game, move_limit: int | None) -> Openings:
    """Return openings of random moves.

    Args:
      plies: of each; 0 for none.
      move_limit: plies after which a game is stopped, its opening's included.

    Raises:
      ConfigError: they would leave nothing to play.
    """
    name, most = game.info.name, game.max_game_length()
    if plies >= most:
        raise ConfigError(
            f"{plies} random moves leave nothing to play: {name} lasts {most} plies at most; "
            "take fewer"
        )
    if move_limit is not None and plies >= move_limit:
        raise ConfigError(
            f"{plies} random moves leave nothing to play: tournament.move_limit stops games after "
            f"{move_limit} plies; take fewer or raise it"
        )
    if plies and player_plies(game, random_opening(game, plies=plies, seed=0)) < plies:
        raise ConfigError(f"{plies} random moves end {name} before anybody plays; take fewer")
    return Openings(game, plies)


def file_openings(
    path: Path, reader: OpeningReader, game: Game, move_limit: int | None
) -> Openings:
    """Return the openings of a file.

    Args:
      move_limit: plies after which a game is stopped, its opening's included.

    Raises:
      MiaiError: what the reader says of the file, or an opening that leaves nothing to play.
    """
    lines = tuple(tuple(line) for line in reader.read(path))
    if not lines or not all(lines):
        raise ConfigError(f"{path}: holds an opening without moves; take it out")
    longest = max(player_plies(game, line) for line in lines)
    if move_limit is not None and longest >= move_limit:
        raise ConfigError(
            f"{path}: holds an opening of {longest} plies, but tournament.move_limit stops games "
            f"after {move_limit}; raise it or shorten the opening"
        )
    return Openings(game, lines=lines)


def opening_file(file: str, folder: Path) -> Path:
    """Return the path of the openings' file. Raises `ConfigError` when there is no such file."""
    path = folder / file
    check_file(path)
    return path


def opening_reader(section: OpeningsSection, game: Game) -> OpeningReader:
    """Return what reads the openings' file.

    Raises:
      MiaiError: no such reader for the game, or its parameters are wrong.
    """
    find, name = registry().get, section.reader
    suffix = Path(section.file or "").suffix.removeprefix(".").lower()
    try:
        component = find("opening-reader", name or suffix, game=game.info.name)
    except UnknownComponentError:
        # A file that another game's reader would read is no list of moves.
        if name is not None or suffix in {c.name for c in registry().components("opening-reader")}:
            raise
        component = find("opening-reader", "moves")
    reader: OpeningReader = component.build(game, values=section.parameters, where="openings")
    return reader
