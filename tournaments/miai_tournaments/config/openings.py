"""Openings: what the referee plays before the agents are asked, one for each pair of games."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miai.errors import ConfigError, UnknownComponentError
from miai.game import Game
from miai.openings import OpeningReader, random_opening
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


def read_openings(section: OpeningsSection, game: Game, folder: Path) -> Openings:
    """Return the openings that a config asks for.

    Args:
      folder: what a relative path starts from.

    Raises:
      MiaiError: no such reader, or what the reader says of the file.
    """
    if section.file is None:
        _refuse_too_many(section.random_plies, game)
        return Openings(game, section.random_plies)
    path = folder / section.file
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path}: is no file; name one with an opening a line")
    reader = _reader(section, path, game)
    lines = tuple(tuple(line) for line in reader.read(path))
    return Openings(game, lines=lines)


def _refuse_too_many(plies: int, game: Game) -> None:
    """Refuse random openings that would be the whole game."""
    if plies and len(random_opening(game, plies=plies, seed=0)) < plies:
        raise ConfigError(
            f"{plies} random moves end {game.info.name} before anybody plays; take fewer"
        )


def _reader(section: OpeningsSection, path: Path, game: Game) -> OpeningReader:
    find, name = registry().get, section.reader
    suffix = path.suffix.removeprefix(".").lower()
    try:
        component = find("opening-reader", name or suffix, game=game.info.name)
    except UnknownComponentError:
        if name is not None:
            raise
        component = find("opening-reader", "moves")
    reader: OpeningReader = component.build(game, values=section.parameters, where="openings")
    return reader
