"""Openings from SGF files: the opening reader ``sgf`` of Go."""

from __future__ import annotations

from pathlib import Path

from miai.openings import Opening, check_file
from miai_go.component_parameters import SgfOpeningParameters
from miai_go.game import GoGame
from miai_go.sgf import SgfError, SgfGame, SgfLine, read_file

__all__ = ["SgfOpeningParameters", "SgfOpenings"]


class SgfOpenings:
    """Reads openings from SGF: one for each game of the file, or one for each variation.

    Set-up stones are no actions: they must be the starting position of the game itself, which its
    parameters `black_stones`, `white_stones`, `handicap` and `first_player` give.
    """

    def __init__(self, game: GoGame, parameters: SgfOpeningParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or SgfOpeningParameters()

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file, each once, in the file's order.

        Raises:
          SgfError: the file is malformed, or a line is not legal in the game or ends it.
          ConfigError: there is no such file.
        """
        check_file(path)
        openings: list[Opening] = []
        known: set[tuple[int, ...]] = set()
        for game in read_file(path):
            for line in game.lines() if self.parameters.variations else [game.main_line()]:
                actions = self._opening(game, line)
                if actions not in known:
                    known.add(actions)
                    openings.append(Opening(actions))
        return openings

    def _opening(self, game: SgfGame, line: SgfLine) -> tuple[int, ...]:
        state = game.replay(self.game, line, plies=self.parameters.plies)
        if state.is_terminal():
            raise SgfError(
                "the opening ends the game; leave something to play, or set plies",
                source=game.source,
                place=line.place,
            )
        if not state.history():
            raise SgfError(
                "holds no moves, so it is no opening; leave the file out for games from the start",
                source=game.source,
                place=line.place,
            )
        return tuple(state.history())
